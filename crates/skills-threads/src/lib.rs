//! Starts threads, or fails with an error.
//!
//! ```text
//! work --> a thread, or a thread of the blocking pool --> its result
//!      \-> ThreadError: the system refuses another thread
//! ```
//!
//! The limit of processes of a user can be reached at any time, also by programs of others.
//! `std::thread::spawn`, `std::thread::Scope::spawn` and `tokio::task::spawn_blocking` panic then,
//! so `clippy.toml` bans them. [`lock`] is for the state that threads share.
//!
//! This crate must not know what the threads do.
//!
//! ```
//! let sum = skills_threads::spawn("sum", || 1 + 1)?;
//! assert_eq!(sum.join().ok(), Some(2));
//! # Ok::<(), skills_threads::ThreadError>(())
//! ```

#[cfg(feature = "tokio")]
mod blocking_pool;

use std::error::Error;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

#[cfg(feature = "tokio")]
pub use blocking_pool::{
    detach_blocking, require_blocking_thread, run_blocking, run_blocking_or_here, spawn_blocking,
};

/// The error of a thread that the system does not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a thread: {0}")]
pub struct ThreadError(io::Error);

impl ThreadError {
    /// Returns true if an error, or one of its sources, is that of a thread.
    #[must_use]
    pub fn is_in(error: &(dyn Error + 'static)) -> bool {
        // An error of I/O does not show the error that it holds as its source.
        let held = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        error.is::<Self>()
            || held.is_some_and(|held| Self::is_in(held))
            || error.source().is_some_and(Self::is_in)
    }
}

impl From<ThreadError> for io::Error {
    fn from(error: ThreadError) -> Self {
        Self::new(error.0.kind(), error)
    }
}

/// Starts a thread with a name.
///
/// # Errors
/// Fails if the system does not start it.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ThreadError> {
    let builder = Builder::new().name(name.to_owned());
    builder.spawn(work).map_err(ThreadError)
}

/// Starts up to `count` threads of a scope, which share work with the calling thread: fewer if the
/// system does not start more.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    work: impl Fn() -> T + Copy + Send + 'scope,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    (0..count)
        .map_while(|_| Builder::new().spawn_scoped(scope, work).ok())
        .collect()
}

/// Starts `count` threads at the same time, and ends them: for code of others that panics if it
/// cannot start its threads. Another process can use the limit up in between.
///
/// # Errors
/// Fails if the system does not start one of them.
pub fn check(count: usize) -> Result<(), ThreadError> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        let held = gate.lock();
        let started = (0..count).try_for_each(|_| {
            let wait = || drop(gate.lock());
            Builder::new().spawn_scoped(scope, wait).map(drop)
        });
        drop(held);
        started.map_err(ThreadError)
    })
}

/// Locks a mutex, also after a thread panicked that held it: for values that are valid between any two
/// operations.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_found_below_others() {
        let refused = || ThreadError(io::ErrorKind::WouldBlock.into());
        assert!(ThreadError::is_in(&refused()));
        let held = io::Error::from(refused());
        assert_eq!(held.kind(), io::ErrorKind::WouldBlock);
        assert!(held.to_string().starts_with("cannot start a thread: "));
        assert!(ThreadError::is_in(&held));
        assert!(ThreadError::is_in(&io::Error::other(held)));
        assert!(!ThreadError::is_in(&io::Error::other("another")));
    }

    #[test]
    fn threads_of_a_scope_share_the_work_of_the_caller() {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let work = || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::thread::scope(|scope| {
            assert_eq!(spawn_scoped(scope, 3, work).len(), 3);
        });
        assert_eq!(count.into_inner(), 3);
        assert!(check(3).is_ok());
    }
}

//! Work on the blocking pool of Tokio.
//!
//! The pool queues work if the system refuses another thread, as long as it has one. Without any it
//! panics, and keeps the work. So each function makes sure that it has one.

use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;
use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;

use crate::ThreadError;

/// How long a pool has a thread after it was asked for one. A pool ends an idle thread after ten
/// seconds, unless its creator chose another time.
const KNOWN_ALIVE: Duration = Duration::from_secs(1);

/// The pools that have a thread, and since when that is known.
static ALIVE: Mutex<Vec<(Id, Instant)>> = Mutex::new(Vec::new());

/// Makes sure that the blocking pool of the current runtime has a thread.
///
/// # Errors
/// Fails if the pool has none and the system does not start one, and outside of a runtime.
pub fn require_blocking_thread() -> Result<(), ThreadError> {
    let runtime = Handle::try_current()
        .map_err(|error| ThreadError(io::Error::other(error)))?
        .id();
    let now = Instant::now();
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.retain(|(_, since)| now.duration_since(*since) < KNOWN_ALIVE);
    if alive.iter().any(|(known, _)| *known == runtime) {
        return Ok(());
    }
    write_nothing()?;
    alive.push((runtime, now));
    Ok(())
}

/// Writes no bytes to standard error, which calls nothing of the system: the only work that Tokio
/// gives to its pool with an error instead of a panic.
fn write_nothing() -> Result<(), ThreadError> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(tokio::io::stderr()).poll_write(&mut context, &[]) {
        Poll::Ready(Ok(_)) | Poll::Pending => Ok(()),
        // The error of Tokio does not say why.
        Poll::Ready(Err(error)) => Err(crate::check(1).err().unwrap_or(ThreadError(error))),
    }
}

/// Starts blocking work on the pool of the current runtime.
///
/// # Errors
/// Fails if the pool has no thread for it. The work is not done then.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ThreadError> {
    require_blocking_thread()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the pool has a thread, so it does not panic"
    )]
    Ok(tokio::task::spawn_blocking(work))
}

/// Runs blocking work on the pool of the current runtime.
///
/// # Errors
/// Fails if the pool has no thread for it, or if the work panics.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work)?.await.map_err(io::Error::other)
}

/// Runs blocking work on the pool of the current runtime, or on this thread if the pool has none:
/// for short work that must be done.
///
/// # Errors
/// Fails if the work panics on the pool.
pub async fn run_blocking_or_here<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    if require_blocking_thread().is_ok() {
        run_blocking(work).await
    } else {
        Ok(work())
    }
}

/// Starts blocking work without waiting for its result on the pool of the current runtime, or does
/// it on this thread if there is no runtime or no thread.
pub fn detach_blocking(work: impl FnOnce() + Send + 'static) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the pool has a thread, so it does not panic"
    )]
    if require_blocking_thread().is_ok() {
        drop(tokio::task::spawn_blocking(work));
    } else {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_on_another_thread_and_a_panic_is_an_error() {
        let here = std::thread::current().id();
        let other = run_blocking(|| std::thread::current().id()).await.unwrap();
        assert_ne!(here, other);
        let other = run_blocking_or_here(|| std::thread::current().id());
        assert_ne!(here, other.await.unwrap());
        let error = run_blocking(|| panic!("of the work")).await.unwrap_err();
        assert!(!ThreadError::is_in(&error), "{error}");
    }

    /// The user of a process that may start no thread; it has no other process.
    #[cfg(target_os = "linux")]
    const USER: &str = "64916";
    /// Set in that process.
    #[cfg(target_os = "linux")]
    const IS_LIMITED: &str = "SKILLS_THREADS_IS_LIMITED";

    #[cfg(target_os = "linux")]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts itself as another user"
    )]
    #[test]
    fn a_pool_without_a_thread_refuses_work() {
        use skills_test_support::{host, skip};
        if std::env::var_os(IS_LIMITED).is_some() {
            return refuse_work();
        }
        let (setpriv, prlimit) = match (host::program("setpriv"), host::program("prlimit")) {
            (Ok(setpriv), Ok(prlimit)) => (setpriv, prlimit),
            (Err(reason), _) | (_, Err(reason)) => return skip(reason),
        };
        // Where the user can execute it.
        let directory = tempfile::tempdir().unwrap();
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), owner).unwrap();
        let file = directory.path().join("test");
        std::fs::copy(std::env::current_exe().unwrap(), &file).unwrap();
        let output = std::process::Command::new(setpriv)
            .args(["--reuid", USER, "--regid", USER, "--clear-groups"])
            .arg(prlimit)
            .arg("--nproc=1")
            .arg(file)
            // On the main thread.
            .args(["a_pool_without_a_thread_refuses_work", "--test-threads=1"])
            .env(IS_LIMITED, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        if text.starts_with("setpriv: ") {
            return skip("only root starts processes of another user");
        }
        let passed = String::from_utf8_lossy(&output.stdout);
        assert!(passed.contains("1 passed"), "{passed}{text}");
        assert!(!text.contains("panicked"), "{text}");
    }

    /// Runs in a process that may start no thread.
    #[cfg(target_os = "linux")]
    fn refuse_work() {
        let here = std::thread::current().id();
        let builder = &mut tokio::runtime::Builder::new_current_thread();
        builder.build().unwrap().block_on(async {
            let error = run_blocking(|| ()).await.unwrap_err();
            assert!(ThreadError::is_in(&error), "{error}");
            assert!(error.to_string().contains("(os error 11)"), "{error}");
            let done = run_blocking_or_here(|| std::thread::current().id());
            assert_eq!(done.await.unwrap(), here);
            assert!(spawn_blocking(|| ()).is_err());
        });
        assert!(crate::check(1).is_err());
        assert!(crate::spawn("refused", || ()).is_err());
        std::thread::scope(|scope| {
            assert!(crate::spawn_scoped(scope, 2, || ()).is_empty());
        });
    }

    #[test]
    fn without_a_runtime_detached_work_is_done_on_this_thread() {
        let (sender, receiver) = std::sync::mpsc::channel();
        detach_blocking(move || sender.send(std::thread::current().id()).unwrap());
        assert_eq!(receiver.try_recv(), Ok(std::thread::current().id()));
        assert!(require_blocking_thread().is_err());
    }
}

//! The Tokio runtimes of commands. None is built if its threads cannot be started.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How long an idle thread of the blocking pool is kept: longer than any process runs. The pool
/// panics if it needs a thread, has none and cannot start one, also in code of others.
const KEEP_ALIVE: Duration = Duration::from_secs(u32::MAX as u64);

/// Builds a runtime that runs on the calling thread. Its blocking pool has a thread.
///
/// # Errors
/// Fails if the system does not start the thread, or has no event queue.
pub(crate) fn build_current_thread() -> io::Result<Runtime> {
    build(&mut Builder::new_current_thread())
}

/// Builds a runtime with threads of its own. Its blocking pool has a thread.
///
/// # Errors
/// Fails if the system does not start the threads, or has no event queue.
#[cfg(feature = "mcp")]
pub(crate) fn build_multi_thread(workers: usize) -> io::Result<Runtime> {
    // Building panics if a thread of the runtime cannot be started.
    skills_threads::check(workers + 1)?;
    build(Builder::new_multi_thread().worker_threads(workers))
}

fn build(builder: &mut Builder) -> io::Result<Runtime> {
    let runtime = builder.enable_all().thread_keep_alive(KEEP_ALIVE).build()?;
    let entered = runtime.enter();
    let started = skills_threads::require_blocking_thread();
    drop(entered);
    match started {
        Ok(()) => Ok(runtime),
        Err(error) => {
            // Waits for no thread.
            runtime.shutdown_background();
            Err(error.into())
        }
    }
}

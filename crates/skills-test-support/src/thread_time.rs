//! The processor time of a thread.

use std::time::Duration;

/// Returns the processor time that this thread has used. Unlike the time of a clock it does not depend
/// on other processes, so that tests can compare how long two inputs take.
#[cfg(unix)]
#[must_use]
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the time since the first call: other systems have no such clock in this crate.
#[cfg(not(unix))]
#[must_use]
pub fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

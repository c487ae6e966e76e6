//! Monitors a future: its CPU time, whether it should stop, and panics.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::stop_reason::{StopFlag, StopReason};

/// How a monitored future ended.
pub(crate) enum MonitoredResult<T> {
    Completed(T),
    Stopped(StopReason),
    /// The panic message.
    Panicked(String),
}

pub(crate) struct Monitored<'a, F> {
    future: Option<Pin<Box<F>>>,
    stop: &'a StopFlag,
    /// The CPU time of polling so far, if the system reports it.
    cpu_time: &'a mut Option<Duration>,
}

impl<'a, F: Future> Monitored<'a, F> {
    pub(crate) fn new(future: F, stop: &'a StopFlag, cpu: &'a mut Option<Duration>) -> Self {
        Self {
            future: Some(Box::pin(future)),
            stop,
            cpu_time: cpu,
        }
    }
}

/// Dropping the inner future may panic; that panic is caught.
impl<F> Drop for Monitored<'_, F> {
    fn drop(&mut self) {
        let future = self.future.take();
        // There is no caller to report it to.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

impl<F: Future> Future for Monitored<'_, F> {
    type Output = MonitoredResult<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        // Measured in each poll, since polls happen on different threads.
        let before = thread_time();
        // A panic in a function of the host ends only this run.
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        if let (Some(before), Some(after)) = (before, thread_time()) {
            *self.cpu_time.get_or_insert_default() += after.saturating_sub(before);
        }
        match polled {
            Err(panic) => Poll::Ready(MonitoredResult::Panicked(panic_message(panic.as_ref()))),
            Ok(Poll::Ready(output)) => Poll::Ready(MonitoredResult::Completed(output)),
            Ok(Poll::Pending) => self.stop.reason().map_or(Poll::Pending, |reason| {
                Poll::Ready(MonitoredResult::Stopped(reason))
            }),
        }
    }
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(
        time.tv_sec.try_into().ok()?,
        time.tv_nsec.try_into().ok()?,
    ))
}

#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}

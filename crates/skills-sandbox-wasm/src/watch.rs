//! Watches over a future: what it costs, whether it is to stop, and whether it panics.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::stop::{Reason, Stop};

/// How a watched future ended.
pub(crate) enum Watched<T> {
    Done(T),
    Stopped(Reason),
    /// With what the panic said.
    Panicked(String),
}

/// A future that is watched over.
pub(crate) struct Watch<'a, F> {
    pub(crate) future: Pin<Box<F>>,
    pub(crate) stop: &'a Stop,
    /// The time of the processor that polling took until now.
    pub(crate) cpu: &'a mut Duration,
}

impl<F: Future> Future for Watch<'_, F> {
    type Output = Watched<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let before = thread_time();
        let polled = catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(context)));
        *self.cpu += thread_time().saturating_sub(before);
        match polled {
            Err(panic) => Poll::Ready(Watched::Panicked(message(panic.as_ref()))),
            Ok(Poll::Ready(output)) => Poll::Ready(Watched::Done(output)),
            Ok(Poll::Pending) => self.stop.reason().map_or(Poll::Pending, |reason| Poll::Ready(Watched::Stopped(reason))),
        }
    }
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".to_owned())
}

#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Not told here; the report says so.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    Duration::ZERO
}

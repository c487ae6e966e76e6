//! One run: from a state and a program to an ending.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skills_policy::Limits;
use skills_sandbox::{Cancellation, Ending, Scratch};
use tokio::time::timeout_at;
use wasmtime::{PoolConcurrencyLimitError, Store, UpdateDeadline};

use crate::Profile;
use crate::context::Context;
use crate::ending::{ending, stopped};
use crate::engine::SharedEngine;
use crate::prepared::Prepared;
use crate::stop::{Reason, Stop};
use crate::watch::{Watch, Watched, message};

/// After how many ticks a busy program lets other tasks of the executor run.
const TICKS_PER_SLICE: u32 = 10;
/// After how many steps a program whose steps are counted does the same; about as long.
const STEPS_PER_SLICE: u64 = 1_000_000;
/// The steps that a program has, more than any deadline leaves it.
const STEPS: u64 = u64::MAX / 2;
/// The most bytes that a program may hand to the host in one call.
const MAX_CALL_BYTES: usize = 16 << 20;
/// The most handles between the parts of a component.
pub(crate) const MAX_COMPONENT_HANDLES: usize = 10_000;

/// Until when a run may go on, and what stops it before.
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) deadline: Instant,
    pub(crate) cancellation: Option<&'a Cancellation>,
    pub(crate) stop: Arc<Stop>,
}

/// What came of a run, and what it took.
pub(crate) struct Finished {
    pub(crate) ending: Ending,
    pub(crate) private: Option<Scratch>,
    /// Where the system tells it.
    pub(crate) cpu: Option<Duration>,
    pub(crate) peak_bytes: usize,
    /// The steps that were counted, where they are.
    pub(crate) steps: Option<u64>,
    /// Which hosts were reached and which were not, where any could be.
    pub(crate) hosts: Option<String>,
    /// Whether it has to be run in the engine with room for everything; nothing of it was seen
    /// outside then.
    pub(crate) found_no_place: bool,
}

/// Runs to the end or the deadline: the epoch stops a program that computes, the timer one that
/// waits in the host.
pub(crate) async fn execute(
    engine: &SharedEngine,
    prepared: &Prepared,
    context: Context,
    bounds: &Bounds<'_>,
) -> Finished {
    let mut store = Store::new(&prepared.engine, context);
    store.limiter(|context| &mut context.limiter);
    store.set_hostcall_fuel(MAX_CALL_BYTES);
    store.set_max_component_handles(MAX_COMPONENT_HANDLES);
    let ticking = interruptible(&mut store, engine.profile(), bounds).map(|()| engine.tick());
    let mut cpu = None;
    let watched = match ticking {
        Ok(_ticking) => {
            until_stopped(
                Watch::new(prepared.call(&mut store), &bounds.stop, &mut cpu),
                bounds,
            )
            .await
        }
        Err(error) => Watched::Done(Err(error)),
    };
    // What has called the host cannot be begun anew.
    let is_untouched = !store.data().was_called;
    let found_no_place = is_untouched
        && matches!(&watched, Watched::Done(Err(error)) if error.is::<PoolConcurrencyLimitError>());
    let ending = match (watched, bounds.stop.reason()) {
        // Programs of WASI 0.3 can come to an end of their own after what stopped them.
        (Watched::Done(_), Some(reason @ Reason::Flooded)) => stopped(reason, bounds.limits),
        (Watched::Done(result), _) => ending(result, bounds.limits, store.data()),
        (Watched::Stopped(reason), _) => stopped(reason, bounds.limits),
        (Watched::Panicked(message), _) => Ending::HostPanicked { message },
    };
    finish(store, ending, cpu, found_no_place)
}

/// Waits for a run, its deadline, or somebody who cancels it.
async fn until_stopped<T>(
    watch: impl Future<Output = Watched<T>>,
    bounds: &Bounds<'_>,
) -> Watched<T> {
    let watch = timeout_at(bounds.deadline.into(), watch);
    let Some(cancellation) = bounds.cancellation else {
        return watch.await.unwrap_or(Watched::Stopped(Reason::Deadline));
    };
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Watched::Stopped(Reason::Cancelled),
        watched = watch => watched.unwrap_or(Watched::Stopped(Reason::Deadline)),
    }
}

/// Lets a program that computes be stopped, and lets others run beside it.
fn interruptible(
    store: &mut Store<Context>,
    profile: Profile,
    bounds: &Bounds<'_>,
) -> wasmtime::Result<()> {
    if profile != Profile::Fast {
        store.set_fuel(STEPS)?;
        // Then the deadline is looked at, and whether somebody cancelled.
        return store.fuel_async_yield_interval(Some(STEPS_PER_SLICE));
    }
    let (deadline, stop, cancellation) = (
        bounds.deadline,
        Arc::clone(&bounds.stop),
        bounds.cancellation.cloned(),
    );
    let mut ticks = 0;
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if Instant::now() >= deadline {
            stop.set(Reason::Deadline);
        } else if cancellation
            .as_ref()
            .is_some_and(Cancellation::is_cancelled)
        {
            stop.set(Reason::Cancelled);
        }
        if let Some(reason) = stop.reason() {
            return Err(reason.into());
        }
        ticks += 1;
        Ok(if ticks % TICKS_PER_SLICE == 0 {
            UpdateDeadline::Yield(1)
        } else {
            UpdateDeadline::Continue(1)
        })
    });
    Ok(())
}

/// Takes out what is wanted and drops the rest, which after a panic may panic again.
fn finish(
    mut store: Store<Context>,
    ending: Ending,
    cpu: Option<Duration>,
    found_no_place: bool,
) -> Finished {
    let (private, peak_bytes) = (
        store.data_mut().take_private(),
        store.data().limiter.peak_bytes(),
    );
    #[cfg(feature = "http")]
    let hosts = store.data().summary().map(|summary| summary.to_string());
    #[cfg(not(feature = "http"))]
    let hosts = None;
    let steps = store.get_fuel().ok().map(|left| STEPS.saturating_sub(left));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(store)));
    let ending = dropped.map_or_else(
        |panic| Ending::HostPanicked {
            message: message(panic.as_ref()),
        },
        |()| ending,
    );
    Finished {
        ending,
        private,
        cpu,
        peak_bytes,
        steps,
        hosts,
        found_no_place,
    }
}

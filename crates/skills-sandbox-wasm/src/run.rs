//! Executes one run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skills_policy::ResourceLimits;
use skills_sandbox::{CancellationToken, HostConnections, Refusals, Termination};
use skills_store::PrivateDir;
use tokio::time::timeout_at;
use wasmtime::{PoolConcurrencyLimitError, Store, UpdateDeadline};

use crate::WasmProfile;
use crate::engine::SharedEngine;
use crate::fs::{InitialFiles, KeyReport};
use crate::monitored_future::{Monitored, MonitoredResult, panic_message};
use crate::prepared_component::PreparedComponent;
use crate::stop_reason::{StopFlag, StopReason};
use crate::store_state::StoreState;
use crate::termination::{MAX_COMPONENT_HANDLES, classify, stop_termination};

/// After how many ticks a busy program yields to other tasks of the executor.
const TICKS_PER_YIELD: u32 = 10;
/// After how much fuel a program with counted fuel yields; about the same time.
const FUEL_PER_YIELD: u64 = 1_000_000;
/// The fuel of a program, more than any deadline allows it to use.
const FUEL: u64 = u64::MAX / 2;
/// The maximum number of bytes that a program may pass to the host in one call.
const MAX_CALL_BYTES: usize = 16 << 20;

/// The deadline of a run, and what stops it earlier.
pub(crate) struct RunControl<'a> {
    pub(crate) limits: &'a ResourceLimits,
    pub(crate) deadline: Instant,
    pub(crate) cancellation: Option<&'a CancellationToken>,
    pub(crate) stop_flag: Arc<StopFlag>,
}

/// The result of a run, with its resource use.
pub(crate) struct FinishedRun {
    pub(crate) termination: Termination,
    pub(crate) scratch: Option<PrivateDir>,
    /// If the system reports it.
    pub(crate) cpu_time: Option<Duration>,
    pub(crate) peak_bytes: usize,
    /// The consumed fuel, if it is counted.
    pub(crate) fuel_consumed: Option<u64>,
    /// The summary of HTTP requests, if hosts are granted.
    pub(crate) hosts: Option<String>,
    /// The hosts that it connected to, with the number of connections.
    pub(crate) connections: Vec<HostConnections>,
    /// The number of connections to further hosts.
    pub(crate) connections_omitted: u64,
    /// Why granted hosts were not reached.
    pub(crate) connection_failures: Vec<String>,
    /// The files and hosts that were refused.
    pub(crate) refusals: Refusals,
    /// The files that may hold keys and that it could not open.
    pub(crate) keys: KeyReport,
    /// The files that other programs execute, before the first modification.
    pub(crate) initial_files: InitialFiles,
    /// Whether it must run again in the on-demand engine; it had no visible effects then.
    pub(crate) needs_on_demand: bool,
}

/// Runs to the end or the deadline: the epoch stops a program that computes, the timer one that
/// waits in the host.
pub(crate) async fn execute(
    engine: &SharedEngine,
    prepared: &PreparedComponent,
    context: StoreState,
    bounds: &RunControl<'_>,
) -> FinishedRun {
    let mut store = Store::new(&prepared.engine, context);
    store.limiter(|context| &mut context.limiter);
    store.set_hostcall_fuel(MAX_CALL_BYTES);
    store.set_max_component_handles(MAX_COMPONENT_HANDLES);
    // Ticks are needed only while a program runs.
    let ticking = configure_interruption(&mut store, engine.profile(), bounds)
        .map(|()| engine.start_ticking());
    let mut cpu = None;
    let watched = match ticking {
        Ok(_ticking) => {
            until_stopped(
                Monitored::new(prepared.call(&mut store), &bounds.stop_flag, &mut cpu),
                bounds,
            )
            .await
        }
        Err(error) => MonitoredResult::Completed(Err(error)),
    };
    // A program that has called the host cannot be restarted.
    let is_untouched = !store.data().called_host;
    let found_no_place = is_untouched
        && matches!(&watched, MonitoredResult::Completed(Err(error)) if error.is::<PoolConcurrencyLimitError>());
    let ending = match (watched, bounds.stop_flag.reason()) {
        // WASI 0.3 programs can complete after they were stopped.
        (MonitoredResult::Completed(_), Some(reason @ StopReason::OutputLimit)) => {
            stop_termination(reason, bounds.limits)
        }
        (MonitoredResult::Completed(result), _) => classify(result, bounds.limits, store.data()),
        (MonitoredResult::Stopped(reason), _) => stop_termination(reason, bounds.limits),
        (MonitoredResult::Panicked(message), _) => Termination::HostPanic { message },
    };
    FinishedRun {
        needs_on_demand: found_no_place,
        ..finish(store, ending, cpu)
    }
}

/// Waits for completion, deadline or cancellation.
async fn until_stopped<T>(
    watch: impl Future<Output = MonitoredResult<T>>,
    bounds: &RunControl<'_>,
) -> MonitoredResult<T> {
    let watch = timeout_at(bounds.deadline.into(), watch);
    let Some(cancellation) = bounds.cancellation else {
        return watch
            .await
            .unwrap_or(MonitoredResult::Stopped(StopReason::Deadline));
    };
    tokio::select! {
        // If both are ready, the run was cancelled.
        biased;
        () = cancellation.cancelled() => MonitoredResult::Stopped(StopReason::Cancelled),
        watched = watch => watched.unwrap_or(MonitoredResult::Stopped(StopReason::Deadline)),
    }
}

/// Configures how a computing program is interrupted, and how it yields to others.
fn configure_interruption(
    store: &mut Store<StoreState>,
    profile: WasmProfile,
    bounds: &RunControl<'_>,
) -> wasmtime::Result<()> {
    if profile != WasmProfile::Fast {
        store.set_fuel(FUEL)?;
        // The deadline and cancellation are checked then.
        return store.fuel_async_yield_interval(Some(FUEL_PER_YIELD));
    }
    let deadline = bounds.deadline;
    let stop = Arc::clone(&bounds.stop_flag);
    let cancellation = bounds.cancellation.cloned();
    let mut ticks = 0;
    // At every tick, so that a loop ends within a millisecond of its deadline.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if Instant::now() >= deadline {
            stop.set(StopReason::Deadline);
        } else if cancellation
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
        {
            stop.set(StopReason::Cancelled);
        }
        if let Some(reason) = stop.reason() {
            return Err(reason.into());
        }
        ticks += 1;
        Ok(if ticks % TICKS_PER_YIELD == 0 {
            UpdateDeadline::Yield(1)
        } else {
            UpdateDeadline::Continue(1)
        })
    });
    Ok(())
}

/// Takes the results and drops the rest, which may panic again after a panic.
fn finish(mut store: Store<StoreState>, ending: Termination, cpu: Option<Duration>) -> FinishedRun {
    let private = store.data_mut().take_scratch();
    let peak_bytes = store.data().limiter.peak_bytes();
    let mut refusals = store.data_mut().take_refusals();
    let keys = store.data().key_report();
    let initial_files = store.data_mut().take_initial_files();
    let requests = requests(store.data(), &mut refusals);
    let steps = store.get_fuel().ok().map(|left| FUEL.saturating_sub(left));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(store)));
    let ending = dropped.map_or_else(
        |panic| Termination::HostPanic {
            message: panic_message(panic.as_ref()),
        },
        |()| ending,
    );
    FinishedRun {
        termination: ending,
        scratch: private,
        cpu_time: cpu,
        peak_bytes,
        fuel_consumed: steps,
        hosts: requests.summary,
        connections: requests.connections,
        connections_omitted: requests.connections_omitted,
        connection_failures: requests.connection_failures,
        refusals,
        keys,
        initial_files,
        needs_on_demand: false,
    }
}

/// What a run did over HTTP.
#[derive(Default)]
struct Requests {
    summary: Option<String>,
    connections: Vec<HostConnections>,
    connections_omitted: u64,
    connection_failures: Vec<String>,
}

/// Returns the HTTP requests of a run, and adds those that were refused.
#[cfg(feature = "http")]
fn requests(context: &StoreState, refusals: &mut Refusals) -> Requests {
    let Some(summary) = context.summary() else {
        return Requests::default();
    };
    for (host, count) in summary.rejected_hosts() {
        refusals.add_connections(host, count);
    }
    Requests {
        summary: Some(summary.to_string()),
        connection_failures: summary.failures().collect(),
        connections: summary.reached.into_iter().map(Into::into).collect(),
        connections_omitted: summary.reached_omitted,
    }
}

#[cfg(not(feature = "http"))]
fn requests(_: &StoreState, _: &mut Refusals) -> Requests {
    Requests::default()
}

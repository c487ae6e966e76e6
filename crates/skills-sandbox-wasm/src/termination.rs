//! Classifies how a run ended: by types, and by messages only if the engine has no type.

use skills_policy::ResourceLimits;
use skills_sandbox::Termination;
use wasmtime::component::ResourceTableError;
use wasmtime::{Error, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::limiter::RejectedGrowth;
use crate::stop_reason::StopReason;
use crate::store_state::StoreState;

/// The maximum number of handles between the parts of a component.
pub(crate) const MAX_COMPONENT_HANDLES: usize = 10_000;

/// The maximum number of function names.
const MAX_FRAMES: usize = 16;

/// Returns how a call of `run` ended.
pub(crate) fn classify(
    result: Result<Result<(), ()>, Error>,
    limits: &ResourceLimits,
    context: &StoreState,
) -> Termination {
    let error = match result {
        Ok(Ok(())) => return Termination::Exited { code: 0 },
        Ok(Err(())) => return Termination::Exited { code: 1 },
        Err(error) => error,
    };
    // Our own error, with which the epoch and the output streams stop a program.
    if let Some(reason) = error.downcast_ref() {
        return stop_termination(*reason, limits);
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return Termination::Exited { code: *code };
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return Termination::HandleLimit {
            limit: context.max_handles as u64,
        };
    }
    if matches!(error.downcast_ref(), Some(Trap::StackOverflow)) {
        return Termination::StackOverflow;
    }
    // The engine's own handle table has no type for this error.
    if error
        .root_cause()
        .to_string()
        .ends_with("store handle limit exceeded")
    {
        return Termination::HandleLimit {
            limit: MAX_COMPONENT_HANDLES as u64,
        };
    }
    // Programs that get no memory abort; those that could not even start were rejected by the
    // engine without a trap. Other traps have other reasons.
    let is_other_trap = error
        .downcast_ref::<Trap>()
        .is_some_and(|trap| *trap != Trap::UnreachableCodeReached);
    match context.limiter.rejected_growth().filter(|_| !is_other_trap) {
        Some(RejectedGrowth::Memory) => Termination::MemoryLimit {
            limit_bytes: limits.memory_bytes,
        },
        Some(RejectedGrowth::Table) => Termination::Trapped {
            reason: "exceeded the limit of table elements".to_owned(),
            frames: Vec::new(),
        },
        None => trap_termination(&error),
    }
}

/// Returns how a stopped run ended.
pub(crate) fn stop_termination(reason: StopReason, limits: &ResourceLimits) -> Termination {
    match reason {
        StopReason::Deadline => Termination::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        StopReason::Cancelled => Termination::Cancelled,
        StopReason::OutputLimit => Termination::OutputLimit {
            limit_bytes: limits.output_limit_bytes,
        },
    }
}

fn trap_termination(error: &Error) -> Termination {
    let reason = error
        .downcast_ref::<Trap>()
        .map_or_else(|| error.root_cause().to_string(), ToString::to_string);
    let frames = error
        .downcast_ref::<WasmBacktrace>()
        .map_or(&[][..], WasmBacktrace::frames);
    let names = frames.iter().filter_map(|frame| frame.func_name());
    // As the author wrote them, without the hash that the compiler adds.
    let names = names.map(|name| format!("{:#}", rustc_demangle::demangle(name)));
    Termination::Trapped {
        reason,
        frames: names.take(MAX_FRAMES).collect(),
    }
}

//! Tells apart how a run ended: by types, and by messages only where the engine has no type.

use skills_policy::Limits;
use skills_sandbox::Ending;
use wasmtime::component::ResourceTableError;
use wasmtime::{Error, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::context::Context;
use crate::limiter::Refused;
use crate::run::MAX_COMPONENT_HANDLES;
use crate::stop::Reason;

/// The most functions that are named.
const MAX_FRAMES: usize = 16;

/// Returns how a call of `run` ended.
pub(crate) fn ending(
    result: Result<Result<(), ()>, Error>,
    limits: &Limits,
    context: &Context,
) -> Ending {
    let error = match result {
        Ok(Ok(())) => return Ending::Exited { code: 0 },
        Ok(Err(())) => return Ending::Exited { code: 1 },
        Err(error) => error,
    };
    if let Some(reason) = error.downcast_ref() {
        return stopped(*reason, limits);
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return Ending::Exited { code: *code };
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return Ending::HandleLimit {
            limit: context.max_handles as u64,
        };
    }
    if matches!(error.downcast_ref(), Some(Trap::StackOverflow)) {
        return Ending::StackOverflow;
    }
    // The engine's own table of handles has no type for this error.
    if error
        .root_cause()
        .to_string()
        .ends_with("store handle limit exceeded")
    {
        return Ending::HandleLimit {
            limit: MAX_COMPONENT_HANDLES as u64,
        };
    }
    // Programs that get no memory abort; those that could not even begin were refused by the
    // engine, which is no trap. Other traps have other reasons.
    let is_other_trap = error
        .downcast_ref::<Trap>()
        .is_some_and(|trap| *trap != Trap::UnreachableCodeReached);
    match context.limiter.refused().filter(|_| !is_other_trap) {
        Some(Refused::Memory) => Ending::MemoryLimit {
            limit_bytes: limits.memory_bytes,
        },
        Some(Refused::Table) => Ending::Trapped {
            reason: "it wanted more table elements than programs may have".to_owned(),
            frames: Vec::new(),
        },
        None => trapped(&error),
    }
}

/// Returns how a run ended that was stopped.
pub(crate) fn stopped(reason: Reason, limits: &Limits) -> Ending {
    match reason {
        Reason::Deadline => Ending::TimedOut {
            limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX),
        },
        Reason::Cancelled => Ending::Cancelled,
        Reason::Flooded => Ending::OutputLimit {
            limit_bytes: limits.flood_bytes,
        },
    }
}

fn trapped(error: &Error) -> Ending {
    let reason = error
        .downcast_ref::<Trap>()
        .map_or_else(|| error.root_cause().to_string(), ToString::to_string);
    let frames = error
        .downcast_ref::<WasmBacktrace>()
        .map_or(&[][..], WasmBacktrace::frames);
    let names = frames.iter().filter_map(|frame| frame.func_name());
    // As the author wrote them, without the hash that the compiler adds.
    let names = names.map(|name| format!("{:#}", rustc_demangle::demangle(name)));
    Ending::Trapped {
        reason,
        frames: names.take(MAX_FRAMES).collect(),
    }
}

//! Tells apart how a run ended, by types and never by messages.

use std::fmt;

use skills_policy::Limits;
use skills_sandbox::Ending;
use wasmtime::{Error, Trap};
use wasmtime_wasi::I32Exit;

use crate::output::Flooded;

/// The reason why a program that ran too long was stopped.
#[derive(Debug)]
pub(crate) struct Deadline;

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline")
    }
}

impl std::error::Error for Deadline {}

/// Returns how a call of `run` ended; `refused_memory` says whether it wanted more memory than it may have.
pub(crate) fn ending(result: Result<Result<(), ()>, Error>, limits: &Limits, refused_memory: bool) -> Ending {
    let error = match result {
        Ok(Ok(())) => return Ending::Exited { code: 0 },
        Ok(Err(())) => return Ending::Exited { code: 1 },
        Err(error) => error,
    };
    if error.is::<Deadline>() {
        return timed_out(limits);
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return Ending::Exited { code: *code };
    }
    if error.is::<Flooded>() {
        return Ending::OutputLimit { limit_bytes: limits.flood_bytes };
    }
    // Programs that get no memory abort, which looks like any other trap.
    if refused_memory {
        return Ending::MemoryLimit { limit_bytes: limits.memory_bytes };
    }
    let reason = error.downcast_ref::<Trap>().map_or_else(|| error.root_cause().to_string(), ToString::to_string);
    Ending::Trapped { reason }
}

pub(crate) fn timed_out(limits: &Limits) -> Ending {
    Ending::TimedOut { limit_ms: limits.wall_time.as_millis().try_into().unwrap_or(u64::MAX) }
}

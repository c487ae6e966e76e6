//! The deadline of a call.

use std::time::{Duration, Instant};

use skills_runtime::policy::ResourceLimits;

/// A deadline for everything that a call does.
pub(crate) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts a deadline that a model chose, so that it raises no limit.
    pub(crate) fn from_secs(seconds: u64) -> Self {
        Self::after(Duration::from_secs(seconds).min(ResourceLimits::MAX_CHOSEN_TIME))
    }

    pub(super) fn after(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
        }
    }

    /// Returns the remaining time in milliseconds, at least 1.
    pub(super) fn remaining_ms(&self) -> u64 {
        let remaining = self.limit.saturating_sub(self.started.elapsed());
        u64::try_from(remaining.as_millis())
            .unwrap_or(u64::MAX)
            // 0 would mean the default timeout of the runtime.
            .max(1)
    }

    /// Returns the timeout in seconds as messages show it: the requested one, or the ceiling of the
    /// policy if that is lower.
    pub(super) fn timeout_seconds(&self, reached_ms: Option<u64>, requested_ms: u64) -> String {
        let limit = match reached_ms {
            Some(reached) if reached < requested_ms => Duration::from_millis(reached),
            _ => self.limit,
        };
        limit.as_secs_f64().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::MAX_TIMEOUT_SECONDS;

    #[test]
    fn a_model_raises_no_deadline() {
        assert!(Deadline::from_secs(60).remaining_ms() <= 60_000);
        assert!(Deadline::from_secs(MAX_TIMEOUT_SECONDS).remaining_ms() <= 600_000);
    }
}

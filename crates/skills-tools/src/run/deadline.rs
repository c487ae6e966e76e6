//! The deadline of a call.

use std::time::{Duration, Instant};

use super::ProgramOptions;
use crate::{ToolError, ToolErrorCode};

/// A deadline for everything that a call does.
pub(crate) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts the deadline that a model chose, in seconds, of at most the
    /// [maximum](ProgramOptions::max_chosen_time).
    pub(crate) fn chosen(seconds: u64, options: &ProgramOptions) -> Self {
        Self::after(Duration::from_secs(seconds).min(options.max_chosen_time()))
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

    /// Fails if no time remains.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.started.elapsed() < self.limit {
            return Ok(());
        }
        let seconds = self.limit.as_secs_f64();
        Err(ToolErrorCode::TimedOut.error(format!("Command timed out after {seconds} seconds")))
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

    #[test]
    fn a_model_raises_no_deadline_beyond_that_of_the_operator() {
        let remaining = |seconds, timeout| {
            let options = ProgramOptions::default().timeout(Duration::from_secs(timeout));
            let deadline = Deadline::chosen(seconds, &options);
            deadline.remaining_ms().div_ceil(1_000)
        };
        assert_eq!(remaining(60, 3_600), 60);
        assert_eq!(remaining(3_600, 10), 600);
        assert_eq!(remaining(3_600, 3_600), 3_600);
        assert_eq!(remaining(u64::MAX, 3_600), 3_600);
    }
}

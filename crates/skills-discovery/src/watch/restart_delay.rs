//! When an event source that was lost is replaced.

use std::time::{Duration, Instant};

/// The delay after the second loss; each further one multiplies it by `FACTOR`.
const FIRST_DELAY: Duration = Duration::from_secs(2);
const FACTOR: u32 = 4;
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);
/// After this time without a loss, the next one counts as the first.
const RESET_AFTER: Duration = Duration::from_secs(15 * 60);

/// How long to wait before an event source is replaced.
///
/// The first one is replaced immediately, since a large change can exceed the queue of the system
/// once. If that repeats, the delays grow, so that a program that changes files constantly, or a
/// tree that is too large, does not cost a processor.
#[derive(Debug, Default)]
pub(super) struct RestartDelay {
    losses: u32,
    last_loss: Option<Instant>,
}

impl RestartDelay {
    /// Records that an event source was lost, and returns how long not to replace it.
    pub(super) fn record_loss(&mut self, now: Instant) -> Duration {
        let is_recent = |last: Instant| now.saturating_duration_since(last) < RESET_AFTER;
        if !self.last_loss.is_some_and(is_recent) {
            self.losses = 0;
        }
        self.losses = self.losses.saturating_add(1);
        self.last_loss = Some(now);
        self.delay()
    }

    /// Returns true if an event source may be started.
    pub(super) fn may_start(&self, now: Instant) -> bool {
        self.last_loss
            .is_none_or(|last| now.saturating_duration_since(last) >= self.delay())
    }

    fn delay(&self) -> Duration {
        match self.losses.checked_sub(2) {
            None => Duration::ZERO,
            Some(repeated) => FACTOR
                .checked_pow(repeated)
                .and_then(|factor| FIRST_DELAY.checked_mul(factor))
                .map_or(MAX_DELAY, |delay| delay.min(MAX_DELAY)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_a_limit_and_end_after_a_quiet_time() {
        let mut delays = RestartDelay::default();
        let mut now = Instant::now();
        assert!(delays.may_start(now));
        let mut seconds = Vec::new();
        for _ in 0..40 {
            let delay = delays.record_loss(now);
            seconds.push(delay.as_secs());
            let almost = delay.saturating_sub(Duration::from_millis(1));
            assert_eq!(delays.may_start(now + almost), delay.is_zero());
            now += delay;
            assert!(delays.may_start(now));
        }
        assert_eq!(seconds[..7], [0, 2, 8, 32, 128, 300, 300]);
        assert!(seconds[7..].iter().all(|delay| *delay == 300));
        assert_eq!(delays.record_loss(now + RESET_AFTER), Duration::ZERO);
    }
}

//! A time that tells changes during a run from earlier ones.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::entry_state::EntryState;

/// The longest wait for the next tick, in milliseconds: a kernel has 100 to 1,000 ticks in a
/// second, and its clock can be two ticks late.
#[cfg(target_os = "linux")]
const MAX_WAIT: u32 = 40;
/// When the timer would fire, in seconds since 1970: never.
#[cfg(target_os = "linux")]
const NEVER: i64 = 1 << 33;

/// Tells whether a file was changed since a time before a run, by its change time alone. This saves
/// the examination of each file before the run.
#[derive(Clone)]
pub(crate) struct ChangeClock {
    /// The change time of a later change is not before this time, in seconds and nanoseconds.
    started_at: (i64, i64),
    timer: Arc<SetTimer>,
}

/// A timer that is canceled when the clock is set or the system was suspended.
struct SetTimer {
    timer: OwnedFd,
    /// Whether it was canceled. The kernel says so once.
    was_canceled: AtomicBool,
}

#[cfg(any(test, target_os = "linux"))]
impl SetTimer {
    fn new(timer: OwnedFd) -> Self {
        Self {
            timer,
            was_canceled: AtomicBool::new(false),
        }
    }
}

impl ChangeClock {
    /// Starts to notice whether the clock is set; `None` if the system cannot.
    #[cfg(target_os = "linux")]
    pub(crate) fn start() -> Option<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags).ok()?;
        let never = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: NEVER,
                tv_nsec: 0,
            },
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, flags, &never).ok()?;
        Some(Self {
            started_at: now(),
            timer: Arc::new(SetTimer::new(timer)),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn start() -> Option<Self> {
        None
    }

    /// Waits until the clock of file systems is later than now, so that what changed until now has
    /// an earlier change time than what changes afterwards.
    ///
    /// Most changes get the time of the last tick, but newer kernels give some the exact time.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_tick(&mut self) {
        let exact = clock_gettime(ClockId::Realtime);
        for _ in 0..MAX_WAIT {
            self.started_at = now();
            if self.started_at > (exact.tv_sec, exact.tv_nsec) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn wait_for_tick(&mut self) {}

    /// Returns true if a state shows that there was no change since the start.
    pub(crate) fn is_earlier(&self, state: &EntryState) -> bool {
        let Some((seconds, nanoseconds)) = state.changed_at() else {
            return false;
        };
        if nanoseconds == 0 {
            // The file system may store whole seconds, so that a later change has an earlier time.
            seconds < self.started_at.0
        } else {
            (seconds, nanoseconds) < self.started_at
        }
    }

    /// Returns true if the clock was set since the start: change times tell nothing then.
    pub(crate) fn was_set(&self) -> bool {
        let SetTimer {
            timer,
            was_canceled,
        } = &*self.timer;
        let result = rustix::io::read(timer, &mut [0; 8]);
        let is_canceled = !matches!(result, Err(rustix::io::Errno::AGAIN));
        was_canceled.fetch_or(is_canceled, Ordering::Relaxed) || is_canceled
    }

    /// Returns a clock with a timer that can be read, as one that was set. Other timers cannot.
    #[cfg(test)]
    pub(crate) fn with_timer(mut self, timer: std::fs::File) -> Self {
        self.timer = Arc::new(SetTimer::new(timer.into()));
        self
    }
}

/// Returns the time that the kernel gives to changes, in seconds and nanoseconds since 1970.
#[cfg(target_os = "linux")]
fn now() -> (i64, i64) {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_next_tick_is_between_a_change_and_a_later_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for text in 0..50 {
            fs::write(&path, text.to_string()).unwrap();
            let mut clock = ChangeClock::start().unwrap();
            clock.wait_for_tick();
            let earlier = EntryState::of_content(&path).unwrap();
            fs::write(&path, text.to_string()).unwrap();
            let later = EntryState::of_content(&path).unwrap();
            assert!(clock.is_earlier(&earlier) && !clock.is_earlier(&later));
            assert!(!clock.was_set());
            let readable = fs::File::open("/dev/zero").unwrap();
            assert!(clock.with_timer(readable).was_set());
        }
    }

    #[test]
    fn a_time_in_whole_seconds_may_be_one_within_that_second() {
        let directory = tempfile::tempdir().unwrap();
        let state = |changed_at| {
            let state = EntryState::of_content(directory.path()).unwrap();
            state.with_change_time(changed_at)
        };
        let mut clock = ChangeClock::start().unwrap();
        clock.started_at = (100, 500);
        for changed_at in [(99, 0), (99, 900), (100, 499)] {
            assert!(clock.is_earlier(&state(changed_at)), "{changed_at:?}");
        }
        for changed_at in [(100, 0), (100, 500), (101, 0), (101, 1)] {
            assert!(!clock.is_earlier(&state(changed_at)), "{changed_at:?}");
        }
    }
}

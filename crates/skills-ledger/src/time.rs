//! Points in time, in milliseconds.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

const MILLIS_PER_DAY: u64 = 24 * 60 * 60 * 1_000;

/// A point in time: milliseconds since the start of 1970 in UTC.
///
/// This crate reads no clock; the caller passes the time of each event and of each summary. Earlier
/// times than 1970 become its start.
///
/// ```
/// use std::time::Duration;
/// use skills_ledger::Timestamp;
///
/// let start = Timestamp::from_millis(1_764_000_000_000);
/// let later = start.plus(Duration::from_secs(36 * 60 * 60));
/// assert_eq!(later.days_since(start), 1.5);
/// assert_eq!(start.days_since(later), 0.0);
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a time from milliseconds since the start of 1970.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// Returns the milliseconds since the start of 1970.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the days since an earlier time, with fractions; 0 if it is not earlier.
    #[must_use]
    pub fn days_since(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / MILLIS_PER_DAY as f64
    }

    /// Returns a later time.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// Returns an earlier time.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// Returns the time in the type of the standard library.
    #[must_use]
    pub fn to_system_time(self) -> SystemTime {
        let since = Duration::from_millis(self.0);
        SystemTime::UNIX_EPOCH
            .checked_add(since)
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(crate) fn whole_days_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / MILLIS_PER_DAY
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Self(millis(since.unwrap_or_default()))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

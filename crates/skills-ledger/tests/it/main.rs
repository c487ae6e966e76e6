//! Tests at the boundary of the crate: events in, files, summaries and verdicts out.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make their own files and fail by panicking"
)]

mod files;
mod properties;
mod recent_uses;
mod verdicts;

use std::time::Duration;

use skills_ledger::{Activity, Digest, Event, Timestamp};

pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time of all summaries.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_764_000_000_000)
}

pub(crate) fn days_ago(days: f64) -> Timestamp {
    now().minus(DAY.mul_f64(days))
}

/// A content digest that differs for each number.
pub(crate) fn digest(number: u8) -> Digest {
    Digest::from_content_digest(&[number; 32])
}

pub(crate) fn event(skill: &str, activity: Activity, days: f64) -> Event<'static> {
    Event::new(skill.to_owned(), "user", activity, days_ago(days)).digest(digest(1))
}

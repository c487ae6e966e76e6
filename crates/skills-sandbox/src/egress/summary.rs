//! What a proxy did, for the report.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::stop::{Limit, Reason};

/// How many hosts each list of a summary has at most.
const MAX_ENTRIES: usize = 16;
/// The longest name of a host, so that no real one is cut.
const MAX_HOST_CHARS: usize = 253;

/// What a proxy did so far. Bounded, however much a program tries.
///
/// Names of hosts come from the program. They are ASCII without control characters and at most 254
/// characters long.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[must_use]
pub struct Summary {
    reached: Vec<Reached>,
    refused: Vec<Refused>,
    limits: Vec<Limited>,
    /// Connections to hosts for which `reached` had no room.
    reached_left_out: u64,
    /// The same of `refused`.
    refused_left_out: u64,
    sent_bytes: u64,
    received_bytes: u64,
}

/// A host that was reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Reached {
    /// Its name.
    pub host: String,
    /// How many connections it had.
    pub count: u64,
}

/// What was asked for and not reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refused {
    /// The host as the program named it; nothing when it did not come to that.
    pub host: Option<String>,
    /// Why.
    pub reason: Reason,
    /// How often.
    pub count: u64,
}

/// A limit that connections came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Limited {
    /// Which one.
    pub limit: Limit,
    /// How many connections did.
    pub count: u64,
}

impl Summary {
    /// Returns the hosts that were reached, in order of their first connection; at most 16.
    #[must_use]
    pub fn reached(&self) -> &[Reached] {
        &self.reached
    }

    /// Returns what was refused, in order of the first time; at most 16.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Returns how many connections to reached hosts, and how many refusals, are not in the lists
    /// since these were full.
    #[must_use]
    pub fn left_out(&self) -> (u64, u64) {
        (self.reached_left_out, self.refused_left_out)
    }

    /// Returns the limits that connections came to, in order of the first time.
    #[must_use]
    pub fn limits(&self) -> &[Limited] {
        &self.limits
    }

    /// Returns how many bytes went out.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Returns how many bytes came in.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    fn reach(&mut self, host: &str) {
        let has_room = self.reached.len() < MAX_ENTRIES;
        match self.reached.iter_mut().find(|entry| entry.host == host) {
            Some(entry) => entry.count += 1,
            None if has_room => self.reached.push(Reached {
                host: host.to_owned(),
                count: 1,
            }),
            None => self.reached_left_out += 1,
        }
    }

    fn refuse(&mut self, host: Option<&str>, reason: Reason) {
        let has_room = self.refused.len() < MAX_ENTRIES;
        match self
            .refused
            .iter_mut()
            .find(|entry| entry.host.as_deref() == host && entry.reason == reason)
        {
            Some(entry) => entry.count += 1,
            None if has_room => self.refused.push(Refused {
                host: host.map(str::to_owned),
                reason,
                count: 1,
            }),
            None => self.refused_left_out += 1,
        }
    }

    fn limit(&mut self, limit: Limit) {
        match self.limits.iter_mut().find(|entry| entry.limit == limit) {
            Some(entry) => entry.count += 1,
            None => self.limits.push(Limited { limit, count: 1 }),
        }
    }
}

impl fmt::Display for Summary {
    /// Writes one line:
    /// `reached a.example (2); refused b.example: the host is not on the list (1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(
            self.reached
                .iter()
                .map(|Reached { host, count }| format!("reached {host} ({count})")),
        );
        parts.extend(
            (self.reached_left_out > 0)
                .then(|| format!("reached others ({})", self.reached_left_out)),
        );
        parts.extend(self.refused.iter().map(
            |Refused {
                 host,
                 reason,
                 count,
             }| match host {
                Some(host) => format!("refused {host}: {reason} ({count})"),
                None => format!("refused a request: {reason} ({count})"),
            },
        ));
        parts.extend(
            (self.refused_left_out > 0)
                .then(|| format!("refused others ({})", self.refused_left_out)),
        );
        parts.extend(
            self.limits
                .iter()
                .map(|Limited { limit, count }| format!("stopped: {limit} ({count})")),
        );
        if parts.is_empty() {
            f.write_str("nothing was asked for")
        } else {
            f.write_str(&parts.join("; "))
        }
    }
}

/// The record of a proxy that is written while it serves; clones are of the same record, which
/// outlives the proxy.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Record>);

#[derive(Debug, Default)]
struct Record {
    summary: Mutex<Summary>,
    sent: AtomicU64,
    received: AtomicU64,
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// To the host.
    Out,
    /// From the host.
    In,
}

impl Log {
    /// Returns what the proxy did so far.
    pub fn summary(&self) -> Summary {
        let mut summary = self
            .0
            .summary
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        summary.sent_bytes = self.0.sent.load(Ordering::Relaxed);
        summary.received_bytes = self.0.received.load(Ordering::Relaxed);
        summary
    }

    pub(super) fn reached(&self, host: &str) {
        self.write(|summary| summary.reach(host));
    }

    /// Records that something was not reached; `host` is what the program called it.
    pub fn refused(&self, host: Option<&[u8]>, reason: Reason) {
        let host = host.map(harmless);
        self.write(|summary| summary.refuse(host.as_deref(), reason));
    }

    /// Records that a connection came to a limit.
    pub fn limited(&self, limit: Limit) {
        self.write(|summary| summary.limit(limit));
    }

    /// Counts bytes before they go; when there would be more than `most` they must not.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::Bytes`] in that case, and counts nothing.
    pub fn spend(&self, way: Way, bytes: usize, most: u64) -> Result<(), Limit> {
        let counter = match way {
            Way::Out => &self.0.sent,
            Way::In => &self.0.received,
        };
        let add = |total: u64| {
            total
                .checked_add(bytes as u64)
                .filter(|total| *total <= most)
        };
        counter
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map(drop)
            .map_err(|_| Limit::Bytes)
    }

    fn write(&self, change: impl FnOnce(&mut Summary)) {
        change(
            &mut self
                .0
                .summary
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

/// Makes text of what a program called a host: it may be shown in a terminal.
fn harmless(host: &[u8]) -> String {
    let mut text: String = host
        .iter()
        .take(MAX_HOST_CHARS)
        .map(|b| {
            if b.is_ascii_graphic() {
                char::from(*b)
            } else {
                '?'
            }
        })
        .collect();
    if host.len() > MAX_HOST_CHARS {
        text.push('~');
    }
    text
}

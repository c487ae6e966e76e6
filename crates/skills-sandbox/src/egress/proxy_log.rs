//! What a proxy did, for the report.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::close_reason::{ExceededLimit, RejectReason};

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
pub struct ProxySummary {
    reached: Vec<ReachedHost>,
    rejected: Vec<RejectedRequest>,
    limit_hits: Vec<LimitHit>,
    /// Connections to hosts for which `reached` had no room.
    reached_omitted: u64,
    /// The same of `refused`.
    rejected_omitted: u64,
    sent_bytes: u64,
    received_bytes: u64,
}

/// A host that was reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ReachedHost {
    /// Its name.
    pub host: String,
    /// How many connections it had.
    pub count: u64,
}

/// What was asked for and not reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RejectedRequest {
    /// The host as the program named it; nothing when it did not come to that.
    pub host: Option<String>,
    /// Why.
    pub reason: RejectReason,
    /// How often.
    pub count: u64,
}

/// A limit that connections came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LimitHit {
    /// Which one.
    pub limit: ExceededLimit,
    /// How many connections did.
    pub count: u64,
}

impl ProxySummary {
    /// Returns the hosts that were reached, in order of their first connection; at most 16.
    #[must_use]
    pub fn reached(&self) -> &[ReachedHost] {
        &self.reached
    }

    /// Returns what was refused, in order of the first time; at most 16.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedRequest] {
        &self.rejected
    }

    /// Returns how many connections to reached hosts, and how many refusals, are not in the lists
    /// since these were full.
    #[must_use]
    pub fn omitted(&self) -> (u64, u64) {
        (self.reached_omitted, self.rejected_omitted)
    }

    /// Returns the limits that connections came to, in order of the first time.
    #[must_use]
    pub fn limit_hits(&self) -> &[LimitHit] {
        &self.limit_hits
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

    fn record_reached(&mut self, host: &str) {
        let has_room = self.reached.len() < MAX_ENTRIES;
        match self.reached.iter_mut().find(|entry| entry.host == host) {
            Some(entry) => entry.count += 1,
            None if has_room => self.reached.push(ReachedHost {
                host: host.to_owned(),
                count: 1,
            }),
            None => self.reached_omitted += 1,
        }
    }

    fn record_rejected(&mut self, host: Option<&str>, reason: RejectReason) {
        let has_room = self.rejected.len() < MAX_ENTRIES;
        match self
            .rejected
            .iter_mut()
            .find(|entry| entry.host.as_deref() == host && entry.reason == reason)
        {
            Some(entry) => entry.count += 1,
            None if has_room => self.rejected.push(RejectedRequest {
                host: host.map(str::to_owned),
                reason,
                count: 1,
            }),
            None => self.rejected_omitted += 1,
        }
    }

    fn record_limit(&mut self, limit: ExceededLimit) {
        match self
            .limit_hits
            .iter_mut()
            .find(|entry| entry.limit == limit)
        {
            Some(entry) => entry.count += 1,
            None => self.limit_hits.push(LimitHit { limit, count: 1 }),
        }
    }
}

impl fmt::Display for ProxySummary {
    /// Writes one line:
    /// `reached a.example (2); refused b.example: the host is not on the list (1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(
            self.reached
                .iter()
                .map(|ReachedHost { host, count }| format!("reached {host} ({count})")),
        );
        parts.extend(
            (self.reached_omitted > 0)
                .then(|| format!("reached others ({})", self.reached_omitted)),
        );
        parts.extend(self.rejected.iter().map(
            |RejectedRequest {
                 host,
                 reason,
                 count,
             }| match host {
                Some(host) => format!("refused {host}: {reason} ({count})"),
                None => format!("refused a request: {reason} ({count})"),
            },
        ));
        parts.extend(
            (self.rejected_omitted > 0)
                .then(|| format!("refused others ({})", self.rejected_omitted)),
        );
        parts.extend(
            self.limit_hits
                .iter()
                .map(|LimitHit { limit, count }| format!("stopped: {limit} ({count})")),
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
pub struct ProxyLog(Arc<LogState>);

#[derive(Debug, Default)]
struct LogState {
    summary: Mutex<ProxySummary>,
    sent: AtomicU64,
    received: AtomicU64,
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy)]
pub enum Direction {
    /// To the host.
    Outbound,
    /// From the host.
    Inbound,
}

impl ProxyLog {
    /// Returns what the proxy did so far.
    pub fn summary(&self) -> ProxySummary {
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

    pub(super) fn record_reached(&self, host: &str) {
        self.update(|summary| summary.record_reached(host));
    }

    /// Records that something was not reached; `host` is what the program called it.
    pub fn record_rejected(&self, host: Option<&[u8]>, reason: RejectReason) {
        let host = host.map(sanitize_host);
        self.update(|summary| summary.record_rejected(host.as_deref(), reason));
    }

    /// Records that a connection came to a limit.
    pub fn record_limit(&self, limit: ExceededLimit) {
        self.update(|summary| summary.record_limit(limit));
    }

    /// Counts bytes before they go; when there would be more than `most` they must not.
    ///
    /// # Errors
    ///
    /// Returns [`ExceededLimit::Bytes`] in that case, and counts nothing.
    pub fn count_bytes(
        &self,
        way: Direction,
        bytes: usize,
        most: u64,
    ) -> Result<(), ExceededLimit> {
        let counter = match way {
            Direction::Outbound => &self.0.sent,
            Direction::Inbound => &self.0.received,
        };
        let add = |total: u64| {
            total
                .checked_add(bytes as u64)
                .filter(|total| *total <= most)
        };
        counter
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map(drop)
            .map_err(|_| ExceededLimit::Bytes)
    }

    fn update(&self, change: impl FnOnce(&mut ProxySummary)) {
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
fn sanitize_host(host: &[u8]) -> String {
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

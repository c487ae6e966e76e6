//! What a proxy did, for the report.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skills_threads::lock;

use crate::close_reason::{CloseReason, ExceededLimit, RejectReason};
use crate::host::{Authority, HTTP_PORT, TLS_PORT};

/// The maximum number of hosts in each list of a summary.
const MAX_ENTRIES: usize = 16;
/// The maximum number of lines about hosts that were not reached, without the one that counts the rest.
const MAX_FAILURES: usize = 4;
/// The maximum length of a host name, so that no valid name is truncated.
const MAX_HOST_CHARS: usize = 253;

/// What a proxy did so far: hosts that it connected to, rejected requests, exceeded limits and byte
/// counts. Its size is bounded, whatever a program does. Lists are in the order of the first
/// occurrence, each entry with its number, and have at most 16 entries.
///
/// Host names come from the program. They are ASCII without control characters and at most 254
/// characters long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ProxySummary {
    /// The hosts that the proxy connected to, with the number of connections.
    pub reached: Vec<(String, u64)>,
    /// The rejected requests.
    pub rejected: Vec<(RejectedRequest, u64)>,
    /// The exceeded limits, with the number of connections.
    pub limit_hits: Vec<(ExceededLimit, u64)>,
    /// Hosts for which resolving the name or connecting took too long.
    timed_out: Vec<(String, u64)>,
    /// Connections to hosts that did not fit into `reached`.
    pub reached_omitted: u64,
    /// Rejections that did not fit into `rejected`.
    pub rejected_omitted: u64,
    /// Number of bytes sent to hosts.
    pub sent_bytes: u64,
    /// Number of bytes received from hosts.
    pub received_bytes: u64,
}

/// A request that the proxy rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedRequest {
    /// The host as the program named it; `None` if the request did not name one.
    pub host: Option<String>,
    /// The reason of the rejection.
    pub reason: RejectReason,
}

impl RejectedRequest {
    /// Returns true if the host is granted and valid, so that something else prevented a connection.
    fn is_failed_connection(&self) -> bool {
        let is_valid = !matches!(
            self.reason,
            RejectReason::InvalidHost | RejectReason::Malformed { .. }
        );
        // Who granted the host without its port, or by a pattern, needs to know why that was not
        // enough.
        let is_unexpected = matches!(
            self.reason,
            RejectReason::PrivateNetwork { .. } | RejectReason::UnnamedBehindProxy
        );
        is_valid && (is_unexpected || !self.is_missing_grant())
    }

    /// Returns the host as the rule that would allow the request names it.
    fn rule_text(&self) -> Option<String> {
        let host = self.host.clone()?;
        Some(match self.reason {
            RejectReason::PrivateNetwork { port } => format!("{host}:{port}"),
            _ => host,
        })
    }

    /// Returns true if a rule for the host and its port would allow the request.
    fn is_missing_grant(&self) -> bool {
        match self.reason {
            RejectReason::NotListed | RejectReason::UnnamedBehindProxy => true,
            // The ports of HTTP and TLS are rejected only for the other protocol.
            RejectReason::PortNotAllowed { port } => !matches!(port, HTTP_PORT | TLS_PORT),
            RejectReason::PrivateNetwork { .. } => true,
            // A name that its owner resolves to this machine does not justify a rule.
            RejectReason::PrivateAddress => self
                .host
                .as_deref()
                .and_then(|host| Authority::parse(host.as_bytes(), None))
                .is_some_and(|authority| authority.host.is_private()),
            _ => false,
        }
    }
}

impl ProxySummary {
    /// Returns the hosts that were rejected because they, their port or their private address are
    /// not granted, as a rule would name them, with the number of requests. `None` stands for a
    /// request that named no host.
    pub fn rejected_hosts(&self) -> impl Iterator<Item = (Option<String>, u64)> {
        self.rejected
            .iter()
            .filter(|(request, _)| request.is_missing_grant())
            .map(|(request, count)| (request.rule_text(), *count))
    }

    /// Describes why granted hosts were not reached, one line for each host and cause, and one for
    /// those after the first four. Without it, a program may report nothing but a failed request.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let rejected = self
            .rejected
            .iter()
            .filter(|(request, _)| request.is_failed_connection());
        let rejected = rejected.filter_map(|(request, count)| {
            let host = request.rule_text()?;
            Some(failure(&host, &request.reason, *count))
        });
        let timed_out = self.timed_out.iter();
        let timed_out =
            timed_out.map(|(host, count)| failure(host, &ExceededLimit::ConnectTimeout, *count));
        let mut lines: Vec<String> = rejected.chain(timed_out).collect();
        // Other notes of a run must not be displaced.
        if let Some(omitted @ 1..) = lines.len().checked_sub(MAX_FAILURES) {
            lines.truncate(MAX_FAILURES);
            lines.push(format!("{omitted} more hosts could not be reached"));
        }
        lines.into_iter()
    }
}

impl fmt::Display for ProxySummary {
    /// Writes one line:
    /// `reached a.example (2); rejected b.example: host is not granted (1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(
            self.reached
                .iter()
                .map(|(host, count)| format!("reached {host} ({count})")),
        );
        parts.extend(
            (self.reached_omitted > 0)
                .then(|| format!("reached others ({})", self.reached_omitted)),
        );
        parts.extend(self.rejected.iter().map(|(request, count)| {
            let reason = request.reason;
            match &request.host {
                Some(host) => format!("rejected {host}: {reason} ({count})"),
                None => format!("rejected a request: {reason} ({count})"),
            }
        }));
        parts.extend(
            (self.rejected_omitted > 0)
                .then(|| format!("rejected others ({})", self.rejected_omitted)),
        );
        parts.extend(
            self.limit_hits
                .iter()
                .map(|(limit, count)| format!("stopped: {limit} ({count})")),
        );
        if parts.is_empty() {
            f.write_str("no requests")
        } else {
            f.write_str(&parts.join("; "))
        }
    }
}

/// The log of a proxy, written while it serves. Clones share it, and it outlives the proxy.
#[derive(Debug, Clone, Default)]
pub struct ProxyLog(Arc<LogState>);

#[derive(Debug, Default)]
struct LogState {
    summary: Mutex<ProxySummary>,
    sent: AtomicU64,
    received: AtomicU64,
}

/// The direction of traffic.
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
        let mut summary = lock(&self.0.summary).clone();
        summary.sent_bytes = self.0.sent.load(Ordering::Relaxed);
        summary.received_bytes = self.0.received.load(Ordering::Relaxed);
        summary
    }

    pub(crate) fn record_reached(&self, host: &str) {
        self.update(|summary| {
            count(
                &mut summary.reached,
                &mut summary.reached_omitted,
                host.to_owned(),
            );
        });
    }

    /// Records why a connection was closed early; `host` is the name that the program used.
    pub fn record_closed(&self, host: Option<&[u8]>, reason: CloseReason) {
        match reason {
            CloseReason::Rejected(reason) => {
                let host = host.map(sanitize_host);
                let request = RejectedRequest { host, reason };
                self.update(|summary| {
                    count(
                        &mut summary.rejected,
                        &mut summary.rejected_omitted,
                        request,
                    );
                });
            }
            CloseReason::LimitExceeded(limit) => {
                self.record_limit(limit);
                if let Some(host) = host.filter(|_| limit == ExceededLimit::ConnectTimeout) {
                    let host = sanitize_host(host);
                    self.update(|summary| count(&mut summary.timed_out, &mut 0, host));
                }
            }
            CloseReason::Disconnected => {}
        }
    }

    /// Records that a connection exceeded a limit.
    pub fn record_limit(&self, limit: ExceededLimit) {
        self.update(|summary| count(&mut summary.limit_hits, &mut 0, limit));
    }

    /// Counts bytes before they are transferred. If the total would exceed `most`, they must not be
    /// transferred.
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
        // Checked and added in one step, since connections count concurrently.
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
        change(&mut lock(&self.0.summary));
    }
}

/// Counts an entry. A program can cause any number of different ones; further ones are only counted
/// together.
fn count<T: PartialEq>(entries: &mut Vec<(T, u64)>, omitted: &mut u64, entry: T) {
    let has_room = entries.len() < MAX_ENTRIES;
    match entries.iter_mut().find(|(known, _)| *known == entry) {
        Some((_, number)) => *number += 1,
        None if has_room => entries.push((entry, 1)),
        None => *omitted += 1,
    }
}

fn failure(host: &str, cause: &dyn fmt::Display, count: u64) -> String {
    match count {
        1 => format!("cannot connect to `{host}`: {cause}"),
        count => format!("cannot connect to `{host}`: {cause} ({count} times)"),
    }
}

/// Converts a host name from the program to text that is safe in a terminal.
fn sanitize_host(host: &[u8]) -> String {
    let mut text: String = host
        .iter()
        .take(MAX_HOST_CHARS)
        .map(|b| {
            // Terminals interpret control characters, and other bytes may not be UTF-8.
            if b.is_ascii_graphic() {
                char::from(*b)
            } else {
                '?'
            }
        })
        .collect();
    // `~` is not valid in a name, so a truncated name does not look like another one.
    if host.len() > MAX_HOST_CHARS {
        text.push('~');
    }
    text
}

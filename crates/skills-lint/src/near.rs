//! Findings of two halves that are near each other: a secret and a request, a download and a start.

use crate::finding::Severity;
use crate::patterns::Signal;
use crate::rule::{DOWNLOAD_AND_RUN, PASSWORD_ARCHIVE, PIPE_TO_SHELL, Rule, SECRET_EXFILTRATION};

/// Where half of a finding is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Half {
    pub(crate) signal: Signal,
    /// The index of the unit.
    pub(crate) unit: usize,
    pub(crate) line: usize,
    /// How much lower the severity is because of what surrounds it.
    pub(crate) steps: usize,
    /// Whether it is in a script or a block of code.
    pub(crate) is_code: bool,
}

/// Two halves of a finding.
struct Pair {
    rule: &'static Rule,
    first: Signal,
    second: Signal,
    /// Maximum number of lines between the halves.
    lines: usize,
    severity: Severity,
    /// Whether only code counts.
    needs_code: bool,
    /// Whether the first half must be before the second.
    is_ordered: bool,
}

const PAIRS: &[Pair] = &[
    Pair {
        rule: &SECRET_EXFILTRATION,
        first: Signal::Secret,
        second: Signal::Send,
        lines: 3,
        severity: Severity::High,
        needs_code: true,
        is_ordered: true,
    },
    Pair {
        rule: &SECRET_EXFILTRATION,
        first: Signal::Secret,
        second: Signal::Send,
        lines: 40,
        severity: Severity::Medium,
        needs_code: true,
        is_ordered: false,
    },
    Pair {
        rule: &DOWNLOAD_AND_RUN,
        first: Signal::Download,
        second: Signal::Start,
        lines: 6,
        severity: Severity::Medium,
        needs_code: false,
        is_ordered: true,
    },
    Pair {
        rule: &PASSWORD_ARCHIVE,
        first: Signal::Archive,
        second: Signal::Password,
        lines: 6,
        severity: Severity::High,
        needs_code: false,
        is_ordered: false,
    },
    Pair {
        rule: &PIPE_TO_SHELL,
        first: Signal::Fetch,
        second: Signal::Evaluate,
        lines: 10,
        severity: Severity::Medium,
        needs_code: true,
        is_ordered: true,
    },
];

/// Returns the first half of the findings of which a signal is the second half.
pub(crate) fn first_of(second: Signal) -> Option<Signal> {
    let pair = PAIRS.iter().find(|pair| pair.second == second);
    pair.map(|pair| pair.first)
}

/// A finding about two halves: the rule, the severity, and the half that is quoted.
pub(crate) struct Found {
    pub(crate) rule: &'static Rule,
    pub(crate) severity: Severity,
    pub(crate) half: Half,
}

/// Returns the pairs among the halves, which are ordered by unit.
pub(crate) fn pairs(halves: &[Half]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for pair in PAIRS {
        let of = |signal: Signal| {
            let halves = halves.iter().filter(move |half| half.signal == signal);
            halves.filter(|half| half.is_code || !pair.needs_code)
        };
        let seconds: Vec<&Half> = of(pair.second).collect();
        for first in of(pair.first) {
            let earliest = if pair.is_ordered {
                first.line
            } else {
                first.line.saturating_sub(pair.lines)
            };
            let index = seconds.partition_point(|second| second.line < earliest);
            let Some(second) = seconds
                .get(index)
                .filter(|second| second.line <= first.line + pair.lines)
            else {
                continue;
            };
            let is_known = found.iter().rev().take(4).any(|known| {
                known.rule == pair.rule
                    && known.half.line == first.line
                    && known.severity >= pair.severity
            });
            if !is_known {
                found.push(Found {
                    rule: pair.rule,
                    severity: pair.severity.lowered(first.steps.min(second.steps)),
                    half: *first,
                });
            }
        }
    }
    found
}

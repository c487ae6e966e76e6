//! Findings of two halves that are near each other: a secret and a request, a download and a start.

use crate::finding::Severity;
use crate::patterns::Signal;
use crate::rule::{
    DECODE_TO_SHELL, DOWNLOAD_AND_RUN, PASSWORD_ARCHIVE, PIPE_TO_SHELL, Rule, SECRET_EXFILTRATION,
};

/// Where half of a finding is.
#[derive(Debug, Clone)]
pub(crate) struct Half {
    pub(crate) signal: Signal,
    /// The index of the unit.
    pub(crate) unit: usize,
    pub(crate) line: usize,
    /// How much lower the severity is because of what surrounds it.
    pub(crate) steps: usize,
    /// Whether it is in a script or a block of code.
    pub(crate) is_code: bool,
    /// The variable or file that connects the halves, which is the same in both.
    pub(crate) name: Option<String>,
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
        rule: &SECRET_EXFILTRATION,
        first: Signal::EnvironmentFile,
        second: Signal::Send,
        lines: 3,
        severity: Severity::High,
        needs_code: true,
        is_ordered: true,
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
    Pair {
        rule: &PIPE_TO_SHELL,
        first: Signal::ShellName,
        second: Signal::PipeToVariable,
        lines: 200,
        severity: Severity::High,
        needs_code: false,
        is_ordered: true,
    },
    Pair {
        rule: &PIPE_TO_SHELL,
        first: Signal::Captured,
        second: Signal::RunVariable,
        lines: 20,
        severity: Severity::High,
        needs_code: false,
        is_ordered: true,
    },
    Pair {
        rule: &DECODE_TO_SHELL,
        first: Signal::Decoded,
        second: Signal::RunVariable,
        lines: 20,
        severity: Severity::High,
        needs_code: false,
        is_ordered: true,
    },
    Pair {
        rule: &DECODE_TO_SHELL,
        first: Signal::DecodedFile,
        second: Signal::RunFile,
        lines: 20,
        severity: Severity::High,
        needs_code: false,
        is_ordered: true,
    },
];

/// Maximum number of second halves that are compared with a first one.
const MAX_SECONDS: usize = 32;

/// Returns true if a signal is the second half of a finding.
pub(crate) fn is_second(signal: Signal) -> bool {
    PAIRS.iter().any(|pair| pair.second == signal)
}

/// Returns true if two signals are the halves of a finding.
pub(crate) fn is_pair(first: Signal, second: Signal) -> bool {
    let mut pairs = PAIRS.iter();
    pairs.any(|pair| pair.first == first && pair.second == second)
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
            let near = seconds[index..].iter().take(MAX_SECONDS);
            let mut near = near.take_while(|second| second.line <= first.line + pair.lines);
            let Some(second) = near.find(|second| second.name == first.name) else {
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
                    half: first.clone(),
                });
            }
        }
    }
    found
}

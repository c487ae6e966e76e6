//! The kinds of patterns.

use crate::context::Excuse;
use crate::finding::Severity::{self, High};
use crate::patterns::{Effect, Scope, Signal, Source};
use crate::rule::Rule;

/// Returns a pattern of logical lines.
pub(super) const fn line(
    rule: &'static Rule,
    severity: Severity,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        scope: Scope::Lines,
        effect: Effect::Finding(rule, severity),
        triggers,
        regex,
        excuse: Excuse::Prohibition,
    }
}

/// Returns a pattern of logical lines with commands that give control of the machine.
pub(super) const fn control(
    rule: &'static Rule,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        excuse: Excuse::WeakProhibition,
        ..line(rule, High, triggers, regex)
    }
}

/// Returns a pattern of paragraphs.
pub(super) const fn prose(
    rule: &'static Rule,
    severity: Severity,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        scope: Scope::Prose,
        excuse: Excuse::Words,
        ..line(rule, severity, triggers, regex)
    }
}

/// Returns a pattern of paragraphs that tell how to give control of the machine, which no words
/// around excuse.
pub(super) const fn instruction(
    rule: &'static Rule,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        excuse: Excuse::WeakProhibition,
        ..prose(rule, High, triggers, regex)
    }
}

/// Returns a pattern of paragraphs that texts about attacks quote.
pub(super) const fn quotable(
    rule: &'static Rule,
    severity: Severity,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        excuse: Excuse::Mention,
        ..prose(rule, severity, triggers, regex)
    }
}

/// Returns a pattern of paragraphs that is about a prohibition itself.
pub(super) const fn prohibition(
    rule: &'static Rule,
    severity: Severity,
    triggers: &'static str,
    regex: &'static str,
) -> Source {
    Source {
        excuse: Excuse::WordsOnly,
        ..prose(rule, severity, triggers, regex)
    }
}

/// Returns a pattern of logical lines that is half of a finding.
pub(super) const fn signal(signal: Signal, triggers: &'static str, regex: &'static str) -> Source {
    Source {
        scope: Scope::Lines,
        effect: Effect::Signal(signal),
        triggers,
        regex,
        excuse: Excuse::Prohibition,
    }
}

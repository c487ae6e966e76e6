//! The patterns of all rules.

mod agent;
mod download;
mod secret;
mod system;

use crate::context::Excuse;
use crate::finding::Severity::{self, High, Low, Medium};
use crate::patterns::{Effect, Scope, Signal, Source};
use crate::rule::Rule;

/// Returns the patterns of all rules.
pub(crate) fn sources() -> impl Iterator<Item = &'static Source> {
    [
        download::SOURCES,
        secret::SOURCES,
        agent::SOURCES,
        system::SOURCES,
    ]
    .into_iter()
    .flatten()
}

/// Returns a pattern of logical lines.
const fn line(
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
const fn control(rule: &'static Rule, triggers: &'static str, regex: &'static str) -> Source {
    Source {
        excuse: Excuse::WeakProhibition,
        ..line(rule, High, triggers, regex)
    }
}

/// Returns a pattern of paragraphs.
const fn prose(
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
const fn instruction(rule: &'static Rule, triggers: &'static str, regex: &'static str) -> Source {
    Source {
        excuse: Excuse::WeakProhibition,
        ..prose(rule, High, triggers, regex)
    }
}

/// Returns a pattern of paragraphs that texts about attacks quote.
const fn quotable(
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
const fn prohibition(
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
const fn signal(signal: Signal, triggers: &'static str, regex: &'static str) -> Source {
    Source {
        scope: Scope::Lines,
        effect: Effect::Signal(signal),
        triggers,
        regex,
        excuse: Excuse::Prohibition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{compile, expand};

    #[test]
    fn all_patterns_compile_and_have_triggers() {
        for source in sources() {
            assert!(compile(&expand(source.regex)).is_some(), "{source:?}");
            assert!(
                source.triggers.split('|').all(|word| word.len() >= 2),
                "{source:?}"
            );
            assert!(
                !source.triggers.chars().any(char::is_uppercase) || source.triggers.contains('{')
            );
        }
    }
}

//! What a rule found.

use std::fmt;
use std::str::FromStr;

use crate::rule::Rule;

/// Maximum number of characters of a quote.
const MAX_QUOTE_CHARS: usize = 160;

/// How likely a finding is an attack, and how much it could do. Ordered from low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Common in honest skills, worth to know.
    Low,
    /// To be read by a person before the skill is used.
    Medium,
    /// What attackers write, and honest authors hardly ever.
    High,
}

impl Severity {
    /// All severities, from low to high.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Returns the name: `low`, `medium` or `high`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the severity that is lower by some steps. One step makes only a high one lower: an
    /// attacker can imitate one sign of harmlessness, and must not get below medium by it.
    pub(crate) fn lowered(self, steps: usize) -> Self {
        match (self, steps) {
            (severity, 0) => severity,
            (Self::High, 1) => Self::Medium,
            (severity, 1) => severity,
            _ => Self::Low,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the name of a severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownSeverity;

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|severity| severity.as_str() == text)
            .ok_or(UnknownSeverity)
    }
}

/// A passage of a skill that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    rule: &'static Rule,
    severity: Severity,
    path: String,
    line: usize,
    quote: String,
    note: &'static str,
}

impl Finding {
    pub(crate) fn new(
        rule: &'static Rule,
        severity: Severity,
        path: &str,
        line: usize,
        quote: &str,
    ) -> Self {
        Self {
            rule,
            severity,
            path: path.to_owned(),
            line,
            quote: bounded(quote),
            note: "",
        }
    }

    /// Adds why the severity is not the usual one.
    pub(crate) fn with_note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Returns the name of the rule, such as `pipe-to-shell`.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.rule.name()
    }

    /// Returns the severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Returns the path of the file, as the caller gave it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the line in the file, from 1. A finding about a whole file has line 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns what was found, at most 160 characters. Text of the skill: escape it for display.
    #[must_use]
    pub fn quote(&self) -> &str {
        &self.quote
    }

    /// Returns why it matters, as one sentence without a full stop.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.rule.reason()
    }

    /// Returns what to do, as one sentence without a full stop.
    #[must_use]
    pub fn action(&self) -> &'static str {
        self.rule.action()
    }

    /// Returns why the severity is lower than the usual one of the rule, if it is.
    #[must_use]
    pub fn note(&self) -> Option<&'static str> {
        (!self.note.is_empty()).then_some(self.note)
    }
}

/// Shortens a quote, and makes it one line.
fn bounded(quote: &str) -> String {
    let one_line = |c: char| if c == '\n' || c == '\r' { ' ' } else { c };
    let mut chars = quote.trim().chars();
    let mut short: String = chars.by_ref().take(MAX_QUOTE_CHARS).map(one_line).collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_bounded_on_characters() {
        assert_eq!(bounded(" a\nb "), "a b");
        let long = bounded(&"界".repeat(1000));
        assert_eq!(long.chars().count(), MAX_QUOTE_CHARS);
        assert!(long.ends_with('…'));
    }
}

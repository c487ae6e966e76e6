//! What becomes of one thing that was asked for, and why.

use std::fmt;

use crate::{Answer, Layer, Permission};

/// What becomes of one thing that was asked for, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Verdict {
    pub(crate) permission: Permission,
    pub(crate) asked_by: Vec<String>,
    pub(crate) fate: Fate,
    pub(crate) reason: Reason,
    /// The rule that wants it asked, and whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wants_asked: Option<(Layer, String)>,
}

/// What becomes of one thing that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It may be had.
    Granted,
    /// It may not.
    Denied,
    /// Somebody has to be asked.
    Open,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// A rule says so.
    Rule {
        /// Whose it is.
        layer: Layer,
        /// The rule: `allow spawn:git (user, policy.toml)`.
        text: String,
    },
    /// No rule says anything.
    NoRule,
    /// The skill declares it, and declared is enough in [trusted mode](crate::Mode::Trusted).
    Trusted,
    /// The caller of this run gives it by itself.
    Caller,
    /// It was approved before, for this content.
    Approved,
    /// Somebody was asked.
    Answered {
        /// What the answer was.
        answer: Answer,
        /// Why an answer that should last could not be stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_stored: Option<String>,
    },
    /// It had to be asked for, and in [strict mode](crate::Mode::Strict) nobody is asked.
    Strict,
    /// It had to be asked for, and nobody was there to ask.
    NobodyAsked,
    /// It had to be asked for, and there was no answer.
    NoAnswer,
    /// It had to be asked for, and asking failed.
    AskingFailed {
        /// What happened.
        error: String,
    },
    /// It asks for more things than anybody looks at.
    TooMany {
        /// How many.
        things: usize,
    },
    /// Nobody was asked, since something else is denied anyway.
    Moot,
    /// It is never granted, whatever rules say.
    Never {
        /// Why not.
        because: &'static str,
    },
}

impl Verdict {
    /// Returns what was asked for.
    #[must_use]
    pub fn permission(&self) -> &Permission {
        &self.permission
    }

    /// Returns who asked for it: entries of `allowed-tools`, `the caller`, `its requirements`.
    #[must_use]
    pub fn asked_by(&self) -> &[String] {
        &self.asked_by
    }

    /// Returns what became of it.
    #[must_use]
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Returns why.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns whose rule wants it asked, and the rule, when one does.
    #[must_use]
    pub fn wants_asked(&self) -> Option<(Layer, &str)> {
        self.wants_asked.as_ref().map(|(layer, text)| (*layer, text.as_str()))
    }

    /// Returns the reason as a sentence, with the rule that wanted it asked, or that there is none.
    #[must_use]
    pub fn because(&self) -> String {
        match (&self.wants_asked, &self.reason) {
            (_, Reason::Rule { .. } | Reason::NoRule | Reason::Trusted | Reason::Caller | Reason::Never { .. }) => self.reason.to_string(),
            (Some((_, rule)), reason) => format!("the rule `{rule}` wants it asked, and {reason}"),
            (None, Reason::NobodyAsked | Reason::Strict) => format!("no rule allows it, and {}", self.reason),
            (None, reason) => reason.to_string(),
        }
    }

    /// Returns who asked for it as text, the first of many.
    #[must_use]
    pub fn asked(&self) -> String {
        const MAX_SHOWN: usize = 3;
        let more = self.asked_by.len().saturating_sub(MAX_SHOWN);
        let shown = self.asked_by.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if more == 0 { shown } else { format!("{shown} and {more} more") }
    }

    pub(crate) fn settle(&mut self, fate: Fate, reason: Reason) {
        (self.fate, self.reason) = (fate, reason);
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.fate {
            Fate::Granted => "granted",
            Fate::Denied => "denied",
            Fate::Open => "open",
        };
        // What a skill wrote stands last, where it cannot be taken for the verdict.
        write!(f, "{fate}, {}: {} (asked by {})", self.because(), self.permission, self.asked())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { text, .. } => write!(f, "by the rule `{text}`"),
            Self::NoRule => f.write_str("no rule allows it"),
            Self::Trusted => f.write_str("it is declared, and what is declared is trusted"),
            Self::Caller => f.write_str("the caller gives it"),
            Self::Approved => f.write_str("it was approved for this content"),
            Self::Answered { answer, not_stored: None } => write!(f, "the answer was `{answer}`"),
            Self::Answered { answer, not_stored: Some(error) } => {
                write!(f, "the answer was `{answer}`, which could not be stored: {error}")
            }
            Self::Strict => f.write_str("nobody is asked in strict mode"),
            Self::NobodyAsked => f.write_str("there was nobody to ask"),
            Self::NoAnswer => f.write_str("whoever was asked gave no answer"),
            Self::AskingFailed { error } => write!(f, "asking failed: {error}"),
            Self::TooMany { things } => write!(f, "nobody was asked, since it asks for {things} things, more than anybody looks at"),
            Self::Moot => f.write_str("nobody was asked, since something else is denied"),
            Self::Never { because } => f.write_str(because),
        }
    }
}

//! What becomes of one thing that was asked for, and why.

use std::fmt;

use crate::{ApprovalResponse, Permission, RuleSource};

/// What becomes of one thing that was asked for, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PermissionDecision {
    pub(crate) permission: Permission,
    pub(crate) requested_by: Vec<String>,
    pub(crate) decision: Decision,
    pub(crate) reason: DecisionReason,
    /// The rule that wants it asked, and whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask_rule: Option<(RuleSource, String)>,
}

/// What becomes of one thing that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may be had.
    Allow,
    /// It may not.
    Deny,
    /// Somebody has to be asked.
    Ask,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DecisionReason {
    /// A rule says so.
    Rule {
        /// Whose it is.
        source: RuleSource,
        /// The rule: `allow spawn:git (user, policy.toml)`.
        text: String,
    },
    /// No rule says anything.
    NoMatchingRule,
    /// The skill declares it, and declared is enough in [trusted
    /// mode](crate::ApprovalMode::Trusted).
    TrustedMode,
    /// The caller of this run gives it by itself.
    ProvidedByCaller,
    /// It was approved before, for this content.
    PreviouslyApproved,
    /// Somebody was asked.
    ApproverResponded {
        /// What the answer was.
        response: ApprovalResponse,
        /// Why an answer that should last could not be stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        store_error: Option<String>,
    },
    /// It had to be asked for, and in [strict mode](crate::ApprovalMode::Strict) nobody is asked.
    StrictMode,
    /// It had to be asked for, and nobody was there to ask.
    NoApprover,
    /// It had to be asked for, and there was no answer.
    NoResponse,
    /// It had to be asked for, and asking failed.
    ApproverFailed {
        /// What happened.
        error: String,
    },
    /// It asks for more things than anybody looks at.
    TooManyPermissions {
        /// How many.
        count: usize,
    },
    /// Nobody was asked, since something else is denied anyway.
    OtherDenied,
    /// It is never granted, whatever rules say.
    Forbidden {
        /// Why not.
        reason: &'static str,
    },
}

impl PermissionDecision {
    /// Returns what was asked for.
    #[must_use]
    pub fn permission(&self) -> &Permission {
        &self.permission
    }

    /// Returns who asked for it: entries of `allowed-tools`, `the caller`, `its requirements`.
    #[must_use]
    pub fn requested_by(&self) -> &[String] {
        &self.requested_by
    }

    /// Returns what became of it.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Returns why.
    #[must_use]
    pub fn reason(&self) -> &DecisionReason {
        &self.reason
    }

    /// Returns whose rule wants it asked, and the rule, when one does.
    #[must_use]
    pub fn ask_rule(&self) -> Option<(RuleSource, &str)> {
        self.ask_rule
            .as_ref()
            .map(|(layer, text)| (*layer, text.as_str()))
    }

    /// Returns the reason as a sentence, with the rule that wanted it asked, or that there is none.
    #[must_use]
    pub fn explanation(&self) -> String {
        match (&self.ask_rule, &self.reason) {
            (
                _,
                DecisionReason::Rule { .. }
                | DecisionReason::NoMatchingRule
                | DecisionReason::TrustedMode
                | DecisionReason::ProvidedByCaller
                | DecisionReason::Forbidden { .. },
            ) => self.reason.to_string(),
            (Some((_, rule)), reason) => format!("the rule `{rule}` wants it asked, and {reason}"),
            (None, DecisionReason::NoApprover | DecisionReason::StrictMode) => {
                format!("no rule allows it, and {}", self.reason)
            }
            (None, reason) => reason.to_string(),
        }
    }

    /// Returns who asked for it as text, the first of many.
    #[must_use]
    pub fn requesters(&self) -> String {
        const MAX_SHOWN: usize = 3;
        let more = self.requested_by.len().saturating_sub(MAX_SHOWN);
        let shown = self
            .requested_by
            .iter()
            .take(MAX_SHOWN)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        if more == 0 {
            shown
        } else {
            format!("{shown} and {more} more")
        }
    }

    pub(crate) fn resolve(&mut self, fate: Decision, reason: DecisionReason) {
        (self.decision, self.reason) = (fate, reason);
    }
}

impl fmt::Display for PermissionDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.decision {
            Decision::Allow => "granted",
            Decision::Deny => "denied",
            Decision::Ask => "open",
        };
        // What a skill wrote stands last, where it cannot be taken for the verdict.
        write!(
            f,
            "{fate}, {}: {} (asked by {})",
            self.explanation(),
            self.permission,
            self.requesters()
        )
    }
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { text, .. } => write!(f, "by the rule `{text}`"),
            Self::NoMatchingRule => f.write_str("no rule allows it"),
            Self::TrustedMode => f.write_str("it is declared, and what is declared is trusted"),
            Self::ProvidedByCaller => f.write_str("the caller gives it"),
            Self::PreviouslyApproved => f.write_str("it was approved for this content"),
            Self::ApproverResponded {
                response: answer,
                store_error: None,
            } => write!(f, "the answer was `{answer}`"),
            Self::ApproverResponded {
                response: answer,
                store_error: Some(error),
            } => {
                write!(
                    f,
                    "the answer was `{answer}`, which could not be stored: {error}"
                )
            }
            Self::StrictMode => f.write_str("nobody is asked in strict mode"),
            Self::NoApprover => f.write_str("there was nobody to ask"),
            Self::NoResponse => f.write_str("whoever was asked gave no answer"),
            Self::ApproverFailed { error } => write!(f, "asking failed: {error}"),
            Self::TooManyPermissions { count: things } => write!(
                f,
                "nobody was asked, since it asks for {things} things, more than anybody looks at"
            ),
            Self::OtherDenied => f.write_str("nobody was asked, since something else is denied"),
            Self::Forbidden { reason: because } => f.write_str(because),
        }
    }
}

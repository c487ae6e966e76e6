//! The decision on one requested permission.

use std::fmt;
use std::path::Path;

use crate::permission::quoted;
use crate::requester::{CALLER_NAME, IMPORT_NAME, ROLES};
use crate::{Answer, Permission, RuleSource};

/// Maximum permissions in one question; larger requests are denied. An approver does not
/// read longer lists, and a dangerous permission could hide in one.
pub(crate) const MAX_PENDING: usize = 64;

/// The decision on one requested permission, with the rule or answer that made it.
///
/// [`Display`](fmt::Display) writes one line for audit records and reports, for example ``granted
/// by rule `allow spawn:git (user)`: spawn `git` (requested by `Bash(git:*)`)``.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PermissionDecision {
    pub(crate) permission: Permission,
    pub(crate) requested_by: Vec<String>,
    pub(crate) decision: Decision,
    pub(crate) reason: DecisionReason,
    /// The `ask` rule that matched, with its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask_rule: Option<(RuleSource, String)>,
}

/// The outcome for one permission, without its reason.
///
/// Serialized as one lowercase word. One `Deny` denies the whole request; `Ask` remains only until
/// an approver responded or is known to be unavailable; `Omit` grants nothing and denies nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The permission is granted.
    Allow,
    /// The permission is denied.
    Deny,
    /// Only the skill asks for it, nothing allows it, and the run goes on
    /// [without it](crate::Request::omit_ungranted).
    Omit,
    /// An approver has to decide. Only in a [`Question`](crate::Question); an
    /// [`Authorization`](crate::Authorization) contains none.
    Ask,
}

/// Why a permission was allowed or denied, or why it needs approval.
///
/// Match on it to react to a denial: some reasons are final for this policy (`Rule`, `Forbidden`),
/// others can change with an approver or a stored approval. Its [`Display`](fmt::Display) is a
/// clause; [`PermissionDecision::explanation`] returns the whole sentence.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DecisionReason {
    /// A rule decided.
    Rule {
        /// The source of the rule.
        source: RuleSource,
        /// The rule as displayed: `allow spawn:git (user, policy.toml)`.
        text: String,
    },
    /// No rule matches.
    NoMatchingRule,
    /// The skill declares it, which is sufficient in [trusted mode](crate::ApprovalMode::Trusted).
    TrustedMode,
    /// The caller provides the value for this run.
    ProvidedByCaller,
    /// The caller's command is a program that only reads files and prints text, such as `ls` and
    /// `grep`.
    ReadingProgram,
    /// It was approved before, for this content.
    PreviouslyApproved,
    /// An approver responded.
    ApproverResponded {
        /// The response.
        response: Answer,
        /// Why a response that should last could not be stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        store_error: Option<String>,
    },
    /// It needs approval, and [strict mode](crate::ApprovalMode::Strict) requests none.
    StrictMode,
    /// It needs approval, and no approver is configured.
    NoApprover,
    /// It needs approval, and the approver did not respond.
    NoResponse,
    /// It needs approval, and the approver returned an error or panicked.
    ApproverFailed {
        /// The error.
        error: String,
    },
    /// More permissions need approval than one request may contain.
    TooManyPermissions {
        /// How many need approval.
        count: usize,
    },
    /// Approval was not requested, because another permission of the same request is denied.
    OtherDenied,
    /// It is never granted, whatever the rules say.
    Forbidden {
        /// Why not.
        reason: &'static str,
    },
}

/// What a writable path stands for that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPath {
    /// A file.
    File,
    /// A directory.
    Directory,
}

impl DecisionReason {
    /// Returns true if an approver was asked, also if there is no answer. An approver that failed,
    /// such as a client that cannot ask its user, was not asked.
    pub(crate) fn is_of_approver(&self) -> bool {
        matches!(self, Self::ApproverResponded { .. } | Self::NoResponse)
    }

    /// Returns true if an approver allowed any program.
    pub(crate) fn is_for_all_programs(&self) -> bool {
        let answer = Answer::AllowAllPrograms;
        matches!(self, Self::ApproverResponded { response, .. } if *response == answer)
    }
}

impl PermissionDecision {
    /// Returns the requested permission.
    #[must_use]
    pub fn permission(&self) -> &Permission {
        &self.permission
    }

    /// Returns who requested it: entries of `allowed-tools`, `the caller`, `its hooks`, `its
    /// requirements`, `the policy`, `its last attempt` or `an import of its script`. The entries are text of the skill, truncated to 60
    /// characters.
    #[must_use]
    pub fn requested_by(&self) -> &[String] {
        &self.requested_by
    }

    /// Returns true if the caller of the run is among the requesters.
    #[must_use]
    pub fn is_of_caller(&self) -> bool {
        self.requested_by.iter().any(|name| name == CALLER_NAME)
    }

    /// Returns true for a package that the skill imports and [does not
    /// declare](crate::Request::undeclared_package).
    #[must_use]
    pub fn is_undeclared_package(&self) -> bool {
        self.requested_by.iter().any(|name| name == IMPORT_NAME)
    }

    /// Returns the decision.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Returns the reason of the decision.
    #[must_use]
    pub fn reason(&self) -> &DecisionReason {
        &self.reason
    }

    /// Returns what the writable path stands for if it does not exist: a file, if the caller or a rule
    /// of the invocation names it, and a directory, if an entry of `allowed-tools` does or the path
    /// ends with a slash. `None` for other permissions, and for paths that only standing rules name.
    #[must_use]
    pub fn missing_path(&self) -> Option<(&Path, MissingPath)> {
        let (Permission::Write(path) | Permission::WriteProtected { path, .. }) = &self.permission
        else {
            return None;
        };
        let is_declared = |name: &String| !ROLES.contains(&name.as_str());
        let is_invocation = matches!(
            self.reason,
            DecisionReason::Rule {
                source: RuleSource::Invocation,
                ..
            }
        );
        let is_caller = self.is_of_caller();
        let kind = if self.requested_by.iter().any(is_declared) {
            MissingPath::Directory
        } else if !is_caller && !is_invocation {
            return None;
        } else if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            MissingPath::Directory
        } else {
            MissingPath::File
        };
        Some((path, kind))
    }

    /// Returns the `ask` rule that matched, if any, with its source.
    #[must_use]
    pub fn ask_rule(&self) -> Option<(RuleSource, &str)> {
        self.ask_rule
            .as_ref()
            .map(|(source, text)| (*source, text.as_str()))
    }

    /// Returns true if the policy denies it and neither an approval nor a further rule changes that.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.decision == Decision::Deny
            && matches!(
                self.reason,
                DecisionReason::Rule { .. }
                    | DecisionReason::Forbidden { .. }
                    | DecisionReason::TooManyPermissions { .. }
            )
    }

    /// Returns true if a rule of the user could allow it: it is not final, and no `ask` rule of the
    /// administrator matches, which a user cannot override.
    #[must_use]
    pub fn is_allowable(&self) -> bool {
        !self.is_final() && !matches!(self.ask_rule, Some((RuleSource::Admin, _)))
    }

    /// Returns the reason as a sentence, with the `ask` rule that matched or the note that no rule
    /// allows the permission: `no rule allows it and no approver is available`.
    #[must_use]
    pub fn explanation(&self) -> String {
        match (&self.ask_rule, &self.reason) {
            // The effect is part of `text`, but a reader of a log looks for these words.
            (_, DecisionReason::Rule { text, .. }) => match self.decision {
                Decision::Allow => format!("granted by rule `{text}`"),
                Decision::Deny => format!("denied by rule `{text}`"),
                Decision::Omit => format!("omitted by rule `{text}`"),
                Decision::Ask => format!("rule `{text}` requires approval"),
            },
            (
                _,
                DecisionReason::NoMatchingRule
                | DecisionReason::TrustedMode
                | DecisionReason::ReadingProgram
                | DecisionReason::ProvidedByCaller
                | DecisionReason::Forbidden { .. },
            ) => self.reason.to_string(),
            (Some((_, rule)), reason) => format!("rule `{rule}` requires approval and {reason}"),
            // A missing approver alone would not tell the user that a rule is the other remedy.
            (None, DecisionReason::NoApprover | DecisionReason::StrictMode) => {
                format!("no rule allows it and {}", self.reason)
            }
            (None, reason) => reason.to_string(),
        }
    }

    /// Returns who requested it as text, at most three; entries of `allowed-tools` are in
    /// backquotes.
    #[must_use]
    pub fn requesters(&self) -> String {
        const MAX_SHOWN: usize = 3;
        // A tool cannot have the name of a role: only tools with a capability request something.
        let quoted = |requester: &String| {
            if ROLES.contains(&requester.as_str()) {
                requester.clone()
            } else {
                quoted(requester)
            }
        };
        let shown: Vec<String> = self
            .requested_by
            .iter()
            .take(MAX_SHOWN)
            .map(quoted)
            .collect();
        let shown = shown.join(", ");
        match self.requested_by.len().saturating_sub(MAX_SHOWN) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }

    pub(crate) fn resolve(&mut self, decision: Decision, reason: DecisionReason) {
        self.decision = decision;
        self.reason = reason;
    }
}

impl fmt::Display for PermissionDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.decision {
            Decision::Allow => "granted",
            Decision::Deny => "denied",
            Decision::Omit => "omitted",
            Decision::Ask => "needs approval",
        };
        let explanation = self.explanation();
        // The explanation of a rule begins with the same word.
        let prefix = if explanation.starts_with(word) {
            String::new()
        } else {
            format!("{word}, ")
        };
        // Text of the skill comes last, where it cannot be mistaken for the decision.
        write!(
            f,
            "{prefix}{explanation}: {} (requested by {})",
            self.permission,
            self.requesters()
        )
    }
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { text, .. } => write!(f, "by rule `{text}`"),
            Self::NoMatchingRule => f.write_str("no rule allows it"),
            Self::TrustedMode => f.write_str("the skill declares it and the mode is `trusted`"),
            Self::ReadingProgram => f.write_str("the program only reads"),
            Self::ProvidedByCaller => f.write_str("the caller provides it"),
            Self::PreviouslyApproved => f.write_str("it was approved before for this content"),
            Self::ApproverResponded {
                response,
                store_error: None,
            } => write!(f, "the approver responded `{response}`"),
            Self::ApproverResponded {
                response,
                store_error: Some(error),
            } => write!(
                f,
                "the approver responded `{response}`, which could not be stored: {error}"
            ),
            Self::StrictMode => f.write_str("strict mode requests no approval"),
            Self::NoApprover => f.write_str("no approver is available"),
            Self::NoResponse => f.write_str("the approver did not respond"),
            Self::ApproverFailed { error } => write!(f, "the approver failed: {error}"),
            Self::TooManyPermissions { count } => write!(
                f,
                "approval was not requested because {count} permissions need it, limit {}",
                MAX_PENDING
            ),
            Self::OtherDenied => {
                f.write_str("approval was not requested because another permission is denied")
            }
            Self::Forbidden { reason } => f.write_str(reason),
        }
    }
}

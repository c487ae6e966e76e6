//! Skills that were found but are not in use.

use std::path::PathBuf;

use crate::{ConfigRule, ContentDigest, Entry, LockDifference, LockError, Scope};

/// A skill that was found but is not in use, with the reason.
///
/// An inactive skill is not listed to a model, cannot be selected by name or path, and nothing of
/// it runs. It hides no active skill and does not make an active name ambiguous, so that an
/// untrusted project cannot disable skills of the user.
#[derive(Debug, Clone)]
pub struct InactiveEntry {
    pub(crate) entry: Entry,
    pub(crate) reason: InactiveReason,
}

/// The reason why a skill is inactive.
///
/// If several apply, one is reported: trust is checked first, then the lock file, then
/// the product, then the rules, and
/// precedence last, among the skills that are left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InactiveReason {
    /// Its root is not trusted.
    #[error("its root is not trusted")]
    Untrusted,
    /// It is not the skill that a lock file requires.
    #[error("changed: {difference} (locked {locked})")]
    Changed {
        /// The digest in the lock file.
        locked: ContentDigest,
        /// How the skill differs.
        difference: LockDifference,
    },
    /// The lock file beside it cannot be read, so its content cannot be checked.
    #[error("cannot check its content: {}: {error}", path.display())]
    LockUnreadable {
        /// The path of the lock file.
        path: PathBuf,
        /// What is wrong with it.
        error: LockError,
    },
    /// A rule of the configuration disables it.
    #[error("disabled by rule `{rule}`")]
    Disabled {
        /// The last rule that matches it.
        rule: ConfigRule,
    },
    /// Its `agents/openai.yaml` restricts it to other products.
    #[error("only for {}", products.join(", "))]
    OtherProduct {
        /// The products that it is restricted to.
        products: Vec<String>,
    },
    /// A skill of the same name, in a root of higher precedence, hides it.
    #[error("hidden by the skill of the same name in {}", winner.display())]
    Shadowed {
        /// The directory of the skill that is in use.
        winner: PathBuf,
    },
}

impl InactiveEntry {
    /// Returns the skill.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns why the skill is inactive.
    #[must_use]
    pub fn reason(&self) -> &InactiveReason {
        &self.reason
    }

    /// Returns true if the skill is active once its project is trusted.
    #[must_use]
    pub fn is_of_untrusted_project(&self) -> bool {
        self.reason == InactiveReason::Untrusted && self.entry.scope() == Scope::Repo
    }
}

impl InactiveReason {
    /// Returns the stable code of the reason, as in JSON output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Changed { .. } => "changed",
            Self::LockUnreadable { .. } => "lock-unreadable",
            Self::Disabled { .. } => "disabled",
            Self::OtherProduct { .. } => "other-product",
            Self::Shadowed { .. } => "shadowed",
        }
    }
}

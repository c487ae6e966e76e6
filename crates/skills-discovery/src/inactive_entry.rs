//! Skills that were found and are not used.

use std::fmt;
use std::path::PathBuf;

use crate::{ConfigRule, Entry};

/// A skill that was found and is not used: no model hears of it, no name leads to it, nothing of it
/// runs.
#[derive(Debug, Clone)]
pub struct InactiveEntry {
    pub(crate) entry: Entry,
    pub(crate) reason: InactiveReason,
}

/// Why a skill is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InactiveReason {
    /// Its root is not trusted.
    Untrusted,
    /// A rule disables it.
    Disabled {
        /// The rule.
        rule: ConfigRule,
    },
    /// It is for other products.
    OtherProduct {
        /// The products that it is for.
        products: Vec<String>,
    },
    /// A skill of the same name in a root that wins hides it.
    Shadowed {
        /// The directory of the skill that is used.
        winner: PathBuf,
    },
}

impl InactiveEntry {
    /// Returns the skill.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns why it is not used.
    #[must_use]
    pub fn reason(&self) -> &InactiveReason {
        &self.reason
    }
}

impl InactiveReason {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Disabled { .. } => "disabled",
            Self::OtherProduct { .. } => "other-product",
            Self::Shadowed { .. } => "shadowed",
        }
    }
}

impl fmt::Display for InactiveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => f.write_str("its root is not trusted"),
            Self::Disabled { rule } => write!(f, "disabled by the rule: {rule}"),
            Self::OtherProduct { products } => write!(f, "only for {}", products.join(", ")),
            Self::Shadowed { winner: by } => write!(
                f,
                "hidden by the skill of the same name in {}",
                by.display()
            ),
        }
    }
}

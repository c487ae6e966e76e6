//! One rule: whose it is, what it does, and to what.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Repr;
use crate::path::has_parent;
use crate::target::Kind;
use crate::{Capability, PolicyError, Target};

/// Whose rule it is, from the most general to the most particular.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RuleSource {
    /// What holds when nobody said anything.
    BuiltIn,
    /// Whoever administers the machine. Nobody's allowance answers a question that an administrator
    /// wants asked.
    Admin,
    /// The user.
    User,
    /// The project. It may only narrow, unless
    /// [`Policy::trust_project`](crate::Policy::trust_project) says otherwise.
    Project,
    /// Whoever started this run. An allowance answers the questions that users and projects want
    /// asked.
    #[serde(alias = "session")]
    Invocation,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It allows.
    Allow,
    /// It wants somebody asked.
    Ask,
    /// It forbids, whatever allows.
    Deny,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Rule {
    pub(crate) effect: Effect,
    pub(crate) source: RuleSource,
    pub(crate) target: Target,
    pub(crate) within: Option<PathBuf>,
    pub(crate) origin: String,
}

impl Rule {
    /// Makes a rule.
    pub fn new(effect: Effect, layer: RuleSource, target: impl Into<Target>) -> Self {
        Self {
            effect,
            source: layer,
            target: target.into(),
            within: None,
            origin: String::new(),
        }
    }

    /// Reads what a rule is about; see [`Target`].
    ///
    /// # Errors
    /// When the text is none, or when it would allow the whole network or environment without
    /// saying so (`network:*`).
    pub fn parse(effect: Effect, layer: RuleSource, text: &str) -> Result<Self, PolicyError> {
        let target: Target = text.parse()?;
        match target.0 {
            Kind::All(Capability::Network) if effect == Effect::Allow => Err(Repr::TooWide {
                capability: "network",
                example: "network:api.example.com",
            }
            .into()),
            Kind::All(Capability::Environment) if effect == Effect::Allow => Err(Repr::TooWide {
                capability: "env",
                example: "env:API_KEY",
            }
            .into()),
            kind => Ok(Self::new(effect, layer, Target(kind))),
        }
    }

    /// Restricts the rule to programs that lie in this directory or below it.
    ///
    /// A directory, not a name: anybody may give a skill any name.
    pub fn within(mut self, directory: impl Into<PathBuf>) -> Self {
        self.within = Some(directory.into());
        self
    }

    /// Says where the rule stands, for the answers: a file, an option.
    pub fn origin(mut self, source: impl Into<String>) -> Self {
        self.origin = source.into();
        self
    }

    /// Returns what the rule does.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns whose rule it is.
    #[must_use]
    pub fn source(&self) -> RuleSource {
        self.source
    }

    /// Returns what the rule is about.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the directory that the rule is restricted to.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.within.as_deref()
    }

    /// Returns the same rule about something else.
    pub fn with_target(&self, target: Target) -> Self {
        Self {
            target,
            ..self.clone()
        }
    }

    /// A directory with `..` in it is none: such a rule allows nothing, and forbids everywhere.
    pub(crate) fn applies_to(&self, directory: &Path) -> bool {
        match &self.within {
            None => true,
            Some(within) if has_parent(within) || !within.is_absolute() => {
                self.effect != Effect::Allow
            }
            Some(within) => directory.starts_with(within),
        }
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::Admin => "admin",
            Self::User => "user",
            Self::Project => "project",
            Self::Invocation => "session",
        })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// `deny spawn:git (user, policy.toml)`
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            effect,
            source: layer,
            target,
            within,
            origin: source,
        } = self;
        write!(f, "{effect} {target}")?;
        if let Some(within) = within {
            write!(f, " within {}", within.display())?;
        }
        write!(f, " ({layer}")?;
        if !source.is_empty() {
            write!(f, ", {source}")?;
        }
        f.write_str(")")
    }
}

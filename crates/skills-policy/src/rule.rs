//! A rule: its source, its effect and its target.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Repr;
use crate::path::has_parent;
use crate::target::Kind;
use crate::{Capability, PolicyError, Target};

/// Where a rule comes from, from the most general source to the most specific.
///
/// The order decides which of several matching rules a decision names; it does not decide which
/// effect wins. Displayed and serialized in decisions.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RuleSource {
    /// The defaults of this crate and of the host application.
    BuiltIn,
    /// The system administrator. Such `ask` rules need an approver or a stored approval; no `allow`
    /// rule satisfies them.
    Admin,
    /// The user.
    User,
    /// The project. Its `allow` rules are ignored unless the project is
    /// [trusted](crate::Policy::trust_project).
    Project,
    /// The caller of this run, for example with `--allow`. Such `allow` rules satisfy `ask` rules
    /// of users and projects.
    Invocation,
}

impl RuleSource {
    /// Returns true for rules that were written for the skills of their time: those of files, not
    /// of the invocation, and not the built-in ones.
    pub(crate) fn is_standing(self) -> bool {
        matches!(self, Self::Admin | Self::User | Self::Project)
    }
}

/// The effect of a rule on the permissions that it matches.
///
/// If rules with several effects match, `Deny` wins over `Ask` and `Ask` over `Allow`, with the
/// exception described at [`Policy`](crate::Policy). Written and serialized in lowercase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Grants the permission.
    Allow,
    /// Requires approval.
    Ask,
    /// Denies the permission, whatever other rules and approvals say.
    Deny,
}

/// A rule: an effect for a target, optionally for the programs below one directory.
///
/// A rule needs a [`Policy`](crate::Policy) to have an effect. [`Display`](fmt::Display) writes it
/// as decisions and reports name it: `deny spawn:git within /work (user, policy.toml)`.
///
/// ```
/// use skills_policy::{Effect, Rule, RuleSource};
///
/// let rule = Rule::parse(Effect::Deny, RuleSource::User, "spawn:git")?
///     .within("/work")
///     .origin("policy.toml");
/// assert_eq!(rule.to_string(), "deny spawn:git within /work (user, policy.toml)");
///
/// let error = Rule::parse(Effect::Allow, RuleSource::User, "network").unwrap_err();
/// assert!(error.to_string().starts_with("`allow network` needs a host"));
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
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
    /// Creates a rule for all directories, without an origin.
    pub fn new(effect: Effect, source: RuleSource, target: impl Into<Target>) -> Self {
        Self {
            effect,
            source,
            target: target.into(),
            within: None,
            origin: String::new(),
        }
    }

    /// Creates a rule with the [`Target`] that `text` describes.
    ///
    /// # Errors
    /// Fails if the text is not a target, or is `network` or `env` with [`Effect::Allow`]: to allow
    /// the whole network or environment, it has to be `network:*` or `env:*`.
    pub fn parse(effect: Effect, source: RuleSource, text: &str) -> Result<Self, PolicyError> {
        let target: Target = text.parse()?;
        match target.0 {
            // Only for `allow`: denying a whole capability is what `deny network` is for.
            Kind::All(Capability::Network) if effect == Effect::Allow => Err(Repr::TooWide {
                capability: "network",
                value: "host",
                example: "network:api.example.com",
            }
            .into()),
            Kind::All(Capability::Environment) if effect == Effect::Allow => Err(Repr::TooWide {
                capability: "env",
                value: "variable",
                example: "env:API_KEY",
            }
            .into()),
            kind => Ok(Self::new(effect, source, Target(kind))),
        }
    }

    /// Restricts the rule to skills in this directory or below it. The path is absolute, without
    /// `..`.
    ///
    /// It is a directory and not a name, because any skill can use any name.
    pub fn within(mut self, directory: impl Into<PathBuf>) -> Self {
        self.within = Some(directory.into());
        self
    }

    /// Sets where the rule is written, such as a file or an option; decisions display it.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Returns the effect.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the source.
    #[must_use]
    pub fn source(&self) -> RuleSource {
        self.source
    }

    /// Returns the target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the directory that the rule is restricted to, if any.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.within.as_deref()
    }

    /// Returns the same rule for another target.
    pub fn with_target(&self, target: Target) -> Self {
        Self {
            target,
            ..self.clone()
        }
    }

    /// Returns true if the rule applies to the skill in `directory`. A restriction to a relative
    /// path or one with `..` never applies for `allow` and always for the other effects (fail
    /// closed).
    pub(crate) fn applies_to(&self, directory: &Path) -> bool {
        match &self.within {
            None => true,
            // Not canonical, so it cannot be compared with the directory.
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
            Self::Invocation => "invocation",
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

/// Writes `deny spawn:git (user, policy.toml)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            effect,
            source,
            target,
            within,
            origin,
        } = self;
        write!(f, "{effect} {target}")?;
        if let Some(within) = within {
            write!(f, " within {}", within.display())?;
        }
        write!(f, " ({source}")?;
        if !origin.is_empty() {
            write!(f, ", {origin}")?;
        }
        f.write_str(")")
    }
}

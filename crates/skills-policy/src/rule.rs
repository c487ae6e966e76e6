//! One rule: whose it is, what it does, and to what.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use crate::error::Repr;
use crate::{Capability, HostPattern, Permission, PolicyError, VariablePattern};

/// Whose rule it is, from the most general to the most particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// What holds when nobody said anything.
    BuiltIn,
    /// Whoever administers the machine. Nobody's allowance answers a question that an administrator wants asked.
    Admin,
    /// The user.
    User,
    /// The project. It may only narrow, unless [`Rules::trust_project`](crate::Rules::trust_project) says otherwise.
    Project,
    /// Whoever started this run. An allowance answers the questions that users and projects want asked.
    Session,
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

/// What a rule is about.
///
/// Written as `read`, `write:/data`, `spawn:git`, `network:*.example.com`, `env:API_KEY`; a capability alone means all of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// All of a capability. For the network and the environment this can be forbidden, not allowed: hosts and variables are named.
    All(Capability),
    /// This file or directory and everything below it. A rule on reading is about reading only; writing includes reading.
    Read(PathBuf),
    /// The same for writing.
    Write(PathBuf),
    /// These hosts.
    Host(HostPattern),
    /// This program, named without a path.
    Program(String),
    /// These variables.
    Variable(VariablePattern),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Rule {
    pub(crate) effect: Effect,
    pub(crate) layer: Layer,
    pub(crate) target: Target,
    pub(crate) within: Option<PathBuf>,
    pub(crate) source: String,
}

impl Rule {
    /// Makes a rule.
    pub fn new(effect: Effect, layer: Layer, target: impl Into<Target>) -> Self {
        Self { effect, layer, target: target.into(), within: None, source: String::new() }
    }

    /// Reads what a rule is about; see [`Target`].
    ///
    /// # Errors
    /// When the text is none, or when it would allow the whole network or environment without saying so (`network:*`).
    pub fn parse(effect: Effect, layer: Layer, text: &str) -> Result<Self, PolicyError> {
        let target: Target = text.parse()?;
        match target {
            Target::All(Capability::Network) if effect == Effect::Allow => {
                Err(Repr::TooWide { capability: "network", example: "network:api.example.com" }.into())
            }
            Target::All(Capability::Environment) if effect == Effect::Allow => {
                Err(Repr::TooWide { capability: "env", example: "env:API_KEY" }.into())
            }
            target => Ok(Self::new(effect, layer, target)),
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
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    pub(crate) fn is_about(&self, directory: &Path) -> bool {
        self.within.as_deref().is_none_or(|within| directory.starts_with(within))
    }
}

impl Target {
    /// Says whether a rule that allows this allows the whole of `permission`.
    pub(crate) fn allows(&self, permission: &Permission) -> bool {
        match (self, permission) {
            (_, Permission::Hook(_)) => false,
            (Self::All(capability), _) => {
                let is_named = matches!(capability, Capability::Network | Capability::Environment);
                *capability == permission.capability() && !is_named
            }
            (Self::Read(prefix), Permission::Read(path)) | (Self::Write(prefix), Permission::Write(path) | Permission::Read(path)) => {
                path.starts_with(prefix)
            }
            (Self::Host(pattern), Permission::Host(wanted)) => pattern.covers(wanted),
            (Self::Host(_), Permission::ListedHosts) => true,
            (Self::Program(name), Permission::Program(wanted)) => name == wanted,
            (Self::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            _ => false,
        }
    }

    /// Says whether a rule that forbids this forbids `permission`, because it is about all of it, or about a part that could not be left out.
    /// Hosts can be left out, directories and programs cannot.
    pub(crate) fn forbids(&self, permission: &Permission) -> bool {
        let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        match (self, permission) {
            // Whoever may write may read.
            (Self::All(Capability::Read), Permission::Write(_)) => true,
            (Self::All(capability), _) => *capability == permission.capability(),
            (Self::Read(prefix), Permission::Read(path) | Permission::Write(path)) | (Self::Write(prefix), Permission::Write(path)) => {
                overlap(prefix, path)
            }
            (Self::Host(pattern), Permission::Host(wanted)) => pattern.covers(wanted),
            (Self::Host(pattern), Permission::ListedHosts) => *pattern == HostPattern::Any,
            (Self::Program(name), Permission::Program(wanted)) => name == wanted,
            (Self::Program(_), Permission::AnyProgram) => true,
            (Self::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            _ => false,
        }
    }

    /// Says whether a rule that wants this asked wants `permission` asked: it is about all of it or about a part.
    pub(crate) fn concerns(&self, permission: &Permission) -> bool {
        match (self, permission) {
            (Self::Host(pattern), Permission::Host(wanted)) => pattern.covers(wanted) || wanted.covers(pattern),
            (Self::Host(_), Permission::ListedHosts) => true,
            _ => self.forbids(permission),
        }
    }
}

impl From<Capability> for Target {
    fn from(capability: Capability) -> Self {
        Self::All(capability)
    }
}

impl From<HostPattern> for Target {
    fn from(pattern: HostPattern) -> Self {
        Self::Host(pattern)
    }
}

impl FromStr for Target {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (capability, what) = text.split_once(':').map_or((text, None), |(capability, what)| (capability, Some(what)));
        let capability = match capability {
            "read" => Capability::Read,
            "write" => Capability::Write,
            "spawn" => Capability::Spawn,
            "network" => Capability::Network,
            "env" | "environment" => Capability::Environment,
            _ => return Err(Repr::Target { text: text.to_owned() }.into()),
        };
        let Some(what) = what else { return Ok(Self::All(capability)) };
        match capability {
            Capability::Read => path(what).map(Self::Read),
            Capability::Write => path(what).map(Self::Write),
            Capability::Network => what.parse().map(Self::Host),
            Capability::Spawn if what == "*" => Ok(Self::All(Capability::Spawn)),
            Capability::Spawn if is_program(what) => Ok(Self::Program(what.to_owned())),
            Capability::Spawn => Err(Repr::Program { text: what.to_owned() }.into()),
            Capability::Environment => what.parse().map(Self::Variable),
        }
    }
}

fn path(text: &str) -> Result<PathBuf, PolicyError> {
    let path = Path::new(text);
    let is_plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    // Without the `.` and the doubled `/` that comparing would trip over.
    is_plain.then(|| path.components().collect()).ok_or_else(|| Repr::Path { text: text.to_owned() }.into())
}

fn is_program(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '*', ' ', '\0']) && name != "." && name != ".."
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(Capability::Environment) => f.write_str("env"),
            Self::All(capability) => capability.fmt(f),
            Self::Read(path) => write!(f, "read:{}", path.display()),
            Self::Write(path) => write!(f, "write:{}", path.display()),
            Self::Host(pattern) => write!(f, "network:{pattern}"),
            Self::Program(name) => write!(f, "spawn:{name}"),
            Self::Variable(pattern) => write!(f, "env:{pattern}"),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::Admin => "admin",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
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
        let Self { effect, layer, target, within, source } = self;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_as_they_are_read() {
        for text in ["read", "write:/data", "spawn", "spawn:git", "network:*.a.example", "network:*", "network", "env:A_*", "env"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("write:/data/./x//y/".parse::<Target>().unwrap().to_string(), "write:/data/x/y");
    }

    #[test]
    fn what_is_no_target_says_what_to_write() {
        let wrong = |text: &str| Rule::parse(Effect::Allow, Layer::User, text).unwrap_err().to_string();
        insta::assert_snapshot!(wrong("exec"), @r#""exec" is no permission: write `read`, `write`, `spawn`, `network` or `env`, and perhaps `:` and what of it"#);
        insta::assert_snapshot!(wrong("write:data"), @r#""data" must be an absolute path without `..`"#);
        insta::assert_snapshot!(wrong("write:/data/../etc"), @r#""/data/../etc" must be an absolute path without `..`"#);
        insta::assert_snapshot!(wrong("spawn:/bin/git"), @r#""/bin/git" is no name of a program: write it without a path"#);
        insta::assert_snapshot!(wrong("network"), @"`network` allows nothing until it is said which: write `network:api.example.com`, or `network:*` for all");
        insta::assert_snapshot!(wrong("network:http://a"), @r#""http://a" is no host: write `api.example.com`, `*.example.com` or `*`, without scheme, port and path"#);
        insta::assert_snapshot!(wrong("env:A-B"), @r#""A-B" is no name of a variable, nor the start of one with a `*` behind it"#);
        assert!(Rule::parse(Effect::Deny, Layer::User, "network").is_ok());
    }
}

//! What a rule is about.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Repr;
use crate::path::{is_comparable, is_program_name, normalize};
use crate::{Capability, HostPattern, Permission, PolicyError, VariablePattern};

/// What a rule is about.
///
/// Written as `read`, `write:/data`, `spawn:git`, `network:*.example.com`, `env:API_KEY`; a
/// capability alone means all of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target(pub(crate) Kind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// All of a capability. For the network and the environment this can be forbidden, not allowed:
    /// hosts and variables are named.
    All(Capability),
    /// This file or directory and everything below it. A rule on reading is about reading only;
    /// writing includes reading.
    Read(PathBuf),
    Write(PathBuf),
    Host(HostPattern),
    Program(String),
    Variable(VariablePattern),
}

impl Target {
    /// A file or directory to read, and everything below it.
    ///
    /// # Errors
    /// When the path is relative or has `..` in it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        absolute_path(path.as_ref()).map(Kind::Read).map(Self)
    }

    /// A file or directory to write, and everything below it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        absolute_path(path.as_ref()).map(Kind::Write).map(Self)
    }

    /// A program, by its name.
    ///
    /// # Errors
    /// When the name is a path or holds anything but ASCII letters, digits and `._+-@`.
    pub fn program(name: impl Into<String>) -> Result<Self, PolicyError> {
        let name = name.into();
        if is_program_name(&name) {
            Ok(Self(Kind::Program(name)))
        } else {
            Err(Repr::Program { text: name }.into())
        }
    }

    /// Returns the file or directory that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Read(path) | Kind::Write(path) => Some(path),
            _ => None,
        }
    }

    /// Puts another file or directory in place of the one that it is about; what is about none
    /// stays.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn with_path(&self, path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        match self.0 {
            Kind::Read(_) => Self::read(path),
            Kind::Write(_) => Self::write(path),
            _ => Ok(self.clone()),
        }
    }

    /// Says whether a rule that allows this allows the whole of `permission`.
    pub(crate) fn allows(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            (_, Permission::Hook(_)) | (Kind::All(_), Permission::WriteProtected { .. }) => false,
            (Kind::All(capability), _) => {
                let is_named = matches!(capability, Capability::Network | Capability::Environment);
                *capability == permission.capability() && !is_named
            }
            (Kind::Read(prefix), Permission::Read(path))
            | (Kind::Write(prefix), Permission::Write(path) | Permission::Read(path)) => {
                path.starts_with(prefix)
            }
            // Only a rule that names the protected path, or one in it.
            (Kind::Write(prefix), Permission::WriteProtected { path, protected }) => {
                path.starts_with(prefix) && prefix.starts_with(protected)
            }
            (Kind::Host(pattern), Permission::Host(wanted)) => pattern.covers(wanted),
            (Kind::Program(name), Permission::Program(wanted)) => name == wanted,
            (Kind::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            _ => false,
        }
    }

    /// Says whether a rule that forbids this forbids `permission`, because it is about all of it,
    /// or about a part that could not be left out. Hosts can be left out, directories and programs
    /// cannot.
    pub(crate) fn forbids(&self, permission: &Permission) -> bool {
        let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        match (&self.0, permission) {
            // Whoever may write may read.
            (
                Kind::All(Capability::Read),
                Permission::Write(_) | Permission::WriteProtected { .. },
            ) => true,
            (Kind::All(capability), _) => *capability == permission.capability(),
            (
                Kind::Read(prefix),
                Permission::Read(path)
                | Permission::Write(path)
                | Permission::WriteProtected { path, .. },
            )
            | (
                Kind::Write(prefix),
                Permission::Write(path) | Permission::WriteProtected { path, .. },
            ) => overlap(prefix, path),
            (Kind::Host(pattern), Permission::Host(wanted)) => pattern.covers(wanted),
            (Kind::Program(name), Permission::Program(wanted)) => name == wanted,
            (Kind::Program(_), Permission::AnyProgram) => true,
            (Kind::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            _ => false,
        }
    }

    /// Says whether a rule that wants this asked wants `permission` asked: it is about all of it or
    /// about a part.
    pub(crate) fn overlaps(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            (Kind::Host(pattern), Permission::Host(wanted)) => {
                pattern.covers(wanted) || wanted.covers(pattern)
            }
            _ => self.forbids(permission),
        }
    }
}

impl From<Capability> for Target {
    fn from(capability: Capability) -> Self {
        Self(Kind::All(capability))
    }
}

impl From<HostPattern> for Target {
    fn from(pattern: HostPattern) -> Self {
        Self(Kind::Host(pattern))
    }
}

impl From<VariablePattern> for Target {
    fn from(pattern: VariablePattern) -> Self {
        Self(Kind::Variable(pattern))
    }
}

impl FromStr for Target {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (capability, what) = text
            .split_once(':')
            .map_or((text, None), |(capability, what)| (capability, Some(what)));
        let capability = match capability {
            "read" => Capability::Read,
            "write" => Capability::Write,
            "spawn" => Capability::Spawn,
            "network" => Capability::Network,
            "env" | "environment" => Capability::Environment,
            _ => {
                return Err(Repr::Target {
                    text: text.to_owned(),
                }
                .into());
            }
        };
        let Some(what) = what else {
            return Ok(Self(Kind::All(capability)));
        };
        match capability {
            Capability::Read => Self::read(what),
            Capability::Write => Self::write(what),
            Capability::Network => what.parse::<HostPattern>().map(Into::into),
            Capability::Spawn if what == "*" => Ok(Self(Kind::All(Capability::Spawn))),
            Capability::Spawn => Self::program(what),
            Capability::Environment => what.parse::<VariablePattern>().map(Into::into),
        }
    }
}

fn absolute_path(path: &Path) -> Result<PathBuf, PolicyError> {
    if is_comparable(path) {
        Ok(normalize(path))
    } else {
        Err(Repr::Path {
            text: path.to_string_lossy().into_owned(),
        }
        .into())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::All(Capability::Environment) => f.write_str("env"),
            Kind::All(capability) => capability.fmt(f),
            Kind::Read(path) => write!(f, "read:{}", path.display()),
            Kind::Write(path) => write!(f, "write:{}", path.display()),
            Kind::Host(pattern) => write!(f, "network:{pattern}"),
            Kind::Program(name) => write!(f, "spawn:{name}"),
            Kind::Variable(pattern) => write!(f, "env:{pattern}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Rule, RuleSource};

    #[test]
    fn targets_are_written_as_they_are_read() {
        for text in [
            "read",
            "write:/data",
            "spawn",
            "spawn:git",
            "network:*.a.example",
            "network:*",
            "network",
            "env:A_*",
            "env",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!(
            "write:/data/./x//y/".parse::<Target>().unwrap().to_string(),
            "write:/data/x/y"
        );
    }

    #[test]
    fn what_is_no_target_says_what_to_write() {
        let wrong = |text: &str| {
            Rule::parse(Effect::Allow, RuleSource::User, text)
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(wrong("exec"), @r#""exec" is no permission: write `read`, `write`, `spawn`, `network` or `env`, and perhaps `:` and what of it"#);
        insta::assert_snapshot!(wrong("write:data"), @r#""data" must be an absolute path without `..`"#);
        insta::assert_snapshot!(wrong("write:/data/../etc"), @r#""/data/../etc" must be an absolute path without `..`"#);
        insta::assert_snapshot!(wrong("spawn:/bin/git"), @r#""/bin/git" is no name of a program: write it without a path"#);
        insta::assert_snapshot!(wrong("network"), @"`network` allows nothing until it is said which: write `network:api.example.com`, or `network:*` for all");
        insta::assert_snapshot!(wrong("network:http://a"), @r#""http://a" is no host: write `api.example.com`, `*.example.com` or `*`, without scheme, port and path"#);
        insta::assert_snapshot!(wrong("env:A-B"), @r#""A-B" is no name of a variable, nor the start of one with a `*` behind it"#);
        assert!(Rule::parse(Effect::Deny, RuleSource::User, "network").is_ok());
    }
}

//! The target of a rule.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Repr;
use crate::path::{
    is_comparable, is_pattern, is_program_name, is_same_program, normalize, paths_overlap,
};
use crate::{
    Capability, HostPattern, PackagePattern, Permission, PolicyError, VariablePattern, suggestion,
};

/// The target of a rule: the permissions that it matches.
///
/// Written as `read`, `write:/data`, `spawn:git`, `network:*.example.com`, `env:API_KEY` or
/// `packages:pypi:pypdf`; a capability alone means all of it, and `environment` is accepted for `env`. How much of a
/// permission has to match depends on the effect: an `allow` rule has to cover all of it, while
/// `deny` and `ask` rules also match a part.
///
/// ```
/// use skills_policy::{Capability, Target};
///
/// let target: Target = "write:/data/./out/".parse()?;
/// assert_eq!(target, Target::write("/data/out")?);
/// assert_eq!(target.to_string(), "write:/data/out/");
/// assert_eq!("spawn:*".parse::<Target>()?, Target::from(Capability::Spawn));
/// assert_eq!(
///     "exec:x".parse::<Target>().unwrap_err().to_string(),
///     "invalid permission `exec:x`: expected `read`, `write`, `spawn`, `network`, `env` or `packages`, \
///      optionally followed by `:VALUE`"
/// );
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target(pub(crate) Kind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// All of a capability. For the network and the environment it can be denied but not allowed:
    /// hosts and variables have to be named.
    All(Capability),
    /// Reading this file or directory and everything below it.
    Read(PathBuf),
    /// Writing it, which includes reading.
    Write(PathBuf),
    Host(HostPattern),
    Program(String),
    Variable(VariablePattern),
    Package(PackagePattern),
}

impl Target {
    /// Creates the target of reading a file or directory, with everything below it.
    ///
    /// # Errors
    /// Fails if the path is relative, not UTF-8 or contains `..`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        absolute_path(path.as_ref()).map(Kind::Read).map(Self)
    }

    /// Creates the target of writing a file or directory, with everything below it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        absolute_path(path.as_ref()).map(Kind::Write).map(Self)
    }

    /// Creates the target of spawning a program, by its name.
    ///
    /// # Errors
    /// Fails if the name is a path, is longer than 128 bytes or contains anything but ASCII
    /// letters, digits and `._+-@`.
    pub fn program(name: impl Into<String>) -> Result<Self, PolicyError> {
        let name = name.into();
        if is_program_name(&name) {
            Ok(Self(Kind::Program(name)))
        } else {
            Err(Repr::Program { text: name }.into())
        }
    }

    /// Returns the file or directory, `None` for other targets.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Read(path) | Kind::Write(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the name of the program, `None` for other targets.
    #[must_use]
    pub fn program_name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Program(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the name of one variable, `None` for other targets and for patterns.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        match &self.0 {
            Kind::Variable(VariablePattern::Exact(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the same target for another file or directory; targets without a path are unchanged.
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

    /// Returns true if allowing `self` allows all of `permission`.
    pub(crate) fn allows(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            // A hook takes an approval, and a protected path a rule for that path.
            (_, Permission::Hook(_))
            | (Kind::All(_), Permission::WriteProtected { .. } | Permission::ReadKeys { .. }) => {
                false
            }
            (Kind::All(capability), _) => {
                // These take a name: `allow network` would be too easy to write by accident.
                let requires_name =
                    matches!(capability, Capability::Network | Capability::Environment);
                *capability == permission.capability() && !requires_name
            }
            (Kind::Read(prefix), Permission::Read(path))
            | (Kind::Write(prefix), Permission::Write(path) | Permission::Read(path)) => {
                path.starts_with(prefix)
            }
            // Only a rule for the protected path itself, or for a path in it.
            (Kind::Write(prefix), Permission::WriteProtected { path, protected }) => {
                path.starts_with(prefix) && prefix.starts_with(protected)
            }
            (Kind::Read(prefix) | Kind::Write(prefix), Permission::ReadKeys { path, keys }) => {
                path.starts_with(prefix) && prefix.starts_with(keys)
            }
            (Kind::Host(pattern), Permission::Host(requested)) => pattern.covers(requested),
            (Kind::Program(name), Permission::Program(requested)) => name == requested,
            (Kind::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            (Kind::Package(pattern), Permission::Package { name, .. }) => pattern.matches(name),
            _ => false,
        }
    }

    /// Returns true if `self` names exactly one package, which is that of `permission`.
    pub(crate) fn is_exactly(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            (Kind::Package(pattern), Permission::Package { name, .. }) => {
                !pattern.is_prefix() && pattern.matches(name)
            }
            _ => false,
        }
    }

    /// Returns the full name of the one package that it names; `None` for other targets and for
    /// patterns.
    pub(crate) fn package_name(&self) -> Option<String> {
        match &self.0 {
            Kind::Package(pattern) if !pattern.is_prefix() => Some(pattern.to_string()),
            _ => None,
        }
    }

    /// Returns true if denying `self` denies `permission`: it covers all of it, or a part that
    /// cannot be subtracted. Hosts can be subtracted, directories and programs cannot.
    pub(crate) fn forbids(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            // Write access includes read access.
            (
                Kind::All(Capability::Read),
                Permission::Write(_) | Permission::WriteProtected { .. },
            ) => true,
            (Kind::All(capability), _) => *capability == permission.capability(),
            (
                Kind::Read(prefix),
                Permission::Read(path)
                | Permission::Write(path)
                | Permission::WriteProtected { path, .. }
                | Permission::ReadKeys { path, .. },
            )
            | (
                Kind::Write(prefix),
                Permission::Write(path) | Permission::WriteProtected { path, .. },
            ) => paths_overlap(prefix, path),
            (Kind::Host(pattern), Permission::Host(requested)) => pattern.denies(requested),
            (Kind::Program(name), Permission::Program(requested)) => {
                is_same_program(name, requested)
            }
            // "Any program but one" cannot be enforced: another program can start it.
            (Kind::Program(_), Permission::AnyProgram) => true,
            (Kind::Variable(pattern), Permission::Variable(name)) => pattern.matches(name),
            (Kind::Package(pattern), Permission::Package { name, .. }) => pattern.denies(name),
            _ => false,
        }
    }

    /// Returns true if an `ask` rule for `self` applies to `permission`: it covers all of it or a
    /// part.
    pub(crate) fn overlaps(&self, permission: &Permission) -> bool {
        match (&self.0, permission) {
            // An approver is asked about `*.example` too if a rule asks about one host of it.
            (Kind::Host(pattern), Permission::Host(requested)) => {
                pattern.denies(requested) || requested.denies(pattern)
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

impl From<PackagePattern> for Target {
    fn from(pattern: PackagePattern) -> Self {
        Self(Kind::Package(pattern))
    }
}

impl FromStr for Target {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text).map_err(|error| match suggestion::target(text) {
            Some(suggestion) => Repr::Suggested {
                error: Box::new(error),
                suggestion,
            }
            .into(),
            None => error,
        })
    }
}

impl Target {
    fn parse(text: &str) -> Result<Self, PolicyError> {
        let (capability, value) = text
            .split_once(':')
            .map_or((text, None), |(capability, value)| {
                (capability, Some(value))
            });
        let capability = match capability {
            "read" => Capability::Read,
            "write" => Capability::Write,
            "spawn" => Capability::Spawn,
            "network" => Capability::Network,
            "env" | "environment" => Capability::Environment,
            "packages" => Capability::Packages,
            _ => {
                return Err(Repr::Target {
                    text: text.to_owned(),
                }
                .into());
            }
        };
        let Some(value) = value else {
            return Ok(Self(Kind::All(capability)));
        };
        match capability {
            Capability::Read | Capability::Write if is_pattern(Path::new(value)) => {
                Err(Repr::PathPattern {
                    text: value.to_owned(),
                }
                .into())
            }
            Capability::Read => Self::read(value),
            Capability::Write => Self::write(value),
            Capability::Network => value.parse::<HostPattern>().map(Into::into),
            // As for hosts and variables, where `*` is required.
            Capability::Spawn if value == "*" => Ok(Self(Kind::All(Capability::Spawn))),
            Capability::Spawn => Self::program(value),
            Capability::Environment => value.parse::<VariablePattern>().map(Into::into),
            Capability::Packages if value == "*" => Ok(Self(Kind::All(Capability::Packages))),
            Capability::Packages => value.parse::<PackagePattern>().map(Into::into),
        }
    }
}

impl Permission {
    /// Returns the target of a rule that allows exactly this permission. `None` if no rule does: a
    /// hook needs an approval.
    #[must_use]
    pub fn rule_target(&self) -> Option<Target> {
        match self {
            Self::Read(path) | Self::ReadKeys { path, .. } => Target::read(path).ok(),
            Self::Write(path) | Self::WriteProtected { path, .. } => Target::write(path).ok(),
            Self::Host(pattern) => Some(Target(Kind::Host(pattern.clone()))),
            Self::Program(name) => Target::program(name.as_str()).ok(),
            Self::AnyProgram => Some(Capability::Spawn.into()),
            Self::Variable(name) => name.parse().ok().map(|name| Target(Kind::Variable(name))),
            Self::Package { name, .. } => name.parse().ok().map(|name| Target(Kind::Package(name))),
            Self::ListedHosts | Self::Hook(_) | Self::Invalid(..) => None,
        }
    }
}

/// Returns the normalized path.
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
            Kind::Package(pattern) => write!(f, "packages:{pattern}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, Rule, RuleSource};

    #[test]
    fn targets_are_displayed_as_they_are_parsed() {
        for text in [
            "read",
            "write:/data",
            "spawn",
            "spawn:git",
            "network:*.a.example",
            "network:localhost:8080",
            "network:*",
            "network",
            "env:A_*",
            "env",
            "packages",
            "packages:pypi:pypdf",
            "packages:npm:@acme/*",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!(
            "write:/data/./x//y/".parse::<Target>().unwrap().to_string(),
            "write:/data/x/y/"
        );
    }

    #[test]
    fn errors_of_invalid_targets_say_what_is_expected() {
        let error = |text: &str| {
            Rule::parse(Effect::Allow, RuleSource::User, text)
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(error("exec"), @"invalid permission `exec`: expected `read`, `write`, `spawn`, `network`, `env` or `packages`, optionally followed by `:VALUE`");
        insta::assert_snapshot!(error("write:data"), @"invalid path `data`: expected an absolute path without `..`");
        insta::assert_snapshot!(error("write:/data/../etc"), @"invalid path `/data/../etc`: expected an absolute path without `..`");
        insta::assert_snapshot!(error("spawn:/bin/git"), @"invalid program name `/bin/git`: expected letters, digits and `._+-@`, without a path");
        insta::assert_snapshot!(error("network"), @"`allow network` needs a host: use `network:api.example.com`, or `network:*` for all");
        insta::assert_snapshot!(error("network:http://a"), @"invalid host `http://a`: expected `api.example.com`, `localhost:8080`, `[::1]:8080`, `*.example.com` or `*`, without scheme and path");
        insta::assert_snapshot!(error("env:A-B"), @"invalid variable name `A-B`: expected letters, digits and `_`, optionally with `*` at the end");
        insta::assert_snapshot!(error("packages:pypdf"), @"invalid package `pypdf`: expected `pypi:NAME` or `npm:NAME` with the name of a package, optionally with `*` at the end");
        assert!(Rule::parse(Effect::Deny, RuleSource::User, "network").is_ok());
    }
}

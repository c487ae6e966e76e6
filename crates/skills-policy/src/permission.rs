//! A single permission.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::sensitive::{KEYS, host_caution, path_caution};
use crate::{Capability, HostPattern};

/// One thing that a program may do, optionally for one target.
///
/// Paths are absolute and canonical, and are compared by component; a permission for a directory
/// includes everything below it. The order of the variants is the order in which decisions are
/// listed. Serialized in approvals, so the names of variants are a stored format.
///
/// [`Display`](fmt::Display) writes a phrase such as ``spawn `git` `` for an approver. It can
/// contain text of the skill, in backquotes.
///
/// ```
/// use skills_policy::Permission;
///
/// let data = Permission::Write("/data".into());
/// assert!(data.covers(&Permission::Read("/data/in.csv".into())));
/// assert!(!data.covers(&Permission::Write("/database".into())));
/// assert_eq!(Permission::Program("git".to_owned()).to_string(), "spawn `git`");
/// ```
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// Read this file, or this directory and everything below it.
    Read(#[serde(serialize_with = "crate::path::serialize_lossy")] PathBuf),
    /// Read and write this file, or this directory and everything below it.
    Write(#[serde(serialize_with = "crate::path::serialize_lossy")] PathBuf),
    /// Read and write a path at or below a [protected](crate::protected_paths) one. No wider rule,
    /// approval or mode implies it: only a rule or an approval for the protected path itself, or
    /// for a path in it.
    WriteProtected {
        /// The path to write, with everything below it.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        path: PathBuf,
        /// The innermost protected path at or above it.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        protected: PathBuf,
    },
    /// Read a path that [may hold keys](crate::key_part). No wider rule, approval or mode implies it:
    /// only a rule or an approval for the outermost path that may hold keys, or for a path in it.
    ReadKeys {
        /// The path to read, with everything below it.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        path: PathBuf,
        /// The outermost path at or above it that may hold keys.
        #[serde(serialize_with = "crate::path::serialize_lossy")]
        keys: PathBuf,
    },
    /// Connect to the hosts that match this pattern.
    Host(HostPattern),
    /// Connect to the hosts that the rules list. It is replaced by one [`Host`](Self::Host) for
    /// each of them before anything is decided.
    ListedHosts,
    /// Start the program of this name, without a path.
    Program(String),
    /// Start any program.
    AnyProgram,
    /// Read this environment variable of the host.
    Variable(String),
    /// Install this version of a package, with the packages that it needs, for programs of the
    /// skill. It is set up before the run, which gets the installed files and nothing else.
    Package {
        /// The registry and the name: `pypi:pypdf`, `npm:left-pad`.
        name: String,
        /// The version; empty before it is resolved.
        version: String,
    },
    /// Run as a hook: the event and the command. No rule allows it, only an approval does, because
    /// a hook runs without a request of the user.
    Hook(String),
    /// A pattern of `allowed-tools` that could not be parsed; always denied, so that a typing
    /// mistake does not silently remove a restriction.
    Invalid(Capability, String),
}

impl Permission {
    /// Returns the capability that the permission belongs to.
    #[must_use]
    pub fn capability(&self) -> Capability {
        match self {
            Self::Read(_) | Self::ReadKeys { .. } => Capability::Read,
            Self::Write(_) | Self::WriteProtected { .. } => Capability::Write,
            Self::Host(_) | Self::ListedHosts => Capability::Network,
            Self::Program(_) | Self::AnyProgram | Self::Hook(_) => Capability::Spawn,
            Self::Variable(_) => Capability::Environment,
            Self::Package { .. } => Capability::Packages,
            Self::Invalid(capability, _) => *capability,
        }
    }

    /// Returns true if `self` implies `other`: the same, a narrower one, or reading below a
    /// writable path.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Write(path), Self::Write(below) | Self::Read(below))
            | (Self::Read(path), Self::Read(below)) => below.starts_with(path),
            (
                Self::WriteProtected { path, .. },
                Self::WriteProtected {
                    path: below,
                    protected,
                },
                // An approval of `.git` is not one of `.git/hooks`, which is protected by itself.
            ) => below.starts_with(path) && path.starts_with(protected),
            (
                Self::WriteProtected { path, .. },
                Self::Read(below) | Self::ReadKeys { path: below, .. },
            )
            | (Self::ReadKeys { path, .. }, Self::Read(below)) => below.starts_with(path),
            (Self::ReadKeys { path, .. }, Self::ReadKeys { path: below, keys }) => {
                below.starts_with(path) && path.starts_with(keys)
            }
            (Self::Host(wide), Self::Host(narrow)) => wide.covers(narrow),
            // Not `Hook`, which runs without a request of the user.
            (Self::AnyProgram, Self::Program(_)) => true,
            // A stored approval must not allow a text that a later version can parse.
            (Self::Invalid(..), _) => false,
            _ => self == other,
        }
    }

    /// Returns the file or directory, `None` for permissions without a path.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path)
            | Self::Write(path)
            | Self::WriteProtected { path, .. }
            | Self::ReadKeys { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns why no message suggests to allow it, as a clause; `None` if there is no reason.
    #[must_use]
    pub fn caution(&self) -> Option<&'static str> {
        match self {
            Self::ReadKeys { .. } => Some(KEYS),
            Self::Host(pattern) => host_caution(&pattern.to_string()),
            _ => self.path().and_then(path_caution),
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {}", quoted(path.display())),
            Self::ReadKeys { path, .. } => {
                write!(f, "read {}, which may hold KEYS", quoted(path.display()))
            }
            Self::Write(path) => write!(f, "write {}", quoted(path.display())),
            Self::WriteProtected { path, .. } => {
                write!(
                    f,
                    "write {}, which is PROTECTED: other programs execute or trust files there",
                    quoted(path.display())
                )
            }
            Self::Host(pattern) if *pattern == HostPattern::ANY => {
                f.write_str("connect to any host")
            }
            Self::Host(pattern) => write!(f, "connect to `{pattern}`"),
            Self::ListedHosts => f.write_str("connect to the hosts that rules list"),
            Self::Program(name) => write!(f, "spawn {}", quoted(name)),
            Self::AnyProgram => f.write_str("spawn any program"),
            Self::Variable(name) => write!(f, "read variable {}", quoted(name)),
            Self::Package { name, version } if version.is_empty() => {
                write!(
                    f,
                    "install package {}",
                    quoted(truncate(name).escape_debug())
                )
            }
            Self::Package { name, version } => {
                let (name, version) = (truncate(name), truncate(version));
                write!(
                    f,
                    "install package {} {}",
                    quoted(name.escape_debug()),
                    version.escape_debug()
                )
            }
            Self::Hook(command) => write!(f, "run hook {}", quoted(command)),
            Self::Invalid(Capability::Spawn, text) => {
                write!(f, "spawn {}", quoted(truncate(text).escape_debug()))
            }
            Self::Invalid(_, text) => {
                write!(f, "connect to {}", quoted(truncate(text).escape_debug()))
            }
        }
    }
}

/// Returns a text in backquotes; one in it is escaped, so that a name cannot end its quotation and go on
/// as another permission.
pub(crate) fn quoted(text: impl fmt::Display) -> String {
    format!("`{}`", text.to_string().replace('`', "\\`"))
}

/// Truncates text of a skill to 60 characters, so that it cannot fill an approval prompt.
pub(crate) fn truncate(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    // Characters and not bytes, so that no character is split.
    if text.chars().nth(MAX_CHARACTERS).is_none() {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARACTERS).chain(['…']).collect()
}

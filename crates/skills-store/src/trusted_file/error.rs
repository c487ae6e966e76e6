//! The error of this module.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file or directory that cannot be opened, or is not trusted.
///
/// The message names the path, the component at fault and its owner or mode; [`help`](Self::help) is
/// what fixes it.
#[derive(Debug)]
pub struct TrustError {
    path: PathBuf,
    /// The component at fault.
    at: PathBuf,
    problem: Problem,
}

/// The classes of [`TrustError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrustErrorKind {
    /// The file, or a directory that leads to it, does not exist.
    NotFound,
    /// The system reported another error.
    Io,
    /// Other users can change the file, or read it although it is private.
    Untrusted,
    /// The file is not regular, or it is too large.
    Invalid,
}

/// The users that an entry is writable by.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux reads access control lists")
)]
pub(super) enum Writers {
    Everyone,
    Group(u32),
    /// By an access control list.
    ListedUser(u32),
    ListedGroup(u32),
}

#[derive(Debug)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "only Unix files have an owner and a mode")
)]
pub(super) enum Problem {
    Io(io::Error),
    Owner {
        owner: u32,
        user: u32,
        is_directory: bool,
    },
    Writable {
        mode: u32,
        writers: Writers,
    },
    Exposed {
        mode: u32,
    },
    NotRegular {
        kind: &'static str,
    },
    TooLarge {
        max_bytes: u64,
    },
}

/// The user that stands for all users that a user namespace does not know, by default.
pub(super) const OVERFLOW_USER: u32 = 65_534;

impl TrustError {
    pub(super) fn new(path: &Path, at: &Path, problem: Problem) -> Self {
        Self {
            path: path.to_owned(),
            at: at.to_owned(),
            problem,
        }
    }

    pub(super) fn io(path: &Path, at: &Path, error: io::Error) -> Self {
        Self::new(path, at, Problem::Io(error))
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> TrustErrorKind {
        match &self.problem {
            Problem::Io(error) => match error.kind() {
                // `/etc/skills` can be a file, which then contains nothing.
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TrustErrorKind::NotFound,
                _ => TrustErrorKind::Io,
            },
            Problem::Owner { .. } | Problem::Writable { .. } | Problem::Exposed { .. } => {
                TrustErrorKind::Untrusted
            }
            Problem::NotRegular { .. } | Problem::TooLarge { .. } => TrustErrorKind::Invalid,
        }
    }

    /// Returns what fixes it, usually a command.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let at = quoted(&self.at);
        let command = match &self.problem {
            Problem::Owner {
                owner: OVERFLOW_USER,
                ..
            } => {
                return Some(
                    "user 65534 stands for users that this container does not know: use a copy, or mount it \
                     with an owner that it knows"
                        .to_owned(),
                );
            }
            // The directory can be the home of a user, which must not change its owner.
            Problem::Owner {
                owner,
                user: 0,
                is_directory: true,
            } => {
                return Some(format!(
                    "only files of root are used as root: run the command as user {owner}, or set `HOME` (or \
                     `XDG_CONFIG_HOME` and `XDG_STATE_HOME`) to a directory of root"
                ));
            }
            Problem::Owner { user, .. } => format!("chown {user} {at}"),
            Problem::Writable { writers, .. } => match writers {
                Writers::Everyone => format!("chmod o-w {at}"),
                Writers::Group(_) => format!("chmod g-w {at}"),
                Writers::ListedUser(user) => format!("setfacl -x u:{user} {at}"),
                Writers::ListedGroup(group) => format!("setfacl -x g:{group} {at}"),
            },
            Problem::Exposed { .. } => format!("chmod 600 {at}"),
            Problem::Io(_) | Problem::NotRegular { .. } | Problem::TooLarge { .. } => return None,
        };
        Some(format!("run `{command}`"))
    }

    /// Returns the error of this type behind another one, to show its [`help`](Self::help).
    #[must_use]
    pub fn find<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            // What an `io::Error` wraps is not its source.
            let inner = error
                .downcast_ref::<io::Error>()
                .and_then(|error| error.get_ref())
                .and_then(|inner| inner.downcast_ref::<Self>());
            if let Some(found) = error.downcast_ref::<Self>().or(inner) {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.display();
        write!(f, "cannot use `{}`: ", self.path.display())?;
        match &self.problem {
            Problem::Io(error) if self.at == self.path => error.fmt(f),
            Problem::Io(error) => write!(f, "`{at}`: {error}"),
            Problem::Owner { owner, .. } => write!(f, "`{at}` belongs to user {owner}"),
            Problem::Writable { mode, writers } => {
                write!(f, "`{at}` is writable by {writers} (mode {mode:04o})")
            }
            Problem::Exposed { mode } => {
                write!(f, "`{at}` is accessible by other users (mode {mode:04o})")
            }
            Problem::NotRegular { kind } => write!(f, "`{at}` is {kind}, not a regular file"),
            Problem::TooLarge { max_bytes } => write!(f, "`{at}` is larger than {max_bytes} bytes"),
        }
    }
}

impl fmt::Display for Writers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("every user"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::ListedUser(user) => write!(f, "user {user}, by an access control list"),
            Self::ListedGroup(group) => write!(f, "group {group}, by an access control list"),
        }
    }
}

impl std::error::Error for TrustError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message of a system error is in that of this error.
        None
    }
}

impl From<TrustError> for io::Error {
    fn from(error: TrustError) -> Self {
        let kind = match (&error.problem, error.kind()) {
            (_, TrustErrorKind::NotFound) => io::ErrorKind::NotFound,
            (Problem::Io(error), _) => error.kind(),
            (Problem::NotRegular { .. }, _) => io::ErrorKind::InvalidInput,
            (Problem::TooLarge { .. }, _) => io::ErrorKind::FileTooLarge,
            _ => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, error)
    }
}

/// Returns a path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

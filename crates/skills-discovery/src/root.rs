//! Where to look.

use std::fmt;
use std::path::{Path, PathBuf};

/// A directory to look for skills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    scope: Scope,
    symlinks: Symlinks,
}

impl Root {
    /// Names a directory; it need not exist. Directory symlinks are followed, except in [`Scope::System`].
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, scope: Scope) -> Self {
        let symlinks = if scope == Scope::System { Symlinks::Within } else { Symlinks::Follow };
        Self { path: path.into(), scope, symlinks }
    }

    /// Chooses what to do with symlinks to directories.
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Returns the directory as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns who the root belongs to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    pub(crate) fn follows_symlinks(&self) -> bool {
        self.symlinks == Symlinks::Follow
    }
}

/// Who a root belongs to. The order is the order of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Named by the caller.
    Custom,
    /// The project.
    Repo,
    /// The user.
    User,
    /// Shipped with the host.
    System,
    /// The machine's administrator.
    Admin,
}

impl Scope {
    /// Returns the scope as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Custom => "custom",
            Self::Repo => "repo",
            Self::User => "user",
            Self::System => "system",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What to do with a symlink to a directory. A `SKILL.md` that is a symlink must stay inside its skill in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Symlinks {
    /// Enter it wherever it leads. Installers link skills from one client's directory into another's.
    Follow,
    /// Enter it only when it stays below the root.
    Within,
}

//! What a scan skipped, and why.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_manifest::ManifestError;

use crate::DiscoveryError;

/// A file or directory that a scan skipped, with the reason.
///
/// Skips are data, not errors: one unreadable skill does not stop the scan or hide other skills.
/// Symlinks to files are resources, not candidates for skills, and are not recorded.
#[derive(Debug, Clone)]
pub struct Skipped {
    path: PathBuf,
    reason: SkipReason,
}

impl Skipped {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: SkipReason) -> Self {
        Self {
            path: path.into(),
            reason,
        }
    }

    /// Returns the file or directory that was skipped; for a limit, the root that it applies to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why it was skipped.
    #[must_use]
    pub fn reason(&self) -> &SkipReason {
        &self.reason
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// The reason why a scan skipped a file or directory.
///
/// [`code`](Self::code) is stable and meant for programs; the text of [`Display`](fmt::Display) is
/// meant for users and may change. Reasons that are normal return true from
/// [`is_expected`](Self::is_expected).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The root does not exist.
    #[error("root does not exist")]
    RootNotFound,
    /// A directory whose name starts with a dot.
    #[error("hidden directory")]
    Hidden,
    /// A directory of installed packages (`node_modules`).
    #[error("package directory")]
    Vendored,
    /// The directory is deeper than [`ScanLimits::max_depth`](crate::ScanLimits::max_depth) or than
    /// the [`SearchDepth`](crate::SearchDepth) of its root.
    #[error("deeper than {limit} directories below its root")]
    TooDeep {
        /// The limit, in directories below the root.
        limit: usize,
    },
    /// The scan of this root stopped at
    /// [`ScanLimits::max_directories`](crate::ScanLimits::max_directories).
    #[error("scan stopped after {limit} directories; skills may be missing")]
    TooManyDirectories {
        /// The limit.
        limit: usize,
    },
    /// The scan of this root stopped at
    /// [`ScanLimits::max_entries`](crate::ScanLimits::max_entries).
    #[error("scan stopped after {limit} directory entries; skills may be missing")]
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// The directory was scanned before, through another root or symlink.
    #[error("already scanned through another root or symlink")]
    AlreadyVisited,
    /// A source lists this path several times; none of the skills is used.
    #[error("listed several times by its source")]
    ListedTwice,
    /// A symlink whose target does not exist.
    #[error("broken symlink")]
    BrokenSymlink,
    /// A symlink that leads out of a root that does not allow it
    /// ([`DirSymlinks::WithinRoot`](crate::DirSymlinks::WithinRoot)).
    #[error("symlink leads outside of its root")]
    SymlinkLeavesRoot,
    /// A symlink to `/` or to a directory in `/`, which is too large to be a collection of skills.
    #[error("symlink to / or a top-level directory")]
    SymlinkTooBroad,
    /// A symlink to a directory, in a root that follows none
    /// ([`DirSymlinks::Ignore`](crate::DirSymlinks::Ignore)).
    #[error("symlinks to directories are ignored in this root")]
    SymlinkIgnored,
    /// A skill in a directory of another skill, whose root does not search there
    /// ([`NestedSkills::Skip`](crate::NestedSkills::Skip)).
    #[error("below the skill `{}`, where its root is not searched", parent.display())]
    Nested {
        /// The directory of the skill that contains it.
        parent: PathBuf,
    },
    /// A skill in a hidden directory, which its root does not search
    /// ([`HiddenDirectories::Skip`](crate::HiddenDirectories::Skip)).
    #[error("in a hidden directory, where its root is not searched")]
    InHiddenDirectory,
    /// A second skill file whose name differs only in case; `SKILL.md` was read instead.
    #[error("ignored: `SKILL.md` in the same directory is used")]
    DuplicateSkillFile,
    /// A directory whose name is not UTF-8 or contains invisible characters, so that neither a
    /// prompt nor a terminal can show it faithfully.
    #[error("name is not UTF-8 or contains invisible characters")]
    Unprintable,
    /// Neither the frontmatter nor the directory has a valid name, or the name is too long with its
    /// namespace.
    #[error(
        "neither `name` nor the directory is a valid name of at most 128 characters (with its namespace)"
    )]
    InvalidName,
    /// A lock file lists the directory, which does not contain a skill.
    #[error("locked, but missing")]
    LockedMissing,
    /// The file or directory cannot be read, or the `SKILL.md` is not valid.
    #[error("{}", unreadable_text(.0))]
    Unreadable(Arc<DiscoveryError>),
}

impl SkipReason {
    pub(crate) fn unreadable(error: DiscoveryError) -> Self {
        Self::Unreadable(Arc::new(error))
    }

    /// Returns the stable code of the reason, as in JSON output. For an invalid `SKILL.md` it is
    /// the code of the manifest error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::RootNotFound => "root-missing",
            Self::Hidden => "hidden",
            Self::Vendored => "vendored",
            Self::TooDeep { .. } => "depth-limit",
            Self::TooManyDirectories { .. } => "directory-limit",
            Self::TooManyEntries { .. } => "entry-limit",
            Self::AlreadyVisited => "seen",
            Self::ListedTwice => "listed-twice",
            Self::BrokenSymlink => "broken-symlink",
            Self::SymlinkLeavesRoot => "symlink-leaves-root",
            Self::SymlinkTooBroad => "symlink-too-broad",
            Self::SymlinkIgnored => "symlink-ignored",
            Self::Nested { .. } => "nested",
            Self::InHiddenDirectory => "in-hidden",
            Self::DuplicateSkillFile => "case-clash",
            Self::Unprintable => "unprintable",
            Self::InvalidName => "no-name",
            Self::LockedMissing => "locked-missing",
            Self::Unreadable(error) => error
                .manifest()
                .map_or(error.kind().code(), |error| error.kind().code()),
        }
    }

    /// Returns true if the reason needs no warning: hidden or package directories, directories that
    /// were scanned before, and missing roots are part of a normal setup.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        matches!(
            self,
            Self::RootNotFound | Self::Hidden | Self::Vendored | Self::AlreadyVisited
        )
    }
}

fn unreadable_text(error: &DiscoveryError) -> String {
    let line = error.manifest().and_then(ManifestError::line);
    line.map_or_else(|| error.to_string(), |line| format!("line {line}: {error}"))
}

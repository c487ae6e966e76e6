//! What a scan skipped, and why.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
/// meant for users and may change. Reasons that are no problem in a normal setup return true from
/// [`is_expected`](Self::is_expected).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SkipReason {
    /// The root does not exist.
    RootNotFound,
    /// A directory whose name starts with a dot.
    Hidden,
    /// A directory of installed packages (`node_modules`).
    Vendored,
    /// The directory is deeper than [`ScanLimits::max_depth`](crate::ScanLimits::max_depth) or than
    /// the [`SearchDepth`](crate::SearchDepth) of its root.
    TooDeep {
        /// The limit, in directories below the root.
        limit: usize,
    },
    /// The scan of this root stopped at
    /// [`ScanLimits::max_directories`](crate::ScanLimits::max_directories).
    TooManyDirectories {
        /// The limit.
        limit: usize,
    },
    /// The scan of this root stopped at
    /// [`ScanLimits::max_entries`](crate::ScanLimits::max_entries).
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// The directory was scanned before, through another root or symlink.
    AlreadyVisited,
    /// A symlink whose target does not exist.
    BrokenSymlink,
    /// A symlink that leads out of a root that does not allow it
    /// ([`DirSymlinks::WithinRoot`](crate::DirSymlinks::WithinRoot)).
    SymlinkLeavesRoot,
    /// A symlink to `/` or to a directory in `/`, which is too large to be a collection of skills.
    SymlinkTooBroad,
    /// A symlink to a directory, in a root that follows none
    /// ([`DirSymlinks::Ignore`](crate::DirSymlinks::Ignore)).
    SymlinkIgnored,
    /// A second skill file whose name differs only in case; `SKILL.md` was read instead.
    DuplicateSkillFile,
    /// A directory whose name is not UTF-8 or contains invisible characters, so that neither a
    /// prompt nor a terminal can show it faithfully.
    Unprintable,
    /// Neither the frontmatter nor the directory has a valid name, or the name is too long with its
    /// namespace.
    InvalidName,
    /// The file or directory cannot be read, or the `SKILL.md` is not valid.
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
            Self::BrokenSymlink => "broken-symlink",
            Self::SymlinkLeavesRoot => "symlink-leaves-root",
            Self::SymlinkTooBroad => "symlink-too-broad",
            Self::SymlinkIgnored => "symlink-ignored",
            Self::DuplicateSkillFile => "case-clash",
            Self::Unprintable => "unprintable",
            Self::InvalidName => "no-name",
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

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::TooDeep { limit } => {
                return write!(f, "deeper than {limit} directories below its root");
            }
            Self::TooManyDirectories { limit } => {
                return write!(
                    f,
                    "scan stopped after {limit} directories; skills may be missing"
                );
            }
            Self::TooManyEntries { limit } => {
                return write!(
                    f,
                    "scan stopped after {limit} directory entries; skills may be missing"
                );
            }
            Self::Unreadable(error) => return write_unreadable(f, error),
            Self::RootNotFound => "root does not exist",
            Self::Hidden => "hidden directory",
            Self::Vendored => "package directory",
            Self::AlreadyVisited => "already scanned through another root or symlink",
            Self::BrokenSymlink => "broken symlink",
            Self::SymlinkLeavesRoot => "symlink leads outside of its root",
            Self::SymlinkTooBroad => "symlink to / or a top-level directory",
            Self::SymlinkIgnored => "symlinks to directories are ignored in this root",
            Self::DuplicateSkillFile => "ignored: `SKILL.md` in the same directory is used",
            Self::Unprintable => "name is not UTF-8 or contains invisible characters",
            Self::InvalidName => {
                "neither `name` nor the directory is a valid name of at most 128 characters \
                 (with its namespace)"
            }
        };
        f.write_str(text)
    }
}

fn write_unreadable(f: &mut fmt::Formatter<'_>, error: &DiscoveryError) -> fmt::Result {
    match error
        .manifest()
        .and_then(skills_manifest::ManifestError::line)
    {
        Some(line) => write!(f, "line {line}: {error}"),
        None => write!(f, "{error}"),
    }
}

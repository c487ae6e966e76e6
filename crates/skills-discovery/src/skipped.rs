//! What a scan passed over, and why.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::DiscoveryError;

/// Something a scan passed over.
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

    /// Returns the file or directory that was passed over.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why.
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

/// Why something was passed over.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SkipReason {
    /// The root does not exist.
    RootNotFound,
    /// A directory whose name starts with a dot.
    Hidden,
    /// A directory of installed packages (`node_modules`).
    Vendored,
    /// The directory lies deeper than [`ScanLimits::max_depth`](crate::ScanLimits::max_depth).
    TooDeep {
        /// The limit.
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
    /// The directory was reached before, by another root or symlink.
    AlreadyVisited,
    /// A symlink that leads nowhere.
    BrokenSymlink,
    /// A symlink that leaves a root that keeps to itself
    /// ([`DirSymlinks::WithinRoot`](crate::DirSymlinks::WithinRoot)).
    SymlinkLeavesRoot,
    /// A symlink to `/` or to a directory in it: that is no collection of skills but a whole disk.
    SymlinkTooBroad,
    /// A symlink to a directory in a root that enters none
    /// ([`DirSymlinks::Ignore`](crate::DirSymlinks::Ignore)).
    SymlinkIgnored,
    /// A second skill file that differs in upper and lower case only; `SKILL.md` was read.
    DuplicateSkillFile,
    /// A directory whose name is not UTF-8 or holds invisible characters: neither a prompt nor a
    /// terminal can show it as it is.
    Unprintable,
    /// Neither the frontmatter nor the directory gives a usable name, or it is too long with its
    /// namespace.
    InvalidName,
    /// The file or directory could not be read, or is no skill.
    Unreadable(Arc<DiscoveryError>),
}

impl SkipReason {
    pub(crate) fn unreadable(error: DiscoveryError) -> Self {
        Self::Unreadable(Arc::new(error))
    }

    /// Returns the stable code of this class, as JSON output shows it.
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

    /// Says whether this is how a scan is meant to go (hidden, vendored, seen, absent root) and
    /// nobody's mistake.
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
        match self {
            Self::RootNotFound => f.write_str("the root does not exist"),
            Self::Hidden => f.write_str("hidden"),
            Self::Vendored => f.write_str("holds installed packages"),
            Self::TooDeep { limit } => write!(f, "deeper than {limit} directories below its root"),
            Self::TooManyDirectories { limit } => write!(f, "scan stopped after {limit} directories; skills may be missing"),
            Self::TooManyEntries { limit } => write!(f, "scan stopped after {limit} directory entries; skills may be missing"),
            Self::AlreadyVisited => f.write_str("reached before by another root or symlink"),
            Self::BrokenSymlink => f.write_str("symlink leads nowhere"),
            Self::SymlinkLeavesRoot => f.write_str("symlink leaves its root"),
            Self::SymlinkTooBroad => f.write_str("symlink to a whole disk or to a directory at its top"),
            Self::SymlinkIgnored => f.write_str("symlinks to directories are ignored in this root"),
            Self::DuplicateSkillFile => f.write_str("`SKILL.md` is there too and was read instead"),
            Self::Unprintable => f.write_str("the name is not UTF-8 or holds invisible characters"),
            Self::InvalidName => {
                f.write_str("neither `name` nor the directory gives a usable name of at most 128 characters, its namespace included")
            }
            Self::Unreadable(error) => match error.manifest().and_then(skills_manifest::ManifestError::line) {
                Some(line) => write!(f, "line {line}: {error}"),
                None => error.fmt(f),
            },
        }
    }
}

//! Quotas of directories that a run may write.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata};

/// The most that a directory may hold while and after a run writes to it: bytes,
/// [entries](Self::MAX_ENTRIES) and [levels](Self::MAX_DEPTH).
///
/// Bytes are those that the file system has allocated, so a sparse file counts for what was written
/// to it, and a file with several names counts once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    directory: PathBuf,
    max_bytes: u64,
}

impl Quota {
    /// The most files, directories and other entries.
    pub const MAX_ENTRIES: u64 = 20_000;
    /// How many levels of directories may lie below the directory.
    pub const MAX_DEPTH: usize = 64;

    /// Sets the quota of a directory, in bytes.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self {
            directory: directory.into(),
            max_bytes,
        }
    }

    /// Describes a quota of so many bytes that is enforced by measuring, for the report of a run.
    #[must_use]
    pub fn describe_limit(max_bytes: u64) -> String {
        format!(
            "{} MiB and {} entries, measured while it runs, and stopped when over",
            max_bytes >> 20,
            Self::MAX_ENTRIES
        )
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the most bytes.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}

/// Says that a directory holds more than its quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct QuotaExceeded {
    /// The quota, in bytes.
    pub limit_bytes: u64,
    /// Which part of the quota was exceeded.
    pub part: QuotaPart,
}

/// The part of a [`Quota`] that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QuotaPart {
    /// More bytes are allocated.
    Bytes,
    /// There are more entries.
    Entries,
    /// Directories lie deeper.
    Depth,
    /// A directory cannot be listed, or an open file cannot be examined; it may hold anything.
    Unreadable,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.limit_bytes >> 20;
        write!(f, "private workspace over its quota of {mib} MiB")?;
        match self.part {
            QuotaPart::Bytes => Ok(()),
            QuotaPart::Entries => {
                write!(f, " and {} entries: too many entries", Quota::MAX_ENTRIES)
            }
            QuotaPart::Depth => write!(
                f,
                " and {} levels: directories lie too deep",
                Quota::MAX_DEPTH
            ),
            QuotaPart::Unreadable => f.write_str(": its use cannot be measured"),
        }
    }
}

/// Measures directories against their quotas, by handles that it keeps open: renaming a directory
/// does not hide it.
#[derive(Debug)]
pub struct QuotaMonitor {
    directories: Vec<(Dir, Quota)>,
}

impl QuotaMonitor {
    /// Opens the directories.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(quotas: &[Quota]) -> io::Result<Self> {
        let open = |quota: &Quota| {
            Ok((
                Dir::open_ambient_dir(&quota.directory, ambient_authority())?,
                quota.clone(),
            ))
        };
        Ok(Self {
            directories: quotas.iter().map(open).collect::<io::Result<_>>()?,
        })
    }

    /// Returns the quotas.
    pub fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.directories.iter().map(|(_, quota)| quota)
    }

    /// Measures each directory and returns its quota and how many bytes it holds. No symlink is
    /// followed. Reads the disk, so it belongs on a thread that may block; a directory within its
    /// quota takes some tens of milliseconds at most.
    ///
    /// # Errors
    /// When a directory is over its quota. The walk ends there, so its cost is bounded.
    pub fn measure(&self) -> Result<Vec<(&Quota, u64)>, QuotaExceeded> {
        self.directories
            .iter()
            .map(|(top, quota)| Ok((quota, TreeWalk::measure(top, quota)?)))
            .collect()
    }
}

/// A walk through one directory, with one open directory for each level.
struct TreeWalk<'a> {
    quota: &'a Quota,
    bytes: u64,
    entries: u64,
    /// Files with several names that were counted already.
    counted_hard_links: BTreeSet<(u64, u64)>,
}

impl<'a> TreeWalk<'a> {
    fn measure(top: &Dir, quota: &'a Quota) -> Result<u64, QuotaExceeded> {
        let mut walk = Self {
            quota,
            bytes: 0,
            entries: 0,
            counted_hard_links: BTreeSet::new(),
        };
        match walk.visit_directory(top, 0) {
            Ok(()) => Ok(walk.bytes),
            Err(excess) => Err(QuotaExceeded {
                limit_bytes: quota.max_bytes,
                part: excess,
            }),
        }
    }

    fn visit_directory(&mut self, directory: &Dir, depth: usize) -> Result<(), QuotaPart> {
        if depth > Quota::MAX_DEPTH {
            return Err(QuotaPart::Depth);
        }
        for entry in directory.entries().map_err(|_| QuotaPart::Unreadable)? {
            let entry = entry.map_err(|_| QuotaPart::Unreadable)?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // It was removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return Err(QuotaPart::Unreadable),
            };
            self.count_entry(&metadata)?;
            if metadata.is_dir() {
                match directory.open_dir_nofollow(entry.file_name()) {
                    Ok(below) => self.visit_directory(&below, depth + 1)?,
                    Err(_) if is_directory(directory, &entry) => return Err(QuotaPart::Unreadable),
                    // Something else took its place since it was listed.
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    fn count_entry(&mut self, metadata: &Metadata) -> Result<(), QuotaPart> {
        self.entries += 1;
        if self.entries > Quota::MAX_ENTRIES {
            return Err(QuotaPart::Entries);
        }
        let is_directory = metadata.is_dir();
        if !is_directory
            && metadata.nlink() > 1
            && !self
                .counted_hard_links
                .insert((metadata.dev(), metadata.ino()))
        {
            return Ok(());
        }
        // Some file systems allocate no blocks for directories and store them all the same.
        let bytes = if is_directory {
            allocated(metadata).max(metadata.len())
        } else {
            allocated(metadata)
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.quota.max_bytes {
            Err(QuotaPart::Bytes)
        } else {
            Ok(())
        }
    }
}

fn is_directory(directory: &Dir, entry: &DirEntry) -> bool {
    directory
        .symlink_metadata(entry.file_name())
        .is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(unix)]
fn allocated(metadata: &Metadata) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    cap_std::fs::MetadataExt::blocks(metadata).saturating_mul(BLOCK_BYTES)
}

/// Other systems do not say how much is allocated, so a sparse file counts in full.
#[cfg(not(unix))]
fn allocated(metadata: &Metadata) -> u64 {
    metadata.len()
}

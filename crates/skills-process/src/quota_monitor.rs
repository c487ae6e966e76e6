//! Measures directories against their quotas, and what is left of disks.

use std::collections::BTreeSet;
use std::io;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata};
use skills_policy::Grants;
use skills_sandbox::{Quota, QuotaExceeded, QuotaPart};

#[cfg(unix)]
use crate::disk_reserve::DiskReserve;

/// Measures directories against their quotas. It holds open handles, so renaming a directory does
/// not hide it.
#[derive(Debug)]
pub struct QuotaMonitor {
    directories: Vec<(Dir, Quota)>,
    #[cfg(unix)]
    reserves: Vec<DiskReserve>,
}

impl QuotaMonitor {
    /// Opens the directories of all quotas.
    ///
    /// # Errors
    /// Fails if a directory cannot be opened.
    pub fn open(quotas: &[Quota]) -> io::Result<Self> {
        let directories = quotas.iter().map(open_directory);
        Ok(Self {
            directories: directories.collect::<io::Result<_>>()?,
            #[cfg(unix)]
            reserves: Vec::new(),
        })
    }

    /// Also watches the disks of granted files and directories that are writable and have no quota:
    /// 1 GiB and 65,536 files, or an eighth of what is left before the run if that is less, have to
    /// be left.
    ///
    /// # Errors
    /// Fails if such a path cannot be opened.
    #[cfg(unix)]
    pub fn with_disks_of(mut self, grants: &Grants) -> io::Result<Self> {
        let measured: Vec<_> = self.quotas().map(Quota::directory).collect();
        self.reserves = DiskReserve::open_all(grants, &measured)?;
        Ok(self)
    }

    /// Returns true if nothing has to be measured.
    #[cfg(unix)]
    pub(crate) fn is_empty(&self) -> bool {
        self.directories.is_empty() && self.reserves.is_empty()
    }

    /// Returns how many bytes can be written to the fullest of the disks.
    #[cfg(unix)]
    pub(crate) fn left_of_disks(&self) -> Result<u64, QuotaExceeded> {
        let mut left = self.reserves.iter().map(DiskReserve::left);
        left.try_fold(u64::MAX, |least, left| Ok(least.min(left?)))
    }

    /// Returns the quotas.
    pub fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.directories.iter().map(|(_, quota)| quota)
    }

    /// Measures each directory and returns its quota with the number of bytes it holds. Symlinks
    /// are not followed. This reads the disk, so call it on a blocking thread; a directory within
    /// its quota takes some tens of milliseconds at most.
    ///
    /// # Errors
    /// Returns the first quota that is exceeded. The walk stops there, so its cost is bounded.
    pub fn measure(&self) -> Result<Vec<(&Quota, u64)>, QuotaExceeded> {
        self.directories
            .iter()
            .map(|(top, quota)| Ok((quota, TreeWalk::measure(top, quota)?)))
            .collect()
    }
}

/// Opens the directory of a quota, before the run: the program can rename the directory, but not
/// change the handle.
fn open_directory(quota: &Quota) -> io::Result<(Dir, Quota)> {
    let directory = Dir::open_ambient_dir(quota.directory(), ambient_authority())?;
    Ok((directory, quota.clone()))
}

/// Walks one directory, with one open directory per level.
struct TreeWalk<'a> {
    quota: &'a Quota,
    bytes: u64,
    entries: u64,
    /// Files with several hard links that were counted already.
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
                limit_bytes: quota.max_bytes(),
                part: excess,
            }),
        }
    }

    fn visit_directory(&mut self, directory: &Dir, depth: usize) -> Result<(), QuotaPart> {
        // The walk recurses, so its depth is bounded before a program can exhaust the stack.
        if depth > Quota::MAX_DEPTH {
            return Err(QuotaPart::Depth);
        }
        for entry in directory.entries().map_err(|_| QuotaPart::Unreadable)? {
            let entry = entry.map_err(|_| QuotaPart::Unreadable)?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // It was removed after it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // What cannot be measured may hold anything.
                Err(_) => return Err(QuotaPart::Unreadable),
            };
            self.count_entry(&metadata)?;
            if metadata.is_dir() {
                self.visit_child(directory, &entry, depth + 1)?;
            }
        }
        Ok(())
    }

    fn visit_child(
        &mut self,
        directory: &Dir,
        entry: &DirEntry,
        depth: usize,
    ) -> Result<(), QuotaPart> {
        // A symlink would lead the walk out of the directory.
        match directory.open_dir_nofollow(entry.file_name()) {
            Ok(child) => self.visit_directory(&child, depth),
            Err(_) if is_directory(directory, entry) => Err(QuotaPart::Unreadable),
            // It was replaced after it was listed.
            Err(_) => Ok(()),
        }
    }

    fn count_entry(&mut self, metadata: &Metadata) -> Result<(), QuotaPart> {
        self.entries += 1;
        // Empty files take no blocks, so bytes alone do not bound their number.
        if self.entries > Quota::MAX_ENTRIES {
            return Err(QuotaPart::Entries);
        }
        if self.is_counted(metadata) {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(used_bytes(metadata));
        if self.bytes > self.quota.max_bytes() {
            Err(QuotaPart::Bytes)
        } else {
            Ok(())
        }
    }

    /// Returns true for another hard link of a file that was counted, and records the first one.
    fn is_counted(&mut self, metadata: &Metadata) -> bool {
        let file = (metadata.dev(), metadata.ino());
        // Each directory has several links, so these are not hard links of one file.
        !metadata.is_dir() && metadata.nlink() > 1 && !self.counted_hard_links.insert(file)
    }
}

fn used_bytes(metadata: &Metadata) -> u64 {
    if metadata.is_dir() {
        // Some file systems report no allocated blocks for directories, although these use space.
        return allocated(metadata).max(metadata.len());
    }
    allocated(metadata)
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

/// Other systems do not expose the allocated size, so a sparse file counts in full.
#[cfg(not(unix))]
fn allocated(metadata: &Metadata) -> u64 {
    metadata.len()
}

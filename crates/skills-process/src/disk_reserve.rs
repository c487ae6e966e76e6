//! Space that has to be left on the disks of directories that a user named, which have no quota.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, StatVfs, fstat, fstatvfs, open};
use rustix::io::Errno;
use skills_policy::{Access, Grants};
use skills_sandbox::{QuotaExceeded, QuotaPart};

/// What has to be left of a disk, in bytes and in files.
const RESERVED_BYTES: u64 = 1 << 30;
const RESERVED_FILES: u64 = 65_536;
/// Opening neither reads a file nor waits for another process.
#[cfg(any(target_os = "linux", target_os = "android"))]
const OPEN_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const OPEN_FLAGS: OFlags = OFlags::NONBLOCK
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// A disk that a run may fill up to a reserve.
#[derive(Debug)]
pub(crate) struct DiskReserve {
    /// Held, so that the program cannot replace it by another path.
    path: OwnedFd,
    min_bytes: u64,
    min_files: u64,
}

impl DiskReserve {
    /// Opens the disks of all writable grants that are not in a directory of `measured`, each once.
    pub(crate) fn open_all(grants: &Grants, measured: &[&Path]) -> io::Result<Vec<Self>> {
        let files = grants.files().iter();
        let writable = files.filter(|file| file.access() == Access::ReadWrite);
        let (mut reserves, mut devices) = (Vec::new(), BTreeSet::new());
        for path in writable.map(|file| file.location()) {
            if measured.iter().any(|directory| path.starts_with(directory)) {
                continue;
            }
            let handle = match open(path, OPEN_FLAGS, Mode::empty()) {
                Ok(handle) => handle,
                // Nothing can be written to it.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            if devices.insert(fstat(&handle)?.st_dev) {
                reserves.push(Self::new(handle)?);
            }
        }
        Ok(reserves)
    }

    fn new(path: OwnedFd) -> io::Result<Self> {
        let before = fstatvfs(&path)?;
        Ok(Self {
            path,
            // A small or full disk can be used too.
            min_bytes: RESERVED_BYTES.min(free_bytes(&before) / 8),
            min_files: RESERVED_FILES.min(before.f_favail / 8),
        })
    }

    /// Returns how many bytes can be written before the reserve is reached.
    pub(crate) fn left(&self) -> Result<u64, QuotaExceeded> {
        let exceeded = |part| QuotaExceeded {
            limit_bytes: self.min_bytes,
            part,
        };
        let now = fstatvfs(&self.path).map_err(|_| exceeded(QuotaPart::DiskUnreadable))?;
        // Some file systems report no number of files.
        if now.f_files > 0 && now.f_favail < self.min_files {
            return Err(exceeded(QuotaPart::DiskEntries));
        }
        let left = free_bytes(&now).checked_sub(self.min_bytes);
        left.ok_or_else(|| exceeded(QuotaPart::DiskSpace))
    }
}

/// Returns how many bytes users can write to a file system.
fn free_bytes(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

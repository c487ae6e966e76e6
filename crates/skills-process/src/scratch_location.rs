//! How the private temporary directories of runs are named, and where small ones are.

use std::path::Path;

/// The prefix of the names of all scratch directories, which are `PrivateDir`s of `skills-store`.
pub const SCRATCH_PREFIX: &str = "skills-run-";

/// Returns a directory in memory for small scratch directories: `/dev/shm`, if it is a file
/// system in memory from which programs can be executed. Creating a file there takes a fraction
/// of the time that it takes on a disk.
#[cfg(target_os = "linux")]
#[must_use]
pub fn memory_scratch_parent() -> Option<&'static Path> {
    use rustix::fs::{StatVfsMountFlags, statfs, statvfs};

    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let directory = Path::new("/dev/shm");
    let kind = u64::try_from(statfs(directory).ok()?.f_type).ok()?;
    let flags = statvfs(directory).ok()?.f_flag;
    let refused = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
    (kind == TMPFS_MAGIC && !flags.intersects(refused)).then_some(directory)
}

/// Returns `None`: only Linux has a directory in memory.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn memory_scratch_parent() -> Option<&'static Path> {
    None
}

//! Lists the names in a directory.

use std::ffi::OsString;
use std::ops::ControlFlow;

use cap_std::fs::Dir;

use crate::error::DiscoveryError;

/// A name in a directory, and what it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirEntry {
    pub(crate) name: OsString,
    pub(crate) is_directory: bool,
    pub(crate) is_symlink: bool,
}

/// Gives each name of a directory to `take`, in the order of the disk, until it has enough.
#[cfg(target_os = "linux")]
pub(crate) fn for_each_entry(
    handle: &Dir,
    take: &mut dyn FnMut(DirEntry) -> ControlFlow<()>,
) -> Result<(), DiscoveryError> {
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStringExt;

    use rustix::fs::{FileType, Mode, OFlags, RawDir};

    /// Room for some hundred names at a time.
    const BUFFER_BYTES: usize = 16 * 1024;
    let failed = |error: rustix::io::Errno| DiscoveryError::from_io(error.into());
    let opened = rustix::fs::openat(
        handle,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(failed)?;
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
    let mut entries = RawDir::new(opened, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(failed)?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let name = OsString::from_vec(bytes.to_vec());
        let (is_directory, is_symlink) = match entry.file_type() {
            FileType::Directory => (true, false),
            FileType::Symlink => (false, true),
            // Some disks do not say it in their listings.
            FileType::Unknown => handle
                .symlink_metadata(&name)
                .map(|found| (found.is_dir(), found.is_symlink()))
                .unwrap_or_default(),
            _ => (false, false),
        };
        if take(DirEntry {
            name,
            is_directory,
            is_symlink,
        })
        .is_break()
        {
            break;
        }
    }
    Ok(())
}

/// Gives each name of a directory to `take`, in the order of the disk, until it has enough.
#[cfg(not(target_os = "linux"))]
pub(crate) fn for_each_entry(
    handle: &Dir,
    take: &mut dyn FnMut(DirEntry) -> ControlFlow<()>,
) -> Result<(), DiscoveryError> {
    for entry in handle.entries().map_err(DiscoveryError::from_io)? {
        let entry = entry.map_err(DiscoveryError::from_io)?;
        let file_type = entry.file_type().map_err(DiscoveryError::from_io)?;
        let name = DirEntry {
            name: entry.file_name(),
            is_directory: file_type.is_dir(),
            is_symlink: file_type.is_symlink(),
        };
        if take(name).is_break() {
            break;
        }
    }
    Ok(())
}

//! Lists the entries of a directory.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;

use cap_std::fs::Dir;

use crate::INSTALL_DIRECTORY;
use crate::error::DiscoveryError;

/// An entry of a directory: its name and type. The order is that of the names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirEntry<Name = OsString> {
    pub(crate) name: Name,
    pub(crate) is_directory: bool,
    pub(crate) is_symlink: bool,
}

/// An entry while its directory is listed. Most entries are of no interest, so their names are not
/// copied.
pub(crate) type ListedEntry<'a> = DirEntry<&'a OsStr>;

impl ListedEntry<'_> {
    /// Copies the name.
    pub(crate) fn to_owned(&self) -> DirEntry {
        DirEntry {
            name: self.name.to_owned(),
            is_directory: self.is_directory,
            is_symlink: self.is_symlink,
        }
    }
}

/// Calls `visit` for each entry of a directory except `.` and `..`, in the order of the file
/// system, until it returns `Break`. Moves the position of the handle, so that two threads must not
/// list one handle, or copies of it, at the same time.
#[cfg(target_os = "linux")]
pub(crate) fn for_each_entry(
    handle: &Dir,
    visit: &mut dyn FnMut(ListedEntry<'_>) -> ControlFlow<()>,
) -> Result<(), DiscoveryError> {
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{FileType, Mode, OFlags, RawDir, SeekFrom, openat, seek};

    /// Large enough for a few hundred entries per system call.
    const BUFFER_BYTES: usize = 16 * 1024;
    let opened;
    let directory = match seek(handle, SeekFrom::Start(0)) {
        Ok(_) => handle.as_fd(),
        // A handle that only resolves paths (`O_PATH`) has no position.
        Err(_) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            opened = openat(handle, ".", flags, Mode::empty()).map_err(std::io::Error::from)?;
            opened.as_fd()
        }
    };
    // On the stack: an allocator merges its free blocks for each allocation of this size.
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(std::io::Error::from)?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let name = OsStr::from_bytes(bytes);
        let (is_directory, is_symlink) = match entry.file_type() {
            FileType::Directory => (true, false),
            FileType::Symlink => (false, true),
            // Some file systems do not return the type with the entry.
            FileType::Unknown => handle
                .symlink_metadata(name)
                .map(|metadata| (metadata.is_dir(), metadata.is_symlink()))
                .unwrap_or_default(),
            _ => (false, false),
        };
        let entry = DirEntry {
            name,
            is_directory,
            is_symlink,
        };
        if visit(entry).is_break() {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` for each entry of a directory except `.` and `..`, in the order of the file
/// system, until it returns `Break`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn for_each_entry(
    handle: &Dir,
    visit: &mut dyn FnMut(ListedEntry<'_>) -> ControlFlow<()>,
) -> Result<(), DiscoveryError> {
    for entry in handle.entries()? {
        let entry = entry?;
        let file_type = entry.file_type()?;
        let name = entry.file_name();
        let entry = DirEntry {
            name: name.as_os_str(),
            is_directory: file_type.is_dir(),
            is_symlink: file_type.is_symlink(),
        };
        if visit(entry).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns true if a hidden directory is part of version control or of a virtual environment, or
/// holds skills that are being installed.
pub(crate) fn is_never_searched(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".jj" | ".venv" | ".tox") || name == INSTALL_DIRECTORY
}

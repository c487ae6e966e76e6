//! Directories that are listed, and their entries examined, relative to their descriptors.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;

use crate::entry_state::{DirectoryState, EntryState};

/// A directory that is open.
pub(crate) struct OpenDirectory(OwnedFd);

/// An entry of a directory as it is listed, without its metadata.
pub(crate) struct ListedEntry {
    pub(crate) name: OsString,
    pub(crate) entry_type: EntryType,
    /// As the directory has it: for a mount point, that of the directory below the mount.
    pub(crate) inode: u64,
}

/// The type of an entry. Symlinks are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryType {
    Directory,
    File,
    Symlink,
    Special,
    /// It could not be examined, so it may be a directory.
    Unknown,
}

impl EntryType {
    pub(crate) fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            FileType::Unknown => Self::Unknown,
            _ => Self::Special,
        }
    }
}

impl OpenDirectory {
    /// Opens a directory to list it. Symlinks are followed.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(path, flags, Mode::empty())?))
    }

    /// Opens a directory to examine its entries, which need not be readable. The last component is
    /// not followed if it is a symlink.
    pub(crate) fn for_lookups(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, LOOKUP_FLAGS, Mode::empty())?))
    }

    /// Opens a directory below this one, as [`for_lookups`](Self::for_lookups). No symlink is
    /// followed. An empty path is that of the directory itself.
    pub(crate) fn below(&self, relative: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if !relative.as_os_str().is_empty() {
            use rustix::fs::{ResolveFlags, openat2};

            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.0, relative, LOOKUP_FLAGS, Mode::empty(), resolve) {
                Ok(opened) => return Ok(Self(opened)),
                // The kernel is older, or a filter denies it.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.below_by_steps(relative)
    }

    /// As [`below`](Self::below), one component after the other.
    fn below_by_steps(&self, relative: &Path) -> io::Result<Self> {
        let mut opened = Self(openat(&self.0, ".", LOOKUP_FLAGS, Mode::empty())?);
        for part in relative.components() {
            let Component::Normal(name) = part else {
                return Err(Errno::INVAL.into());
            };
            opened = Self(openat(&opened.0, name, LOOKUP_FLAGS, Mode::empty())?);
        }
        Ok(opened)
    }

    /// Returns the state of the directory itself.
    pub(crate) fn state(&self) -> io::Result<DirectoryState> {
        Ok(DirectoryState::from_stat(&fstat(&self.0)?))
    }

    /// Lists all entries but `.` and `..`, in the order of the file system.
    pub(crate) fn entries(&self) -> io::Result<Vec<ListedEntry>> {
        // A descriptor for lookups cannot be read, and one that was read has a position.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(&self.0, ".", flags, Mode::empty())?;
        self.list(directory)
    }

    #[cfg(target_os = "linux")]
    fn list(&self, directory: OwnedFd) -> io::Result<Vec<ListedEntry>> {
        use std::mem::MaybeUninit;

        /// Large enough for a few hundred entries per system call.
        const BUFFER_BYTES: usize = 16 * 1024;
        // On the stack: an allocator merges its free blocks for each allocation of this size.
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut entries = rustix::fs::RawDir::new(directory, &mut buffer);
        let mut listed = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            listed.extend(self.listed(name, entry.file_type(), entry.ino()));
        }
        Ok(listed)
    }

    #[cfg(not(target_os = "linux"))]
    fn list(&self, directory: OwnedFd) -> io::Result<Vec<ListedEntry>> {
        let mut listed = Vec::new();
        for entry in rustix::fs::Dir::new(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            listed.extend(self.listed(name, entry.file_type(), entry.ino()));
        }
        Ok(listed)
    }

    fn listed(&self, name: &[u8], kind: FileType, inode: u64) -> Option<ListedEntry> {
        if name == b"." || name == b".." {
            return None;
        }
        let name = OsStr::from_bytes(name);
        let entry_type = match EntryType::from_type(kind) {
            // Some file systems do not return the type with the entry.
            EntryType::Unknown => self.type_of(name)?,
            known => known,
        };
        Some(ListedEntry {
            name: name.to_owned(),
            entry_type,
            inode,
        })
    }

    /// Returns the type of an entry; `None` if it was removed.
    fn type_of(&self, name: &OsStr) -> Option<EntryType> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(EntryType::from_type(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => None,
            Err(_) => Some(EntryType::Unknown),
        }
    }

    /// Returns the state of an entry itself, which may be a symlink.
    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<EntryState> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(EntryState::from_stat(&stat))
    }

    /// Returns the state of the content of an entry, through symlinks; that of the symlink if it
    /// leads nowhere.
    pub(crate) fn content(&self, name: &OsStr) -> io::Result<EntryState> {
        match statat(&self.0, name, AtFlags::empty()) {
            Ok(stat) => Ok(EntryState::from_stat(&stat)),
            Err(_) => self.entry(name),
        }
    }
}

/// On macOS a directory has to be readable for lookups too.
#[cfg(not(target_os = "linux"))]
const LOOKUP_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(target_os = "linux")]
const LOOKUP_FLAGS: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_symlink_is_followed_below_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        symlink("a", top.join("link")).unwrap();
        symlink("b/c", top.join("a/end")).unwrap();
        let opened = OpenDirectory::for_lookups(&top).unwrap();
        let expected = OpenDirectory::new(&top.join("a/b")).unwrap();
        let expected = expected.state().unwrap();
        let ways: [fn(&OpenDirectory, &Path) -> io::Result<OpenDirectory>; 2] =
            [OpenDirectory::below, OpenDirectory::below_by_steps];
        for below in ways {
            let below = |path: &str| below(&opened, Path::new(path));
            assert!(below("a/b").unwrap().state().unwrap() == expected);
            assert!(below("").unwrap().state().unwrap() == opened.state().unwrap());
            for path in ["link", "link/b", "a/end", "..", "missing"] {
                assert!(below(path).is_err(), "{path}");
            }
        }
    }
}

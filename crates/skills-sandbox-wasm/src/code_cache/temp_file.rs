//! Temporary files of the cache directory.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::directory::Directory;
use super::error::{CodeCacheError, Repr};
use super::key::TEMPORARY_SUFFIX;

/// How many names are tried for a temporary file.
const MAX_NAME_ATTEMPTS: usize = 8;

/// A temporary file that is removed on drop. Its lock, held while the process lives, shows that it
/// is in use.
pub(super) struct TempFile<'a> {
    directory: &'a Directory,
    name: String,
    file: File,
}

impl<'a> TempFile<'a> {
    pub(super) fn new(directory: &'a Directory) -> Result<Self, CodeCacheError> {
        let mut last = Errno::EXIST;
        for _ in 0..MAX_NAME_ATTEMPTS {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(|_| Repr::Random)?;
            let name = format!("{:016x}{TEMPORARY_SUFFIX}", u64::from_le_bytes(random));
            match directory.create_new(&name) {
                Ok(file) => match lock_new_file(&file) {
                    Ok(()) => {
                        return Ok(Self {
                            directory,
                            name,
                            file: File::from(file),
                        });
                    }
                    Err(errno) => {
                        // Cleanup by another process came first, so another name is tried.
                        directory.remove(&name)?;
                        last = errno;
                    }
                },
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(directory.io_error("create", &name, errno)),
            }
        }
        Err(directory.io_error("create", "a temporary file", last))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Writes and syncs the file.
    pub(super) fn write(
        &self,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), CodeCacheError> {
        let written = write(&self.file).and_then(|()| self.file.sync_all());
        written.map_err(|error| self.directory.io_error("write", &self.name, error))
    }

    pub(super) fn rename(self, name: &str) -> Result<(), CodeCacheError> {
        let handle = self.directory.handle();
        rustix::fs::renameat(handle, self.name.as_str(), handle, name)
            .map_err(|errno| self.directory.io_error("write", name, errno))
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        // After a rename nothing has this name. If removal fails, closing the file releases its
        // lock, and a later cleanup removes it.
        let _left_for_a_sweep = self.directory.remove(&self.name);
    }
}

/// Locks a new file. Cleanup by another process may have removed it just before.
fn lock_new_file(file: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?;
    if rustix::fs::fstat(file)?.st_nlink == 0 {
        Err(Errno::NOENT)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_removed_by_cleanup_is_not_written() {
        let parent = tempfile::tempdir().unwrap();
        let directory = Directory::create(&parent.path().join("cache")).unwrap();
        let file = directory.create_new("file").unwrap();
        lock_new_file(&file).unwrap();
        let swept = directory.create_new("swept").unwrap();
        directory.remove("swept").unwrap();
        assert_eq!(lock_new_file(&swept), Err(Errno::NOENT));
    }
}

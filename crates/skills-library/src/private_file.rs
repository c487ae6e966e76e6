//! Private state files of the host application.
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_store::trusted_file::{self, Privacy, TrustErrorKind};
use skills_store::{create_private_dir, lock_with_timeout};

/// Maximum size of the text of a file, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A small state file of the host application, readable and writable by its owner only.
///
/// It is neither read nor written if other users can change it, or a directory that leads to it; see
/// [`trusted_file`]. Writes replace the whole file atomically. Several processes can share a file: hold
/// [`lock`](Self::lock) during a read, modify and replace sequence.
///
/// ```
/// use skills_library::PrivateFile;
///
/// # let directory = tempfile::tempdir()?;
/// let counter = PrivateFile::new(directory.path().join("state/counter"));
/// let lock = counter.lock()?;
/// let runs: u64 = counter.read()?.map_or(0, |text| text.parse().unwrap_or(0));
/// counter.replace(&(runs + 1).to_string())?;
/// drop(lock);
/// assert_eq!(counter.read()?.as_deref(), Some("1"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    /// Refers to a file without accessing it. The file and its directory are created on the first
    /// write.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file. Returns `None` if it does not exist. A FIFO does not block.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not trusted, is not a regular file, is larger than 64 MiB,
    /// or is not valid UTF-8.
    pub fn read(&self) -> io::Result<Option<String>> {
        // Without the lock: the file is replaced atomically, so the content is never half written.
        let Some(file) = self.open()? else {
            return Ok(None);
        };
        let bytes = trusted_file::read_bounded(&file, &self.path, MAX_TEXT_BYTES)?;
        let text = String::from_utf8(bytes);
        text.map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Reads the bytes of the file. Returns `None` if it does not exist or has more than `max_bytes`
    /// bytes.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    #[cfg(feature = "search")]
    pub(crate) fn read_bytes(&self, max_bytes: usize) -> io::Result<Option<Vec<u8>>> {
        use std::io::Read;

        let Some(file) = self.open()? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() <= max_bytes).then_some(bytes))
    }

    /// Acquires an exclusive lock among processes that change the file. The lock is released when
    /// the returned handle is dropped. Blocks without a timeout.
    ///
    /// # Errors
    /// Fails if the directory or the `.lock` file cannot be created.
    pub fn lock(&self) -> io::Result<File> {
        let file = self.open_lock()?;
        file.lock()?;
        Ok(file)
    }

    /// Acquires the same lock as [`lock`](Self::lock), with a timeout.
    ///
    /// # Errors
    /// Fails with [`TimedOut`](io::ErrorKind::TimedOut) if another process holds the lock for
    /// longer than `max_wait`; otherwise the same as `lock`.
    pub fn lock_with_timeout(&self, max_wait: Duration) -> io::Result<File> {
        let file = self.open_lock()?;
        if lock_with_timeout(&file, max_wait)? {
            return Ok(file);
        }
        let message = format!(
            "another process has held it for {} seconds",
            max_wait.as_secs()
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }

    fn open_lock(&self) -> io::Result<File> {
        if let Some(parent) = self.path.parent() {
            create_private_dir(parent)?;
        }
        // A separate file is locked: the state file itself is replaced, and with it its inode.
        let mut lock = OsString::from(&self.path);
        lock.push(".lock");
        Ok(trusted_file::open_lock(Path::new(&lock))?)
    }

    /// Opens the file for reading; `None` if it does not exist.
    fn open(&self) -> io::Result<Option<File>> {
        match trusted_file::open(&self.path, Privacy::Readable) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == TrustErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the content of the file atomically. Concurrent readers see the old or the new
    /// content.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the old file is then unchanged.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        self.replace_bytes(text.as_bytes())
    }

    pub(crate) fn replace_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        Ok(trusted_file::replace(&self.path, bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn locking_fails_after_the_timeout() {
        let directory = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(directory.path().join("state/file"));
        let held = file.lock_with_timeout(Duration::ZERO).unwrap();
        assert_eq!(
            file.lock_with_timeout(Duration::ZERO).unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        drop(held);
        file.lock_with_timeout(Duration::ZERO).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn only_regular_files_are_read_and_none_blocks() {
        let directory = tempfile::tempdir().unwrap();
        let mode = nix::sys::stat::Mode::S_IRWXU;
        for name in ["fifo", "locked.lock"] {
            nix::unistd::mkfifo(&directory.path().join(name), mode).unwrap();
        }
        std::os::unix::fs::symlink("/dev/zero", directory.path().join("device")).unwrap();
        for name in ["fifo", "device"] {
            let file = PrivateFile::new(directory.path().join(name));
            let error = file.read().unwrap_err().to_string();
            assert!(error.ends_with("not a regular file"), "{error}");
        }
        PrivateFile::new(directory.path().join("locked"))
            .lock()
            .unwrap_err();
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_can_change_is_neither_read_nor_written() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(directory.path().join("state/approvals.json"));
        drop(file.lock().unwrap());
        file.replace("{}").unwrap();
        let chmod = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(file.path(), 0o666);
        let error = file.read().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        chmod(file.path(), 0o600);
        chmod(directory.path(), 0o777);
        for error in [
            file.read().map(drop).unwrap_err(),
            file.lock().map(drop).unwrap_err(),
            file.replace("[]").unwrap_err(),
        ] {
            assert!(error.to_string().ends_with("(mode 0777)"), "{error}");
        }
        chmod(directory.path(), 0o700);
        assert_eq!(file.read().unwrap().as_deref(), Some("{}"));
    }
}

//! A file of the host's own.
#![expect(
    clippy::disallowed_methods,
    reason = "the file is the host's own, not a skill's"
)]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time between two attempts to take the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A small file of the host's own, which only its owner may read or write. It is replaced as a
/// whole, and several processes may do so.
#[derive(Debug, Clone)]
pub struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    /// Names the file; it and its directory are made when there is something to keep.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; nothing when it is not there.
    ///
    /// # Errors
    /// When it cannot be read or is no text.
    pub fn read(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for its turn among all who change the file; the turn goes with the handle.
    ///
    /// # Errors
    /// When the directory or the lock beside the file cannot be made.
    pub fn lock(&self) -> io::Result<File> {
        let file = self.open_lock()?;
        file.lock()?;
        Ok(file)
    }

    /// Takes the same lock as [`lock`](Self::lock), and waits no longer than `max_wait` for it.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when another process holds the lock for that long;
    /// else as for `lock`.
    pub fn lock_with_timeout(&self, max_wait: Duration) -> io::Result<File> {
        let file = self.open_lock()?;
        let until = Instant::now() + max_wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL)
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "another process holds it for more than {} seconds",
                        max_wait.as_secs()
                    );
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        if let Some(parent) = self.path.parent() {
            make_private(parent)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        options.open(self.sibling("lock"))
    }

    /// Puts a text in the place of the whole file. Whoever reads meanwhile reads the old one or the
    /// new one.
    ///
    /// # Errors
    /// When it cannot be written; the old one is then still there.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let new = self.sibling("new");
        // What a process left that was killed has its rights, not ours.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        owner_only(&mut options);
        let mut file = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, &self.path)
    }

    fn sibling(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    }
}

#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_no_longer_than_said() {
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
}

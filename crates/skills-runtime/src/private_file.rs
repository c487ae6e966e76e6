//! A file of the host's own.
#![expect(clippy::disallowed_methods, reason = "the file is the host's own, not a skill's")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A small file of the host's own, which only its owner may read or write. It is replaced as a whole, and several processes may do so.
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
        if let Some(parent) = self.path.parent() {
            make_private(parent)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let file = options.open(self.beside("lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Puts a text in the place of the whole file. Whoever reads meanwhile reads the old one or the new one.
    ///
    /// # Errors
    /// When it cannot be written; the old one is then still there.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let new = self.beside("new");
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

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    }
}

#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
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

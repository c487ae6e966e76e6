//! The file that passes a profile to `sandbox-exec`.
#![expect(
    clippy::disallowed_methods,
    reason = "a new file with a unique name, created by this crate"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::profile::FILE_PREFIX;

/// How many names are tried.
const MAX_NAME_ATTEMPTS: u32 = 1_000;

/// A file for one profile: new, readable only by its owner, and removed on drop.
#[derive(Debug)]
pub(crate) struct ProfileFile {
    file: File,
    path: PathBuf,
}

impl ProfileFile {
    /// Creates an empty file `openskills-seatbelt-{process}-{attempt}.sb`. If the name exists, even
    /// as a symlink, it is not touched, and the next attempt is tried.
    pub(crate) fn create(directory: &Path, process: u32) -> io::Result<Self> {
        for attempt in 0..MAX_NAME_ATTEMPTS {
            let path = directory.join(format!("{FILE_PREFIX}{process}-{attempt}.sb"));
            match create_new(&path) {
                Ok(file) => return Ok(Self { file, path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("all {MAX_NAME_ATTEMPTS} file names for a profile exist"),
        ))
    }

    /// Writes the whole text.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        // All users can create files in this directory, so an existing name may belong to another
        // one.
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

impl Drop for ProfileFile {
    fn drop(&mut self) {
        // Removes the directory entry, not a symlink's target; errors are ignored in `drop`.
        let _ = fs::remove_file(&self.path);
    }
}

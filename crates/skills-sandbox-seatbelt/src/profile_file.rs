//! The file in which a profile is handed to `sandbox-exec`.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of ours, under a name that nobody had before"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::profile::FILE_PREFIX;

/// How many names are tried.
const MAX_NAME_ATTEMPTS: u32 = 1_000;

/// A file for one profile: new, its owner's alone, and removed when dropped.
#[derive(Debug)]
pub(crate) struct ProfileFile {
    file: File,
    path: PathBuf,
}

impl ProfileFile {
    /// Makes an empty file `openskills-seatbelt-{process}-{attempt}.sb`; whatever has that name
    /// already, be it a symlink, is left alone, and the next attempt is tried.
    pub(crate) fn create(directory: &Path, process: u32) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW);
        for attempt in 0..MAX_NAME_ATTEMPTS {
            let path = directory.join(format!("{FILE_PREFIX}{process}-{attempt}.sb"));
            match options.open(&path) {
                Ok(file) => return Ok(Self { file, path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("all {MAX_NAME_ATTEMPTS} names for a profile are taken"),
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

impl Drop for ProfileFile {
    fn drop(&mut self) {
        // Whatever lies there now is removed, not followed; nobody is left to tell when that fails.
        let _ = fs::remove_file(&self.path);
    }
}

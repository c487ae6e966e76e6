//! The written-down change: what is renamed. Performing it again has no effect.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, Metadata};
use serde::{Deserialize, Serialize};
use skills_discovery::{
    DiscoveryErrorKind, LOCK_FILE, MAX_LOCK_BYTES, is_installable_name, read_regular_text,
};

use super::write_file;
use crate::error::{InstallError, Repr};
use crate::installed::Installed;
use crate::{LockFile, TreePath};

/// Maximum size of a journal, in bytes: it has one line for each skill that a lock file has.
const MAX_JOURNAL_BYTES: u64 = 2 * MAX_LOCK_BYTES;

/// The skill directories that a change replaces and removes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The names of new skills, with their paths below the directory of fetched files.
    install: BTreeMap<String, String>,
    remove: Vec<String>,
    /// The file in which it was written. A copy of the directory has another one.
    #[serde(default)]
    file: String,
    #[serde(skip)]
    actual_file: String,
}

impl Journal {
    pub(super) fn new(install: BTreeMap<String, String>, remove: Vec<String>) -> Self {
        Self {
            install,
            remove,
            file: String::new(),
            actual_file: String::new(),
        }
    }

    /// Reads the journal of a change; `None` if there is none.
    pub(super) fn read(handle: &Dir, change: &str) -> io::Result<Option<Self>> {
        let path = format!("{change}/journal");
        match read_regular_text(handle, Path::new(&path), MAX_JOURNAL_BYTES) {
            Ok(text) => {
                let mut journal: Self = serde_json::from_str(&text)
                    .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                let metadata = handle.symlink_metadata(&path)?;
                journal.actual_file = file_identity(&metadata);
                let mut names = journal.install.keys().chain(&journal.remove);
                let mut paths = journal.install.values();
                // A program of the project may have written it.
                if names.all(|name| is_installable_name(name))
                    && paths.all(|path| TreePath::new(path).is_ok())
                {
                    Ok(Some(journal))
                } else {
                    Err(ErrorKind::InvalidData.into())
                }
            }
            Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Ok(None),
            Err(error) => Err(match error.io_kind() {
                // This program did not write it.
                None | Some(ErrorKind::InvalidData) => {
                    io::Error::new(ErrorKind::InvalidData, error)
                }
                Some(_) => io::Error::other(error),
            }),
        }
    }

    /// Returns true if the journal is in the file in which it was written.
    pub(super) fn is_in_place(&self) -> bool {
        self.file == self.actual_file
    }

    /// Fails if the change is not one of this directory, or its skills are not those of its lock
    /// file.
    pub(super) fn check(
        &self,
        handle: &Dir,
        root: &Path,
        change: &str,
    ) -> Result<(), InstallError> {
        let foreign = |problem: &'static str| Repr::ForeignChange {
            path: root.join(change),
            problem,
        };
        if !self.is_in_place() {
            return Err(foreign("it was made in another directory").into());
        }
        let prepared = Path::new(change).join(LOCK_FILE);
        let lock_file = match LockFile::read_at(handle, &prepared, root)? {
            Some(lock_file) => lock_file,
            // The last step was performed.
            None => LockFile::read_from(handle, root)?,
        };
        let locked = lock_file.skills();
        let is_locked = |(name, path): (&String, &String)| {
            let installed = Installed::read(&root.join(change).join("new").join(path));
            let locked = locked.get(name);
            locked.is_some_and(|locked| installed == Installed::Missing || installed.is(locked))
        };
        if !self.install.iter().all(is_locked)
            || self.remove.iter().any(|name| locked.contains_key(name))
        {
            return Err(foreign("its skills are not those of its lock file").into());
        }
        Ok(())
    }

    /// Writes the journal, so that it is either complete or not there.
    pub(super) fn write(mut self, handle: &Dir, change: &str) -> io::Result<()> {
        let new = format!("{change}/journal.new");
        // Empty first: its content is about the file itself.
        let file = write_file(handle, &new, "")?;
        self.file = file_identity(&file.metadata()?);
        write_file(handle, &new, &serde_json::to_string(&self)?)?;
        handle.rename(&new, handle, format!("{change}/journal"))
    }

    /// Performs what is not performed yet, and removes the journal.
    pub(super) fn perform(
        &self,
        handle: &Dir,
        change: &str,
        step: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let exists = |path: &str| handle.symlink_metadata(path).is_ok();
        // Most skills are in one directory, which is found once.
        let mut opened: Option<(&str, Dir)> = None;
        for (name, path) in &self.install {
            let (parent, new) = path.rsplit_once('/').unwrap_or(("", path));
            let directory = match opened.take() {
                Some((known, directory)) if known == parent => directory,
                _ => match handle.open_dir(format!("{change}/new/{parent}")) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    directory => directory?,
                },
            };
            if directory.symlink_metadata(new).is_ok() {
                set_aside(handle, change, name, step)?;
                step();
                directory.rename(new, handle, name)?;
            }
            opened = Some((parent, directory));
        }
        for name in &self.remove {
            set_aside(handle, change, name, step)?;
        }
        let lock_file = format!("{change}/{LOCK_FILE}");
        if exists(&lock_file) {
            step();
            handle.rename(&lock_file, handle, LOCK_FILE)?;
        }
        step();
        // Before the replaced skills are removed: without them the change cannot be repeated.
        handle.remove_file(format!("{change}/journal"))
    }
}

/// Moves a skill that is replaced or removed out of the way.
fn set_aside(handle: &Dir, change: &str, name: &str, step: &mut dyn FnMut()) -> io::Result<()> {
    let old = format!("{change}/old/{name}");
    let exists = |path: &str| handle.symlink_metadata(path).is_ok();
    if exists(name) && !exists(&old) {
        step();
        handle.rename(name, handle, &old)?;
    }
    Ok(())
}

/// Returns what only this file has: its number and the time when it was created, as far as the
/// system knows them. The device is not part of it, whose number may change when the system starts.
fn file_identity(metadata: &Metadata) -> String {
    let created = metadata.created().ok();
    let created = created.and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
    let created = created.map_or(0, |time| time.as_nanos());
    #[cfg(unix)]
    let number = cap_std::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let number = 0;
    format!("{number}-{created}")
}

//! The written-down change: what is renamed. Performing it again has no effect.

use std::io::{self, ErrorKind};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skills_discovery::LOCK_FILE;

use super::write_file;

/// The names of the skill directories that a change replaces and removes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) install: Vec<String>,
    pub(super) remove: Vec<String>,
}

impl Journal {
    /// Reads the journal of a change; `None` if there is none.
    pub(super) fn read(handle: &Dir, change: &str) -> io::Result<Option<Self>> {
        match handle.read_to_string(format!("{change}/journal")) {
            Ok(text) => {
                let journal: Self = serde_json::from_str(&text)?;
                let mut names = journal.install.iter().chain(&journal.remove);
                // A program of the project may have written it.
                if names.all(|name| !name.starts_with('.') && !name.contains(['/', '\\'])) {
                    Ok(Some(journal))
                } else {
                    Err(io::Error::other("the journal names a path"))
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the journal, so that it is either complete or not there.
    pub(super) fn write(&self, handle: &Dir, change: &str) -> io::Result<()> {
        let new = format!("{change}/journal.new");
        write_file(handle, &new, &serde_json::to_string(self)?)?;
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
        for name in &self.install {
            let new = format!("{change}/new/{name}");
            if !exists(&new) {
                continue;
            }
            set_aside(handle, change, name, step)?;
            step();
            handle.rename(&new, handle, name)?;
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

//! A change of skills and their lock file: prepared beside the skills, published by renames.
//!
//! ```text
//! DIR/ID/new/NAME   new skills
//! DIR/ID/old/NAME   removed skills, and replaced ones where two directories cannot be exchanged
//! DIR/skills.lock   the new lock file, until it is in place
//! ```
//!
//! The rename of the lock file decides: before it the next process drops the change, after it the
//! next process completes it. It only puts content in place that the lock file names, or that it
//! finds removed. `ID` is the identity of `DIR`, so that a copy of it, as in a clone of a repository,
//! completes nothing.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, OpenOptions};
use skills_discovery::LOCK_FILE;

use super::{StepObserver, remove_tree};
use crate::LockFile;
use crate::installed::Installed;

/// The directory of a change, in the install directory.
pub(super) const DIRECTORY: &str = ".skills-install/change";

/// A prepared change of an open directory of skills.
pub(super) struct Change<'a> {
    root: &'a Dir,
    steps: &'a mut StepObserver,
    /// New skills.
    new: Dir,
    /// Skills that were replaced or removed.
    old: Dir,
}

impl<'a> Change<'a> {
    pub(super) fn create(root: &'a Dir, steps: &'a mut StepObserver) -> io::Result<Self> {
        steps.step();
        root.create_dir_all(DIRECTORY)?;
        let identity = identity(root)?;
        let create = |name: &str| {
            let path = format!("{DIRECTORY}/{identity}/{name}");
            root.create_dir_all(&path)?;
            root.open_dir(path)
        };
        Ok(Self {
            root,
            new: create("new")?,
            old: create("old")?,
            steps,
        })
    }

    /// Installs the directories at these paths under their names and removes skills, with a new lock
    /// file. All of them are on one file system.
    pub(super) fn perform(
        &mut self,
        install: &[(String, String)],
        remove: &[String],
        lock_file: &str,
    ) -> io::Result<()> {
        for (name, staged) in install {
            self.steps.step();
            self.root.rename(staged, &self.new, name)?;
        }
        self.steps.step();
        let prepared = format!("{DIRECTORY}/{LOCK_FILE}");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut file = self.root.open_with(&prepared, &options)?;
        io::Write::write_all(&mut file, lock_file.as_bytes())?;
        file.sync_all()?;
        // Everything is on disk before it is in place.
        sync_file_system(&file)?;
        for name in remove {
            self.set_aside(name)?;
        }
        self.steps.step();
        self.root.rename(&prepared, self.root, LOCK_FILE)?;
        install
            .iter()
            .try_for_each(|(name, _)| self.put_in_place(name))
    }

    /// Moves a new skill to its place; what was there goes.
    fn put_in_place(&mut self, name: &str) -> io::Result<()> {
        if self.root.symlink_metadata(name).is_ok() {
            self.steps.step();
            if exchange(&self.new, self.root, name) {
                return Ok(());
            }
            self.set_aside(name)?;
        }
        self.steps.step();
        self.new.rename(name, self.root, name)
    }

    fn set_aside(&mut self, name: &str) -> io::Result<()> {
        self.steps.step();
        match self.root.rename(name, &self.old, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Returns true if a change was interrupted in this directory, and not in one that it was copied
/// from.
pub(super) fn is_unfinished(root: &Dir) -> bool {
    identity(root).is_ok_and(|identity| root.exists(format!("{DIRECTORY}/{identity}")))
}

/// Puts in place what the lock file says of an interrupted change, and removes the rest of it.
pub(super) fn recover(
    root: &Dir,
    path: &Path,
    lock_file: &LockFile,
    steps: &mut StepObserver,
) -> io::Result<()> {
    if is_unfinished(root) {
        let new = path.join(DIRECTORY).join(identity(root)?).join("new");
        let mut change = Change::create(root, steps)?;
        for (name, locked) in lock_file.skills() {
            if change.new.exists(name)
                && Installed::read(&new.join(name)).is(locked)
                && !Installed::read(&path.join(name)).is(locked)
            {
                change.put_in_place(name)?;
            }
            // Removed before the lock file was replaced.
            if change.old.exists(name) && root.symlink_metadata(name).is_err() {
                change.steps.step();
                change.old.rename(name, root, name)?;
            }
        }
    }
    steps.step();
    remove_tree(root, DIRECTORY)
}

/// Exchanges two directories of the same name, so that one of them is in place at any time. Returns
/// false where the system cannot.
#[cfg(target_os = "linux")]
fn exchange(new: &Dir, root: &Dir, name: &str) -> bool {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(new, name, root, name, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn exchange(_new: &Dir, _root: &Dir, _name: &str) -> bool {
    false
}

/// Returns what only this [`DIRECTORY`] has: its number and the time when it was created, as far as
/// the system knows them. The device is not part of it, whose number may change when the system
/// starts.
fn identity(root: &Dir) -> io::Result<String> {
    let metadata = root.symlink_metadata(DIRECTORY)?;
    let created = metadata.created().ok();
    let created = created.and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
    let created = created.map_or(0, |time| time.as_nanos());
    #[cfg(unix)]
    let number = cap_std::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Ok(format!("{number}-{created}"))
}

/// Writes everything of the file system of a file to disk: one call for all files of a change, where
/// one for each would take a hundred times as long.
#[cfg(target_os = "linux")]
fn sync_file_system(file: &cap_std::fs::File) -> io::Result<()> {
    rustix::fs::syncfs(file).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_file: &cap_std::fs::File) -> io::Result<()> {
    Ok(())
}

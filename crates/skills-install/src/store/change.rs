//! A change of skills and their lock file: prepared beside the skills, published by renames.
//!
//! ```text
//! DIRECTORY/ID/skills.lock   the new lock file, until it is in place
//! DIRECTORY/ID/new/NAME      a new skill, until it is in place; then the one that it replaced
//! DIRECTORY/ID/old/NAME      a removed skill, or a replaced one if the two cannot be exchanged
//! DIRECTORY/ID/remove/NAME   the name of a skill to remove
//! ENDED-NUMBER               a change that ended, which is only removed
//! ```
//!
//! The rename of the lock file decides: before it nothing of the skills was changed, and the next
//! process drops the change; after it the next process completes it. New skills are put in place only
//! if the lock file names their content. `ID` is the identity of `DIRECTORY`: a change that was copied
//! with its directory, as in a clone of a repository, has another one and is not completed.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, OpenOptions};
use skills_discovery::{INSTALL_DIRECTORY, LOCK_FILE};

use super::{StepObserver, remove_tree};
use crate::LockFile;
use crate::error::InstallError;
use crate::installed::Installed;

/// The directory of a change, in the install directory.
const DIRECTORY: &str = ".skills-install/change";
/// The directories of a change.
const NEW: &str = "new";
const OLD: &str = "old";
const REMOVE: &str = "remove";
/// How the names of changes that ended start, in the install directory.
const ENDED: &str = "ended-";

/// A change of an open directory of skills.
pub(super) struct Change<'a> {
    root: &'a Dir,
    steps: &'a mut StepObserver,
    path: String,
}

impl<'a> Change<'a> {
    /// Prepares a change: what is staged at these paths is installed under their names, and skills
    /// are removed, with a new lock file. All of them are on one file system.
    pub(super) fn prepare(
        root: &'a Dir,
        steps: &'a mut StepObserver,
        install: &[(String, String)],
        remove: &[String],
        lock_file: &str,
    ) -> io::Result<Self> {
        // One that could not be prepared.
        end(root, steps)?;
        steps.step();
        root.create_dir_all(DIRECTORY)?;
        let path = own_path(root)?;
        root.create_dir(&path)?;
        let change = Self { root, steps, path };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // The first of all: a change without it is published.
        let mut file = root.open_with(change.below(LOCK_FILE), &options)?;
        io::Write::write_all(&mut file, lock_file.as_bytes())?;
        file.sync_all()?;
        for directory in [REMOVE, OLD, NEW] {
            root.create_dir(change.below(directory))?;
        }
        for name in remove {
            root.create_dir(change.skill(REMOVE, name))?;
        }
        for (name, staged) in install {
            change.steps.step();
            root.rename(staged, root, change.skill(NEW, name))?;
        }
        // Everything is on disk before it is in place.
        sync_file_system(&file)?;
        Ok(change)
    }

    fn below(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn skill(&self, directory: &str, name: &str) -> String {
        format!("{}/{directory}/{name}", self.path)
    }

    /// Puts the lock file in place, and then the skills.
    pub(super) fn publish(
        mut self,
        install: &[(String, String)],
        remove: &[String],
    ) -> io::Result<()> {
        self.steps.step();
        self.root
            .rename(self.below(LOCK_FILE), self.root, LOCK_FILE)?;
        for (name, _) in install {
            self.put_in_place(name)?;
        }
        for name in remove {
            self.set_aside(name)?;
        }
        end(self.root, self.steps)
    }

    /// Puts in place what the lock file says, where that was not done.
    fn complete(mut self, path: &Path, lock_file: &LockFile) -> io::Result<()> {
        for (name, locked) in lock_file.skills() {
            if Installed::read(&path.join(self.skill(NEW, name))).is(locked)
                && !Installed::read(&path.join(name)).is(locked)
            {
                self.put_in_place(name)?;
            }
            // Its new files are no longer those of the lock file.
            let old = self.skill(OLD, name);
            if exists(self.root, &old) && !exists(self.root, name) {
                self.steps.step();
                self.root.rename(old, self.root, name)?;
            }
        }
        for entry in self.root.read_dir(self.below(REMOVE))? {
            let name = entry?.file_name().into_string();
            let removed = name.ok().filter(|name| {
                // What has the name of one that was set aside was created later.
                !lock_file.skills().contains_key(name) && !exists(self.root, &self.skill(OLD, name))
            });
            if let Some(name) = removed {
                self.set_aside(&name)?;
            }
        }
        end(self.root, self.steps)
    }

    /// Moves a new skill to its place, and what was there into the directory of the change.
    fn put_in_place(&mut self, name: &str) -> io::Result<()> {
        let new = self.root.open_dir(self.below(NEW))?;
        if exists(self.root, name) {
            self.steps.step();
            if exchange(&new, self.root, name) {
                return Ok(());
            }
            self.set_aside(name)?;
        }
        self.steps.step();
        new.rename(name, self.root, name)
    }

    fn set_aside(&mut self, name: &str) -> io::Result<()> {
        self.steps.step();
        let old = self.skill(OLD, name);
        match self.root.rename(name, self.root, old) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Returns true if the lock file of a change of this directory is in place, and perhaps not all of
/// its skills. False for a change that was copied with its directory.
pub(super) fn is_unfinished(root: &Dir) -> bool {
    own_path(root).is_ok_and(|path| {
        exists(root, &format!("{path}/{NEW}")) && !exists(root, &format!("{path}/{LOCK_FILE}"))
    })
}

/// Completes an interrupted change if its lock file is in place, or else drops it.
///
/// # Errors
/// Fails if that cannot be done, or if a copied change has skills that were set aside.
pub(super) fn recover(
    root: &Dir,
    path: &Path,
    lock_file: &LockFile,
    steps: &mut StepObserver,
) -> Result<(), InstallError> {
    let recovered = if is_unfinished(root) {
        own_path(root).and_then(|own| {
            let change = Change {
                root,
                steps,
                path: own,
            };
            change.complete(path, lock_file)
        })
    } else if let Some(old) = find_set_aside(root) {
        return Err(InstallError::conflict(
            &path.join(DIRECTORY).join(old).to_string_lossy(),
            "it has skills that a change of another directory, of which this is a copy, set aside",
            "move the skills that you want to keep to another place, and remove the directory",
        ));
    } else {
        end(root, steps)
    };
    recovered.map_err(|error| InstallError::io("complete a change of", path, error))?;
    remove_ended(root, steps);
    Ok(())
}

/// Returns the path in [`DIRECTORY`] of a directory with skills that were set aside.
fn find_set_aside(root: &Dir) -> Option<String> {
    let mut entries = root.read_dir(DIRECTORY).ok()?;
    entries.find_map(|entry| {
        let old = format!("{}/{OLD}", entry.ok()?.file_name().to_string_lossy());
        match root.read_dir(format!("{DIRECTORY}/{old}")) {
            Ok(mut skills) => skills.next().is_some(),
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
        .then_some(old)
    })
}

/// Ends a change with one rename, so that nothing takes what is left of it for an interrupted one.
fn end(root: &Dir, steps: &mut StepObserver) -> io::Result<()> {
    let path = |number: u32| format!("{INSTALL_DIRECTORY}/{ENDED}{number}");
    let mut number = 0;
    // One that cannot be removed stays.
    while exists(root, &path(number)) {
        number += 1;
    }
    steps.step();
    match root.rename(DIRECTORY, root, path(number)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Removes changes that ended, as far as that is possible: they do no harm.
pub(super) fn remove_ended(root: &Dir, steps: &mut StepObserver) {
    let entries = root.read_dir(INSTALL_DIRECTORY).into_iter().flatten();
    for entry in entries.flatten() {
        if let Ok(name) = entry.file_name().into_string()
            && name.starts_with(ENDED)
        {
            steps.step();
            let _ = remove_tree(root, &format!("{INSTALL_DIRECTORY}/{name}"));
        }
    }
}

fn exists(directory: &Dir, path: &str) -> bool {
    directory.symlink_metadata(path).is_ok()
}

/// Returns the path of a change that was made here.
fn own_path(root: &Dir) -> io::Result<String> {
    Ok(format!("{DIRECTORY}/{}", identity(root)?))
}

/// Exchanges two directories of the same name, so that one of them is in place at any time. Returns
/// false where the system cannot.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(new: &Dir, root: &Dir, name: &str) -> bool {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(new, name, root, name, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_new: &Dir, _root: &Dir, _name: &str) -> bool {
    false
}

/// Returns what only this [`DIRECTORY`] has: its number and the time when it was created, as far as
/// the system knows them. The device is not part of it, since its number may change when the system
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

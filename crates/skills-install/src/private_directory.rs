//! Temporary directories that other users cannot read or write.
#![expect(
    clippy::disallowed_methods,
    reason = "a temporary directory of this program has no files of a skill yet"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::error::InstallError;

const PREFIX: &str = "skills-install-";
/// The number of characters after the prefix.
const RANDOM_CHARACTERS: usize = 6;
/// The file in a directory that its process locks.
const LOCK: &str = ".skills-install-lock";
/// The age from which a directory that is not locked belongs to no process: one that was just created
/// is not locked yet.
const MIN_STALE_AGE: Duration = Duration::from_secs(60);

/// A directory that is removed when it is dropped, or by a later process if this one is killed.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    directory: TempDir,
    _lock: File,
}

impl PrivateDirectory {
    /// Creates a directory of the user alone, in the given one or with the temporary files of the
    /// system. Removes those that killed processes of the user left there.
    pub(crate) fn create(parent: Option<&Path>) -> Result<Self, InstallError> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).rand_bytes(RANDOM_CHARACTERS);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let failed = |error| InstallError::io("create a directory in", &parent, error);
        let directory = builder.tempdir_in(&parent).map_err(failed)?;
        let lock = File::create_new(directory.path().join(LOCK)).map_err(failed)?;
        // Where a file cannot be locked, no directory is stale.
        let _ = lock.lock();
        remove_stale(&parent, &lock);
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of processes that have ended, of the user who owns `own`. What cannot be
/// removed stays.
fn remove_stale(parent: &Path, own: &File) {
    let (Ok(entries), Ok(own)) = (fs::read_dir(parent), own.metadata()) else {
        return;
    };
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_str().is_some_and(is_our_name);
        if is_named && is_stale(&entry.path(), &own) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns true for a directory of the same user that no process has locked.
fn is_stale(directory: &Path, own: &Metadata) -> bool {
    let Ok(metadata) = directory.symlink_metadata() else {
        return false;
    };
    let modified = metadata.modified().ok();
    let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    metadata.is_dir()
        && is_same_owner(&metadata, own)
        && age.is_some_and(|age| age >= MIN_STALE_AGE)
        && OpenOptions::new()
            .write(true)
            .open(directory.join(LOCK))
            .is_ok_and(|lock| lock.try_lock().is_ok())
}

fn is_our_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX);
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

#[cfg(unix)]
fn is_same_owner(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.uid() == b.uid()
}

/// The temporary directory is one of the user.
#[cfg(not(unix))]
fn is_same_owner(_a: &Metadata, _b: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let create = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let set_old = |path: &Path| {
            let old = SystemTime::now() - 2 * MIN_STALE_AGE;
            File::open(path).unwrap().set_modified(old).unwrap();
        };
        let locked = create("skills-install-locked");
        let left = create("skills-install-left00");
        let without_lock = create("skills-install-notes0");
        let new = create("skills-install-new000");
        let other = create("skills-install-my-project");
        for path in [&locked, &left, &new, &other] {
            fs::write(path.join(LOCK), "").unwrap();
        }
        let lock = File::open(locked.join(LOCK)).unwrap();
        lock.lock().unwrap();
        for path in [&locked, &left, &without_lock, &other] {
            set_old(path);
        }
        let own = PrivateDirectory::create(Some(parent.path())).unwrap();
        assert!(!left.exists());
        for kept in [&locked, &without_lock, &new, &other] {
            assert!(kept.exists(), "{}", kept.display());
        }
        let path = own.path().to_owned();
        set_old(&path);
        let _second = PrivateDirectory::create(Some(parent.path())).unwrap();
        assert!(path.exists());
        drop(own);
        assert!(!path.exists());
    }
}

//! Drafts under review are in a directory that no tool searches.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::output::Output;

/// Staging directory of drafts under review. It is not a skill root, so no tool finds them.
const STAGING_DIR: &str = ".adopting";
/// Lock file that serializes concurrent calls.
const LOCK_FILE: &str = ".adopting.lock";

/// A draft in the staging directory. Moves the draft back when dropped without `move_to`.
pub(super) struct StagedDraft {
    pub(super) path: PathBuf,
    original: PathBuf,
}

impl StagedDraft {
    pub(super) fn stage(drafts: &Path, directory: &Path) -> anyhow::Result<Self> {
        let staging = drafts.join(STAGING_DIR);
        std::fs::create_dir_all(&staging)
            .with_context(|| format!("cannot create `{}`", staging.display()))?;
        let path = staging.join(directory.file_name().unwrap_or_default());
        if path.symlink_metadata().is_ok() {
            return Err(anyhow!(
                "cannot stage the draft: `{}` exists; move or remove it",
                path.display()
            ));
        }
        // A rename, and not a copy: what the user reviews is what is accepted, and the drafts no
        // longer contain it.
        std::fs::rename(directory, &path)
            .with_context(|| format!("cannot move `{}`", directory.display()))?;
        Ok(Self {
            path,
            original: directory.to_owned(),
        })
    }

    /// Moves the draft to its destination in a skill root.
    pub(super) fn move_to(&self, destination: &Path) -> anyhow::Result<()> {
        let shown = destination.display();
        std::fs::rename(&self.path, destination).map_err(|error| match error.kind() {
            // A copy would not be atomic, and could differ from what was reviewed.
            std::io::ErrorKind::CrossesDevices => {
                anyhow!("cannot move the draft to `{shown}`: it is on another file system; pass `--to` a directory on the same one, or copy the skill")
            }
            _ => anyhow::Error::from(error).context(format!("cannot move the draft to `{shown}`")),
        })
    }
}

impl Drop for StagedDraft {
    fn drop(&mut self) {
        // After `move_to` this fails, as intended. A draft that cannot be moved back now is
        // restored by the next call.
        let _ = std::fs::rename(&self.path, &self.original);
        let _ = self.path.parent().map(std::fs::remove_dir);
    }
}

/// Locks the drafts without blocking: while a user reviews one draft, no other call moves any.
/// Returns `None` if there is no drafts directory.
#[expect(clippy::disallowed_methods, reason = "the file is the command's own")]
pub(super) fn lock_drafts(drafts: &Path) -> anyhow::Result<Option<std::fs::File>> {
    if !drafts.is_dir() {
        return Ok(None);
    }
    let path = drafts.join(LOCK_FILE);
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.with_context(|| format!("cannot open `{}`", path.display()))?;
    // The kernel releases the lock when a call is killed, so no stale lock blocks later calls.
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(anyhow!(
            "another `skills accept` is reviewing the drafts in {}; wait until it finishes",
            drafts.display()
        )),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock `{}`", path.display()))
        }
    }
}

/// Moves drafts that an interrupted call left in the staging directory back. A draft whose name has
/// been taken in the meantime stays there, with a warning.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is the command's own"
)]
pub(super) fn restore_staged(drafts: &Path, output: Output) -> anyhow::Result<()> {
    let staging = drafts.join(STAGING_DIR);
    // The staging directory exists only while a draft is reviewed, or after an interrupted call.
    let Ok(entries) = std::fs::read_dir(&staging) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        if drafts.join(entry.file_name()).symlink_metadata().is_ok() {
            output.status(&format!(
                "warning: cannot restore `{}`: another draft has its name",
                entry.path().display()
            ));
            continue;
        }
        std::fs::rename(entry.path(), drafts.join(entry.file_name()))
            .with_context(|| format!("cannot move `{}` back", entry.path().display()))?;
    }
    // A directory that is not empty holds the drafts of the warnings above.
    let _ = std::fs::remove_dir(&staging);
    Ok(())
}

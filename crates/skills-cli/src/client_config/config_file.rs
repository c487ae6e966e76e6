//! A client's configuration file, read and replaced as a whole.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is not a file of a skill"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use super::atomic_replace::{self, Replacement, Snapshot};
use super::client::Scope;
use crate::error::CommandError;
use crate::file_mode::create_dir_with_mode;
use crate::input;
use crate::policy_files::path_spellings;

/// Maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of symlinks that are followed.
const MAX_LINKS: usize = 40;

/// A configuration file, which can be a symlink, as dotfile managers create them. The target of the
/// symlink is read and written; the symlink is kept.
pub(crate) struct ConfigFile {
    path: PathBuf,
    target: PathBuf,
}

impl ConfigFile {
    /// Resolves the path of a configuration file.
    ///
    /// # Errors
    /// Fails if symlinks form a loop or pass missing directories, or if they leave `project`, whose
    /// content is not trusted.
    pub(crate) fn find(named: PathBuf, project: Option<&Path>) -> anyhow::Result<Self> {
        let end = follow_links(&named).and_then(|end| path_spellings(&end).pop());
        // `..` after a missing directory cannot be resolved, and would hide where the path leads.
        let end = end.filter(|end| !end.components().any(|part| part == Component::ParentDir));
        let target = end.ok_or_else(|| {
            CommandError::input(format!("cannot resolve the symlink `{}`", named.display()))
        })?;
        if let Some(project) = project {
            let root = project
                .canonicalize()
                .with_context(|| format!("cannot resolve `{}`", project.display()))?;
            // A cloned repository could otherwise let this command edit any file of the user.
            if !target.starts_with(root) {
                let message = format!(
                    "symlink `{}` leaves the project, to `{}`; edit that file manually",
                    named.display(),
                    target.display()
                );
                return Err(CommandError::input(message).into());
            }
        }
        Ok(Self {
            path: named,
            target,
        })
    }

    /// Returns the path at which the client looks up the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the target of the symlink, if the file is one.
    pub(crate) fn link(&self) -> Option<&Path> {
        let is_link = self
            .path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink());
        is_link.then_some(self.target.as_path())
    }

    /// Reads the current content of the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a regular file, is not valid UTF-8 or is larger
    /// than 4 MiB. A missing file is not an error.
    pub(crate) fn read(&self) -> anyhow::Result<Snapshot> {
        match self.target.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Snapshot { content: None }),
            _ => {
                let (bytes, metadata) = input::read_bytes_and_metadata(&self.target, MAX_BYTES)?;
                Ok(Snapshot {
                    content: Some((input::decode_utf8(&self.target, bytes)?, metadata)),
                })
            }
        }
    }

    /// Replaces the file if it is unchanged since `before` was read. The new file keeps owner and
    /// mode of the old one. A new file in user scope is readable by the user only.
    ///
    /// # Errors
    /// Fails if a file cannot be written or its owner cannot be kept. The file is then unchanged,
    /// unless the error message has the path of its old content.
    pub(crate) fn replace(
        &self,
        before: &Snapshot,
        text: &str,
        scope: Scope,
    ) -> anyhow::Result<Replacement> {
        let failed = || format!("cannot write `{}`", self.target.display());
        let directory = self.target.parent().ok_or_else(|| anyhow!(failed()))?;
        // Configurations of users contain keys. Those of projects are shared, so the umask decides.
        let (directory_mode, file_mode) = match scope {
            Scope::User => (0o700, 0o600),
            Scope::Project => (0o777, 0o666),
        };
        create_dir_with_mode(directory, directory_mode).with_context(failed)?;
        // A read-only file is not replaced either.
        if before.content.is_some()
            && let Err(error) = OpenOptions::new().write(true).open(&self.target)
        {
            return match error.kind() {
                ErrorKind::NotFound => Ok(Replacement::Changed),
                _ => Err(error).with_context(failed),
            };
        }
        let old = before.metadata();
        // Private until owner and mode of the old file are copied: the content may have secrets.
        let mode = old.map_or(file_mode, |_| 0o600);
        // In the same directory, since files can be exchanged on one file system only.
        let new = create_temp(directory, mode).and_then(|mut new| {
            write_temp(new.as_file_mut(), text, old)?;
            Ok(new)
        });
        new.and_then(|new| atomic_replace::replace(new, &self.target, before))
            .with_context(failed)
    }
}

/// Creates a temporary file with a mode, which the umask restricts.
fn create_temp(directory: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder.suffix(".tmp").tempfile_in(directory)
}

fn write_temp(file: &mut File, text: &str, old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    old.map_or(Ok(()), |old| copy_owner_and_mode(file, old))?;
    // After a crash the new name could otherwise refer to an empty file.
    file.sync_all()
}

/// Follows symlinks to a path that is not a symlink and need not exist. Returns `None` for a loop.
fn follow_links(named: &Path) -> Option<PathBuf> {
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            return Some(path);
        };
        // A relative target is relative to the directory of the symlink. An absolute one replaces
        // the path.
        path = path.parent()?.join(next);
    }
    None
}

fn copy_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid()))?;
        }
    }
    // Changing the owner clears mode bits, so the mode is set last.
    file.set_permissions(old.permissions())
}

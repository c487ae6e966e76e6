//! A client's configuration file, read and replaced as a whole.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is not a file of a skill"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};

use super::atomic_replace::{self, Replacement, Snapshot};
use super::client::Scope;
use crate::input::{self, InputError};
use crate::policy_config::path_spellings;

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
            InputError::new(format!("cannot resolve the symlink `{}`", named.display()))
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
                return Err(InputError::new(message).into());
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
        create_dir(directory, scope).with_context(failed)?;
        // A read-only file is not replaced either.
        if before.content.is_some()
            && let Err(error) = OpenOptions::new().write(true).open(&self.target)
        {
            return if error.kind() == ErrorKind::NotFound {
                Ok(Replacement::Changed)
            } else {
                Err(error).with_context(failed)
            };
        }
        // In the same directory, since files can be exchanged on one file system only.
        let path = self.temp_path();
        let metadata = before.metadata();
        let mut file = create_file(
            &path,
            // Private until owner and mode of the old file are copied: the content may have
            // secrets.
            if metadata.is_some() {
                Scope::User
            } else {
                scope
            },
        )
        .with_context(failed)?;
        let filled = write_temp(&mut file, text, metadata);
        if filled.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&path);
        }
        filled
            .and_then(|()| atomic_replace::swap(&path, &self.target, before))
            .with_context(failed)
    }

    /// Returns the path of the temporary file that replaces the old file.
    fn temp_path(&self) -> PathBuf {
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        // Calls with different state directories do not share a lock, so the name is unique for
        // each process.
        name.push(format!(".{}.tmp", std::process::id()));
        self.target.with_file_name(name)
    }
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

#[cfg(unix)]
fn create_dir(directory: &Path, scope: Scope) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    // Configurations of users contain keys. Those of projects are shared, so the umask decides.
    let mode = if scope == Scope::User { 0o700 } else { 0o777 };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(directory)
}

#[cfg(not(unix))]
fn create_dir(directory: &Path, _scope: Scope) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// Creates a file that must not exist.
#[cfg(unix)]
fn create_file(path: &Path, scope: Scope) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if scope == Scope::User { 0o600 } else { 0o666 };
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
}

#[cfg(not(unix))]
fn create_file(path: &Path, _scope: Scope) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn copy_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // Changing the owner clears mode bits, so the mode is set last.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn copy_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

//! A client's configuration file, read and replaced as a whole.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is not a file of a skill"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;

use crate::atomic_replace::{self, Replacement, Snapshot};
use crate::client::ConfigScope;
use crate::error::ConfigError;

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
    pub(crate) fn find(named: PathBuf, project: Option<&Path>) -> Result<Self, ConfigError> {
        let end = follow_links(&named).map(|end| resolve_existing(&end));
        // `..` after a missing directory cannot be resolved, and would hide where the path leads.
        let end = end.filter(|end| !end.components().any(|part| part == Component::ParentDir));
        let path = named;
        let Some(target) = end else {
            return Err(ConfigError::UnresolvedLink { path });
        };
        if let Some(project) = project {
            let root = project
                .canonicalize()
                .map_err(|source| ConfigError::Project {
                    path: project.to_owned(),
                    source,
                })?;
            // A cloned repository could otherwise let this program edit any file of the user.
            if !target.starts_with(root) {
                return Err(ConfigError::LinkLeavesProject { path, target });
            }
        }
        Ok(Self { path, target })
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
    pub(crate) fn read(&self) -> Result<Snapshot, ConfigError> {
        match self.target.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Snapshot { content: None }),
            _ => Ok(Snapshot {
                content: Some(read_text(&self.target)?),
            }),
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
        scope: ConfigScope,
    ) -> Result<Replacement, ConfigError> {
        self.try_replace(before, text, scope)
            .map_err(|source| ConfigError::Write {
                path: self.target.clone(),
                source,
            })
    }

    fn try_replace(
        &self,
        before: &Snapshot,
        text: &str,
        scope: ConfigScope,
    ) -> io::Result<Replacement> {
        let directory = self.target.parent().ok_or(ErrorKind::IsADirectory)?;
        // Configurations of users contain keys. Those of projects are shared, so the umask decides.
        let (directory_mode, file_mode) = match scope {
            ConfigScope::User => (0o700, 0o600),
            ConfigScope::Project => (0o777, 0o666),
        };
        create_dir(directory, directory_mode)?;
        // A read-only file is not replaced either.
        if before.content.is_some()
            && let Err(error) = OpenOptions::new().write(true).open(&self.target)
        {
            return match error.kind() {
                ErrorKind::NotFound => Ok(Replacement::Changed),
                _ => Err(error),
            };
        }
        let old = before.metadata();
        // Private until owner and mode of the old file are copied: the content may have secrets.
        let mode = old.map_or(file_mode, |_| 0o600);
        // In the same directory, since files can be exchanged on one file system only.
        let mut new = create_temp(directory, mode)?;
        write_temp(new.as_file_mut(), text, old)?;
        atomic_replace::replace(new, &self.target, before)
    }
}

/// Reads a regular file of at most [`MAX_BYTES`], with its metadata from just before. Does not
/// block: a pipe is rejected.
fn read_text(path: &Path) -> Result<(String, Metadata), ConfigError> {
    let failed = |source| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    let path = || path.to_owned();
    let file = open(&path()).map_err(failed)?;
    // Of the open file and not of the path, which can refer to another file by now.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(ConfigError::NotRegular { path: path() });
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(failed)? as u64 > MAX_BYTES {
        return Err(ConfigError::TooLarge {
            path: path(),
            max_bytes: MAX_BYTES,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| ConfigError::NotUtf8 { path: path() })?;
    Ok((text, metadata))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Opening a named pipe would otherwise wait for a writer, before its type can be checked.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.read(true).open(path)
}

/// Creates a directory and its parents with a mode, which the umask restricts.
fn create_dir(directory: &Path, mode: u32) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    #[cfg(not(unix))]
    let _ = mode;
    builder.create(directory)
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

/// Resolves the directories of a path that exist. The others are kept as written.
fn resolve_existing(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|existing| {
        let missing = path.strip_prefix(existing).ok()?;
        // Joining an empty path would add a separator.
        let canonical = existing.canonicalize().ok()?;
        Some(canonical.components().chain(missing.components()).collect())
    });
    resolved.unwrap_or_else(|| path.to_owned())
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

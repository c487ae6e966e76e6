//! The file of a client: read as a whole, and replaced as a whole or not at all.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of a client is no file of a skill"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};

use super::atomic_replace::{self, Replacement};
use super::client::Scope;
use crate::input::{self, InputError};
use crate::policy_config::path_spellings;

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// How many links are followed from one to the next.
const MAX_LINKS: usize = 40;

/// A file that may be a link, as managers of dotfiles make them: what it leads to is read and
/// written, and the link stays.
pub(crate) struct ConfigFile {
    path: PathBuf,
    target: PathBuf,
}

impl ConfigFile {
    /// Finds where a file lies.
    ///
    /// # Errors
    /// When links lead in circles or through directories that are not there, or out of `project`:
    /// that may have been written by anybody.
    pub(crate) fn find(named: PathBuf, project: Option<&Path>) -> anyhow::Result<Self> {
        let end = follow_links(&named).and_then(|end| path_spellings(&end).pop());
        let end = end.filter(|end| !end.components().any(|part| part == Component::ParentDir));
        let leads = end.ok_or_else(|| {
            InputError::new(format!("{} is a link that leads nowhere", named.display()))
        })?;
        if let Some(project) = project {
            let root = project
                .canonicalize()
                .with_context(|| format!("{} cannot be looked at", project.display()))?;
            if !leads.starts_with(root) {
                let message = format!(
                    "{} leads out of the project, to {}: change that file by hand",
                    named.display(),
                    leads.display()
                );
                return Err(InputError::new(message).into());
            }
        }
        Ok(Self {
            path: named,
            target: leads,
        })
    }

    /// Returns the path by which the client knows the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is read and written, where that is another file.
    pub(crate) fn link(&self) -> Option<&Path> {
        let is_link = self
            .path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink());
        is_link.then_some(self.target.as_path())
    }

    /// Reads the file as it is now.
    ///
    /// # Errors
    /// When it is no regular file, no text in UTF-8 or longer than 4 MiB, or cannot be read.
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

    /// Puts a text in the place of the file, if that is still what was read before. The new file
    /// keeps owner and mode of the old one; where there was none, a file of the user is for them
    /// alone.
    ///
    /// # Errors
    /// When something cannot be written, or the owner cannot be kept; then the file is what it was,
    /// unless the error says where that is now.
    pub(crate) fn replace(
        &self,
        before: &Snapshot,
        text: &str,
        scope: Scope,
    ) -> anyhow::Result<Replacement> {
        let failed = || format!("{} cannot be written", self.target.display());
        let directory = self.target.parent().ok_or_else(|| anyhow!(failed()))?;
        create_dir(directory, scope).with_context(failed)?;
        // A file that its owner made read-only is not replaced either.
        if before.content.is_some()
            && let Err(error) = OpenOptions::new().write(true).open(&self.target)
        {
            return if error.kind() == ErrorKind::NotFound {
                Ok(Replacement::Changed)
            } else {
                Err(error).with_context(failed)
            };
        }
        let path = self.temp_path();
        let metadata = before.metadata();
        let mut file = create_file(
            &path,
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

    /// Names the file that a new text is written to before it takes the place of the old one.
    fn temp_path(&self) -> PathBuf {
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        self.target.with_file_name(name)
    }
}

/// What a file held when it was read.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Text and metadata; nothing when there was no file.
    content: Option<(String, Metadata)>,
}

impl Snapshot {
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.as_ref().map(|(text, _)| text.as_str())
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.content.as_ref().map(|(_, metadata)| metadata)
    }
}

fn write_temp(file: &mut File, text: &str, old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    old.map_or(Ok(()), |old| copy_owner_and_mode(file, old))?;
    file.sync_all()
}

/// Follows links to what is none, which may not be there yet; nothing for a circle.
fn follow_links(named: &Path) -> Option<PathBuf> {
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            return Some(path);
        };
        path = path.parent()?.join(next);
    }
    None
}

#[cfg(unix)]
fn create_dir(directory: &Path, scope: Scope) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
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

/// Makes a file that was not there.
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
    // A change of owner takes bits of the mode away, so the mode comes last.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn copy_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

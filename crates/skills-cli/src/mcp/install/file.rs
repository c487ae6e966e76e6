//! The file of a client: read whole, and written whole or not at all.
#![expect(clippy::disallowed_methods, reason = "a file of a client is no file of a skill")]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};

use super::client::Scope;
use crate::input::{self, InputError};
use crate::policy_files::spellings;

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// How many links are followed from one to the next.
const MAX_LINKS: usize = 40;

/// A file that may be a link, as managers of dotfiles make them: what it leads to is read and written, and the link stays.
pub(crate) struct ConfigFile {
    named: PathBuf,
    leads: PathBuf,
}

impl ConfigFile {
    /// Finds where a file lies.
    ///
    /// # Errors
    /// When links lead in circles or through directories that are not there, or out of `project`: that may have been written by anybody.
    pub(crate) fn find(named: PathBuf, project: Option<&Path>) -> anyhow::Result<Self> {
        let end = follow(&named).and_then(|end| spellings(&end).pop());
        let end = end.filter(|end| !end.components().any(|part| part == Component::ParentDir));
        let leads = end.ok_or_else(|| InputError::new(format!("{} is a link that leads nowhere", named.display())))?;
        if let Some(project) = project {
            let root = project.canonicalize().with_context(|| format!("{} cannot be looked at", project.display()))?;
            if !leads.starts_with(root) {
                let message = format!("{} leads out of the project, to {}: change that file by hand", named.display(), leads.display());
                return Err(InputError::new(message).into());
            }
        }
        Ok(Self { named, leads })
    }

    /// Returns the path by which the client knows the file.
    pub(crate) fn path(&self) -> &Path {
        &self.named
    }

    /// Returns what is read and written, where that is another file.
    pub(crate) fn link(&self) -> Option<&Path> {
        let is_link = self.named.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        is_link.then_some(self.leads.as_path())
    }

    /// Reads the text; nothing when there is no file.
    ///
    /// # Errors
    /// When it is no regular file, no text in UTF-8 or longer than 4 MiB, or cannot be read.
    pub(crate) fn read(&self) -> anyhow::Result<Option<String>> {
        match self.leads.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => input::file_text(&self.leads, MAX_BYTES).map(Some),
        }
    }

    /// Puts a text in the place of the file. One that was there keeps its owner and mode; a new one of the user is for them alone.
    ///
    /// # Errors
    /// When something cannot be written, or the owner cannot be kept; then the file is what it was.
    pub(crate) fn write(&self, text: &str, scope: Scope) -> anyhow::Result<()> {
        let failed = || format!("{} cannot be written", self.leads.display());
        let directory = self.leads.parent().ok_or_else(|| anyhow!(failed()))?;
        make(directory, scope).with_context(failed)?;
        let old = match OpenOptions::new().write(true).open(&self.leads) {
            Ok(old) => Some(old.metadata().with_context(failed)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(failed),
        };
        self.replace(text, old.as_ref(), scope).with_context(failed)
    }

    fn replace(&self, text: &str, old: Option<&Metadata>, scope: Scope) -> io::Result<()> {
        let mut name = self.leads.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let path = self.leads.with_file_name(name);
        let mut file = create(&path, if old.is_some() { Scope::User } else { scope })?;
        let written = fill(&mut file, text, old).and_then(|()| fs::rename(&path, &self.leads));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&path);
        }
        written
    }
}

fn fill(file: &mut File, text: &str, old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    old.map_or(Ok(()), |old| keep(file, old))?;
    file.sync_all()
}

/// Follows links to what is none, which may not be there yet; nothing for a circle.
fn follow(named: &Path) -> Option<PathBuf> {
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else { return Some(path) };
        path = path.parent()?.join(next);
    }
    None
}

#[cfg(unix)]
fn make(directory: &Path, scope: Scope) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mode = if scope == Scope::User { 0o700 } else { 0o777 };
    fs::DirBuilder::new().recursive(true).mode(mode).create(directory)
}

#[cfg(not(unix))]
fn make(directory: &Path, _scope: Scope) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// Makes a file that was not there.
#[cfg(unix)]
fn create(path: &Path, scope: Scope) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if scope == Scope::User { 0o600 } else { 0o666 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _scope: Scope) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // A change of owner takes bits of the mode away, so the mode comes last.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

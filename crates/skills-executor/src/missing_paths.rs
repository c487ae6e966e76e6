//! Writable paths that do not exist before a run.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skills_policy::{Access, Decision, Grants, MissingPath};

use crate::error::{Repr, RuntimeError};

/// Files that were created for a run. Dropping it removes those that the program did not write.
#[derive(Default)]
pub(crate) struct CreatedFiles(Vec<CreatedFile>);

struct CreatedFile {
    path: PathBuf,
    directory: Dir,
    name: PathBuf,
    modified: Option<SystemTime>,
}

impl CreatedFiles {
    /// Creates the missing paths that are granted for writing, such as `out/**` of a workspace
    /// without an `out`, and the file of `--write`. Uses a directory handle, so that symlinks in the
    /// workspace cannot redirect it.
    ///
    /// # Errors
    /// Fails if a path cannot be created, for example since its directory does not exist.
    pub(crate) fn create(grants: &Grants, workspace: Option<&Path>) -> Result<Self, RuntimeError> {
        let mut created = Self::default();
        let allowed = grants
            .decisions()
            .iter()
            .filter(|decision| decision.decision() == Decision::Allow);
        for (path, kind) in allowed.filter_map(|decision| decision.missing_path()) {
            // A program can create it itself in a directory that it may write.
            if path.symlink_metadata().is_ok() || is_in_writable(path, grants) {
                continue;
            }
            created
                .create_path(path, kind, workspace)
                .map_err(|source| Repr::OptionalPath {
                    path: path.to_owned(),
                    source,
                })?;
        }
        Ok(created)
    }

    fn create_path(
        &mut self,
        path: &Path,
        kind: MissingPath,
        workspace: Option<&Path>,
    ) -> io::Result<()> {
        let in_workspace =
            workspace.and_then(|workspace| Some((workspace, path.strip_prefix(workspace).ok()?)));
        let (base, below) = match in_workspace.or_else(|| existing_base(path)) {
            Some((base, below)) if !below.as_os_str().is_empty() => (base, below),
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        let directory = Dir::open_ambient_dir(base, ambient_authority())?;
        match kind {
            MissingPath::Directory => directory.create_dir_all(below),
            MissingPath::File => {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true);
                let file = directory.open_with(below, &options)?;
                let modified = file.metadata()?.modified().ok();
                self.0.push(CreatedFile {
                    path: path.to_owned(),
                    directory,
                    name: below.to_owned(),
                    modified: modified.map(cap_std::time::SystemTime::into_std),
                });
                Ok(())
            }
        }
    }
}

impl CreatedFiles {
    /// Describes the files that a program which failed did not write: it may have wanted
    /// directories.
    pub(crate) fn notes_on_untouched(&self) -> impl Iterator<Item = String> {
        let untouched = self.0.iter().filter(|file| file.is_untouched());
        untouched.map(|file| {
            let path = file.path.display();
            format!(
                "`write:{path}` did not exist, and the program got an empty file there; for a directory write `write:{path}/`"
            )
        })
    }
}

impl CreatedFile {
    fn is_untouched(&self) -> bool {
        let metadata = self.directory.symlink_metadata(&self.name);
        metadata.is_ok_and(|metadata| {
            let modified = metadata.modified().ok();
            metadata.is_file()
                && metadata.len() == 0
                && modified.map(cap_std::time::SystemTime::into_std) == self.modified
        })
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for file in self.0.iter().filter(|file| file.is_untouched()) {
            // Otherwise an empty file stays, which its user asked for.
            let _ = file.directory.remove_file(&file.name);
        }
    }
}

/// Returns true if the directory around a path is granted for writing.
fn is_in_writable(path: &Path, grants: &Grants) -> bool {
    let writable = grants
        .files()
        .iter()
        .filter(|file| file.access() == Access::ReadWrite && file.path().is_dir());
    writable
        .into_iter()
        .any(|file| path.starts_with(file.path()) && path != file.path())
}

/// Splits a path at its longest existing parent.
fn existing_base(path: &Path) -> Option<(&Path, &Path)> {
    path.ancestors()
        .skip(1)
        .find(|parent| parent.is_dir())
        .and_then(|parent| Some((parent, path.strip_prefix(parent).ok()?)))
}

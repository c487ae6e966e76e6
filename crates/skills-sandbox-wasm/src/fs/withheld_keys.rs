//! Files in granted directories that may hold keys, which programs cannot open.

#[cfg(unix)]
use std::collections::HashSet;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;

use skills_policy::Grants;
#[cfg(unix)]
use skills_process::KeyFiles;
use skills_sandbox::ChangedKeyLink;

/// The withheld files of a run.
#[derive(Default)]
pub(super) struct WithheldKeys {
    /// Their granted paths.
    pub(super) granted: Vec<PathBuf>,
    /// Where they are: other paths for those in copies.
    located: Vec<PathBuf>,
    /// The paths that are not modified: these, and the symlinks to files with keys, without which later
    /// runs could read their targets.
    kept: Vec<PathBuf>,
    /// Device and inode numbers, so that no other name of such a file can be opened.
    #[cfg(unix)]
    identities: HashSet<(u64, u64)>,
    /// The granted directories could not be searched, so that none of their files is opened.
    #[cfg(unix)]
    is_incomplete: bool,
    #[cfg(unix)]
    found: KeyFiles,
    /// Where no search is possible, names decide.
    #[cfg(not(unix))]
    grants: Option<Grants>,
}

/// What a run did not get, since it may hold keys.
#[derive(Default)]
pub(crate) struct KeyReport {
    /// The files that the program could not open, as far as they were searched.
    pub(crate) withheld: Vec<PathBuf>,
    /// The symlinks with names of files with keys that lead elsewhere now.
    pub(crate) changed_links: Vec<ChangedKeyLink>,
    /// A line for each granted path that was withheld nevertheless.
    pub(crate) notes: Vec<String>,
}

#[cfg(unix)]
impl WithheldKeys {
    /// Searches the granted directories.
    pub(super) fn find(grants: &Grants) -> Self {
        let Ok(keys) = KeyFiles::find(grants) else {
            let directories = grants.files().iter().filter(|file| !file.includes_keys());
            let located: Vec<PathBuf> =
                directories.map(|file| file.location().to_owned()).collect();
            return Self {
                kept: located.clone(),
                located,
                is_incomplete: true,
                ..Self::default()
            };
        };
        let located: Vec<PathBuf> = keys.iter().map(|(path, _)| grants.locate(path)).collect();
        let symlinks = keys.symlinks().map(Path::to_owned);
        Self {
            granted: keys.iter().map(|(path, _)| path.to_owned()).collect(),
            kept: located.iter().cloned().chain(symlinks).collect(),
            located,
            identities: keys.iter().map(|(_, file)| file.identity).collect(),
            is_incomplete: false,
            found: keys,
        }
    }

    /// Reports the withheld files after the run.
    pub(super) fn report(&self) -> KeyReport {
        KeyReport {
            withheld: self.granted.clone(),
            changed_links: self.found.changed_links(),
            notes: self.found.notes().collect(),
        }
    }

    /// Returns true if an open file is withheld, or in a withheld directory.
    pub(super) fn contains(&self, file: &File) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;

        use super::protected::real_path;

        // Saves the system calls.
        if self.located.is_empty() {
            return Ok(false);
        }
        let metadata = file.metadata()?;
        if self.is_incomplete && metadata.is_dir() {
            return Ok(false);
        }
        if self.identities.contains(&(metadata.dev(), metadata.ino())) {
            return Ok(true);
        }
        let path = real_path(file)?;
        Ok(self
            .located
            .iter()
            .any(|withheld| path.starts_with(withheld)))
    }

    /// Returns the paths that are not modified.
    pub(super) fn kept(&self) -> &[PathBuf] {
        &self.kept
    }
}

#[cfg(not(unix))]
impl WithheldKeys {
    pub(super) fn find(grants: &Grants) -> Self {
        Self {
            grants: Some(grants.clone()),
            ..Self::default()
        }
    }

    pub(super) fn contains(&self, file: &File) -> io::Result<bool> {
        let path = super::protected::real_path(file)?;
        Ok(self
            .grants
            .as_ref()
            .is_some_and(|grants| grants.withholds(&path)))
    }

    /// Nothing is searched here.
    pub(super) fn report(&self) -> KeyReport {
        KeyReport::default()
    }

    pub(super) fn kept(&self) -> &[PathBuf] {
        &self.kept
    }
}

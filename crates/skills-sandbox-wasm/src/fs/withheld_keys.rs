//! Files in granted directories that may hold keys, which programs cannot open.

#[cfg(unix)]
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use skills_policy::Grants;

/// The withheld files of a run.
#[derive(Default)]
pub(super) struct WithheldKeys {
    /// Their granted paths.
    pub(super) granted: Vec<PathBuf>,
    /// Where they are: other paths for those in copies.
    located: Vec<PathBuf>,
    /// Device and inode numbers, so that no other name of such a file can be opened.
    #[cfg(unix)]
    identities: HashSet<(u64, u64)>,
    /// The granted directories could not be searched, so that none of their files is opened.
    #[cfg(unix)]
    is_incomplete: bool,
    /// Where no search is possible, names decide.
    #[cfg(not(unix))]
    grants: Option<Grants>,
}

#[cfg(unix)]
impl WithheldKeys {
    /// Searches the granted directories.
    pub(super) fn find(grants: &Grants) -> Self {
        use skills_process::KeyFiles;

        let Ok(keys) = KeyFiles::find(grants) else {
            let directories = grants.files().iter().filter(|file| !file.includes_keys());
            return Self {
                located: directories.map(|file| file.location().to_owned()).collect(),
                is_incomplete: true,
                ..Self::default()
            };
        };
        Self {
            granted: keys.iter().map(|(path, _)| path.to_owned()).collect(),
            located: keys.iter().map(|(path, _)| grants.locate(path)).collect(),
            identities: keys.iter().map(|(_, file)| file.identity).collect(),
            is_incomplete: false,
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

    /// Returns the paths of the files, which are not modified either.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.located
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

    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.located
    }
}

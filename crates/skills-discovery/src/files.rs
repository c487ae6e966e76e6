//! The files of one skill, behind a directory handle.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use skills_manifest::{Document, MAX_FILE_BYTES};

use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::handle::{fill, open_regular, open_root};

/// The most files a listing names.
const MAX_LISTED: usize = 1_000;
/// How deep a listing goes below the skill's directory.
const MAX_LISTED_DEPTH: usize = 8;

/// The files of one skill, behind a handle of its directory: no path, `..` or symlink leads out of it.
#[derive(Debug)]
pub struct SkillFiles {
    directory: Dir,
    file_name: String,
}

/// The files of a skill.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The regular files, ordered by path. Hidden ones, symlinks and the `SKILL.md` itself are left out.
    pub resources: Vec<Resource>,
    /// Whether there are more: a listing names at most 1,000 files, 8 directories deep.
    pub truncated: bool,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// Its path below the skill's directory, with `/` between the parts.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

impl SkillFiles {
    pub(crate) fn open(directory: &Path, file_name: &str) -> Result<Self, DiscoveryError> {
        Ok(Self { directory: open_root(directory)?, file_name: file_name.to_owned() })
    }

    /// Reads the whole `SKILL.md`.
    ///
    /// # Errors
    /// When it cannot be read, is larger than 1 MiB, or is no skill any more.
    pub fn document(&self) -> Result<Document, DiscoveryError> {
        let bytes = self.read(&self.file_name, MAX_FILE_BYTES)?;
        Document::parse(&bytes).map_err(|error| Repr::Manifest(error).into())
    }

    /// Reads one file of at most `max_bytes` bytes; `path` is relative to the skill's directory.
    ///
    /// # Errors
    /// When there is no such regular file, when it is longer, or when the path leaves the skill.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
        let mut file = open_regular(&self.directory, Path::new(path), max_bytes)?;
        let length = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        fill(&mut file, &mut bytes, length)?;
        Ok(bytes)
    }

    /// Says whether `path` is a regular file inside the skill.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        open_regular(&self.directory, Path::new(path), u64::MAX).is_ok()
    }

    /// Lists the files below `directory` (`""` for the whole skill), ordered by path.
    ///
    /// # Errors
    /// When a directory cannot be read. A `directory` that does not exist has no files.
    pub fn list(&self, directory: &str) -> Result<Listing, DiscoveryError> {
        let mut listing = Listing::default();
        let mut open = vec![(PathBuf::from(directory), 0)];
        while let Some((path, depth)) = open.pop() {
            let found = self.list_one(&path)?;
            listing.resources.extend(found.files);
            if depth < MAX_LISTED_DEPTH {
                open.extend(found.directories.into_iter().map(|directory| (directory, depth + 1)));
            } else {
                listing.truncated |= !found.directories.is_empty();
            }
        }
        listing.resources.sort();
        if listing.resources.len() > MAX_LISTED {
            listing.resources.truncate(MAX_LISTED);
            listing.truncated = true;
        }
        Ok(listing)
    }

    /// Lists the files in `directory` itself, ordered by path.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn files_in(&self, directory: &str) -> Result<Vec<Resource>, DiscoveryError> {
        let mut files = self.list_one(Path::new(directory))?.files;
        files.sort();
        Ok(files)
    }

    fn list_one(&self, path: &Path) -> Result<Found, DiscoveryError> {
        let is_top = path.as_os_str().is_empty();
        let handle = if is_top { self.directory.try_clone() } else { self.directory.open_dir(path) };
        let handle = match handle.map_err(DiscoveryError::from_io) {
            Ok(handle) => handle,
            Err(error) if error.kind() == ErrorKind::Missing => return Ok(Found::default()),
            Err(error) => return Err(error),
        };
        let mut found = Found::default();
        for entry in handle.entries().map_err(DiscoveryError::from_io)? {
            let entry = entry.map_err(DiscoveryError::from_io)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || (is_top && name == self.file_name) {
                continue;
            }
            let file_type = entry.file_type().map_err(DiscoveryError::from_io)?;
            let below = path.join(&name);
            if file_type.is_dir() {
                found.directories.push(below);
            } else if file_type.is_file() {
                let bytes = entry.metadata().map_err(DiscoveryError::from_io)?.len();
                found.files.push(Resource { path: slashes(&below), bytes });
            }
        }
        Ok(found)
    }
}

/// What one directory holds.
#[derive(Default)]
struct Found {
    files: Vec<Resource>,
    directories: Vec<PathBuf>,
}

fn slashes(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

//! The files of one skill, behind a directory handle.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use skills_manifest::{Document, MAX_FILE_BYTES, is_hidden};

use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::handle::{fill, open_regular, open_root};

/// The most files a listing names.
const MAX_LISTED: usize = 1_000;
/// The most directory entries a listing looks at.
const MAX_SEEN: usize = 20_000;
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
    /// The regular files, ordered by path. Hidden ones, symlinks, names with invisible characters and the `SKILL.md` itself are left out.
    pub resources: Vec<Resource>,
    /// Whether there are more: a listing names at most 1,000 files, 8 directories deep, and looks at 20,000 entries; directories that
    /// cannot be read are left out too.
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
    /// When `directory` itself cannot be read. One that does not exist has no files.
    pub fn list(&self, directory: &str) -> Result<Listing, DiscoveryError> {
        let mut found = Found::default();
        let mut open = VecDeque::from([(PathBuf::from(directory), 0)]);
        while let Some((path, depth)) = open.pop_front() {
            let below = match self.list_one(&path, &mut found) {
                Ok(below) => below,
                Err(error) if depth == 0 => return Err(error),
                Err(_) => {
                    found.cut = true;
                    continue;
                }
            };
            if depth < MAX_LISTED_DEPTH {
                open.extend(below.into_iter().map(|directory| (directory, depth + 1)));
            } else {
                found.cut |= !below.is_empty();
            }
        }
        found.files.sort();
        let truncated = found.cut || found.files.len() > MAX_LISTED;
        found.files.truncate(MAX_LISTED);
        Ok(Listing { resources: found.files, truncated })
    }

    /// Lists the files in `directory` itself, ordered by path.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn files_in(&self, directory: &str) -> Result<Vec<Resource>, DiscoveryError> {
        let mut found = Found::default();
        self.list_one(Path::new(directory), &mut found)?;
        found.files.sort();
        Ok(found.files)
    }

    /// Adds the files of one directory, and returns the directories in it in order.
    fn list_one(&self, path: &Path, found: &mut Found) -> Result<Vec<PathBuf>, DiscoveryError> {
        let is_top = path.as_os_str().is_empty();
        let handle = if is_top { self.directory.try_clone() } else { self.directory.open_dir(path) };
        let entries = match handle.and_then(|handle| handle.entries()).map_err(DiscoveryError::from_io) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::Missing => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut directories = Vec::new();
        let before = found.files.len();
        for entry in entries {
            found.seen += 1;
            if found.seen > MAX_SEEN {
                // Half a directory would be whichever half the disk lists first.
                found.cut = true;
                found.files.truncate(before);
                return Ok(Vec::new());
            }
            let entry = entry.map_err(DiscoveryError::from_io)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || name.chars().any(is_hidden) || (is_top && name == self.file_name) {
                continue;
            }
            // A file that vanishes while it is listed is not there.
            let Ok(file_type) = entry.file_type() else { continue };
            let below = path.join(&name);
            if file_type.is_dir() {
                directories.push(below);
            } else if let (true, Ok(metadata)) = (file_type.is_file(), entry.metadata()) {
                found.files.push(Resource { path: slashes(&below), bytes: metadata.len() });
            }
        }
        directories.sort();
        Ok(directories)
    }
}

/// What a listing has found so far.
#[derive(Default)]
struct Found {
    files: Vec<Resource>,
    seen: usize,
    cut: bool,
}

fn slashes(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

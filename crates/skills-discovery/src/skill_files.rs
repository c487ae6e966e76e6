//! The files of one skill, behind a directory handle.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use skills_manifest::{
    Document, Link, MAX_FILE_BYTES, OpenAiMetadata, OpenAiWarning, Outline, is_invisible,
};

use crate::SKILL_FILE;
use crate::entry::SkillFileLocation;
use crate::error::{DiscoveryError, ErrorKind, Repr};
use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_canonical, open_regular, open_root};
use crate::openai_file::OpenAiFile;
use crate::{FileStamp, StampedFile, StampedListing};

/// The most files a listing names.
const MAX_LISTED_FILES: usize = 1_000;
/// The most directory entries a listing looks at.
const MAX_SCANNED_ENTRIES: usize = 20_000;
/// How deep a listing goes below the skill's directory.
const MAX_LISTED_DEPTH: usize = 8;

/// The files of one skill, behind a handle of its directory: no path, `..` or symlink leads out of
/// it.
#[derive(Debug)]
pub struct SkillFiles {
    directory: Dir,
    file_name: String,
    /// Where the text lies when its file is a symlink out of the skill, which the root allows.
    linked_path: Option<Box<Path>>,
}

/// The files of a skill.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ResourceListing {
    /// The regular files, ordered by path. Hidden ones, symlinks, names with invisible characters
    /// and the `SKILL.md` itself are left out.
    pub resources: Vec<Resource>,
    /// Whether there are more: a listing names at most 1,000 files, 8 directories deep, and looks
    /// at 20,000 entries; directories that cannot be read are left out too.
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
    pub(crate) fn open(
        directory: &Path,
        file_name: &str,
        file_of: &SkillFileLocation,
    ) -> Result<Self, DiscoveryError> {
        let elsewhere = match file_of {
            SkillFileLocation::InDirectory => None,
            SkillFileLocation::Linked(path) => Some(path.clone()),
        };
        Ok(Self {
            directory: open_canonical(directory)?,
            file_name: file_name.to_owned(),
            linked_path: elsewhere,
        })
    }

    /// Opens a directory as a skill, whether it is one or not, and finds its `SKILL.md` in whatever
    /// spelling.
    ///
    /// # Errors
    /// When the directory cannot be opened or listed, or when it has no skill file.
    pub fn open_directory(directory: &Path) -> Result<Self, DiscoveryError> {
        let handle = open_root(directory)?;
        let names = handle.entries().map_err(DiscoveryError::from_io)?;
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.retain(|name| name.eq_ignore_ascii_case(SKILL_FILE));
        // `SKILL.md` sorts before all other spellings of it.
        let file_name = names.into_iter().min().ok_or(Repr::NotFound)?;
        Ok(Self {
            directory: handle,
            file_name,
            linked_path: None,
        })
    }

    /// Opens the directory of a skill that was found by its exact path, with the file name that it
    /// has.
    pub(crate) fn open_named(directory: &Path, file_name: &str) -> Result<Self, DiscoveryError> {
        Ok(Self {
            directory: open_root(directory)?,
            file_name: file_name.to_owned(),
            linked_path: None,
        })
    }

    /// Opens a directory as the reference tool does: `SKILL.md`, else `skill.md`, wherever a
    /// symlink of that name leads.
    ///
    /// # Errors
    /// When the directory cannot be opened or has neither file.
    pub fn open_like_skills_ref(directory: &Path) -> Result<Self, DiscoveryError> {
        let name = [SKILL_FILE, "skill.md"]
            .into_iter()
            .find(|name| directory.join(name).exists())
            .ok_or(Repr::NotFound)?;
        let files = Self::open_named(directory, name)?;
        let target = directory
            .join(name)
            .canonicalize()
            .map_err(DiscoveryError::from_io)?;
        Ok(Self {
            linked_path: Some(target.into()),
            ..files
        })
    }

    /// Returns the name of the skill file as it is spelled.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// Reads the bytes of the whole `SKILL.md`.
    ///
    /// # Errors
    /// When it cannot be read, or is larger than 1 MiB.
    pub fn read_skill_file(&self) -> Result<Vec<u8>, DiscoveryError> {
        let Some(path) = &self.linked_path else {
            return self.read(&self.file_name, MAX_FILE_BYTES);
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Repr::NotFound.into());
        };
        read_file(&open_root(parent)?, Path::new(name), MAX_FILE_BYTES)
    }

    /// Reads the whole `SKILL.md`.
    ///
    /// # Errors
    /// When it cannot be read, is larger than 1 MiB, or is no skill any more.
    pub fn document(&self) -> Result<Document, DiscoveryError> {
        Ok(self.document_with_source()?.0)
    }

    /// Reads the whole `SKILL.md` once, taken apart and as it is, without a byte order mark.
    ///
    /// # Errors
    /// As [`document`](Self::document).
    pub fn document_with_source(&self) -> Result<(Document, String), DiscoveryError> {
        let bytes = self.read_skill_file()?;
        let document = Document::parse(&bytes).map_err(Repr::Manifest)?;
        // Frontmatter and body are UTF-8, so all of it is.
        let text = String::from_utf8_lossy(&bytes);
        Ok((document, text.trim_start_matches('\u{FEFF}').to_owned()))
    }

    /// Reads one file of at most `max_bytes` bytes; `path` is relative to the skill's directory.
    ///
    /// # Errors
    /// When there is no such regular file, when it is longer, or when the path leaves the skill.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
        read_file(&self.directory, Path::new(path), max_bytes)
    }

    /// Lists the references of a body whose targets are no files or directories of the skill.
    #[must_use]
    pub fn broken_links(&self, outline: &Outline) -> Vec<Link> {
        let exists = |target: &str| {
            let path = target.trim_end_matches('/');
            let decoded = percent_decode(path);
            [path, decoded.as_str()]
                .iter()
                .any(|path| self.directory.metadata(path).is_ok())
        };
        outline
            .links()
            .iter()
            .filter(|link| !exists(&link.target))
            .cloned()
            .collect()
    }

    /// Reads `agents/openai.yaml`, and what of it was dropped; nothing stands in one that is not
    /// there.
    #[must_use]
    pub fn openai_metadata(&self) -> (OpenAiMetadata, Vec<OpenAiWarning>) {
        let host = OpenAiFile::read_in(&self.directory, None);
        (
            host.metadata.map(|metadata| *metadata).unwrap_or_default(),
            host.warnings,
        )
    }

    /// Says whether the text lies out of the skill.
    pub(crate) fn is_skill_file_linked(&self) -> bool {
        self.linked_path.is_some()
    }

    /// Returns the handle of the skill's directory, for what [`read`](Self::read) and
    /// [`list`](Self::list) cannot do.
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
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
    pub fn list(&self, directory: &str) -> Result<ResourceListing, DiscoveryError> {
        let ListState {
            files,
            truncated: cut,
            ..
        } = self.walk(directory, SkillFileListing::Omit)?;
        let truncated = cut || files.len() > MAX_LISTED_FILES;
        let resources = files
            .into_iter()
            .take(MAX_LISTED_FILES)
            .map(Resource::from)
            .collect();
        Ok(ResourceListing {
            resources,
            truncated,
        })
    }

    /// Lists all files, the skill file among them, with how each looks now; the bounds are those of
    /// [`list`](Self::list). Nothing is read.
    ///
    /// # Errors
    /// When the skill's directory cannot be read.
    pub fn list_with_stamps(&self) -> Result<StampedListing, DiscoveryError> {
        self.stamped_at(ScanStart::now())
    }

    fn stamped_at(&self, moment: ScanStart) -> Result<StampedListing, DiscoveryError> {
        let ListState {
            mut files,
            truncated: cut,
            ..
        } = self.walk("", SkillFileListing::Include)?;
        let truncated = cut || files.len() > MAX_LISTED_FILES;
        files.truncate(MAX_LISTED_FILES);
        files
            .iter_mut()
            .for_each(|file| file.stamp = file.stamp.with_scan_start(moment));
        Ok(StampedListing { files, truncated })
    }

    /// Walks through a directory, breadth first; the files come ordered by path.
    fn walk(
        &self,
        directory: &str,
        skill_file: SkillFileListing,
    ) -> Result<ListState, DiscoveryError> {
        let mut found = ListState::default();
        let mut open = VecDeque::from([(PathBuf::from(directory), 0)]);
        while let Some((path, depth)) = open.pop_front() {
            let below = match self.list_into(&path, skill_file, &mut found) {
                Ok(below) => below,
                Err(error) if depth == 0 => return Err(error),
                Err(_) => {
                    found.truncated = true;
                    continue;
                }
            };
            if depth < MAX_LISTED_DEPTH {
                open.extend(below.into_iter().map(|directory| (directory, depth + 1)));
            } else {
                found.truncated |= !below.is_empty();
            }
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Lists the files in `directory` itself, ordered by path.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_directory(&self, directory: &str) -> Result<Vec<Resource>, DiscoveryError> {
        let mut found = ListState::default();
        self.list_into(Path::new(directory), SkillFileListing::Omit, &mut found)?;
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found.files.into_iter().map(Resource::from).collect())
    }

    /// Adds the files of one directory, and returns the directories in it in order.
    fn list_into(
        &self,
        path: &Path,
        skill_file: SkillFileListing,
        found: &mut ListState,
    ) -> Result<Vec<PathBuf>, DiscoveryError> {
        let is_top = path.as_os_str().is_empty();
        let leaves_out_own = is_top && skill_file == SkillFileListing::Omit;
        let handle = if is_top {
            self.directory.try_clone()
        } else {
            self.directory.open_dir(path)
        };
        let entries = match handle
            .and_then(|handle| handle.entries())
            .map_err(DiscoveryError::from_io)
        {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut directories = Vec::new();
        let before = found.files.len();
        for entry in entries {
            found.scanned_entries += 1;
            if found.scanned_entries > MAX_SCANNED_ENTRIES {
                // Half a directory would be whichever half the disk lists first.
                found.truncated = true;
                found.files.truncate(before);
                return Ok(Vec::new());
            }
            let entry = entry.map_err(DiscoveryError::from_io)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.')
                || name.chars().any(is_invisible)
                || (leaves_out_own && name == self.file_name)
            {
                continue;
            }
            let Ok(file_type) = entry.file_type() else {
                continue;
            };
            let below = path.join(&name);
            if file_type.is_dir() {
                directories.push(below);
            } else if file_type.is_file() {
                match entry.metadata().map_err(DiscoveryError::from_io) {
                    Ok(metadata) => found.files.push(StampedFile {
                        path: to_slash_path(&below),
                        stamp: FileStamp::from_metadata(&metadata),
                    }),
                    // A file that vanishes while it is listed is not there.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(_) => found.truncated = true,
                }
            }
        }
        directories.sort();
        Ok(directories)
    }
}

fn read_file(directory: &Dir, path: &Path, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
    let (mut file, _) = open_regular(directory, path, max_bytes)?;
    let length = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    fill_buffer(&mut file, &mut bytes, length)?;
    Ok(bytes)
}

/// Links of Markdown write a space as `%20`.
fn percent_decode(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the skill file is one of those that are listed.
#[derive(Clone, Copy, PartialEq)]
enum SkillFileListing {
    Include,
    Omit,
}

/// What a listing has found so far.
#[derive(Default)]
struct ListState {
    files: Vec<StampedFile>,
    scanned_entries: usize,
    truncated: bool,
}

fn to_slash_path(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_directory_with_the_last_entry_that_is_looked_at_is_listed_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        for path in ["SKILL.md", "data/a", "data/b", "data/c"] {
            std::fs::write(directory.path().join(path), "").unwrap();
        }
        let files = SkillFiles::open_directory(directory.path()).unwrap();
        for (seen, expected) in [
            (MAX_SCANNED_ENTRIES - 3, (3, false)),
            (MAX_SCANNED_ENTRIES - 2, (0, true)),
        ] {
            let mut found = ListState {
                scanned_entries: seen,
                ..ListState::default()
            };
            files
                .list_into(Path::new("data"), SkillFileListing::Omit, &mut found)
                .unwrap();
            assert_eq!((found.files.len(), found.truncated), expected);
        }
    }

    #[test]
    fn a_listed_file_is_still_the_same_only_when_it_was_written_before_the_last_tick() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("SKILL.md");
        std::fs::write(&path, "").unwrap();
        let files = SkillFiles::open_directory(directory.path()).unwrap();
        for (age, is_still) in [(Duration::ZERO, false), (Duration::from_secs(4), true)] {
            let listing = files
                .stamped_at(ScanStart::after_writing(&path, age))
                .unwrap();
            assert_eq!(
                listing.files[0]
                    .stamp
                    .is_unchanged(FileStamp::from_path(&path)),
                is_still,
                "{age:?}"
            );
        }
    }
}

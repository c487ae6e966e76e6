//! The files of one skill, read through a handle of its directory.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata, ReadDir};
use percent_encoding::percent_decode_str;
use skills_manifest::{
    Document, Link, MAX_FILE_BYTES, OpenAiMetadata, OpenAiWarning, Outline, ReadingRules,
    is_invisible,
};

use crate::SKILL_FILE;
use crate::digested_content::is_executable;
use crate::error::{DiscoveryError, DiscoveryErrorKind, Repr};
use crate::file_stamp::ScanStart;
use crate::generated_files::{is_generated, is_in_generated_directory};
use crate::omitted_file::{OmissionReason, OmittedFile};
use crate::open::{fill_buffer, open_canonical, open_regular, open_root, read_opened};
use crate::openai_file::OpenAiFile;
use crate::skill_location::SkillLocation;
use crate::slash_path::to_slash_path;
use crate::source_skill::WrittenSkill;
use crate::{FileStamp, StampedFile, StampedListing};

/// The maximum number of files in a listing.
const MAX_LISTED_FILES: usize = 1_000;
/// The maximum number of omitted files in a listing.
const MAX_OMITTED_FILES: usize = 16;
/// The maximum number of directory entries that are read for a listing.
const MAX_SCANNED_ENTRIES: usize = 20_000;
/// The maximum depth of a listing, in directories below the one that is listed.
const MAX_LISTED_DEPTH: usize = 8;

/// The files of one skill, read through a handle of its directory.
///
/// No path, `..` or symlink leads out of the directory, also if the skill changes while it is read:
/// paths are resolved from the handle, which stays on the directory that was opened. The only
/// exception is a `SKILL.md` that is a symlink, if its root allows that. Nothing is cached, each
/// call reads the current files.
///
/// ```
/// use skills_discovery::{DiscoveryErrorKind, SkillFiles};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("scripts"))?;
/// # std::fs::write(directory.path().join("scripts/run.py"), "print(1)")?;
/// # let text = "---\nname: a\ndescription: d\n---\nBody\n";
/// # std::fs::write(directory.path().join("SKILL.md"), text)?;
/// let files = SkillFiles::open_directory(directory.path())?;
/// assert_eq!(files.document()?.body(), "Body\n");
/// assert_eq!(files.list("")?.resources[0].path, "scripts/run.py");
/// assert_eq!(files.read("scripts/run.py", 1024)?, b"print(1)");
/// let error = files.read("../other/secret", 1024).unwrap_err();
/// assert_eq!(error.kind(), DiscoveryErrorKind::OutsideSkill);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SkillFiles {
    directory: Dir,
    file_name: String,
    /// The canonical path of the skill file if it is a symlink that may lead out of the skill.
    linked_path: Option<Box<Path>>,
    reading: ReadingRules,
    /// Keeps the directory of a skill of a source.
    _written: Option<Arc<WrittenSkill>>,
}

/// The files of a skill, or of one of its directories.
///
/// A listing shows what a model or user may use, so it omits what is not meant for them. It is
/// bounded, since a skill is untrusted. For all files, use [`SkillFiles::digest`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ResourceListing {
    /// The regular files, ordered by path. Hidden files, symlinks, names that are not UTF-8 or
    /// contain invisible characters, generated files (`__pycache__`), and the skill file itself are
    /// omitted.
    pub resources: Vec<Resource>,
    /// Whether files are missing: because of a limit (1,000 files, 8 directory levels, 20,000
    /// directory entries), or because a directory cannot be read.
    pub truncated: bool,
    /// Symlinks, special files and files with a name that cannot be shown, ordered by path: at most
    /// 16.
    pub omitted: Vec<OmittedFile>,
}

/// One file of a [`ResourceListing`]. The file may change or be deleted after it was listed; to
/// read it, pass the path to [`SkillFiles::read`], which checks type and size again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The path relative to the skill directory, with `/` as separator.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
}

impl From<StampedFile> for Resource {
    fn from(file: StampedFile) -> Self {
        Self {
            path: file.path,
            bytes: file.stamp.bytes(),
        }
    }
}

impl SkillFiles {
    /// Opens the directory of an entry by its canonical path.
    pub(crate) fn open(location: &SkillLocation) -> Result<Self, DiscoveryError> {
        let (directory, written) = match &location.source {
            Some(source) => {
                let (directory, written) = source.open()?;
                (directory, Some(written))
            }
            None => (open_canonical(&location.directory)?, None),
        };
        Ok(Self {
            directory,
            file_name: location.file_name().to_owned(),
            linked_path: location.linked_path.clone(),
            reading: location.reading,
            _written: written,
        })
    }

    /// Uses the handle of a directory with a `SKILL.md`.
    pub(crate) fn of_handle(directory: Dir) -> Self {
        Self {
            directory,
            file_name: SKILL_FILE.to_owned(),
            linked_path: None,
            reading: ReadingRules::default(),
            _written: None,
        }
    }

    /// Opens a directory that no scan has found, and finds its `SKILL.md` in any case (`skill.md`).
    /// The file is not read, so it need not be valid.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened or listed, or has no skill file.
    pub fn open_directory(directory: &Path) -> Result<Self, DiscoveryError> {
        let handle = open_root(directory)?;
        // On a file system that ignores case an attempt to open `SKILL.md` would succeed for every
        // spelling, without telling which one it is.
        let names = handle.entries()?;
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.retain(|name| name.eq_ignore_ascii_case(SKILL_FILE));
        // Uppercase sorts before lowercase, so `SKILL.md` goes before all other spellings.
        let file_name = names.into_iter().min().ok_or(Repr::NotFound)?;
        Ok(Self {
            file_name,
            ..Self::of_handle(handle)
        })
    }

    /// Opens a directory like the reference tool `skills-ref`: with `SKILL.md`, or else `skill.md`,
    /// following a symlink of that name wherever it leads.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened or has neither file.
    pub fn open_like_skills_ref(directory: &Path) -> Result<Self, DiscoveryError> {
        let exists = |name: &str| directory.join(name).try_exists();
        let name = if exists(SKILL_FILE)? {
            SKILL_FILE
        } else if exists("skill.md")? {
            "skill.md"
        } else {
            return Err(Repr::NotFound.into());
        };
        let handle = open_root(directory)?;
        let target = directory.join(name).canonicalize()?;
        Ok(Self {
            file_name: name.to_owned(),
            linked_path: Some(target.into()),
            ..Self::of_handle(handle)
        })
    }

    /// Sets how the skill file is read where clients differ.
    #[must_use]
    pub fn reading(mut self, rules: ReadingRules) -> Self {
        self.reading = rules;
        self
    }

    /// Returns the name of the skill file, usually `SKILL.md`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// Reads the whole skill file as bytes.
    ///
    /// # Errors
    /// Fails if it cannot be read or is larger than 1 MiB.
    pub fn read_skill_file(&self) -> Result<Vec<u8>, DiscoveryError> {
        let Some(path) = &self.linked_path else {
            return self.read(&self.file_name, MAX_FILE_BYTES);
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Repr::NotFound.into());
        };
        // Only this one file may be outside: the handle of its parent is not kept.
        read_file(&open_root(parent)?, Path::new(name), MAX_FILE_BYTES)
    }

    /// Reads and parses the whole skill file.
    ///
    /// # Errors
    /// Fails if it cannot be read, is larger than 1 MiB, or is not valid any more.
    pub fn document(&self) -> Result<Document, DiscoveryError> {
        Ok(self.document_with_source()?.0)
    }

    /// Reads the whole skill file once, and returns it parsed and as text without a byte order
    /// mark.
    ///
    /// # Errors
    /// As [`document`](Self::document).
    pub fn document_with_source(&self) -> Result<(Document, String), DiscoveryError> {
        let bytes = self.read_skill_file()?;
        let document = self.parse(&bytes)?;
        // Parsing has checked that frontmatter and body are UTF-8, so nothing is replaced here.
        let text = String::from_utf8_lossy(&bytes);
        Ok((document, text.trim_start_matches('\u{FEFF}').to_owned()))
    }

    /// Parses the text of a skill file by the rules of the root of this skill.
    ///
    /// # Errors
    /// Fails if the text is not valid.
    pub fn parse(&self, bytes: &[u8]) -> Result<Document, DiscoveryError> {
        let document = Document::parse_with(bytes, self.reading).map_err(Repr::Manifest)?;
        Ok(document)
    }

    /// Reads a regular file of at most `max_bytes` bytes. `path` is relative to the skill
    /// directory.
    ///
    /// # Errors
    /// Fails if the file does not exist, is not regular or is larger, or if the path leads outside of the
    /// skill.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
        read_file(&self.directory, Path::new(path), max_bytes)
    }

    /// Reads the first bytes of a regular file, at most `max_bytes`. `path` is relative to the skill
    /// directory.
    ///
    /// # Errors
    /// Fails if the file does not exist or is not regular, or if the path leads outside of the skill.
    pub fn read_start(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
        let (mut file, _) = open_regular(&self.directory, Path::new(path), u64::MAX)?;
        let length = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut start = Vec::new();
        fill_buffer(&mut file, &mut start, length)?;
        Ok(start)
    }

    /// Reads a text file of the content of at most `max_bytes` bytes. `None` for anything else, such
    /// as a file in a generated directory.
    #[must_use]
    pub fn read_text(&self, path: &str, max_bytes: u64) -> Option<String> {
        let bytes = self
            .contains(path)
            .then(|| self.read(path, max_bytes).ok())??;
        String::from_utf8(bytes).ok()
    }

    /// Returns the links of a body to files or directories that the skill does not have.
    #[must_use]
    pub fn broken_links(&self, outline: &Outline) -> Vec<Link> {
        outline
            .links()
            .iter()
            .filter(|link| !self.has_link_target(&link.target))
            .cloned()
            .collect()
    }

    fn has_link_target(&self, target: &str) -> bool {
        let path = target.trim_end_matches('/');
        // Authors write a space as it is or as `%20`, and a name may contain a real `%`.
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        [path, &*decoded]
            .iter()
            .any(|path| self.directory.metadata(path).is_ok())
    }

    /// Reads `agents/openai.yaml` and returns its metadata with warnings about ignored fields. A
    /// missing file has the default metadata and no warnings.
    #[must_use]
    pub fn openai_metadata(&self) -> (OpenAiMetadata, Vec<OpenAiWarning>) {
        let file = OpenAiFile::read_in(&self.directory, None);
        (
            file.metadata.map(|metadata| *metadata).unwrap_or_default(),
            file.warnings,
        )
    }

    /// Returns true if the skill file is read through a symlink that may lead out of the skill.
    pub(crate) fn is_skill_file_linked(&self) -> bool {
        self.linked_path.is_some()
    }

    /// Returns the handle of the skill directory, for what [`read`](Self::read) and
    /// [`list`](Self::list) cannot do. Paths that are resolved from it cannot leave the skill.
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Returns true if `path` is a readable regular file inside the skill. A file in a generated
    /// directory does not belong to the skill.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        let path = Path::new(path);
        !is_in_generated_directory(path) && open_regular(&self.directory, path, u64::MAX).is_ok()
    }

    /// Returns true if `path` is a readable regular file inside the skill that its owner, its group or
    /// others may execute. Always false on systems without such modes.
    #[must_use]
    pub fn is_executable(&self, path: &str) -> bool {
        let opened = open_regular(&self.directory, Path::new(path), u64::MAX);
        opened.is_ok_and(|(file, _)| is_executable(&file).unwrap_or(false))
    }

    /// Lists the files below `directory` (`""` for the whole skill), ordered by path. The result is
    /// bounded; see [`ResourceListing`].
    ///
    /// # Errors
    /// Fails if `directory` itself cannot be read or leads outside of the skill. A directory that
    /// does not exist has no files.
    pub fn list(&self, directory: &str) -> Result<ResourceListing, DiscoveryError> {
        let listing = self.walk(directory, SkillFileListing::Omit)?;
        Ok(ResourceListing {
            resources: listing.files.into_iter().map(Resource::from).collect(),
            truncated: listing.truncated,
            omitted: listing.omitted,
        })
    }

    /// Lists all files, including the skill file, with their current stamps. Limits and omissions
    /// are those of [`list`](Self::list). No content is read.
    ///
    /// # Errors
    /// Fails if the skill directory cannot be read.
    pub fn list_with_stamps(&self) -> Result<StampedListing, DiscoveryError> {
        self.stamped_at(ScanStart::now())
    }

    fn stamped_at(&self, scan_start: ScanStart) -> Result<StampedListing, DiscoveryError> {
        let ListState {
            mut files,
            truncated,
            ..
        } = self.walk("", SkillFileListing::Include)?;
        for file in &mut files {
            file.stamp = file.stamp.with_scan_start(scan_start);
        }
        Ok(StampedListing { files, truncated })
    }

    /// Collects the files below a directory, breadth-first, and sorts them by path. Of more than
    /// the maximum, the first by path stay.
    fn walk(
        &self,
        directory: &str,
        skill_file: SkillFileListing,
    ) -> Result<ListState, DiscoveryError> {
        let mut state = ListState::default();
        let mut pending = VecDeque::from([(PathBuf::from(directory), 0)]);
        while let Some((path, depth)) = pending.pop_front() {
            let subdirectories = match self.list_into(&path, skill_file, &mut state) {
                Ok(subdirectories) => subdirectories,
                Err(error) if depth == 0 => return Err(error),
                // One unreadable subdirectory must not hide the rest of the skill.
                Err(_) => {
                    state.truncated = true;
                    continue;
                }
            };
            if depth < MAX_LISTED_DEPTH {
                pending.extend(subdirectories.into_iter().map(|path| (path, depth + 1)));
            } else {
                state.truncated |= !subdirectories.is_empty();
            }
        }
        state.files.sort_by(|a, b| a.path.cmp(&b.path));
        state.truncated |= state.files.len() > MAX_LISTED_FILES;
        state.files.truncate(MAX_LISTED_FILES);
        state.omitted.sort();
        state.omitted.truncate(MAX_OMITTED_FILES);
        Ok(state)
    }

    /// Lists the files directly in `directory`, ordered by path, without those of subdirectories.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_directory(&self, directory: &str) -> Result<Vec<Resource>, DiscoveryError> {
        let mut state = ListState::default();
        self.list_into(Path::new(directory), SkillFileListing::Omit, &mut state)?;
        state.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(state.files.into_iter().map(Resource::from).collect())
    }

    /// Adds the files of one directory to `state`, and returns its subdirectories in order.
    fn list_into(
        &self,
        path: &Path,
        skill_file: SkillFileListing,
        state: &mut ListState,
    ) -> Result<Vec<PathBuf>, DiscoveryError> {
        let is_top = path.as_os_str().is_empty();
        if is_in_generated_directory(path) {
            return Ok(Vec::new());
        }
        let Some(entries) = self.entries_of(path)? else {
            return Ok(Vec::new());
        };
        let mut subdirectories = Vec::new();
        let files_before = state.files.len();
        for entry in entries {
            state.scanned_entries += 1;
            if state.scanned_entries > MAX_SCANNED_ENTRIES {
                // The files so far depend on the order of the file system, and a listing must not.
                state.truncated = true;
                state.files.truncate(files_before);
                return Ok(Vec::new());
            }
            let entry = entry?;
            let file_name = entry.file_name();
            let Some(name) = listable_name(&file_name) else {
                if !is_hidden(&file_name) {
                    state.omit(path, &file_name, OmissionReason::Unprintable);
                }
                continue;
            };
            // Only the skill's own file is omitted: a `SKILL.md` in a subdirectory is a resource,
            // such as a template.
            if is_top && skill_file == SkillFileListing::Omit && name == self.file_name {
                continue;
            }
            let Ok(file_type) = entry.file_type() else {
                continue;
            };
            if is_generated(path, name.as_ref(), file_type) {
                continue;
            }
            if file_type.is_dir() {
                subdirectories.push(path.join(&name));
            } else if file_type.is_file() {
                state.push_file(&path.join(&name), entry.metadata());
            } else if file_type.is_symlink() {
                state.omit(path, &file_name, OmissionReason::Symlink);
            } else {
                state.omit(path, &file_name, OmissionReason::NotRegular);
            }
        }
        subdirectories.sort();
        Ok(subdirectories)
    }

    /// Returns the entries of a directory of the skill; `None` if it does not exist.
    fn entries_of(&self, path: &Path) -> Result<Option<ReadDir>, DiscoveryError> {
        // The empty path cannot be opened.
        let handle = if path.as_os_str().is_empty() {
            self.directory.try_clone()
        } else {
            self.directory.open_dir(path)
        };
        match handle
            .and_then(|handle| handle.entries())
            .map_err(DiscoveryError::from)
        {
            Ok(entries) => Ok(Some(entries)),
            Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns a name that a listing may contain: UTF-8, not hidden, and without invisible characters,
/// so that a model or user cannot be shown another name than the one that is opened.
fn listable_name(name: &OsStr) -> Option<String> {
    let text = name.to_str()?;
    let is_listable = !is_hidden(name) && !text.chars().any(is_invisible);
    is_listable.then(|| text.to_owned())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn read_file(directory: &Dir, path: &Path, max_bytes: u64) -> Result<Vec<u8>, DiscoveryError> {
    let (file, stamp) = open_regular(directory, path, max_bytes)?;
    read_opened(file, stamp, max_bytes)
}

/// Whether a listing includes the skill file.
#[derive(Clone, Copy, PartialEq)]
enum SkillFileListing {
    Include,
    Omit,
}

#[derive(Default)]
struct ListState {
    files: Vec<StampedFile>,
    omitted: Vec<OmittedFile>,
    scanned_entries: usize,
    truncated: bool,
}

impl ListState {
    fn omit(&mut self, directory: &Path, name: &OsStr, reason: OmissionReason) {
        self.omitted.push(OmittedFile::new(directory, name, reason));
    }

    fn push_file(&mut self, path: &Path, metadata: io::Result<Metadata>) {
        match metadata.map_err(DiscoveryError::from) {
            Ok(metadata) => self.files.push(StampedFile {
                path: to_slash_path(path),
                stamp: FileStamp::from_metadata(&metadata),
            }),
            // The file was deleted after its directory was read.
            Err(error) if error.kind() == DiscoveryErrorKind::NotFound => {}
            Err(_) => self.truncated = true,
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_directory_at_the_entry_limit_is_listed_completely_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        for path in ["SKILL.md", "data/a", "data/b", "data/c"] {
            std::fs::write(directory.path().join(path), "").unwrap();
        }
        let files = SkillFiles::open_directory(directory.path()).unwrap();
        for (scanned_entries, expected) in [
            (MAX_SCANNED_ENTRIES - 3, (3, false)),
            (MAX_SCANNED_ENTRIES - 2, (0, true)),
        ] {
            let mut state = ListState {
                scanned_entries,
                ..ListState::default()
            };
            files
                .list_into(Path::new("data"), SkillFileListing::Omit, &mut state)
                .unwrap();
            assert_eq!((state.files.len(), state.truncated), expected);
        }
    }

    #[test]
    fn a_listed_file_counts_as_unchanged_only_if_it_was_written_before_the_last_tick() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("SKILL.md");
        std::fs::write(&path, "").unwrap();
        let files = SkillFiles::open_directory(directory.path()).unwrap();
        for (age, is_unchanged) in [(Duration::ZERO, false), (Duration::from_secs(4), true)] {
            let listing = files
                .stamped_at(ScanStart::after_writing(&path, age))
                .unwrap();
            assert_eq!(
                listing.files[0]
                    .stamp
                    .is_unchanged(FileStamp::from_path(&path)),
                is_unchanged,
                "{age:?}"
            );
        }
    }
}

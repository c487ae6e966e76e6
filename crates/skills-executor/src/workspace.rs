//! Workspaces of runs, and the output files in them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use skills_discovery::FileStamp;
use skills_process::SCRATCH_PREFIX;
use skills_sandbox::{ChangedEntries, SandboxError};
use skills_store::PrivateDir;

use crate::redaction::Redactor;
use crate::{InputFile, OutputFile, OutputFiles, Workspace};

/// Maximum number of directory entries that are visited.
const MAX_VISITED: usize = 20_000;
/// Maximum depth of directories.
const MAX_DEPTH: usize = 16;
/// Maximum number of listed files.
const MAX_FILES: usize = 1_000;
/// Maximum total size of the returned file contents, in bytes.
const MAX_CONTENT_BYTES: u64 = 32 << 20;

/// A workspace during a run.
pub(crate) struct ActiveWorkspace {
    path: PathBuf,
    scratch: Option<PrivateDir>,
    initial: BTreeMap<PathBuf, FileStamp>,
    /// The entries before the run that are neither files nor directories.
    initial_special: BTreeSet<(PathBuf, &'static str)>,
    /// The directories and the other entries before the run.
    initial_structure: u64,
}

impl ActiveWorkspace {
    /// Creates a private workspace, or refers to an existing directory.
    pub(crate) fn new(workspace: &Workspace, scratch: &Path) -> Result<Option<Self>, SandboxError> {
        let (path, scratch) = match workspace {
            Workspace::None => return Ok(None),
            Workspace::Directory(path) => (path.clone(), None),
            Workspace::Session(directory) => (directory.path().to_owned(), None),
            Workspace::Private(files) => {
                let failed = |error| SandboxError::setup("creating a private workspace", error);
                let private = PrivateDir::create(scratch, SCRATCH_PREFIX).map_err(failed)?;
                // Canonical, like all paths in grants.
                let path = private.path().canonicalize().map_err(failed)?;
                write_input_files(&path, files).map_err(failed)?;
                (path, Some(private))
            }
        };
        Ok(Some(Self {
            path,
            scratch,
            initial: BTreeMap::new(),
            initial_special: BTreeSet::new(),
            initial_structure: 0,
        }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records the existing files, to detect output files later.
    pub(crate) fn snapshot(&mut self) {
        let mut walk = DirectoryWalk::default();
        walk.visit_files(&self.path, |path, metadata, _| {
            self.initial
                .insert(path.to_owned(), FileStamp::from_metadata(metadata));
        });
        self.initial_special = walk.special;
        self.initial_structure = walk.structure;
    }

    /// Lists files created or changed since `snapshot` and reads those of a private workspace.
    /// Secrets in names are redacted.
    pub(crate) fn collect_output(&self, redactor: &Redactor) -> OutputFiles {
        let mut walk = DirectoryWalk::default();
        let mut changes = WorkspaceChanges::default();
        let mut top = None;
        let mut remaining = 0_usize;
        walk.visit_files(&self.path, |path, metadata, directory| {
            let before = self.initial.get(path);
            remaining += usize::from(before.is_some());
            if before == Some(&FileStamp::from_metadata(metadata)) {
                return;
            }
            changes.add(path, metadata.len(), before.is_none());
            // Contents are read through the handle of the walk, so a directory that is replaced
            // afterwards cannot redirect them.
            if top.is_none() {
                top = directory.try_clone().ok();
            }
        });
        changes.has_others =
            remaining < self.initial.len() || walk.structure != self.initial_structure;
        let special = walk.special.difference(&self.initial_special);
        changes.special = special.cloned().collect();
        changes.unexamined = walk.omitted;
        self.list(changes, top.as_ref(), redactor)
    }

    /// Lists the files among the changes that a backend reported. Without them they are unknown.
    pub(crate) fn list_reported(
        &self,
        reported: Option<ChangedEntries>,
        redactor: &Redactor,
    ) -> OutputFiles {
        let mut changes = WorkspaceChanges::default();
        let Some(reported) = reported else {
            changes.unexamined.push("the workspace".to_owned());
            changes.has_others = true;
            return self.list(changes, None, redactor);
        };
        for file in &reported.files {
            if let Ok(path) = file.path.strip_prefix(&self.path) {
                changes.add(path, file.bytes, file.is_created);
            }
        }
        let special = reported.special.iter().filter_map(|(path, kind)| {
            let path = path.strip_prefix(&self.path).ok()?;
            Some((path.to_owned(), *kind))
        });
        changes.special = special.collect();
        let unexamined = reported.unexamined.iter().filter_map(|(path, reason)| {
            let path = path.strip_prefix(&self.path).ok()?;
            Some(format!("{}: {reason}", path.display()))
        });
        let limits = reported.limits.iter().map(ToString::to_string);
        changes.unexamined = unexamined.chain(limits).collect();
        changes.has_others = reported.has_other_changes;
        self.list(changes, None, redactor)
    }

    fn list(
        &self,
        mut changes: WorkspaceChanges,
        top: Option<&Dir>,
        redactor: &Redactor,
    ) -> OutputFiles {
        let mut omitted = std::mem::take(&mut changes.invalid);
        let found = changes.files.len() as u64;
        omit_beyond_limit(&mut changes.files, &mut omitted);
        let files = self.read_output(changes.files, top, redactor, &mut omitted);
        let is_truncated = found > files.len() as u64 || !changes.unexamined.is_empty();
        let has_other_changes = changes.has_others || !omitted.is_empty();
        let special = changes.special.iter();
        let special = special.map(|(path, kind)| format!("`{}`: {kind}", path.display()));
        let omitted = changes
            .unexamined
            .into_iter()
            .chain(special)
            .chain(omitted)
            // The program controls the number of these entries.
            .take(MAX_FILES)
            .map(|text| redactor.redact_text(&text))
            .collect();
        OutputFiles {
            files,
            found,
            omitted,
            is_truncated,
            has_other_changes,
        }
    }

    /// Reads the content of changed files in a private workspace, within the limit of all contents.
    fn read_output(
        &self,
        changed: Vec<ChangedFile>,
        top: Option<&Dir>,
        redactor: &Redactor,
        omitted: &mut Vec<String>,
    ) -> Vec<OutputFile> {
        let mut files = Vec::new();
        let mut remaining = MAX_CONTENT_BYTES;
        for file in changed {
            let mut content_error = None;
            let content = match (&self.scratch, top) {
                (Some(_), Some(top)) => match read_bounded(top, &file.path, remaining) {
                    Ok(bytes) => {
                        remaining -= bytes.len() as u64;
                        Some(bytes)
                    }
                    Err(error) => {
                        omitted.push(format!("content of `{}`: {error}", file.name));
                        content_error = Some(error.to_string());
                        None
                    }
                },
                // Files of other workspaces stay where they are.
                _ => None,
            };
            files.push(OutputFile {
                path: redactor.redact_text(&file.name),
                bytes: file.bytes,
                is_created: file.is_created,
                content,
                content_error,
            });
        }
        files
    }
}

/// What changed in a workspace. Paths are relative to it.
#[derive(Default)]
struct WorkspaceChanges {
    files: Vec<ChangedFile>,
    /// Changed files without a valid name.
    invalid: Vec<String>,
    /// New entries that are neither files nor directories, and what they are.
    special: Vec<(PathBuf, &'static str)>,
    /// What was not examined.
    unexamined: Vec<String>,
    /// Whether anything else changed than files.
    has_others: bool,
}

impl WorkspaceChanges {
    fn add(&mut self, path: &Path, bytes: u64, is_created: bool) {
        match relative_name(path) {
            Some(name) => self.files.push(ChangedFile {
                name,
                path: path.to_owned(),
                bytes,
                is_created,
            }),
            None => {
                let invalid = format!("`{}`: invalid file name", path.display());
                self.invalid.push(invalid);
            }
        }
    }
}

/// Orders files by name, without those beyond the limit. Changed files come before created ones
/// until then: a program can create any number, and must not hide a change behind them.
fn omit_beyond_limit(files: &mut Vec<ChangedFile>, omitted: &mut Vec<String>) {
    if files.len() > MAX_FILES {
        files.sort_by(|a, b| (a.is_created, &a.name).cmp(&(b.is_created, &b.name)));
        omitted.push(format!(
            "{} files beyond the first {MAX_FILES}",
            files.len() - MAX_FILES
        ));
        files.truncate(MAX_FILES);
    }
    // Also before the limit, so that the same files are omitted on every run.
    files.sort_by(|a, b| a.name.cmp(&b.name));
}

/// A changed file before its content is read.
struct ChangedFile {
    /// Path relative to the workspace, with `/` as separator.
    name: String,
    path: PathBuf,
    bytes: u64,
    is_created: bool,
}

/// Returns a path relative to the workspace, with `/` as separator. Names with `\` are rejected,
/// since they would be several components on other systems.
fn relative_name(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| {
            part.as_os_str()
                .to_str()
                .filter(|part| !part.contains(['/', '\\']))
        })
        .collect();
    parts.map(|parts| parts.join("/"))
}

/// Writes the input files. Fails if a file exists or a name is not a plain file name.
fn write_input_files(path: &Path, files: &[InputFile]) -> std::io::Result<()> {
    let directory = Dir::open_ambient_dir(path, ambient_authority())?;
    for file in files {
        let is_name = Path::new(&file.name).components().count() == 1
            && Path::new(&file.name).file_name().is_some();
        if !is_name {
            let message = format!("invalid file name `{}`", file.name);
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                message,
            ));
        }
        directory
            .open_with(&file.name, OpenOptions::new().write(true).create_new(true))?
            .write_all(&file.content)?;
    }
    Ok(())
}

/// Reads a file of at most `max_bytes` bytes, without blocking on a pipe.
fn read_bounded(directory: &Dir, path: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a named pipe without a writer would block forever.
    set_nonblocking(&mut options);
    let file = directory.open_with(path, &options)?;
    // The entry can have been replaced since the walk.
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("no longer a regular file"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is longer than its metadata said.
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(std::io::Error::other(format!(
            "the total size of all files exceeds {MAX_CONTENT_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

/// Walks a directory breadth first, in sorted order, without following symlinks.
#[derive(Default)]
struct DirectoryWalk {
    /// What was not visited.
    omitted: Vec<String>,
    /// The entries that are neither files nor directories, and what they are.
    special: BTreeSet<(PathBuf, &'static str)>,
    /// Identifies the set of directories and of entries that are neither files nor directories.
    structure: u64,
    visited: usize,
}

impl DirectoryWalk {
    /// Calls `each` for every regular file with its path, its metadata and the top directory.
    fn visit_files(&mut self, path: &Path, mut each: impl FnMut(&Path, &Metadata, &Dir)) {
        let top = match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(top) => top,
            Err(error) => return self.omitted.push(format!("the workspace: {error}")),
        };
        let mut level = vec![PathBuf::new()];
        for depth in 0..=MAX_DEPTH {
            let mut below = Vec::new();
            for directory in &level {
                if !self.visit_directory(&top, directory, &mut below, &mut each) {
                    return self
                        .omitted
                        .push(format!("entries beyond the first {MAX_VISITED}"));
                }
            }
            if depth == MAX_DEPTH && !below.is_empty() {
                self.omitted
                    .push(format!("entries deeper than {MAX_DEPTH} directories"));
            }
            level = below;
        }
    }

    /// Visits one directory. Returns false if the maximum number of entries is exceeded.
    fn visit_directory(
        &mut self,
        top: &Dir,
        directory: &Path,
        below: &mut Vec<PathBuf>,
        each: &mut impl FnMut(&Path, &Metadata, &Dir),
    ) -> bool {
        // `read_dir` rejects an empty path.
        let entries = if directory.as_os_str().is_empty() {
            top.entries()
        } else {
            top.read_dir(directory)
        };
        let mut paths = Vec::new();
        match entries {
            Ok(entries) => {
                for entry in entries {
                    self.visited += 1;
                    if self.visited > MAX_VISITED {
                        return false;
                    }
                    match entry {
                        Ok(entry) => paths.push(directory.join(entry.file_name())),
                        Err(error) => {
                            let directory = directory.display();
                            self.omitted.push(format!("{directory}: {error}"));
                        }
                    }
                }
            }
            Err(error) => self
                .omitted
                .push(format!("{}: {error}", directory.display())),
        }
        // Sorted, so that a limit omits the same entries on every run.
        paths.sort();
        for path in paths {
            // Entries that vanish during the walk are skipped.
            let Ok(metadata) = top.symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                self.add_to_structure(&path);
                below.push(path);
            } else if metadata.is_file() {
                each(&path, &metadata, top);
            } else {
                let kind = if metadata.is_symlink() {
                    "a symlink"
                } else {
                    "not a regular file"
                };
                // A symlink that leads elsewhere is another one.
                let modified = metadata.modified().ok().map(|time| time.into_std());
                self.add_to_structure(&(&path, metadata.len(), modified));
                self.special.insert((path, kind));
            }
        }
        true
    }

    fn add_to_structure(&mut self, entry: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        // A sum, so that the order has no effect.
        self.structure = self.structure.wrapping_add(hasher.finish());
    }
}

/// Does not block on a pipe, and does not follow a symlink that was created in the meantime.
#[cfg(unix)]
fn set_nonblocking(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits() | nix::fcntl::OFlag::O_NOFOLLOW.bits());
}

#[cfg(not(unix))]
fn set_nonblocking(_options: &mut OpenOptions) {}

//! The directory for a program's files, and what the program made in it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use cap_std::time::SystemTime;
use serde::Serialize;
use skills_sandbox::{SandboxError, ScratchDir};

use crate::secrets::Redactor;
use crate::{InputFile, Workspace};

/// The most directory entries that are looked at.
const MAX_VISITED: usize = 20_000;
/// How deep directories are searched.
const MAX_DEPTH: usize = 16;
/// The most files that are named.
const MAX_FILES: usize = 1_000;
/// The most bytes of content that are kept of all files together.
const MAX_CONTENT_BYTES: u64 = 32 << 20;

/// What a program made in its workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputFiles {
    /// The regular files that were made or changed, ordered by path.
    pub files: Vec<OutputFile>,
    /// What was left out, and why, one phrase each: symlinks, what has no content, names that are
    /// not UTF-8, what is beyond the limits of 1,000 files, 20,000 entries, 16 directories of depth
    /// and 32 MiB of content.
    pub omitted: Vec<String>,
}

/// A file that a program made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputFile {
    /// Its path in the workspace, with `/` between the parts.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Whether it was there before.
    pub is_created: bool,
    /// What is in it, for a private workspace only; of any other the file is where it was made.
    #[serde(skip)]
    pub content: Option<Vec<u8>>,
}

/// A workspace during a run.
pub(crate) struct ActiveWorkspace {
    path: PathBuf,
    scratch: Option<ScratchDir>,
    initial: BTreeMap<PathBuf, FileStamp>,
}

/// By what it is seen that a file changed.
#[derive(Clone, PartialEq)]
struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Its number, and when anything about it changed, where the system tells.
    identity: Option<(u64, i64, i64)>,
}

impl ActiveWorkspace {
    /// Makes a private workspace, or takes the one that there is.
    pub(crate) fn new(workspace: &Workspace, scratch: &Path) -> Result<Option<Self>, SandboxError> {
        match workspace {
            Workspace::None => Ok(None),
            Workspace::Directory(path) => Ok(Some(Self {
                path: path.clone(),
                scratch: None,
                initial: BTreeMap::new(),
            })),
            Workspace::Session(directory) => Ok(Some(Self {
                path: directory.path().to_owned(),
                scratch: None,
                initial: BTreeMap::new(),
            })),
            Workspace::Private(files) => {
                let failed = |error| SandboxError::setup("making a private workspace", error);
                let private = ScratchDir::new(scratch).map_err(failed)?;
                let path = private.path().canonicalize().map_err(failed)?;
                write_input_files(&path, files).map_err(failed)?;
                Ok(Some(Self {
                    path,
                    scratch: Some(private),
                    initial: BTreeMap::new(),
                }))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes what is there, so that it is seen later what was made.
    pub(crate) fn snapshot(&mut self) {
        let mut walk = DirectoryWalk::default();
        walk.visit_files(&self.path, |path, metadata, _| {
            self.initial
                .insert(path.to_owned(), FileStamp::from_metadata(metadata));
        });
    }

    /// Lists what was made since, and reads it out of a private workspace. Names are told without
    /// values of secrets.
    pub(crate) fn collect_output(&self, redactor: &Redactor) -> OutputFiles {
        let mut walk = DirectoryWalk::default();
        let (mut made, mut left_out, mut top) = (Vec::new(), Vec::new(), None);
        walk.visit_files(&self.path, |path, metadata, directory| {
            let before = self.initial.get(path);
            if before == Some(&FileStamp::from_metadata(metadata)) {
                return;
            }
            match relative_name(path) {
                Some(name) => made.push((name, path.to_owned(), metadata.len(), before.is_none())),
                None => left_out.push(format!("{}: its name is no plain text", path.display())),
            }
            if top.is_none() {
                top = directory.try_clone().ok();
            }
        });
        made.sort();
        if made.len() > MAX_FILES {
            left_out.push(format!(
                "{} files beyond the first {MAX_FILES}",
                made.len() - MAX_FILES
            ));
            made.truncate(MAX_FILES);
        }
        let (mut files, mut room) = (Vec::new(), MAX_CONTENT_BYTES);
        for (name, path, bytes, is_new) in made {
            let content = match (&self.scratch, &top) {
                (Some(_), Some(top)) => match read_bounded(top, &path, room) {
                    Ok(bytes) => {
                        room -= bytes.len() as u64;
                        Some(bytes)
                    }
                    Err(error) => {
                        left_out.push(format!("{name}: its content, {error}"));
                        None
                    }
                },
                _ => None,
            };
            files.push(OutputFile {
                path: redactor.redact_text(&name),
                bytes,
                is_created: is_new,
                content,
            });
        }
        let left_out = walk
            .omitted
            .into_iter()
            .chain(left_out)
            .take(MAX_FILES)
            .map(|text| redactor.redact_text(&text))
            .collect();
        OutputFiles {
            files,
            omitted: left_out,
        }
    }
}

/// A path in the workspace with `/` between its parts. A name with a `\` in it would be several
/// parts elsewhere, and is none here.
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

/// Opens nothing that was there before, nor what a name that is a path leads to.
fn write_input_files(path: &Path, files: &[InputFile]) -> std::io::Result<()> {
    let directory = Dir::open_ambient_dir(path, ambient_authority())?;
    for file in files {
        let is_name = Path::new(&file.name).components().count() == 1
            && Path::new(&file.name).file_name().is_some();
        if !is_name {
            let message = format!("{:?} is no name of a file", file.name);
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

/// Reads a file of at most `room` bytes without waiting for a writer.
fn read_bounded(directory: &Dir, path: &Path, room: u64) -> std::io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    never_wait(&mut options);
    let file = directory.open_with(path, &options)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file any more"));
    }
    let mut bytes = Vec::new();
    file.take(room.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > room {
        return Err(std::io::Error::other(format!(
            "all files together are longer than {MAX_CONTENT_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

/// A walk through a directory, breadth first and in order, that follows no links.
#[derive(Default)]
struct DirectoryWalk {
    omitted: Vec<String>,
    visited: usize,
}

impl DirectoryWalk {
    /// Calls `each` with every regular file: its path, what is known of it, and the directory that
    /// all paths are below.
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
                        .push(format!("what lies beyond {MAX_VISITED} entries"));
                }
            }
            if depth == MAX_DEPTH && !below.is_empty() {
                self.omitted
                    .push(format!("what lies deeper than {MAX_DEPTH} directories"));
            }
            level = below;
        }
    }

    /// Looks at one directory; says whether there is room for more.
    fn visit_directory(
        &mut self,
        top: &Dir,
        directory: &Path,
        below: &mut Vec<PathBuf>,
        each: &mut impl FnMut(&Path, &Metadata, &Dir),
    ) -> bool {
        let entries = if directory.as_os_str().is_empty() {
            top.entries()
        } else {
            top.read_dir(directory)
        };
        let mut paths = Vec::new();
        match entries {
            Ok(entries) => {
                for entry in entries.flatten() {
                    self.visited += 1;
                    if self.visited > MAX_VISITED {
                        return false;
                    }
                    paths.push(directory.join(entry.file_name()));
                }
            }
            Err(error) => self
                .omitted
                .push(format!("{}: {error}", directory.display())),
        }
        paths.sort();
        for path in paths {
            // What vanishes while it is listed is not there.
            let Ok(metadata) = top.symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                below.push(path);
            } else if metadata.is_file() {
                each(&path, &metadata, top);
            } else {
                let kind = if metadata.is_symlink() {
                    "a symlink"
                } else {
                    "no regular file"
                };
                self.omitted
                    .push(format!("{}: it is {kind}", path.display()));
            }
        }
        true
    }
}

impl FileStamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, i64, i64)> {
    use cap_std::fs::MetadataExt;
    Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<(u64, i64, i64)> {
    None
}

/// A pipe is not waited for, and a symlink that came meanwhile is not followed.
#[cfg(unix)]
fn never_wait(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits() | nix::fcntl::OFlag::O_NOFOLLOW.bits());
}

#[cfg(not(unix))]
fn never_wait(_options: &mut OpenOptions) {}

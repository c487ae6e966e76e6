//! Reads and writes the author's files.
#![expect(
    clippy::disallowed_methods,
    reason = "authors build their own directories, which are trusted"
)]

use std::fs::{self, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use skills_store::{FileMode, replace_file};

use crate::artifact::LOCK;
use crate::error::{BuildError, Repr};

/// Directories without source, which tools create.
const IGNORED_DIRS: [&str; 5] = ["target", "node_modules", ".venv", "__pycache__", ".git"];

/// The maximum total size of a source.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum number of files of a source.
const MAX_FILES: usize = 10_000;

/// A source file: its path below the directory, with `/`, and its content.
pub(crate) type SourceFile = (String, Vec<u8>);

/// Collects source files in path order. Rejects symlinks and special files: their targets are not
/// part of the source, and could change without it. Also rejects names that differ between systems,
/// see [`is_portable_name`].
pub(crate) fn read_source(directory: &Path) -> Result<Vec<SourceFile>, BuildError> {
    let mut collected = SourceCollector {
        files: Vec::new(),
        bytes_left: MAX_BYTES,
    };
    collected.add(directory, directory)?;
    // The order is hashed, so it must not be that of a directory listing.
    collected.files.sort();
    Ok(collected.files)
}

struct SourceCollector {
    files: Vec<SourceFile>,
    bytes_left: u64,
}

impl SourceCollector {
    fn add(&mut self, root: &Path, directory: &Path) -> Result<(), BuildError> {
        // Artifacts and their lock file are results and not part of the source.
        let is_source = |entry: &Entry| {
            let Entry { name, kind, .. } = entry;
            !IGNORED_DIRS.contains(&name.as_str())
                && (kind.is_dir() || (name != LOCK && !name.ends_with(".wasm")))
        };
        for Entry { path, kind, .. } in read_entries(directory)?.into_iter().filter(is_source) {
            if !is_portable_name(&path) {
                return Err(invalid_source(
                    &path,
                    "the name is not Unicode, or contains `\\`, a path separator on other systems"
                        .to_owned(),
                ));
            }
            if kind.is_dir() {
                self.add(root, &path)?;
                continue;
            }
            if self.files.len() == MAX_FILES {
                return Err(invalid_source(
                    root,
                    format!("source exceeds {MAX_FILES} files"),
                ));
            }
            let content = read_regular(&path, kind, self.bytes_left)?.ok_or_else(|| {
                invalid_source(root, format!("source exceeds {} MiB", MAX_BYTES >> 20))
            })?;
            self.bytes_left -= content.len() as u64;
            // Only a separator of Windows is replaced: no name contains a backslash.
            let below = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            self.files.push((below, content));
        }
        Ok(())
    }
}

/// Returns true if a name is the same text on every system. With `\` as a separator, the file
/// `..\x` would be copied to `../x`, and several names that are not Unicode would have the same
/// text.
fn is_portable_name(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| !name.contains('\\'))
}

fn invalid_source(path: &Path, reason: String) -> BuildError {
    Repr::Source {
        path: path.to_owned(),
        reason,
    }
    .into()
}

/// Reads a regular file; `None` if it is longer than `max_bytes`.
fn read_regular(
    path: &Path,
    kind: FileType,
    max_bytes: u64,
) -> Result<Option<Vec<u8>>, BuildError> {
    if kind.is_symlink() {
        return Err(invalid_source(
            path,
            "is a symlink; source files must be regular files".to_owned(),
        ));
    }
    if !kind.is_file() {
        return Err(invalid_source(path, "not a regular file".to_owned()));
    }
    let failed = |error| BuildError::io(path, "read", error);
    let mut content = Vec::new();
    fs::File::open(path)
        // The additional byte shows that a file is too long, even if it grows while it is read.
        .and_then(|file| file.take(max_bytes + 1).read_to_end(&mut content))
        .map_err(failed)?;
    Ok(Some(content).filter(|content| content.len() as u64 <= max_bytes))
}

/// Reads a source file.
pub(crate) fn source_file(path: &Path) -> Result<Vec<u8>, BuildError> {
    let kind = path
        .symlink_metadata()
        .map_err(|error| BuildError::io(path, "read", error))?
        .file_type();
    read_regular(path, kind, MAX_BYTES)?
        .ok_or_else(|| invalid_source(path, format!("exceeds {} MiB", MAX_BYTES >> 20)))
}

/// Lists the names in a directory, sorted; empty if it does not exist.
pub(crate) fn file_names(directory: &Path) -> Result<Vec<String>, BuildError> {
    if directory.is_dir() {
        Ok(read_entries(directory)?
            .into_iter()
            .map(|entry| entry.name)
            .collect())
    } else {
        Ok(Vec::new())
    }
}

struct Entry {
    name: String,
    path: PathBuf,
    kind: FileType,
}

fn read_entries(directory: &Path) -> Result<Vec<Entry>, BuildError> {
    let failed = |error| BuildError::io(directory, "list", error);
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            path: entry.path(),
            kind: entry.file_type()?,
        })
    };
    let mut entries = fs::read_dir(directory)
        .map_err(failed)?
        .map(entry)
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed)?;
    // Plans and messages must not depend on the order of a listing.
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|error| BuildError::io(path, "read", error))
}

/// Reads a file that may not exist.
pub(crate) fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, BuildError> {
    if_exists(fs::read(path)).map_err(|error| BuildError::io(path, "read", error))
}

/// Writes a file, and creates its parent directories.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let failed = |error| BuildError::io(path, "write", error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}

/// Replaces a file atomically, and creates its parent directories. It is committed and shared, so the
/// umask of the author decides who can read it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| replace_file(path, bytes, FileMode::Umask))
        .map_err(|error| BuildError::io(path, "replace", error))
}

/// Returns the canonical path of a directory; `None` if it does not exist.
pub(crate) fn resolve_directory(directory: &Path) -> Result<Option<PathBuf>, BuildError> {
    if_exists(directory.canonicalize()).map_err(|error| BuildError::io(directory, "resolve", error))
}

/// Returns `None` for a path that does not exist.
fn if_exists<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Creates a staging directory that is removed on drop.
pub(crate) fn create_stage(within: &Path) -> Result<tempfile::TempDir, BuildError> {
    let failed = |error| BuildError::io(within, "create a temporary directory in", error);
    fs::create_dir_all(within).map_err(failed)?;
    tempfile::Builder::new()
        .prefix("stage-")
        .tempdir_in(within)
        .map_err(failed)
}

/// Creates a directory and its parents.
pub(crate) fn make_directory(path: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(path).map_err(|error| BuildError::io(path, "create", error))
}

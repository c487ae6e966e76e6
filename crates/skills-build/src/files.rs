//! Reads and writes the author's files.
#![expect(clippy::disallowed_methods, reason = "an author builds a directory of their own; this is no skill that somebody else wrote")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::BuildError;

/// Directories that hold no source: what tools put there.
const NOT_SOURCE: [&str; 5] = ["target", "node_modules", ".venv", "__pycache__", ".git"];

/// A file of the source: its path below the directory, with `/`, and its content.
pub(crate) type SourceFile = (String, Vec<u8>);

/// Reads the source: everything but what tools made, in order of the paths.
pub(crate) fn source(directory: &Path) -> Result<Vec<SourceFile>, BuildError> {
    let mut files = Vec::new();
    collect(directory, directory, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<SourceFile>) -> Result<(), BuildError> {
    for (name, path) in entries(directory)? {
        if path.is_dir() {
            if !NOT_SOURCE.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if name != crate::LOCK && !name.ends_with(".wasm") {
            let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push((below, read(&path)?));
        }
    }
    Ok(())
}

/// Lists the names in a directory, in order; none when there is no such directory.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, BuildError> {
    if directory.is_dir() { Ok(entries(directory)?.into_iter().map(|(name, _)| name).collect()) } else { Ok(Vec::new()) }
}

fn entries(directory: &Path) -> Result<Vec<(String, PathBuf)>, BuildError> {
    let failed = |error| BuildError::io(directory, "cannot be listed", error);
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut names = entries
        .map(|entry| entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed)?;
    names.sort();
    Ok(names)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|error| BuildError::io(path, "cannot be read", error))
}

/// Reads a file that may not be there.
pub(crate) fn read_if_any(path: &Path) -> Result<Option<Vec<u8>>, BuildError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BuildError::io(path, "cannot be read", error)),
    }
}

/// Writes a file, and the directories above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let failed = |error| BuildError::io(path, "cannot be written", error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}

/// Puts a file in place as a whole, so that nobody reads half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let mut half = path.as_os_str().to_owned();
    half.push(".new");
    let half = PathBuf::from(half);
    write(&half, bytes)?;
    fs::rename(&half, path).map_err(|error| BuildError::io(path, "cannot be put in place", error))
}

/// Makes a directory that goes away when it is let go.
pub(crate) fn stage(within: &Path) -> Result<tempfile::TempDir, BuildError> {
    let failed = |error| BuildError::io(within, "no scratch directory can be made there", error);
    fs::create_dir_all(within).map_err(failed)?;
    tempfile::Builder::new().prefix("stage-").tempdir_in(within).map_err(failed)
}

/// Makes a directory and those above it.
pub(crate) fn make_directory(path: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(path).map_err(|error| BuildError::io(path, "cannot be made", error))
}

//! Files of the store and of interpreters. None of them belongs to a skill.

#![expect(
    clippy::disallowed_methods,
    reason = "files of the store and of interpreters"
)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use skills_store::{FileMode, create_private_dir, replace_file};

use crate::error::SetupError;

/// Maximum size of a file that a package manager wrote and that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Opens a file or directory of the store, which no other user can write.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates a directory for this user alone, with those above it.
pub(crate) fn create_dir(path: &Path) -> Result<(), SetupError> {
    create_private_dir(path).map_err(|error| cannot("create", path, &error))
}

/// Writes a file for this user alone, atomically. A symlink that a program of an earlier step put
/// there is replaced.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), SetupError> {
    replace_file(path, text.as_bytes(), FileMode::Private)
        .map_err(|error| cannot("write", path, &error))
}

/// Reads a text file of at most 16 MiB; `None` for anything else, such as a symlink.
pub(crate) fn read_bounded(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
}

/// Reads a text file like [`read_bounded`], with U+FFFD for what is not UTF-8, and without a byte
/// order mark: package managers accept such files of packages.
pub(crate) fn read_lossy(path: &Path) -> Option<String> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    let mut bytes = Vec::new();
    let file = open(path).ok().filter(|_| is_file)?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

pub(crate) fn list(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Returns the names of the entries of a directory, sorted.
///
/// # Errors
/// Fails if an entry cannot be read or has a name that is not text.
pub(crate) fn list_all(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().into_string();
        names.push(name.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?);
    }
    names.sort();
    Ok(names)
}

/// Returns true if a path still names the directory or file that is open.
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// Returns the size of all files below a directory, in bytes.
pub(crate) fn size_of(directory: &Path) -> u64 {
    let mut total = 0;
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// Removes a file or a directory; what cannot be removed is collected later.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

pub(crate) fn cannot(action: &str, path: &Path, error: &io::Error) -> SetupError {
    SetupError::store(format!("cannot {action} {}: {error}", path.display()))
}

/// Opens a file that processes lock, and creates it if it does not exist.
pub(crate) fn open_lock(path: &Path) -> Result<File, SetupError> {
    let mut options = fs::OpenOptions::new();
    let options = options.create(true).truncate(false).read(true).write(true);
    options
        .mode(0o600)
        .open(path)
        .map_err(|error| cannot("open", path, &error))
}

/// Returns the paths of the entries of a directory, at most `limit`.
pub(crate) fn list_paths(directory: &Path, limit: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.take(limit).map(|entry| entry.path()).collect()
}

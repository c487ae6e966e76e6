//! Bounded reads of files that may be anything.
#![expect(
    clippy::disallowed_methods,
    reason = "interpreters belong to the host, not to a skill"
)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::SkipReason;

/// The maximum number of bytes read of a file.
const MAX_BYTES: u64 = 64 * 1024;
/// The maximum number of entries read of a directory.
const MAX_ENTRIES: usize = 16 * 1024;

/// Returns the text of a file; `None` if it does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, SkipReason> {
    match open(path).and_then(read_start) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("{} is not text", path.display())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// Returns the first bytes of a file; `None` if it cannot be read.
pub(super) fn read_start_of(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)
        .ok()?
        .take(max_bytes)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

fn read_start(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Version files and shims are small. More than this is something else.
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns true if the kernel would run this file with another program.
pub(super) fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"#!"
}

/// Returns the names in a directory, sorted; empty if it cannot be listed.
pub(super) fn list_names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .take(MAX_ENTRIES)
        .flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

/// Opens a regular file. Opening a pipe must not block, so the file is opened without blocking
/// until its type is known.
fn open(path: &Path) -> io::Result<File> {
    let file = File::from(rustix::fs::open(
        path,
        // `NOCTTY`, so that a terminal at this path does not become the controlling
        // terminal of the host.
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"))
    }
}

//! Bounded reads of files that may be anything.
#![expect(
    clippy::disallowed_methods,
    reason = "interpreters belong to the host, not to a skill"
)]

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use skills_sandbox::Shebang;

use crate::regular_file::{self, Symlink};

/// Why a candidate is not used.
pub(super) type SkipReason = String;

/// The maximum number of bytes read of a file. Version files and shims are small; more than this is
/// something else.
const MAX_BYTES: u64 = 64 * 1024;
/// The maximum number of entries read of a directory.
const MAX_ENTRIES: usize = 16 * 1024;

/// Returns the text of a file; `None` if it does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, SkipReason> {
    match regular_file::read_start(path, Symlink::Follow, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| format!("{} is not text", path.display())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
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
    let file = regular_file::open(path, Symlink::Follow);
    file.is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"#!"
}

/// Reads the first line of a file; `None` if it is not a script.
pub(super) fn read_shebang(path: &Path) -> Option<Shebang> {
    let start = regular_file::read_start(path, Symlink::Follow, Shebang::MAX_BYTES).ok()?;
    Shebang::parse(&start)
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

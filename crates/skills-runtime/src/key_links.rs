//! Files with keys that their own name does not show.

use std::ffi::OsStr;
use std::path::Path;

/// Returns true if a file in `directory` is another hard link of one there that may hold keys, by its
/// [name](skills_policy::key_part), or is what a symlink with such a name leads to. Also true if the
/// directory is too large to search. Both paths are canonical. This searches the directory, so call it
/// only for files with several links.
///
/// ```
/// # #[cfg(unix)]
/// # fn main() -> std::io::Result<()> {
/// let directory = tempfile::tempdir()?;
/// let root = directory.path().canonicalize()?;
/// std::fs::write(root.join(".env"), "KEY=1")?;
/// std::fs::hard_link(root.join(".env"), root.join("notes.txt"))?;
/// assert!(skills_runtime::is_link_of_keys(&root, &root.join("notes.txt")));
/// # Ok(())
/// # }
/// # #[cfg(not(unix))]
/// # fn main() {}
/// ```
#[cfg(unix)]
#[must_use]
pub fn is_link_of_keys(directory: &Path, file: &Path) -> bool {
    use skills_policy::{Authorization, Policy, Request};
    use skills_process::KeyFiles;

    // What a command that reads the directory gets.
    let request = Request::for_host_command(directory);
    match Policy::default().authorize(&request) {
        Authorization::Granted(grants) => {
            KeyFiles::find(&grants).map_or(true, |keys| keys.enclosing(file).is_some())
        }
        Authorization::Denied(_) => true,
    }
}

/// Links are not searched here.
#[cfg(not(unix))]
#[must_use]
pub fn is_link_of_keys(_directory: &Path, _file: &Path) -> bool {
    false
}

/// Returns true if a file holds a key by its content, and `name`, its own or that of a symlink to it, is
/// one that other files have, too: see [`is_key_by_content`](skills_policy::is_key_by_content). The path
/// of the file is canonical. This reads the file.
#[cfg(unix)]
#[must_use]
pub fn holds_key_by_content(name: &OsStr, file: &Path) -> bool {
    skills_process::holds_key_by_content(name, file)
}

/// Content is not examined here.
#[cfg(not(unix))]
#[must_use]
pub fn holds_key_by_content(_name: &OsStr, _file: &Path) -> bool {
    false
}

//! Creates directories that only their owner can access.

use std::io;
use std::path::Path;

/// Creates a directory and its missing parents, which only their owner can access: mode 0700 on Unix.
/// Directories that exist keep their mode.
///
/// # Errors
/// Fails if a directory cannot be created, or a component of the path is not a directory.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    // Part of the creation: until the mode is changed later, others could open the directory.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

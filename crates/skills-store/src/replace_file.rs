//! Replaces files atomically.

use std::fs::Permissions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The permissions of a file that is written. On other systems than Unix, all but
/// [`Exact`](Self::Exact) are those of a new file in its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileMode {
    /// Readable and writable by its owner only: mode 0600.
    Private,
    /// Those that the umask leaves of mode 0666, as of most new files.
    Umask,
    /// Readable by all users, whatever the umask is: mode 0644.
    Public,
    /// Those of another file, such as the one that is replaced.
    Exact(Permissions),
}

/// Replaces a file atomically, or creates it in an existing directory: readers see the old or the new
/// content, also after a crash of the system.
///
/// A symlink at the path is replaced, not followed. Until the file is complete it has a random name in
/// the same directory, which starts with `.new-`; a process that is killed leaves it there. Of several
/// concurrent calls the last one wins.
///
/// ```
/// use skills_store::{FileMode, replace_file};
///
/// # let directory = tempfile::tempdir()?;
/// replace_file(&directory.path().join("index.json"), b"{}", FileMode::Public)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Fails if the file cannot be created, written or renamed. The old file is then unchanged.
pub fn replace_file(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    write(create(path, &mode)?, path, bytes, mode)
}

/// Creates the new file under its temporary name, which no existing file or symlink has.
pub(crate) fn create(path: &Path, mode: &FileMode) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-");
    // Otherwise it is private until it has its content.
    #[cfg(unix)]
    if *mode == FileMode::Umask {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = mode;
    // In the same directory, since renaming does not work across file systems.
    builder.tempfile_in(parent(path))
}

/// Returns the directory of a file. The parent of a bare name would be the empty path.
pub(crate) fn parent(path: &Path) -> PathBuf {
    Path::new(".").join(path.parent().unwrap_or(path))
}

/// Writes the new file and gives it its name. It is removed if that fails.
pub(crate) fn write(
    mut file: NamedTempFile,
    path: &Path,
    bytes: &[u8],
    mode: FileMode,
) -> io::Result<()> {
    file.write_all(bytes)?;
    match mode {
        FileMode::Exact(permissions) => file.as_file().set_permissions(permissions)?,
        #[cfg(unix)]
        FileMode::Public => {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            file.as_file().set_permissions(permissions)?;
        }
        _ => {}
    }
    // Without the sync, a crash of the system could leave an empty file under the final name.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test has its own files")]
    fn a_failed_write_keeps_the_old_file_and_removes_the_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        let new = create(&path, &FileMode::Umask).unwrap();
        let temporary = new.path().to_owned();
        let (_, temp_path) = new.into_parts();
        // A file that is open for reading fails to be written.
        let new = NamedTempFile::from_parts(fs::File::open(&temporary).unwrap(), temp_path);
        write(new, &path, b"new", FileMode::Umask).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert!(!temporary.exists());
    }
}

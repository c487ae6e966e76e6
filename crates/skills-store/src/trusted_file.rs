//! Opens files that no other user can change.
//!
//! On Unix a path is trusted if
//!
//! - the file and every directory that leads to it, up to the root, belong to the user or to root,
//!   with all symlinks on the way resolved;
//! - none of them is writable by other users. A group may write only if it is that of root or the
//!   private group of the user: its primary group, with its name and without other members. An access
//!   control list may give no other user and no other group write access;
//! - a directory with the sticky bit, such as `/tmp`, may be writable by others, since they cannot
//!   replace what belongs to the user. That includes the symlinks in it.
//!
//! As root only files of root are trusted: a user could act as root if root followed its files. In
//! a user namespace, users that it does not know appear as user 65534; a file of that user is not
//! trusted, and a directory only where the root directory belongs to that user too, and only on the
//! way.
//!
//! On other systems the permissions of files are not checked.
//!
//! Files are opened without waiting, as a FIFO would make it, and must be regular.

mod error;
#[cfg(unix)]
mod ownership;
#[cfg(unix)]
mod resolve;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::replace_file::{self, FileMode};
use error::Problem;
pub use error::{TrustError, TrustErrorKind};

/// Whether other users may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Privacy {
    /// They may read it.
    Readable,
    /// It contains a secret: the group and others have no access at all.
    Private,
}

/// Reads a trusted file of at most `max_bytes` bytes.
///
/// # Errors
/// Fails if the file does not exist or cannot be read, is not regular, is larger, or is not trusted.
pub fn read(path: &Path, max_bytes: u64, privacy: Privacy) -> Result<Vec<u8>, TrustError> {
    read_bounded(&open(path, privacy)?, path, max_bytes)
}

/// Opens a trusted file for reading.
///
/// # Errors
/// As [`read`], except that the size has no limit.
pub fn open(path: &Path, privacy: Privacy) -> Result<File, TrustError> {
    let file = open_with(path, OpenOptions::new().read(true))?;
    #[cfg(unix)]
    if privacy == Privacy::Private {
        ownership::check_private(path, &metadata(&file, path)?)?;
    }
    #[cfg(not(unix))]
    let _ = privacy;
    Ok(file)
}

/// Opens a trusted file with these options. A new file is readable and writable by its owner only; its
/// directory must exist.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &mut OpenOptions) -> Result<File, TrustError> {
    #[cfg(unix)]
    let file = {
        use std::os::unix::fs::OpenOptionsExt;
        let resolved = resolve::resolve(path, resolve::End::File)?;
        // All links are resolved: one in the place of the file was put there since.
        let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits());
        let file = open_regular_with(path, &resolved, options)?;
        ownership::check_file(path, &resolved, &metadata(&file, path)?)?;
        file
    };
    #[cfg(not(unix))]
    let file = open_regular_with(path, path, options)?;
    Ok(file)
}

/// Opens a trusted file for locking, or creates it. Its content stays, and it is never deleted: another
/// process can hold the lock of this very file.
///
/// # Errors
/// As [`open`].
pub fn open_lock(path: &Path) -> Result<File, TrustError> {
    let mut options = OpenOptions::new();
    open_with(path, options.create(true).truncate(false).write(true))
}

/// Replaces a trusted file, or creates it, as [`replace_file`](crate::replace_file()) does. The new
/// file is readable and writable by its owner only; its directory must exist.
///
/// Until it is complete it has the name of the file with `.new` at its end. So a process that is killed
/// leaves one file, which the next call removes; the caller excludes concurrent calls.
///
/// # Errors
/// Fails if the directory or the new file is not trusted, or the file cannot be written. The old file
/// is then unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), TrustError> {
    let failed = |error| TrustError::io(path, path, error);
    #[cfg(unix)]
    let resolved = &resolve::resolve(&replace_file::parent(path), resolve::End::File)?
        .join(path.file_name().unwrap_or_default());
    #[cfg(not(unix))]
    let resolved = path;
    let new = create_new(resolved).map_err(failed)?;
    // A file system without owners can give it others.
    #[cfg(unix)]
    ownership::check_file(path, new.path(), &metadata(new.as_file(), path)?)?;
    replace_file::write(new, resolved, bytes, FileMode::Private).map_err(failed)
}

fn create_new(path: &Path) -> io::Result<NamedTempFile> {
    let directory = replace_file::parent(path);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    match std::fs::remove_file(directory.join(&name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Never one that exists or a symlink, which was put there since.
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).rand_bytes(0).tempfile_in(directory)
}

/// Opens a regular file of any owner for reading without waiting: for files that are only shown
/// or verified.
///
/// # Errors
/// Fails if the file does not exist, is not regular, or is larger than `max_bytes` bytes.
pub fn open_untrusted(path: &Path, max_bytes: u64) -> Result<File, TrustError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        nix::fcntl::OFlag::O_NONBLOCK.bits(),
    );
    let file = open_regular_with(path, path, &mut options)?;
    check_size(&file, path, max_bytes)?;
    Ok(file)
}

/// Reads an open file of at most `max_bytes` bytes. `path` is for messages.
///
/// # Errors
/// Fails if the file cannot be read or is larger.
pub fn read_bounded(file: &File, path: &Path, max_bytes: u64) -> Result<Vec<u8>, TrustError> {
    check_size(file, path, max_bytes)?;
    let mut bytes = Vec::new();
    let read = file
        // It can grow while it is read.
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| TrustError::io(path, path, error))?;
    if read as u64 > max_bytes {
        return Err(TrustError::new(path, path, Problem::TooLarge { max_bytes }));
    }
    Ok(bytes)
}

/// Fails if an open file has more than `max_bytes` bytes, also if most of them are a hole.
///
/// # Errors
/// Fails if it has more.
pub fn check_size(file: &File, path: &Path, max_bytes: u64) -> Result<(), TrustError> {
    if metadata(file, path)?.len() <= max_bytes {
        return Ok(());
    }
    Err(TrustError::new(path, path, Problem::TooLarge { max_bytes }))
}

/// Checks that no other user can change a directory, or replace it or a file in it.
///
/// # Errors
/// Fails if it does not exist, is not a directory, or is not trusted.
pub fn check_directory(path: &Path) -> Result<(), TrustError> {
    #[cfg(unix)]
    let path = resolve::resolve(path, resolve::End::Directory)?;
    let found = path
        .metadata()
        .map_err(|error| TrustError::io(&path, &path, error))?;
    if found.is_dir() {
        Ok(())
    } else {
        let error = io::ErrorKind::NotADirectory.into();
        Err(TrustError::io(&path, &path, error))
    }
}

/// Checks that this user can create temporary directories in a directory, and that no other user
/// can exchange them, or the directory itself. Unlike for [`check_directory`], it may be writable
/// by others if it has the sticky bit, as `/tmp` has.
///
/// # Errors
/// Fails if it does not exist, is not a directory, is not writable, or is not trusted.
pub fn check_temporary_parent(path: &Path) -> Result<(), TrustError> {
    // As a directory that leads to files. Its own symlinks are resolved and checked.
    #[cfg(unix)]
    let resolved = resolve::resolve(path, resolve::End::File)?;
    #[cfg(not(unix))]
    let resolved = path.to_owned();
    let found = resolved
        .metadata()
        .map_err(|error| TrustError::io(path, &resolved, error))?;
    if !found.is_dir() {
        let error = io::ErrorKind::NotADirectory.into();
        return Err(TrustError::io(path, &resolved, error));
    }
    // Also reports a file system that is read-only, which root cannot write either.
    #[cfg(unix)]
    {
        use nix::unistd::{AccessFlags, access};
        access(&resolved, AccessFlags::W_OK | AccessFlags::X_OK)
            .map_err(|error| TrustError::io(path, &resolved, error.into()))?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the files belong to the host application, not to a skill"
)]
fn open_regular_with(
    path: &Path,
    resolved: &Path,
    options: &mut OpenOptions,
) -> Result<File, TrustError> {
    let not_regular = |kind| TrustError::new(path, resolved, Problem::NotRegular { kind });
    let file = options.open(resolved).map_err(|error| {
        // A FIFO without a reader, and a socket, cannot be opened for writing.
        match resolved.metadata().ok().and_then(|found| irregular(&found)) {
            Some(kind) => not_regular(kind),
            None => TrustError::io(path, resolved, error),
        }
    })?;
    match irregular(&metadata(&file, path)?) {
        Some(kind) => Err(not_regular(kind)),
        None => Ok(file),
    }
}

fn metadata(file: &File, path: &Path) -> Result<std::fs::Metadata, TrustError> {
    file.metadata()
        .map_err(|error| TrustError::io(path, path, error))
}

/// Returns what a file is, if it is not regular.
fn irregular(found: &std::fs::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a directory");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a FIFO");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

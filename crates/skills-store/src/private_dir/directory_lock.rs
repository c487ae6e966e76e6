//! Locks temporary directories, and removes abandoned ones.
//!
//! The owner holds an exclusive lock (`flock`) on the directory. A process that acquires the lock
//! and still finds the directory under its name may remove it; a new directory is complete only
//! after its creator acquired the lock and still finds it. So any number of processes may start and
//! clean up concurrently.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::remove_tree::remove_tree;
use super::{DIRECTORY_MODE, RANDOM_CHARS, SUFFIX};

/// The mode bits with which other users could replace an entry of a directory, and the sticky bit
/// that prevents it.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY_BIT: u32 = 0o1000;

/// Maximum number of entries of a parent directory that a sweep lists. Others may fill it.
const MAX_LISTED: usize = 100_000;
/// Maximum number of directories that a sweep locks, and removes if they are abandoned.
const MAX_CANDIDATES: usize = 1_000;

/// The lock on a directory, released on drop.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    _directory: File,
}

impl DirectoryLock {
    /// Locks a directory that was just created; `None` if it was removed before that. On a file
    /// system without locks no process gets one, so nothing is removed either.
    ///
    /// `before` gets the path before it is opened, and before it is locked.
    #[expect(
        clippy::disallowed_methods,
        reason = "the directory was created by this process"
    )]
    pub(super) fn acquire(path: &Path, before: &mut impl FnMut(&Path)) -> io::Result<Option<Self>> {
        before(path);
        let directory = match File::open(path) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        before(path);
        let is_owned = match directory.try_lock() {
            Ok(()) => is_same_directory(&directory, path)?,
            // Another process is about to remove it.
            Err(TryLockError::WouldBlock) => false,
            // A file system without locks: no other process gets one either.
            Err(TryLockError::Error(_)) => true,
        };
        Ok(is_owned.then_some(Self {
            _directory: directory,
        }))
    }
}

/// Sweeps on a background thread, once per parent and prefix.
pub(super) fn sweep_once(parent: &Path, prefix: &str) {
    let (parent, prefix) = (parent.to_owned(), prefix.to_owned());
    if is_first_sweep(&parent, &prefix) {
        // Without a thread, or if something cannot be removed, a later process removes it.
        let _ = thread::Builder::new()
            .name("skills-sweep".into())
            .spawn(move || sweep(&parent, &prefix));
    }
}

/// Returns true once for each parent and prefix, since listing a large temporary directory for each
/// run would be slow.
fn is_first_sweep(parent: &Path, prefix: &str) -> bool {
    static SWEPT: Mutex<BTreeSet<(PathBuf, String)>> = Mutex::new(BTreeSet::new());
    SWEPT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert((parent.to_owned(), prefix.to_owned()))
}

/// Removes abandoned directories of this user below `parent`, and returns their number.
pub(super) fn sweep(parent: &Path, prefix: &str) -> io::Result<usize> {
    let user = rustix::process::geteuid().as_raw();
    let top = Dir::open_ambient_dir(parent, ambient_authority())?;
    if may_be_changed_by_others(&top.dir_metadata()?, user) {
        return Ok(0);
    }
    let names = top.entries()?.take(MAX_LISTED).flatten();
    let names = names.map(|entry| entry.file_name());
    let candidates = names.filter(|name| {
        name.to_str()
            .is_some_and(|name| is_temporary_name(name, prefix))
    });
    let removed = candidates
        .take(MAX_CANDIDATES)
        // A directory that cannot be removed does not prevent the removal of others.
        .filter(|name| remove_abandoned(&top, parent, Path::new(name), user).unwrap_or(false));
    Ok(removed.count())
}

/// Returns true if another user could replace the directory that is removed.
fn may_be_changed_by_others(parent: &cap_std::fs::Metadata, user: u32) -> bool {
    let owner = cap_std::fs::MetadataExt::uid(parent);
    let mode = cap_std::fs::MetadataExt::mode(parent);
    ![user, 0].contains(&owner) || (mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY_BIT == 0)
}

/// Returns true if a name has the form of those that are created.
fn is_temporary_name(name: &str, prefix: &str) -> bool {
    let random = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes a directory of the user that is not locked; returns false if it is not one.
fn remove_abandoned(top: &Dir, parent: &Path, name: &Path, user: u32) -> io::Result<bool> {
    let path = parent.join(name);
    let metadata = path.symlink_metadata()?;
    if !has_own_attributes(&metadata, user) {
        return Ok(false);
    }
    // An `O_PATH` handle cannot be locked.
    let directory = top.open_dir_nofollow(name)?.open(".")?.into_std();
    // Checked again on the handle, since the directory can have been replaced after the first
    // check.
    let is_free = has_own_attributes(&directory.metadata()?, user) && directory.try_lock().is_ok();
    if is_free && is_same_directory(&directory, &path)? {
        remove_tree(&path)?;
        return Ok(true);
    }
    Ok(false)
}

/// Returns true for a directory of the user with the mode that is set here. The lock leaves no
/// persistent mark, and a program could change one in the directory, so a directory with another mode
/// is not treated as a temporary one.
fn has_own_attributes(metadata: &Metadata, user: u32) -> bool {
    metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o777 == DIRECTORY_MODE
}

/// Returns true if the directory is still at the path.
fn is_same_directory(directory: &File, path: &Path) -> io::Result<bool> {
    let own = directory.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

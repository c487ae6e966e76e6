//! Who uses a scratch directory, and the removal of those that nobody uses any more.
//!
//! The owner holds an exclusive lock (`flock`) on the directory. Whoever gets the lock and still
//! finds the directory under its name may remove it; a new directory counts as made only after its
//! maker got the lock and still finds it. So any number of processes may start and sweep at once.

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

use super::{RANDOM_CHARS, ScratchDir};

/// The mode of the directories.
pub(super) const DIRECTORY_MODE: u32 = 0o700;
/// The bits of a mode that others of the machine could use to exchange an entry of a directory, and
/// the one that keeps them from it.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY_BIT: u32 = 0o1000;

/// The lock on a directory; given up when dropped.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    directory: File,
}

impl DirectoryLock {
    /// Locks a directory that was just made; nothing when it was removed before that. Where the
    /// file system knows no locks nobody gets one, so nothing is removed either.
    pub(super) fn acquire(path: &Path) -> io::Result<Option<Self>> {
        let directory = match File::open(path) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_mine = match directory.try_lock() {
            Ok(()) => is_same_directory(&directory, path)?,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => true,
        };
        Ok(is_mine.then_some(Self { directory }))
    }

    /// Removes what processes of the same user left below `parent` that are gone, on a thread of
    /// its own, once for each parent.
    pub(super) fn sweep_once(&self, parent: &Path) {
        static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let is_first = SWEPT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(parent.to_owned());
        let Some(user) = self
            .directory
            .metadata()
            .ok()
            .map(|own| own.uid())
            .filter(|_| is_first)
        else {
            return;
        };
        let parent = parent.to_owned();
        // Without a thread, or when something cannot be removed, it is the next process's to
        // remove.
        let _ = thread::Builder::new()
            .name("skills-sweep".into())
            .spawn(move || sweep(&parent, user));
    }
}

fn sweep(parent: &Path, user: u32) -> io::Result<()> {
    let top = Dir::open_ambient_dir(parent, ambient_authority())?;
    let metadata = top.dir_metadata()?;
    let (owner, mode) = (
        cap_std::fs::MetadataExt::uid(&metadata),
        cap_std::fs::MetadataExt::mode(&metadata),
    );
    // Elsewhere another user could put something else in the place of what is removed.
    if ![user, 0].contains(&owner) || (mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY_BIT == 0) {
        return Ok(());
    }
    for entry in top.entries()?.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_scratch_name) {
            // One that cannot be removed does not keep the others.
            let _ = remove_abandoned(&top, parent, Path::new(&name), user);
        }
    }
    Ok(())
}

/// Whether a name is one that [`ScratchDir`] makes.
fn is_scratch_name(name: &str) -> bool {
    let random = name
        .strip_prefix(ScratchDir::PREFIX)
        .and_then(|rest| rest.strip_suffix(ScratchDir::SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes a directory of the user's that nobody has locked.
fn remove_abandoned(top: &Dir, parent: &Path, name: &Path, user: u32) -> io::Result<()> {
    let path = parent.join(name);
    let metadata = path.symlink_metadata()?;
    if !has_scratch_attributes(&metadata, user) {
        return Ok(());
    }
    // A handle that only names the directory cannot be locked.
    let directory = top.open_dir_nofollow(name)?.open(".")?.into_std();
    let is_free =
        has_scratch_attributes(&directory.metadata()?, user) && directory.try_lock().is_ok();
    if is_free && is_same_directory(&directory, &path)? {
        super::remove_tree(&path)
    } else {
        Ok(())
    }
}

/// Whether it is a directory of the user's with the mode that [`ScratchDir`] gives. The lock leaves
/// no mark, and one in the directory would be the program's to change, so what has another mode is
/// not taken for one.
fn has_scratch_attributes(metadata: &Metadata, user: u32) -> bool {
    metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o777 == DIRECTORY_MODE
}

/// Whether this directory lies at the path.
fn is_same_directory(directory: &File, path: &Path) -> io::Result<bool> {
    let own = directory.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

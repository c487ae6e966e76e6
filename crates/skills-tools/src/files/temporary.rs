//! Files and directories that are created under a temporary name and renamed when they are
//! complete.
//!
//! Each is locked (`flock`) until it is renamed; the kernel releases the lock when the process
//! dies. Before the first creation in a directory, leftovers with a temporary name are removed if
//! they belong to the same user, are old, and are not locked.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::time::SystemTime;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use skills_threads::lock;

use super::open::set_nonblocking;

/// Minimum age of an abandoned file. Longer than any write takes, for machines that share a
/// directory but not its locks.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);
/// Maximum number of directories that are remembered as swept; then the set is cleared.
const MAX_SWEPT: usize = 4_096;

/// A directory with a temporary name, locked until it is dropped.
pub(crate) struct TemporaryDirectory {
    pub(crate) name: String,
    _lock: File,
}

/// Creates a file, which is locked until it is closed.
pub(super) fn create_file(parent: &Dir, options: &OpenOptions) -> io::Result<(File, String)> {
    create_unique(parent, |name| parent.open_with(name, options))
}

pub(crate) fn create_directory(parent: &Dir) -> io::Result<TemporaryDirectory> {
    let (lock, name) = create_unique(parent, |name| {
        parent.create_dir(name)?;
        open_for_lock(parent, name)
    })?;
    Ok(TemporaryDirectory { name, _lock: lock })
}

/// Creates a file or directory under an unused name, and locks it.
fn create_unique(
    parent: &Dir,
    create: impl Fn(&str) -> io::Result<File>,
) -> io::Result<(File, String)> {
    loop {
        let name = next_name();
        let created = match create(&name) {
            // Another process with the same process id, in another container, can share the
            // directory.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        // The sweep of another process may have removed it before it was locked.
        if try_lock(&created)? != LockResult::HeldByOther && is_at(parent, &name, &created)? {
            // Now that it is locked and in place, the sweep of this process cannot remove it
            // either.
            sweep_once(parent, &created);
            return Ok((created, name));
        }
    }
}

/// Returns a name that this process has not used. An existing file of that name is never opened, so
/// the name need not be unpredictable.
fn next_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        ".skills-{}-{}.tmp",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns true if a name has the form of a temporary name, of any process.
fn is_temporary(name: &str) -> bool {
    let numbers = name
        .strip_prefix(".skills-")
        .and_then(|rest| rest.strip_suffix(".tmp"))
        .and_then(|rest| rest.split_once('-'));
    // Exactly the form of `next_name`, so that no file of a user is removed.
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockResult {
    Acquired,
    HeldByOther,
    /// The file system or platform does not support such locks.
    Unsupported,
}

/// Locks the open file description: the lock is held until the last duplicate is closed.
#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<LockResult> {
    Ok(match file.try_clone()?.into_std().try_lock() {
        Ok(()) => LockResult::Acquired,
        Err(std::fs::TryLockError::WouldBlock) => LockResult::HeldByOther,
        // Some network file systems have no locks; writes still work there.
        Err(std::fs::TryLockError::Error(_)) => LockResult::Unsupported,
    })
}

/// On other platforms a lock would prevent others from reading the file.
#[cfg(not(unix))]
fn try_lock(_file: &File) -> io::Result<LockResult> {
    Ok(LockResult::Unsupported)
}

/// Opens a file or directory for reading, which suffices for a lock.
fn open_for_lock(parent: &Dir, name: &str) -> io::Result<File> {
    if parent.symlink_metadata(name)?.is_dir() {
        return parent.open_dir_nofollow(name)?.open(".");
    }
    let mut options = OpenOptions::new();
    options.read(true);
    set_nonblocking(&mut options);
    parent.open_with(name, &options)
}

fn is_at(parent: &Dir, name: &str, file: &File) -> io::Result<bool> {
    let opened = file.metadata()?;
    match parent.symlink_metadata(name) {
        // Device and inode: the name may belong to another file by now.
        Ok(current) => Ok((current.dev(), current.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes abandoned files once per directory; `own` was just created there.
fn sweep_once(parent: &Dir, own: &File) {
    // Includes the creation time, since inode numbers are reused.
    static SWEPT: Mutex<BTreeSet<(u64, u64, Option<SystemTime>)>> = Mutex::new(BTreeSet::new());
    // Best effort: failures of the sweep must not fail the write.
    let (Ok(directory), Ok(own)) = (parent.dir_metadata(), own.metadata()) else {
        return;
    };
    {
        let mut swept = lock(&SWEPT);
        // Clearing costs at most another sweep per directory; growing without bound would cost
        // memory.
        if swept.len() == MAX_SWEPT {
            swept.clear();
        }
        let created = directory
            .created()
            .ok()
            .map(cap_std::time::SystemTime::into_std);
        if !swept.insert((directory.dev(), directory.ino(), created)) {
            return;
        }
    }
    for entry in parent.entries().into_iter().flatten().flatten() {
        if let Ok(name) = entry.file_name().into_string()
            && is_temporary(&name)
        {
            let _ = remove_abandoned(parent, &name, &own);
        }
    }
}

/// Removes a file or directory if it belongs to the user who created `own`, is old and not locked.
fn remove_abandoned(parent: &Dir, name: &str, own: &Metadata) -> io::Result<()> {
    let metadata = parent.symlink_metadata(name)?;
    let age = metadata
        .modified()?
        .into_std()
        .elapsed()
        .unwrap_or_default();
    // Files of other users may be in use by a process whose locks are not visible here.
    let is_candidate = (metadata.is_file() || metadata.is_dir())
        && is_same_user(&metadata, own)
        && age > ABANDONED_AFTER;
    if !is_candidate {
        return Ok(());
    }
    let file = open_for_lock(parent, name)?;
    // The name is compared after locking: its owner may have renamed the file and created another
    // one.
    if try_lock(&file)? != LockResult::Acquired || !is_at(parent, name, &file)? {
        return Ok(());
    }
    if metadata.is_dir() {
        parent.remove_dir_all(name)
    } else {
        parent.remove_file(name)
    }
}

#[cfg(unix)]
fn is_same_user(one: &Metadata, other: &Metadata) -> bool {
    use cap_std::fs::MetadataExt;
    one.uid() == other.uid()
}

/// Without locks nothing is removed.
#[cfg(not(unix))]
fn is_same_user(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use cap_std::ambient_authority;

    use super::*;

    fn write_new() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options
    }

    fn make_old(parent: &Dir, name: &str) {
        let file = open_for_lock(parent, name).unwrap().into_std();
        file.set_modified(SystemTime::now() - 2 * ABANDONED_AFTER)
            .unwrap();
    }

    #[test]
    fn only_leftovers_of_dead_processes_are_removed() {
        let held = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(held.path(), ambient_authority()).unwrap();
        let names = [
            ".skills-1-1.tmp",
            ".skills-1-2.tmp",
            ".skills-1-3.tmp",
            ".skills-x-1.tmp",
            ".skills-1-1.tmp.md",
            "target",
        ];
        names
            .iter()
            .for_each(|name| parent.write(name, "content").unwrap());
        for name in [".skills-2-1.tmp", ".skills-2-2.tmp"] {
            parent.create_dir_all(format!("{name}/scripts")).unwrap();
            make_old(&parent, name);
        }
        names
            .iter()
            .filter(|name| **name != ".skills-1-3.tmp")
            .for_each(|name| make_old(&parent, name));
        parent.symlink("target", ".skills-3-1.tmp").unwrap();
        // Locked by another process, simulated by another open file.
        let used = [".skills-1-2.tmp", ".skills-2-2.tmp"]
            .map(|name| open_for_lock(&parent, name).unwrap());
        assert!(
            used.iter()
                .all(|used| try_lock(used).unwrap() == LockResult::Acquired)
        );
        let (_file, own) = create_file(&parent, &write_new()).unwrap();
        let mut left: Vec<String> = parent
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut kept = [
            &own,
            ".skills-1-2.tmp",
            ".skills-1-3.tmp",
            ".skills-x-1.tmp",
            ".skills-1-1.tmp.md",
            "target",
            ".skills-2-2.tmp",
            ".skills-3-1.tmp",
        ];
        kept.sort_unstable();
        assert_eq!(left, kept);
        assert_eq!(parent.read_to_string("target").unwrap(), "content");
    }

    #[test]
    fn temporary_files_are_locked_until_complete() {
        let held = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(held.path(), ambient_authority()).unwrap();
        let (_file, name) = create_file(&parent, &write_new()).unwrap();
        let made = create_directory(&parent).unwrap();
        for name in [&name, &made.name] {
            make_old(&parent, name);
            let metadata = parent.symlink_metadata(name).unwrap();
            remove_abandoned(&parent, name, &metadata).unwrap();
            assert!(parent.exists(name));
        }
    }
}

//! Files that processes deleted but still hold open: they take space, and a directory walk does not
//! find them.
#![expect(
    clippy::disallowed_methods,
    reason = "reads procfs, not files of a skill"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_sandbox::QuotaPart;

/// The suffix of a deleted file's path in procfs.
const DELETED_SUFFIX: &[u8] = b" (deleted)";
const BLOCK_BYTES: u64 = 512;
/// Thread flags, as numbered by the kernel.
const PF_EXITING: u32 = 0x4;
const PF_FORKNOEXEC: u32 = 0x40;
/// How often a thread that may not be examined is retried, and the delay between attempts.
const MAX_ATTEMPTS: u32 = 20;
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// Counts the bytes of deleted files below `directory` that processes of a run have open or mapped.
/// A run is a process group. If its leader is the first process of a PID namespace, the run is
/// everything else in that namespace: the leader, a program of the backend, has no such files and may
/// not be examined.
///
/// The kernel does not expose the size of a file that is only mapped, so it counts as
/// `max_file_bytes`; if that is `u64::MAX`, the bytes are not known. A file with a descriptor in
/// flight through a socket is not found.
pub(super) fn deleted_bytes(
    group: i32,
    directory: &Path,
    max_file_bytes: u64,
) -> Result<u64, QuotaPart> {
    // Without a namespace of its own, all processes of the host would count.
    let own = pid_namespace(Path::new("/proc/self"));
    let leader = Path::new("/proc").join(group.to_string());
    let inner = pid_namespace(&leader).filter(|inner| Some(inner) != own.as_ref());
    let mut found = DeletedFileScan {
        group,
        directory,
        open: BTreeSet::new(),
        mapped: BTreeSet::new(),
        bytes: 0,
    };
    for process in numeric_entries(Path::new("/proc")).unwrap_or_default() {
        if inner.is_some() && process == leader {
            continue;
        }
        let is_inner = || inner.is_some() && pid_namespace(&process) == inner;
        if ThreadStatus::read(&process).is_some_and(|status| status.group == group) || is_inner() {
            found.scan_process(&process)?;
        }
    }
    // An upper bound: a size that is too small would let a run exceed its quota unnoticed.
    let only_mapped = found.mapped.difference(&found.open).count() as u64;
    if only_mapped > 0 && max_file_bytes == u64::MAX {
        return Err(QuotaPart::Unreadable);
    }
    Ok(found
        .bytes
        .saturating_add(only_mapped.saturating_mul(max_file_bytes)))
}

fn pid_namespace(process: &Path) -> Option<PathBuf> {
    fs::read_link(process.join("ns/pid")).ok()
}

struct DeletedFileScan<'a> {
    group: i32,
    directory: &'a Path,
    open: BTreeSet<u64>,
    mapped: BTreeSet<u64>,
    bytes: u64,
}

impl DeletedFileScan<'_> {
    /// Examines each thread, since threads can have their own descriptors, and continue after the
    /// first one has ended.
    fn scan_process(&mut self, process: &Path) -> Result<(), QuotaPart> {
        let mut has_mappings = false;
        for thread in numeric_entries(&process.join("task")).unwrap_or_default() {
            let mut tries = 0;
            loop {
                // The threads of a process share its mappings.
                let examined = self.scan_descriptors(&thread).and_then(|()| {
                    if has_mappings {
                        Ok(true)
                    } else {
                        self.scan_mappings(&thread)
                    }
                });
                match examined {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                    examined => {
                        has_mappings |= examined.unwrap_or(false);
                        break;
                    }
                }
                // Only root may examine a thread that is about to exit or to execute its program.
                if is_exiting(&thread) || self.is_before_exec(&thread) {
                    break;
                }
                tries += 1;
                if tries == MAX_ATTEMPTS {
                    return Err(QuotaPart::Unreadable);
                }
                // The state in which a thread may not be examined usually lasts a moment.
                std::thread::sleep(RETRY_DELAY);
            }
        }
        Ok(())
    }

    fn scan_descriptors(&mut self, thread: &Path) -> io::Result<()> {
        for descriptor in numeric_entries(&thread.join("fd"))? {
            let Some(file) = self.deleted_file(&descriptor) else {
                continue;
            };
            // Several descriptors can refer to one file.
            if self.open.insert(file.ino()) {
                let bytes = file.blocks().saturating_mul(BLOCK_BYTES);
                self.bytes = self.bytes.saturating_add(bytes);
            }
        }
        Ok(())
    }

    /// Returns the metadata of the file behind a descriptor, if it was deleted.
    fn deleted_file(&self, descriptor: &Path) -> Option<fs::Metadata> {
        let path = fs::read_link(descriptor).ok()?;
        if !self.is_deleted(path.as_os_str().as_bytes()) {
            return None;
        }
        // The link resolves to the open file itself, regardless of what is at its path now.
        let metadata = fs::metadata(descriptor).ok()?;
        (metadata.is_file() && metadata.nlink() == 0).then_some(metadata)
    }

    /// Records the deleted files that are mapped; returns whether the thread had any mappings. An
    /// exiting thread has none.
    fn scan_mappings(&mut self, thread: &Path) -> io::Result<bool> {
        let mappings = fs::read(thread.join("maps"))?;
        for line in mappings.split(|byte| *byte == b'\n') {
            let mapping = parse_mapping(line).filter(|(_, path)| self.is_deleted(path));
            self.mapped.extend(mapping.map(|(number, _)| number));
        }
        Ok(!mappings.is_empty())
    }

    /// Returns true for the leader before it has executed the program.
    fn is_before_exec(&self, thread: &Path) -> bool {
        let is_leader = thread
            .file_name()
            .is_some_and(|name| name.to_str() == Some(&self.group.to_string()));
        is_leader
            && ThreadStatus::read(thread).is_some_and(|status| status.flags & PF_FORKNOEXEC != 0)
    }

    fn is_deleted(&self, path: &[u8]) -> bool {
        path.strip_suffix(DELETED_SUFFIX)
            .is_some_and(|path| Path::new(OsStr::from_bytes(path)).starts_with(self.directory))
    }
}

/// Returns the inode and the path of a mapping.
fn parse_mapping(line: &[u8]) -> Option<(u64, &[u8])> {
    // Addresses, permissions, offset, device, inode and path.
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let number = std::str::from_utf8(words.nth(4)?).ok()?.parse().ok()?;
    Some((number, words.next()?.trim_ascii_start()))
}

/// Lists the entries of a procfs directory whose names are numbers.
fn numeric_entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_number = |name: &OsStr| name.as_bytes().iter().all(u8::is_ascii_digit);
    let entries = fs::read_dir(directory)?;
    Ok(entries
        .flatten()
        .filter(|entry| is_number(&entry.file_name()))
        .map(|entry| entry.path())
        .collect())
}

fn is_exiting(thread: &Path) -> bool {
    ThreadStatus::read(thread).is_none_or(|status| status.flags & PF_EXITING != 0)
}

/// The status of a thread, which is readable by every user.
struct ThreadStatus {
    group: i32,
    flags: u32,
}

impl ThreadStatus {
    /// Reads it; `None` if the thread is gone.
    fn read(thread: &Path) -> Option<Self> {
        let status = fs::read_to_string(thread.join("stat")).ok()?;
        // After the name: state, parent, group, session, terminal, its group, flags.
        let mut words = status.rsplit_once(')')?.1.split_ascii_whitespace();
        Some(Self {
            group: words.nth(2)?.parse().ok()?,
            flags: words.nth(3)?.parse().ok()?,
        })
    }
}

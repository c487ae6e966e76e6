//! The `/proc` of a run: its own processes, and facts about the machine that programs need.
//!
//! Everything else is covered. The entries are listed after the mount, so that an entry of an
//! unknown kernel is covered as well.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use super::mount::{
    NO_EXEC, change_directory, clone_mount, create_directory, create_filesystem, move_mount,
    set_mount_attrs,
};
use super::syscall::{
    Descriptor, StepError, check_result, fail, open, open_no_symlinks, system_call,
};
use crate::proc_entries::{Covers, is_visible};
use crate::rootfs::ProcMount;
use crate::rootfs_plan::MountAttrs;
use crate::setup_step::SetupStep;

/// Bytes of directory entries that are read at once.
const BUFFER_BYTES: usize = 8_192;
/// The offsets of the record length, the type and the name in `struct linux_dirent64`.
const LENGTH_OFFSET: usize = 16;
const TYPE_OFFSET: usize = 18;
const NAME_OFFSET: usize = 19;

/// Mounts a read-only `/proc`. Where the kernel allows only one with processes, it has nothing else.
pub(super) fn mount_proc(root: &Descriptor, mount: &ProcMount) -> Result<(), StepError> {
    let attributes = NO_EXEC.union(MountAttrs::READ_ONLY);
    create_directory(root, &mount.path)?;
    match create_filesystem(c"proc", &[], attributes, SetupStep::Proc) {
        Ok(proc) => {
            move_mount(&proc, root.number(), &mount.path, SetupStep::Proc)?;
            cover_entries(root, mount)
        }
        Err(_) => {
            let proc = create_filesystem(c"proc", &mount.pid_only, attributes, SetupStep::Proc)?;
            move_mount(&proc, root.number(), &mount.path, SetupStep::Proc)
        }
    }
}

/// Covers the entries that are neither processes nor visible.
fn cover_entries(root: &Descriptor, mount: &ProcMount) -> Result<(), StepError> {
    make_covers_read_only(root, &mount.covers)?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let proc = open(root.number(), &mount.path, flags, SetupStep::Proc)?;
    // Paths of the entries and of the covers are relative to it from now on.
    change_directory(&proc, SetupStep::Proc)?;
    let mut buffer = [0u8; BUFFER_BYTES];
    loop {
        // SAFETY: the pointer and length are those of the local buffer.
        let length = check_result(
            unsafe {
                system_call!(
                    libc::SYS_getdents64,
                    proc.number(),
                    buffer.as_mut_ptr(),
                    buffer.len(),
                )
            },
            SetupStep::Proc,
        )?;
        let Some(mut entries) = buffer
            .get(..length as usize)
            .filter(|read| !read.is_empty())
        else {
            return Ok(());
        };
        while let Some((entry, rest)) = split_entry(entries) {
            cover_entry(entry, &mount.covers)?;
            entries = rest;
        }
        // An entry that cannot be parsed could not be covered.
        if !entries.is_empty() {
            return Err(fail(libc::EIO, SetupStep::Proc));
        }
    }
}

/// An entry of a directory.
struct Entry<'a> {
    name: &'a CStr,
    kind: u8,
}

/// Splits the first entry off. `None` at the end, or if it is not valid.
fn split_entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let length = u16::from_ne_bytes([*bytes.get(LENGTH_OFFSET)?, *bytes.get(LENGTH_OFFSET + 1)?]);
    let length = usize::from(length);
    let name = CStr::from_bytes_until_nul(bytes.get(NAME_OFFSET..length)?).ok()?;
    let kind = *bytes.get(TYPE_OFFSET)?;
    Some((Entry { name, kind }, bytes.get(length..)?))
}

fn cover_entry(entry: Entry<'_>, covers: &Covers) -> Result<(), StepError> {
    // A symlink, such as `self`, leads to what is covered or visible itself.
    if entry.kind == libc::DT_LNK || is_visible(entry.name.to_bytes()) {
        return Ok(());
    }
    let replacement = covers
        .replaced
        .iter()
        .find(|(name, _)| name.as_c_str() == entry.name)
        .map(|(_, source)| source);
    let source = match replacement {
        Some(source) => source,
        None if entry.kind == libc::DT_DIR => &covers.directory,
        None => &covers.file,
    };
    // One call for each entry: separate ones to open, clone and move take four times as long.
    // SAFETY: both paths are valid strings; no data is passed.
    let result = unsafe {
        system_call!(
            libc::SYS_mount,
            source.as_ptr(),
            entry.name.as_ptr(),
            std::ptr::null::<u8>(),
            libc::MS_BIND,
            std::ptr::null::<u8>(),
        )
    };
    check_result(result, SetupStep::Proc).map(drop)
}

/// Makes the mount of the covers read-only, which the mounts over the entries inherit, and the file
/// unreadable, which no program can undo without capabilities.
fn make_covers_read_only(root: &Descriptor, covers: &Covers) -> Result<(), StepError> {
    let source = open_no_symlinks(root.number(), &covers.location, SetupStep::Proc)?;
    // SAFETY: the path is a valid string.
    let result = unsafe {
        system_call!(
            libc::SYS_fchmodat,
            root.number(),
            covers.unreadable.as_ptr(),
            0u32,
        )
    };
    check_result(result, SetupStep::Proc)?;
    let copy = clone_mount(&source)?;
    let attributes = NO_EXEC.union(MountAttrs::READ_ONLY);
    set_mount_attrs(&copy, attributes, 0, SetupStep::Proc)?;
    move_mount(&copy, root.number(), &covers.location, SetupStep::Proc)
}

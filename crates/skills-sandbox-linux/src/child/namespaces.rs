//! A user and a file tree of the child's own.
#![expect(unsafe_code, reason = "system calls between clone and exec have no safe form")]

use std::ffi::CStr;

use libc::{AT_EMPTY_PATH, AT_FDCWD, c_int, c_uint};

use super::call::{Descriptor, check, descriptor, errno, fail, identity, open, open_exactly, write};
use crate::step::Step;
use crate::tree::{Attributes, Operation, Options, Place, Tree};

const FSOPEN_CLOEXEC: c_uint = 1;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
const OPEN_TREE_CLONE: c_uint = 1;
const AT_RECURSIVE: c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
const MOVE_MOUNT_T_EMPTY_PATH: c_uint = 0x40;

/// Names the one user and the one group of the user namespace. Without their names nothing could be created in it.
pub(super) fn identify(user: &CStr, group: &CStr) -> Result<(), Step> {
    let put = |path: &CStr, text: &[u8]| write(open(AT_FDCWD, path, libc::O_WRONLY, Step::Identity)?.number(), text, Step::Identity);
    put(c"/proc/self/setgroups", b"deny")?;
    put(c"/proc/self/uid_map", user.to_bytes())?;
    put(c"/proc/self/gid_map", group.to_bytes())
}

/// Builds the tree and enters it; `at` is the number of the operation under way.
pub(super) fn enter(tree: &Tree, at: &mut i32) -> Result<(), Step> {
    // SAFETY: system calls with constant strings.
    unsafe {
        // Nothing that is mounted here may reach the host, and nothing that the host mounts may appear here.
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::syscall(libc::SYS_mount, c"none".as_ptr(), c"/".as_ptr(), 0, flags, 0), Step::Root)?;
    }
    let attributes = Attributes::NOSUID.and(Attributes::NODEV);
    let root = filesystem(c"tmpfs", &tree.root_options, attributes, Step::Root)?;
    // On top of the host's root: paths still start below it, so every source can be found by its path.
    attach(&root, AT_FDCWD, c"/", Step::Root)?;
    for operation in &tree.operations {
        *at += 1;
        perform(operation, &root)?;
    }
    *at = -1;
    pivot(&root)?;
    restrict(&root, Attributes::READ_ONLY.and(attributes), 0, Step::Pivot)
}

fn perform(operation: &Operation, root: &Descriptor) -> Result<(), Step> {
    match operation {
        Operation::Directory(path) => directory(root, path),
        Operation::Link { path, target } => {
            // SAFETY: both are valid strings.
            check(unsafe { libc::syscall(libc::SYS_symlinkat, target.as_ptr(), root.number(), path.as_ptr()) }, Step::Tree).map(drop)
        }
        Operation::File { path, text } => {
            let file = open(root.number(), path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW, Step::Tree)?;
            write(file.number(), text, Step::Tree)
        }
        Operation::Scratch { path, options } => {
            directory(root, path)?;
            let scratch = filesystem(c"tmpfs", options, Attributes::NOSUID.and(Attributes::NODEV), Step::Tree)?;
            attach(&scratch, root.number(), path, Step::Tree)
        }
        Operation::Mask { path, options } => {
            let attributes = Attributes::NOSUID.and(Attributes::NODEV).and(Attributes::NOEXEC).and(Attributes::READ_ONLY);
            let mask = filesystem(c"tmpfs", options, attributes, Step::Tree)?;
            attach(&mask, root.number(), path, Step::Tree)
        }
        Operation::SameScratch { path, scratch } => {
            directory(root, path)?;
            let same = copy(&open_exactly(root.number(), scratch, Step::Tree)?)?;
            attach(&same, root.number(), path, Step::Tree)
        }
        Operation::Processes { path, options } => {
            directory(root, path)?;
            let attributes = Attributes::NOSUID.and(Attributes::NODEV).and(Attributes::NOEXEC);
            let processes = filesystem(c"proc", options, attributes, Step::Processes)?;
            attach(&processes, root.number(), path, Step::Processes)
        }
        Operation::Mirror { source, path, identity: expected, attributes, place } => {
            let found = open_exactly(AT_FDCWD, source, Step::Tree)?;
            if identity(&found, Step::Tree)? != *expected {
                return Err(fail(libc::ESTALE, Step::Tree));
            }
            match place {
                Place::Directory => directory(root, path)?,
                Place::File => drop(open(root.number(), path, libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW, Step::Tree)?),
                Place::Existing => {}
            }
            let copy = copy(&found)?;
            restrict(&copy, *attributes, AT_RECURSIVE, Step::Tree)?;
            attach(&copy, root.number(), path, Step::Tree)
        }
    }
}

/// Copies a mount, from an open file of it on and with all below it; the copy is mounted nowhere yet.
fn copy(found: &Descriptor) -> Result<Descriptor, Step> {
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE | AT_EMPTY_PATH as c_uint | libc::O_CLOEXEC as c_uint;
    // SAFETY: the empty path with its flag means the descriptor itself.
    let copy = unsafe { libc::syscall(libc::SYS_open_tree, found.number(), c"".as_ptr(), flags) };
    descriptor(copy, Step::Tree)
}

/// Makes a directory; one that is there already will do.
fn directory(root: &Descriptor, path: &CStr) -> Result<(), Step> {
    // SAFETY: the path is a valid string.
    let answer = unsafe { libc::syscall(libc::SYS_mkdirat, root.number(), path.as_ptr(), 0o755) };
    if answer < 0 && errno() == libc::EEXIST { Ok(()) } else { check(answer, Step::Tree).map(drop) }
}

/// Makes a filesystem that is mounted nowhere yet.
fn filesystem(kind: &CStr, options: &Options, attributes: Attributes, step: Step) -> Result<Descriptor, Step> {
    // SAFETY: all strings are valid, and null where the command takes none.
    unsafe {
        let context = descriptor(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC), step)?;
        for (name, value) in options {
            check(libc::syscall(libc::SYS_fsconfig, context.number(), FSCONFIG_SET_STRING, name.as_ptr(), value.as_ptr(), 0), step)?;
        }
        let none = std::ptr::null::<u8>();
        check(libc::syscall(libc::SYS_fsconfig, context.number(), FSCONFIG_CMD_CREATE, none, none, 0), step)?;
        descriptor(libc::syscall(libc::SYS_fsmount, context.number(), FSMOUNT_CLOEXEC, attributes.bits()), step)
    }
}

/// Mounts what is mounted nowhere yet, without following a symlink.
fn attach(what: &Descriptor, root: c_int, path: &CStr, step: Step) -> Result<(), Step> {
    let place = open_exactly(root, path, step)?;
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths with their flags mean the descriptors themselves.
    let answer = unsafe { libc::syscall(libc::SYS_move_mount, what.number(), c"".as_ptr(), place.number(), c"".as_ptr(), flags) };
    check(answer, step).map(drop)
}

/// Adds attributes to a mount, and with `AT_RECURSIVE` to all below it.
fn restrict(mount: &Descriptor, attributes: Attributes, flags: c_uint, step: Step) -> Result<(), Step> {
    // SAFETY: zeroed plain data; the size is the structure's own; the empty path with its flag means the descriptor itself.
    let answer = unsafe {
        let mut change: libc::mount_attr = std::mem::zeroed();
        change.attr_set = u64::from(attributes.bits());
        let flags = flags | AT_EMPTY_PATH as c_uint;
        let size = size_of::<libc::mount_attr>();
        libc::syscall(libc::SYS_mount_setattr, mount.number(), c"".as_ptr(), flags, &raw const change, size)
    };
    check(answer, step).map(drop)
}

/// Makes the tree the root and lets go of the host's.
fn pivot(root: &Descriptor) -> Result<(), Step> {
    // SAFETY: system calls with constant strings.
    unsafe {
        check(libc::syscall(libc::SYS_fchdir, root.number()), Step::Pivot)?;
        // Both at one place: the host's tree ends up on top of ours, and is taken off.
        check(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()), Step::Pivot)?;
        check(libc::syscall(libc::SYS_umount2, c".".as_ptr(), libc::MNT_DETACH), Step::Pivot)?;
        check(libc::syscall(libc::SYS_chdir, c"/".as_ptr()), Step::Pivot)?;
    }
    Ok(())
}

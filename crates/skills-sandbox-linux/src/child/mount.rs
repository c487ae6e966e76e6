//! The system calls that create and attach mounts.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::{AT_EMPTY_PATH, c_int, c_long, c_uint};

use super::syscall::{
    Descriptor, StepError, check_descriptor, check_result, open_no_symlinks, system_call,
};
use crate::rootfs::MountOptions;
use crate::rootfs_plan::MountAttrs;
use crate::setup_step::SetupStep;

const FSOPEN_CLOEXEC: c_uint = 1;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSCONFIG_SET_FLAG: c_uint = 0;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
const OPEN_TREE_CLONE: c_uint = 1;
pub(super) const AT_RECURSIVE: c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
const MOVE_MOUNT_T_EMPTY_PATH: c_uint = 0x40;

/// Attributes of file systems from which nothing is executed.
pub(super) const NO_EXEC: MountAttrs = MountAttrs::NOSUID
    .union(MountAttrs::NODEV)
    .union(MountAttrs::NOEXEC);

/// Copies the mount of an open file from that file on, with all mounts below it. The copy is not
/// attached to any path yet.
pub(super) fn clone_mount(source: &Descriptor) -> Result<Descriptor, StepError> {
    let flags =
        OPEN_TREE_CLONE | AT_RECURSIVE | AT_EMPTY_PATH as c_uint | libc::O_CLOEXEC as c_uint;
    // SAFETY: the empty path with its flag means the descriptor itself.
    let copy = unsafe { system_call!(libc::SYS_open_tree, source.number(), c"".as_ptr(), flags) };
    check_descriptor(copy, SetupStep::RootFs)
}

/// Makes an open directory the working directory.
pub(super) fn change_directory(directory: &Descriptor, step: SetupStep) -> Result<(), StepError> {
    // SAFETY: system call without pointers.
    let result = unsafe { system_call!(libc::SYS_fchdir, directory.number()) };
    check_result(result, step).map(drop)
}

/// Creates a directory, unless it exists.
pub(super) fn create_directory(root: &Descriptor, path: &CStr) -> Result<(), StepError> {
    // SAFETY: the path is a valid string.
    let result = unsafe { system_call!(libc::SYS_mkdirat, root.number(), path.as_ptr(), 0o755) };
    if result == -c_long::from(libc::EEXIST) {
        Ok(())
    } else {
        check_result(result, SetupStep::RootFs).map(drop)
    }
}

/// Creates a file system that is not attached to any path yet.
pub(super) fn create_filesystem(
    kind: &CStr,
    options: &MountOptions,
    attributes: MountAttrs,
    step: SetupStep,
) -> Result<Descriptor, StepError> {
    // SAFETY: all strings are valid, and null where the command takes none.
    unsafe {
        let context = check_descriptor(
            system_call!(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC),
            step,
        )?;
        for (name, value) in options {
            let (command, value) = if value.is_empty() {
                (FSCONFIG_SET_FLAG, std::ptr::null())
            } else {
                (FSCONFIG_SET_STRING, value.as_ptr())
            };
            check_result(
                system_call!(
                    libc::SYS_fsconfig,
                    context.number(),
                    command,
                    name.as_ptr(),
                    value,
                    0,
                ),
                step,
            )?;
        }
        let none = std::ptr::null::<u8>();
        check_result(
            system_call!(
                libc::SYS_fsconfig,
                context.number(),
                FSCONFIG_CMD_CREATE,
                none,
                none,
                0,
            ),
            step,
        )?;
        check_descriptor(
            system_call!(
                libc::SYS_fsmount,
                context.number(),
                FSMOUNT_CLOEXEC,
                attributes.bits(),
            ),
            step,
        )
    }
}

/// Attaches a mount to a path, without following symlinks.
pub(super) fn move_mount(
    mount: &Descriptor,
    root: c_int,
    path: &CStr,
    step: SetupStep,
) -> Result<(), StepError> {
    attach_mount(mount, &open_no_symlinks(root, path, step)?, step)
}

/// Attaches a mount to an open file or directory.
pub(super) fn attach_mount(
    mount: &Descriptor,
    target: &Descriptor,
    step: SetupStep,
) -> Result<(), StepError> {
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths with their flags mean the descriptors themselves.
    let result = unsafe {
        system_call!(
            libc::SYS_move_mount,
            mount.number(),
            c"".as_ptr(),
            target.number(),
            c"".as_ptr(),
            flags,
        )
    };
    check_result(result, step).map(drop)
}

/// Adds attributes to a mount, and with `AT_RECURSIVE` to all mounts below it.
pub(super) fn set_mount_attrs(
    mount: &Descriptor,
    attributes: MountAttrs,
    flags: c_uint,
    step: SetupStep,
) -> Result<(), StepError> {
    // SAFETY: zeroed plain data; the size is the structure's own; the empty path with its flag
    // means the descriptor itself.
    let result = unsafe {
        let mut change: libc::mount_attr = std::mem::zeroed();
        change.attr_set = u64::from(attributes.bits());
        let flags = flags | AT_EMPTY_PATH as c_uint;
        let size = size_of::<libc::mount_attr>();
        system_call!(
            libc::SYS_mount_setattr,
            mount.number(),
            c"".as_ptr(),
            flags,
            &raw const change,
            size,
        )
    };
    check_result(result, step).map(drop)
}

//! The user namespace and the root file system of the child.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::{AT_EMPTY_PATH, AT_FDCWD, c_int, c_uint};

use super::proc::mount_proc;
use super::syscall::{
    Descriptor, check_descriptor, check_result, errno, fail, identity, open, open_no_symlinks,
    write,
};
use crate::rootfs::{MountOp, MountOptions, MountPoint, RootFs};
use crate::rootfs_plan::MountAttrs;
use crate::setup_step::SetupStep;

const FSOPEN_CLOEXEC: c_uint = 1;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
const OPEN_TREE_CLONE: c_uint = 1;
const AT_RECURSIVE: c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
const MOVE_MOUNT_T_EMPTY_PATH: c_uint = 0x40;

/// Attributes of file systems from which nothing is executed.
pub(super) const NO_EXEC: MountAttrs = MountAttrs::NOSUID
    .union(MountAttrs::NODEV)
    .union(MountAttrs::NOEXEC);

/// Maps the one user and the one group of the user namespace. Without a mapping the child could not
/// create files in it.
pub(super) fn write_id_maps(uid_map: &CStr, gid_map: &CStr) -> Result<(), SetupStep> {
    // Without privileges the kernel accepts a group map only after `setgroups` is denied: dropping
    // a group could otherwise give access to files that deny it to that group.
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", uid_map.to_bytes())?;
    write_file(c"/proc/self/gid_map", gid_map.to_bytes())
}

fn write_file(path: &CStr, text: &[u8]) -> Result<(), SetupStep> {
    let file = open(AT_FDCWD, path, libc::O_WRONLY, SetupStep::Identity)?;
    write(file.number(), text, SetupStep::Identity)
}

/// Builds the root file system and enters it. `op_index` is set to the index of the current
/// operation, and to -1 after the last.
pub(super) fn enter_rootfs(rootfs: &RootFs, op_index: &mut i32) -> Result<(), SetupStep> {
    // SAFETY: system calls with constant strings.
    unsafe {
        // Private propagation: no mount of the child reaches the host, and none that the host
        // mounts later appears in the child.
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        check_result(
            libc::syscall(
                libc::SYS_mount,
                c"none".as_ptr(),
                c"/".as_ptr(),
                0,
                flags,
                0,
            ),
            SetupStep::Root,
        )?;
    }
    let attributes = MountAttrs::NOSUID.union(MountAttrs::NODEV);
    let root = create_filesystem(c"tmpfs", &rootfs.mount_options, attributes, SetupStep::Root)?;
    // Mounted over the host's root. Absolute paths of this process still start at the host's root,
    // so all sources can be opened by their paths.
    move_mount(&root, AT_FDCWD, c"/", SetupStep::Root)?;
    for operation in &rootfs.operations {
        *op_index += 1;
        execute_op(operation, &root)?;
    }
    *op_index = -1;
    pivot_root(&root)?;
    // Read-only only now, since entries were created in it before.
    set_mount_attrs(
        &root,
        MountAttrs::READ_ONLY.union(attributes),
        0,
        SetupStep::Pivot,
    )
}

fn execute_op(operation: &MountOp, root: &Descriptor) -> Result<(), SetupStep> {
    match operation {
        MountOp::Directory(path) => create_directory(root, path),
        MountOp::Symlink { path, target } => create_symlink(root, path, target),
        MountOp::File { path, text } => {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
            let file = open(root.number(), path, flags, SetupStep::RootFs)?;
            write(file.number(), text, SetupStep::RootFs)
        }
        MountOp::Scratch { path, options } => {
            create_directory(root, path)?;
            let attributes = MountAttrs::NOSUID.union(MountAttrs::NODEV);
            let scratch = create_filesystem(c"tmpfs", options, attributes, SetupStep::RootFs)?;
            move_mount(&scratch, root.number(), path, SetupStep::RootFs)
        }
        MountOp::Mask { path, options } => {
            let attributes = NO_EXEC.union(MountAttrs::READ_ONLY);
            let mask = create_filesystem(c"tmpfs", options, attributes, SetupStep::RootFs)?;
            move_mount(&mask, root.number(), path, SetupStep::RootFs)
        }
        MountOp::ScratchAlias { path, scratch } => {
            create_directory(root, path)?;
            let scratch = open_no_symlinks(root.number(), scratch, SetupStep::RootFs)?;
            move_mount(
                &clone_mount(&scratch)?,
                root.number(),
                path,
                SetupStep::RootFs,
            )
        }
        MountOp::Proc(mount) => mount_proc(root, mount),
        MountOp::Bind {
            source,
            path,
            identity: expected,
            attributes,
            mount_point,
        } => {
            let source = open_no_symlinks(AT_FDCWD, source, SetupStep::RootFs)?;
            // The path may have been replaced since the policy decided on it and the parent opened
            // it. A descriptor of the parent cannot be mounted: it belongs to its mount namespace.
            if identity(&source, SetupStep::RootFs)? != *expected {
                return Err(fail(libc::ESTALE, SetupStep::RootFs));
            }
            create_mount_point(root, path, *mount_point)?;
            let copy = clone_mount(&source)?;
            // Recursive, so that mounts below the source are not writable or setuid either.
            set_mount_attrs(&copy, *attributes, AT_RECURSIVE, SetupStep::RootFs)?;
            move_mount(&copy, root.number(), path, SetupStep::RootFs)
        }
    }
}

fn create_symlink(root: &Descriptor, path: &CStr, target: &CStr) -> Result<(), SetupStep> {
    // SAFETY: both are valid strings.
    let result = unsafe {
        libc::syscall(
            libc::SYS_symlinkat,
            target.as_ptr(),
            root.number(),
            path.as_ptr(),
        )
    };
    check_result(result, SetupStep::RootFs).map(drop)
}

fn create_mount_point(
    root: &Descriptor,
    path: &CStr,
    mount_point: MountPoint,
) -> Result<(), SetupStep> {
    match mount_point {
        MountPoint::Directory => create_directory(root, path),
        MountPoint::File => {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW;
            open(root.number(), path, flags, SetupStep::RootFs).map(drop)
        }
        MountPoint::Existing => Ok(()),
    }
}

/// Copies the mount of an open file from that file on, with all mounts below it. The copy is not
/// attached to any path yet.
pub(super) fn clone_mount(source: &Descriptor) -> Result<Descriptor, SetupStep> {
    let flags =
        OPEN_TREE_CLONE | AT_RECURSIVE | AT_EMPTY_PATH as c_uint | libc::O_CLOEXEC as c_uint;
    // SAFETY: the empty path with its flag means the descriptor itself.
    let copy = unsafe { libc::syscall(libc::SYS_open_tree, source.number(), c"".as_ptr(), flags) };
    check_descriptor(copy, SetupStep::RootFs)
}

/// Creates a directory, unless it exists.
pub(super) fn create_directory(root: &Descriptor, path: &CStr) -> Result<(), SetupStep> {
    // SAFETY: the path is a valid string.
    let result = unsafe { libc::syscall(libc::SYS_mkdirat, root.number(), path.as_ptr(), 0o755) };
    if result < 0 && errno() == libc::EEXIST {
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
) -> Result<Descriptor, SetupStep> {
    // SAFETY: all strings are valid, and null where the command takes none.
    unsafe {
        let context = check_descriptor(
            libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC),
            step,
        )?;
        for (name, value) in options {
            check_result(
                libc::syscall(
                    libc::SYS_fsconfig,
                    context.number(),
                    FSCONFIG_SET_STRING,
                    name.as_ptr(),
                    value.as_ptr(),
                    0,
                ),
                step,
            )?;
        }
        let none = std::ptr::null::<u8>();
        check_result(
            libc::syscall(
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
            libc::syscall(
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
) -> Result<(), SetupStep> {
    let target = open_no_symlinks(root, path, step)?;
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths with their flags mean the descriptors themselves.
    let result = unsafe {
        libc::syscall(
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
) -> Result<(), SetupStep> {
    // SAFETY: zeroed plain data; the size is the structure's own; the empty path with its flag
    // means the descriptor itself.
    let result = unsafe {
        let mut change: libc::mount_attr = std::mem::zeroed();
        change.attr_set = u64::from(attributes.bits());
        let flags = flags | AT_EMPTY_PATH as c_uint;
        let size = size_of::<libc::mount_attr>();
        libc::syscall(
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

/// Makes the new file system the root of this process, and unmounts that of the host.
fn pivot_root(root: &Descriptor) -> Result<(), SetupStep> {
    // SAFETY: system calls with constant strings.
    unsafe {
        check_result(
            libc::syscall(libc::SYS_fchdir, root.number()),
            SetupStep::Pivot,
        )?;
        // With the same directory for both arguments, the host's root is stacked on the new one,
        // and unmounting `.` removes it; no directory for it is needed in the new root.
        check_result(
            libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()),
            SetupStep::Pivot,
        )?;
        check_result(
            libc::syscall(libc::SYS_umount2, c".".as_ptr(), libc::MNT_DETACH),
            SetupStep::Pivot,
        )?;
        check_result(
            libc::syscall(libc::SYS_chdir, c"/".as_ptr()),
            SetupStep::Pivot,
        )?;
    }
    Ok(())
}

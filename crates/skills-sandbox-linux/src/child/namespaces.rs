//! The user namespace and the root file system of the child.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::AT_FDCWD;

use super::layer;
use super::mount::{
    AT_RECURSIVE, NO_EXEC, attach_mount, change_directory, clone_mount, create_directory,
    create_filesystem, move_mount, set_mount_attrs,
};
use super::proc::mount_proc;
use super::syscall::{
    Descriptor, StepError, check_result, fail, identity, open, open_no_symlinks, system_call, write,
};
use crate::rootfs::{
    BaseRootFs, MountOp, MountPoint, RootFs, UNREADABLE_DIRECTORY_ENTRY, UNREADABLE_FILE,
};
use crate::rootfs_plan::MountAttrs;
use crate::setup_step::SetupStep;

const ROOT_ATTRS: MountAttrs = MountAttrs::NOSUID.union(MountAttrs::NODEV);

/// Maps the one user and the one group of the user namespace. Without a mapping the child could not
/// create files in it.
pub(super) fn write_id_maps(uid_map: &CStr, gid_map: &CStr) -> Result<(), StepError> {
    // Without privileges the kernel accepts a group map only after `setgroups` is denied: dropping
    // a group could otherwise give access to files that deny it to that group.
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", uid_map.to_bytes())?;
    write_file(c"/proc/self/gid_map", gid_map.to_bytes())
}

fn write_file(path: &CStr, text: &[u8]) -> Result<(), StepError> {
    let file = open(AT_FDCWD, path, libc::O_WRONLY, SetupStep::Identity)?;
    write(file.number(), text, SetupStep::Identity)
}

/// Builds what all root file systems have, and makes it the working directory.
pub(super) fn begin_rootfs(base: &BaseRootFs) -> Result<(), StepError> {
    // SAFETY: system calls with constant strings.
    unsafe {
        // Private propagation: no mount of the child reaches the host, and none that the host
        // mounts later appears in the child.
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        check_result(
            system_call!(
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
    let root = create_filesystem(c"tmpfs", &base.mount_options, ROOT_ATTRS, SetupStep::Root)?;
    // Mounted over the host's root. Absolute paths of this process still start at the host's root,
    // so all sources can be opened by their paths.
    move_mount(&root, AT_FDCWD, c"/", SetupStep::Root)?;
    for operation in &base.operations {
        execute_op(operation, &root).map_err(|error| match error.step {
            SetupStep::RootFs => fail(error.errno, SetupStep::Root),
            _ => error,
        })?;
    }
    change_directory(&root, SetupStep::Root)
}

/// Builds the root file system in its base, which is the working directory, calls `add` with it, and
/// enters it. `op_index` is set to the index of the current operation, and to -1 after the last.
pub(super) fn enter_rootfs<T>(
    rootfs: &RootFs,
    op_index: &mut i32,
    add: impl FnOnce(&Descriptor) -> Result<T, StepError>,
) -> Result<T, StepError> {
    let root = open(AT_FDCWD, c".", libc::O_PATH, SetupStep::RootFs)?;
    for operation in &rootfs.operations {
        *op_index += 1;
        execute_op(operation, &root)?;
    }
    *op_index = -1;
    let added = add(&root)?;
    pivot_root(&root)?;
    // Read-only only now, since entries were created in it before.
    set_mount_attrs(
        &root,
        MountAttrs::READ_ONLY.union(ROOT_ATTRS),
        0,
        SetupStep::Pivot,
    )?;
    Ok(added)
}

fn execute_op(operation: &MountOp, root: &Descriptor) -> Result<(), StepError> {
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
        MountOp::Terminals { path, options } => {
            create_directory(root, path)?;
            // Where the kernel refuses it, as in some containers, programs open no terminals.
            let attributes = MountAttrs::NOSUID.union(MountAttrs::NOEXEC);
            let _ = create_filesystem(c"devpts", options, attributes, SetupStep::RootFs)
                .and_then(|mount| move_mount(&mount, root.number(), path, SetupStep::RootFs));
            Ok(())
        }
        MountOp::Mask { path, options } => {
            let attributes = NO_EXEC.union(MountAttrs::READ_ONLY);
            let mask = create_filesystem(c"tmpfs", options, attributes, SetupStep::RootFs)?;
            move_mount(&mask, root.number(), path, SetupStep::RootFs)
        }
        MountOp::Unreadable => create_unreadable(root),
        MountOp::Withhold {
            path,
            identity: expected,
            is_directory,
        } => {
            // The descriptor, so that a path that is replaced meanwhile cannot lead elsewhere.
            let target = open_no_symlinks(root.number(), path, SetupStep::RootFs)?;
            if identity(&target, SetupStep::RootFs)? != *expected {
                return Err(fail(libc::ESTALE, SetupStep::RootFs));
            }
            let cover = if *is_directory {
                UNREADABLE_DIRECTORY_ENTRY
            } else {
                UNREADABLE_FILE
            };
            let cover = open_no_symlinks(root.number(), cover, SetupStep::RootFs)?;
            let copy = clone_mount(&cover)?;
            // Its owner could otherwise change its mode.
            let attributes = NO_EXEC.union(MountAttrs::READ_ONLY);
            set_mount_attrs(&copy, attributes, 0, SetupStep::RootFs)?;
            attach_mount(&copy, &target, SetupStep::RootFs)
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
        MountOp::Layer {
            path,
            memory,
            overlay,
        } => layer::mount(root, path, memory, overlay),
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

/// Creates the file and the directory without any permission, which the program cannot open since it
/// has no capability.
fn create_unreadable(root: &Descriptor) -> Result<(), StepError> {
    // SAFETY: system calls with constant strings.
    unsafe {
        check_result(
            system_call!(
                libc::SYS_mknodat,
                root.number(),
                UNREADABLE_FILE.as_ptr(),
                libc::S_IFREG,
                0,
            ),
            SetupStep::RootFs,
        )?;
        check_result(
            system_call!(
                libc::SYS_mkdirat,
                root.number(),
                UNREADABLE_DIRECTORY_ENTRY.as_ptr(),
                0,
            ),
            SetupStep::RootFs,
        )
        .map(drop)
    }
}

fn create_symlink(root: &Descriptor, path: &CStr, target: &CStr) -> Result<(), StepError> {
    // SAFETY: both are valid strings.
    let result = unsafe {
        system_call!(
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
) -> Result<(), StepError> {
    match mount_point {
        MountPoint::Directory => create_directory(root, path),
        MountPoint::File => {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW;
            open(root.number(), path, flags, SetupStep::RootFs).map(drop)
        }
        MountPoint::Existing => Ok(()),
    }
}

/// Makes the new file system the root of this process, and unmounts that of the host.
fn pivot_root(root: &Descriptor) -> Result<(), StepError> {
    change_directory(root, SetupStep::Pivot)?;
    // SAFETY: system calls with constant strings.
    unsafe {
        // With the same directory for both arguments, the host's root is stacked on the new one,
        // and unmounting `.` removes it; no directory for it is needed in the new root.
        check_result(
            system_call!(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()),
            SetupStep::Pivot,
        )?;
        check_result(
            system_call!(libc::SYS_umount2, c".".as_ptr(), libc::MNT_DETACH),
            SetupStep::Pivot,
        )?;
        check_result(
            system_call!(libc::SYS_chdir, c"/".as_ptr()),
            SetupStep::Pivot,
        )?;
    }
    Ok(())
}

//! A user and a file tree of the child's own.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::{AT_EMPTY_PATH, AT_FDCWD, c_int, c_uint};

use super::syscall::{
    Descriptor, check_descriptor, check_result, errno, fail, identity, open, open_no_symlinks,
    write,
};
use crate::rootfs::{MountAttrs, MountOp, MountOptions, MountPoint, RootFs};
use crate::setup_step::SetupStep;

const FSOPEN_CLOEXEC: c_uint = 1;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
const OPEN_TREE_CLONE: c_uint = 1;
const AT_RECURSIVE: c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
const MOVE_MOUNT_T_EMPTY_PATH: c_uint = 0x40;

/// Names the one user and the one group of the user namespace. Without their names nothing could be
/// created in it.
pub(super) fn write_id_maps(user: &CStr, group: &CStr) -> Result<(), SetupStep> {
    let put = |path: &CStr, text: &[u8]| {
        write(
            open(AT_FDCWD, path, libc::O_WRONLY, SetupStep::Identity)?.number(),
            text,
            SetupStep::Identity,
        )
    };
    put(c"/proc/self/setgroups", b"deny")?;
    put(c"/proc/self/uid_map", user.to_bytes())?;
    put(c"/proc/self/gid_map", group.to_bytes())
}

/// Builds the tree and enters it; `at` is the number of the operation under way.
pub(super) fn enter_rootfs(tree: &RootFs, at: &mut i32) -> Result<(), SetupStep> {
    // SAFETY: system calls with constant strings.
    unsafe {
        // Nothing that is mounted here may reach the host, and nothing that the host mounts may
        // appear here.
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
    let root = make_filesystem(c"tmpfs", &tree.mount_options, attributes, SetupStep::Root)?;
    // On top of the host's root: paths still start below it, so every source can be found by its
    // path.
    move_mount(&root, AT_FDCWD, c"/", SetupStep::Root)?;
    for operation in &tree.operations {
        *at += 1;
        execute_op(operation, &root)?;
    }
    *at = -1;
    pivot_root(&root)?;
    set_mount_attrs(
        &root,
        MountAttrs::READ_ONLY.union(attributes),
        0,
        SetupStep::Pivot,
    )
}

fn execute_op(operation: &MountOp, root: &Descriptor) -> Result<(), SetupStep> {
    match operation {
        MountOp::Directory(path) => make_directory(root, path),
        MountOp::Symlink { path, target } => {
            // SAFETY: both are valid strings.
            check_result(
                unsafe {
                    libc::syscall(
                        libc::SYS_symlinkat,
                        target.as_ptr(),
                        root.number(),
                        path.as_ptr(),
                    )
                },
                SetupStep::RootFs,
            )
            .map(drop)
        }
        MountOp::File { path, text } => {
            let file = open(
                root.number(),
                path,
                libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW,
                SetupStep::RootFs,
            )?;
            write(file.number(), text, SetupStep::RootFs)
        }
        MountOp::Scratch { path, options } => {
            make_directory(root, path)?;
            let scratch = make_filesystem(
                c"tmpfs",
                options,
                MountAttrs::NOSUID.union(MountAttrs::NODEV),
                SetupStep::RootFs,
            )?;
            move_mount(&scratch, root.number(), path, SetupStep::RootFs)
        }
        MountOp::Mask { path, options } => {
            let attributes = MountAttrs::NOSUID
                .union(MountAttrs::NODEV)
                .union(MountAttrs::NOEXEC)
                .union(MountAttrs::READ_ONLY);
            let mask = make_filesystem(c"tmpfs", options, attributes, SetupStep::RootFs)?;
            move_mount(&mask, root.number(), path, SetupStep::RootFs)
        }
        MountOp::ScratchAlias { path, scratch } => {
            make_directory(root, path)?;
            let same = clone_mount(&open_no_symlinks(
                root.number(),
                scratch,
                SetupStep::RootFs,
            )?)?;
            move_mount(&same, root.number(), path, SetupStep::RootFs)
        }
        MountOp::Proc { path, options } => {
            make_directory(root, path)?;
            let attributes = MountAttrs::NOSUID
                .union(MountAttrs::NODEV)
                .union(MountAttrs::NOEXEC);
            let processes = make_filesystem(c"proc", options, attributes, SetupStep::Proc)?;
            move_mount(&processes, root.number(), path, SetupStep::Proc)
        }
        MountOp::Bind {
            source,
            path,
            identity: expected,
            attributes,
            mount_point: place,
        } => {
            let found = open_no_symlinks(AT_FDCWD, source, SetupStep::RootFs)?;
            if identity(&found, SetupStep::RootFs)? != *expected {
                return Err(fail(libc::ESTALE, SetupStep::RootFs));
            }
            match place {
                MountPoint::Directory => make_directory(root, path)?,
                MountPoint::File => drop(open(
                    root.number(),
                    path,
                    libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW,
                    SetupStep::RootFs,
                )?),
                MountPoint::Existing => {}
            }
            let copy = clone_mount(&found)?;
            set_mount_attrs(&copy, *attributes, AT_RECURSIVE, SetupStep::RootFs)?;
            move_mount(&copy, root.number(), path, SetupStep::RootFs)
        }
    }
}

/// Copies a mount, from an open file of it on and with all below it; the copy is mounted nowhere
/// yet.
fn clone_mount(found: &Descriptor) -> Result<Descriptor, SetupStep> {
    let flags =
        OPEN_TREE_CLONE | AT_RECURSIVE | AT_EMPTY_PATH as c_uint | libc::O_CLOEXEC as c_uint;
    // SAFETY: the empty path with its flag means the descriptor itself.
    let copy = unsafe { libc::syscall(libc::SYS_open_tree, found.number(), c"".as_ptr(), flags) };
    check_descriptor(copy, SetupStep::RootFs)
}

/// Makes a directory; one that is there already will do.
fn make_directory(root: &Descriptor, path: &CStr) -> Result<(), SetupStep> {
    // SAFETY: the path is a valid string.
    let answer = unsafe { libc::syscall(libc::SYS_mkdirat, root.number(), path.as_ptr(), 0o755) };
    if answer < 0 && errno() == libc::EEXIST {
        Ok(())
    } else {
        check_result(answer, SetupStep::RootFs).map(drop)
    }
}

/// Makes a filesystem that is mounted nowhere yet.
fn make_filesystem(
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

/// Mounts what is mounted nowhere yet, without following a symlink.
fn move_mount(
    what: &Descriptor,
    root: c_int,
    path: &CStr,
    step: SetupStep,
) -> Result<(), SetupStep> {
    let place = open_no_symlinks(root, path, step)?;
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: the empty paths with their flags mean the descriptors themselves.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            what.number(),
            c"".as_ptr(),
            place.number(),
            c"".as_ptr(),
            flags,
        )
    };
    check_result(answer, step).map(drop)
}

/// Adds attributes to a mount, and with `AT_RECURSIVE` to all below it.
fn set_mount_attrs(
    mount: &Descriptor,
    attributes: MountAttrs,
    flags: c_uint,
    step: SetupStep,
) -> Result<(), SetupStep> {
    // SAFETY: zeroed plain data; the size is the structure's own; the empty path with its flag
    // means the descriptor itself.
    let answer = unsafe {
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
    check_result(answer, step).map(drop)
}

/// Makes the tree the root and lets go of the host's.
fn pivot_root(root: &Descriptor) -> Result<(), SetupStep> {
    // SAFETY: system calls with constant strings.
    unsafe {
        check_result(
            libc::syscall(libc::SYS_fchdir, root.number()),
            SetupStep::Pivot,
        )?;
        // Both at one place: the host's tree ends up on top of ours, and is taken off.
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

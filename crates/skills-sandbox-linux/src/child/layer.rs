//! Mounts the writable layer over the program's own directory.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;

use libc::c_int;

use super::channel::{self, LAYER_DIRECTORY};
use super::mount::{clone_mount, create_directory, create_filesystem, move_mount};
use super::syscall::{Descriptor, StepError, check_result, open, open_no_symlinks, system_call};
use crate::rootfs::{LAYER_LOWER, LAYER_PARTS, LAYER_UPPER, LAYER_WORK, MountOptions};
use crate::rootfs_plan::MountAttrs;
use crate::setup_step::SetupStep;

const STEP: SetupStep = SetupStep::RootFs;

/// Mounts the layer over a directory. `memory` are the options of the file system that keeps what is
/// written. Where the kernel refuses the layer, the directory stays read-only.
pub(super) fn mount(
    root: &Descriptor,
    path: &CStr,
    memory: &MountOptions,
    overlay: &MountOptions,
) -> Result<(), StepError> {
    let attributes = MountAttrs::NOSUID.union(MountAttrs::NODEV);
    create_directory(root, LAYER_PARTS)?;
    let parts = create_filesystem(c"tmpfs", memory, attributes, STEP)?;
    move_mount(&parts, root.number(), LAYER_PARTS, STEP)?;
    for directory in [LAYER_LOWER, LAYER_UPPER, LAYER_WORK] {
        create_directory(root, directory)?;
    }
    let lower = open_no_symlinks(root.number(), path, STEP)?;
    move_mount(&clone_mount(&lower)?, root.number(), LAYER_LOWER, STEP)?;
    // The working directory is the root, where the options find their directories.
    let _ = create_filesystem(c"overlay", overlay, attributes, STEP)
        .and_then(|overlay| move_mount(&overlay, root.number(), path, STEP));
    Ok(())
}

/// Removes the parts of the layer, if there is one: the program would change them beside it. Sends the
/// directory of what it writes to the host process, which lists it after the run; if that fails, nothing
/// is listed.
pub(super) fn detach(root: &Descriptor, channel: c_int) -> Result<(), StepError> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let Ok(written) = open(root.number(), LAYER_UPPER, flags, STEP) else {
        return Ok(());
    };
    let _ = channel::send_descriptor(written.number(), LAYER_DIRECTORY, channel, STEP);
    // SAFETY: system calls with constant strings; the working directory is the root.
    unsafe {
        check_result(
            system_call!(libc::SYS_umount2, LAYER_PARTS.as_ptr(), libc::MNT_DETACH),
            STEP,
        )?;
        check_result(
            system_call!(
                libc::SYS_unlinkat,
                root.number(),
                LAYER_PARTS.as_ptr(),
                libc::AT_REMOVEDIR,
            ),
            STEP,
        )
        .map(drop)
    }
}

//! Starts the first process of the process namespace, and the program as its child.
//!
//! ```text
//! host process --clone--> child --clone--> program: restricts itself, waits, executes
//!                           '--------------> executes the first process
//! ```
//!
//! Until they execute something, both share the memory of the host process. The process of the
//! program restricts itself meanwhile, and executes the program only after the first process has its
//! own memory, which the program cannot read: it would otherwise be that of the host process, in
//! `/proc/1/mem`.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

use std::ffi::CStr;
use std::ptr::null;

use libc::{c_int, c_void};

use super::syscall::{
    Descriptor, StepError, check_descriptor, check_result, fail, open, system_call, write,
};
use super::{drop_capabilities, main_of_program, set_no_new_privileges};
use crate::child_setup::{ChildSetup, InitSetup};
use crate::init_image::{READY_DESCRIPTOR, STATUS_DESCRIPTOR};
use crate::setup_step::SetupStep;

/// The name of the file until it is open.
const FILE_NAME: &CStr = c".init";

/// Creates the executable file in the new root, and removes its name.
pub(super) fn create_file(root: &Descriptor, image: &[u8]) -> Result<Descriptor, StepError> {
    let step = SetupStep::Init;
    // Not readable, so that the kernel keeps the process from being inspected. Its owner can execute
    // it without capabilities.
    const MODE: c_int = 0o100;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name is a valid string, the pointer and length are those of a slice, and the
    // descriptors are of this process.
    unsafe {
        let file = check_descriptor(
            system_call!(
                libc::SYS_openat,
                root.number(),
                FILE_NAME.as_ptr(),
                flags,
                MODE,
            ),
            step,
        )?;
        write(file.number(), image, step)?;
        drop(file);
        let file = open(root.number(), FILE_NAME, libc::O_PATH, step)?;
        check_result(
            system_call!(libc::SYS_unlinkat, root.number(), FILE_NAME.as_ptr(), 0),
            step,
        )?;
        // Above the standard descriptors, which are replaced before it is executed.
        check_descriptor(
            system_call!(libc::SYS_fcntl, file.number(), libc::F_DUPFD_CLOEXEC, 3),
            step,
        )
    }
}

/// Creates the process of the program, and executes the first process. Returns only if that fails.
pub(super) fn start(
    setup: &ChildSetup,
    init: &InitSetup,
    executable: &Descriptor,
) -> Result<(), StepError> {
    clone_program(setup, init)?;
    move_descriptors(init)?;
    drop_capabilities(SetupStep::Init)?;
    set_no_new_privileges(SetupStep::Init)?;
    let arguments = [c"skills-init".as_ptr(), null()];
    // SAFETY: the empty path with its flag means the descriptor; the arrays end with null.
    let result = unsafe {
        system_call!(
            libc::SYS_execveat,
            executable.number(),
            c"".as_ptr(),
            arguments.as_ptr(),
            [null::<u8>()].as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    check_result(result, SetupStep::Init).map(drop)
}

fn clone_program(setup: &ChildSetup, init: &InitSetup) -> Result<(), StepError> {
    let flags = libc::CLONE_VM | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
    let argument = std::ptr::from_ref(setup).cast_mut().cast::<c_void>();
    init.memory_use.begin();
    // SAFETY: the host process keeps the stack and `setup` until the kernel has cleared `memory_use`,
    // which it does when the new process has executed its program or exited.
    let pid = unsafe {
        libc::clone(
            main_of_program,
            init.stack.top(),
            flags,
            argument,
            null::<c_int>(),
            null::<c_void>(),
            init.memory_use.as_ptr(),
        )
    };
    if pid >= 0 {
        return Ok(());
    }
    init.memory_use.cancel();
    // The number is in the `errno` of a thread of the host process, which others may write meanwhile,
    // so it is not read. The limit of processes is the usual cause.
    Err(fail(libc::EAGAIN, SetupStep::Init))
}

/// Installs the two descriptors of the first process, and marks all others as close-on-exec.
fn move_descriptors(init: &InitSetup) -> Result<(), StepError> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: system calls without pointers; the descriptor table is this process's own.
    unsafe {
        check_result(
            system_call!(libc::SYS_close_range, 0u32, u32::MAX, CLOSE_RANGE_CLOEXEC),
            SetupStep::Init,
        )?;
        for (source, target) in [
            (init.status, STATUS_DESCRIPTOR),
            (init.ready_writer, READY_DESCRIPTOR),
        ] {
            check_result(
                system_call!(libc::SYS_dup3, source, target, 0),
                SetupStep::Init,
            )?;
        }
    }
    Ok(())
}

/// Waits until the first process is ready. Fails if it never was.
pub(super) fn wait_ready(init: &InitSetup) -> Result<(), StepError> {
    let mut byte = 0u8;
    // SAFETY: the pointer is to one local byte.
    let read = check_result(
        unsafe { system_call!(libc::SYS_read, init.ready, &raw mut byte, 1) },
        SetupStep::Init,
    )?;
    if read == 1 {
        Ok(())
    } else {
        Err(fail(libc::EPIPE, SetupStep::Init))
    }
}

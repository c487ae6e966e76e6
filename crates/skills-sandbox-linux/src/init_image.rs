//! The program that is the first process of a process namespace.
//!
//! The kernel gives that process special rules: signals without a handler do not reach it, and
//! orphans become its children. So the program of a run is its child, and the first process does
//! nothing but reap children until that one has ended, and pass on `SIGHUP`, `SIGINT` and
//! `SIGTERM`: the program leads a session of its own, and its processes can lead others, which a
//! signal to the process group of the run does not reach. One that the program sends itself has no
//! effect, as before the handler.
//!
//! It is a program of its own, and not a function of this library, since a child shares the memory of
//! the host process until it executes another program. The code is position independent, uses no
//! memory but its stack, and no descriptors but these two:
//!
//! | descriptor | use |
//! |---|---|
//! | 0 | gets the wait status of the program, as the kernel encodes it |
//! | 1 | gets one byte as soon as no process of the run can read this one's memory |
#![expect(unsafe_code, reason = "the code of a program without a library")]

use skills_process::small_executable;

/// The descriptor on which the wait status of the program is reported.
pub(crate) const STATUS_DESCRIPTOR: i32 = 0;
/// The descriptor on which the first process reports that it is ready.
pub(crate) const READY_DESCRIPTOR: i32 = 1;

// The first child is process 2. `wait4` returns a negative number if it was interrupted (4) or if
// no child exists, which cannot happen before that child has ended.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.skills_init, \"a\", @progbits",
    "skills_init_start:",
    "mov eax, 157", // prctl(PR_SET_DUMPABLE, 0)
    "mov edi, 4",
    "xor esi, esi",
    "syscall",
    "push 0", // {5, SA_RESTORER | SA_RESTART | SA_SIGINFO, 6, 0}
    "lea rax, [rip + 6f]",
    "push rax",
    "mov eax, 0x14000004",
    "push rax",
    "lea rax, [rip + 5f]",
    "push rax",
    "mov edi, 1",
    "call 8f",
    "mov edi, 2",
    "call 8f",
    "mov edi, 15",
    "call 8f",
    "mov eax, 14", // rt_sigprocmask(SIG_SETMASK, {}, 0, 8)
    "mov edi, 2",
    "lea rsi, [rsp + 24]",
    "syscall",
    "sub rsp, 16",
    "mov eax, 1", // write(1, stack, 1)
    "mov edi, 1",
    "mov rsi, rsp",
    "mov edx, 1",
    "syscall",
    "mov eax, 3", // close(1)
    "mov edi, 1",
    "syscall",
    "2:",
    "mov eax, 61", // wait4(-1, stack, 0, 0)
    "mov rdi, -1",
    "mov rsi, rsp",
    "xor edx, edx",
    "xor r10d, r10d",
    "syscall",
    "cmp rax, 2",
    "je 3f",
    "test rax, rax",
    "jns 2b",
    "cmp rax, -4",
    "je 2b",
    "mov edi, 127", // exit_group(127)
    "jmp 4f",
    "3:",
    "mov eax, 1", // write(0, stack, 4)
    "xor edi, edi",
    "mov rsi, rsp",
    "mov edx, 4",
    "syscall",
    "movzx edi, byte ptr [rsp + 1]", // exit_group(the exit code)
    "4:",
    "mov eax, 231",
    "syscall",
    "5:",
    "cmp dword ptr [rsi + 16], 0", // si_pid: 0 for senders outside of the namespace
    "jne 7f",
    "mov esi, edi", // kill(-1, the signal), which spares the sender
    "mov eax, 62",
    "mov rdi, -1",
    "syscall",
    "7:",
    "ret",
    "8:",
    "mov eax, 13", // rt_sigaction(rdi, the structure above the return address, 0, 8)
    "lea rsi, [rsp + 8]",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "ret",
    "6:",
    "mov eax, 15", // rt_sigreturn()
    "syscall",
    "skills_init_end:",
    ".popsection",
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .rodata.skills_init, \"a\", @progbits",
    ".balign 4",
    "skills_init_start:",
    "mov x8, #167", // prctl(PR_SET_DUMPABLE, 0)
    "mov x0, #4",
    "mov x1, #0",
    "svc #0",
    "sub sp, sp, #32", // {5, SA_RESTART | SA_SIGINFO, 0, 0}
    "adr x0, 5f",
    "mov x1, #4",
    "movk x1, #0x1000, lsl #16",
    "stp x0, x1, [sp]",
    "stp xzr, xzr, [sp, #16]",
    "mov x0, #1",
    "bl 8f",
    "mov x0, #2",
    "bl 8f",
    "mov x0, #15",
    "bl 8f",
    "mov x8, #135", // rt_sigprocmask(SIG_SETMASK, {}, 0, 8)
    "mov x0, #2",
    "add x1, sp, #24",
    "mov x2, #0",
    "mov x3, #8",
    "svc #0",
    "sub sp, sp, #16",
    "mov x8, #64", // write(1, stack, 1)
    "mov x0, #1",
    "mov x1, sp",
    "mov x2, #1",
    "svc #0",
    "mov x8, #57", // close(1)
    "mov x0, #1",
    "svc #0",
    "2:",
    "mov x8, #260", // wait4(-1, stack, 0, 0)
    "mov x0, #-1",
    "mov x1, sp",
    "mov x2, #0",
    "mov x3, #0",
    "svc #0",
    "cmp x0, #2",
    "b.eq 3f",
    "cmp x0, #0",
    "b.ge 2b",
    "cmn x0, #4",
    "b.eq 2b",
    "mov x0, #127", // exit_group(127)
    "b 4f",
    "3:",
    "mov x8, #64", // write(0, stack, 4)
    "mov x0, #0",
    "mov x1, sp",
    "mov x2, #4",
    "svc #0",
    "ldrb w0, [sp, #1]", // exit_group(the exit code)
    "4:",
    "mov x8, #94",
    "svc #0",
    "5:",
    "ldr w2, [x1, #16]", // si_pid: 0 for senders outside of the namespace
    "cbnz w2, 7f",
    "mov w1, w0", // kill(-1, the signal), which spares the sender
    "mov x8, #129",
    "mov x0, #-1",
    "svc #0",
    "7:",
    "ret",
    "8:",
    "mov x8, #134", // rt_sigaction(x0, the structure, 0, 8)
    "mov x1, sp",
    "mov x2, #0",
    "mov x3, #8",
    "svc #0",
    "ret",
    "skills_init_end:",
    ".popsection",
);

unsafe extern "C" {
    static skills_init_start: u8;
    static skills_init_end: u8;
}

/// Returns the program as an executable file.
pub(crate) fn init_image() -> Vec<u8> {
    small_executable(code(), |_| Vec::new())
}

fn code() -> &'static [u8] {
    // SAFETY: the assembler places the two symbols at the start and the end of one section of this
    // library, which is never written.
    unsafe {
        let start = &raw const skills_init_start;
        let length = (&raw const skills_init_end).offset_from_unsigned(start);
        std::slice::from_raw_parts(start, length)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// Outside of a process namespace it has no child and ends at once.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "executes the program")]
    fn the_image_is_an_executable_program() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("init");
        std::fs::write(&path, init_image()).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        let output = std::process::Command::new(&path).output().unwrap();
        assert_eq!(
            (output.status.code(), output.status.signal()),
            (Some(127), None)
        );
        assert!(init_image().len() < 512);
    }
}

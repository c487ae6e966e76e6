//! The code of the programs, and the filter as data behind the code of the launcher.
#![expect(unsafe_code, reason = "the code of programs without a library")]

use libc::sock_filter;
use skills_process::small_executable;
use skills_seccomp::{
    AllocationPolicy, FilterConfig, LinkPolicy, LocalSocketPolicy, MetadataPolicy, Observation,
    ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_filter,
};

use super::{LAUNCH, LAUNCH_WITH_QUOTA, WAIT};

/// Size of the structure that points to a filter: its length, and its address at the second half.
const FILTER_POINTER_BYTES: u64 = 16;

/// The architecture of this host, as engines name it.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: Option<&str> = Some("amd64");
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: Option<&str> = Some("arm64");

/// Returns the programs with their names.
pub(super) fn all() -> [(&'static str, Vec<u8>); 3] {
    [
        (WAIT, small_executable(wait_code(), |_| Vec::new())),
        (LAUNCH, launcher(AllocationPolicy::Any)),
        (LAUNCH_WITH_QUOTA, launcher(AllocationPolicy::WriteOnly)),
    ]
}

pub(super) fn denied_calls() -> usize {
    skills_seccomp::denied_calls()
}

/// Returns the launcher. Its filter allows processes and shared memory, which the limits of the
/// container count, and TCP, which ends in its network namespace.
fn launcher(allocation: AllocationPolicy) -> Vec<u8> {
    let filter = build_filter(FilterConfig {
        metadata: MetadataPolicy::Any,
        links: LinkPolicy::Any,
        processes: ProcessPolicy::MultiProcess,
        sockets: SocketPolicy::Proxy,
        local_sockets: LocalSocketPolicy::StreamPairs,
        shared_memory: SharedMemoryPolicy::Allow,
        allocation,
        observation: Observation::Disabled,
    });
    small_executable(launch_code(), |address| {
        filter_data(&filter, address + FILTER_POINTER_BYTES)
    })
}

/// Returns what the kernel takes as a filter: its length, its address, and the instructions.
fn filter_data(filter: &[sock_filter], address: u64) -> Vec<u8> {
    let length = u16::try_from(filter.len()).unwrap_or(u16::MAX);
    let mut data = Vec::from(u64::from(length).to_le_bytes());
    data.extend(address.to_le_bytes());
    for instruction in filter {
        data.extend(instruction.code.to_le_bytes());
        data.extend([instruction.jt, instruction.jf]);
        data.extend(instruction.k.to_le_bytes());
    }
    data
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.skills_container, \"a\", @progbits",
    ".balign 8",
    "skills_container_launch_start:",
    "mov eax, 2", // open(input, O_RDONLY)
    "lea rdi, [rip + 6f]",
    "xor esi, esi",
    "xor edx, edx",
    "syscall",
    "mov edi, eax",
    "test edi, edi",
    "js 2f",
    "jz 7f",
    "mov eax, 33", // dup2(input, 0)
    "xor esi, esi",
    "syscall",
    "mov eax, 3", // close(input)
    "syscall",
    "7:",
    "mov eax, 157", // prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    "mov edi, 38",
    "mov esi, 1",
    "xor edx, edx",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "mov eax, 157", // prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, the data behind the code)
    "mov edi, 22",
    "mov esi, 2",
    "lea rdx, [rip + skills_container_launch_end]",
    "syscall",
    "test rax, rax",
    "jnz 2f",
    "mov rcx, [rsp]", // execve(argv[1], argv + 1, environ)
    "mov rdi, [rsp + 16]",
    "lea rsi, [rsp + 16]",
    "lea rdx, [rsp + 8 * rcx + 16]",
    "mov eax, 59",
    "syscall",
    "lea rsi, [rip + 5f]",
    "mov edx, 36",
    "mov r12d, 127",
    "jmp 3f",
    "2:",
    "lea rsi, [rip + 4f]",
    "mov edx, 53",
    "mov r12d, 126",
    "3:",
    "mov eax, 1", // write(2, message)
    "mov edi, 2",
    "syscall",
    "mov eax, 231", // exit_group
    "mov edi, r12d",
    "syscall",
    "4:",
    ".ascii \"sandbox: cannot open the input or install the filter\\n\"",
    "5:",
    ".ascii \"sandbox: cannot execute the program\\n\"",
    "6:",
    ".asciz \"/.sandbox/input/stdin\"",
    ".balign 8",
    "skills_container_launch_end:",
    "skills_container_wait_start:",
    "mov eax, 157", // prctl(PR_SET_DUMPABLE, 0)
    "mov edi, 4",
    "xor esi, esi",
    "syscall",
    "mov rbx, rsp",
    "sub rsp, 48",
    "mov qword ptr [rsp], 1", // rt_sigaction(SIGCHLD, { SIG_IGN }, 0, 8)
    "mov qword ptr [rsp + 8], 0",
    "mov qword ptr [rsp + 16], 0",
    "mov qword ptr [rsp + 24], 0",
    "mov eax, 13",
    "mov edi, 17",
    "mov rsi, rsp",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "mov rsi, [rbx + 16]", // the number in argv[1]
    "xor ecx, ecx",
    "2:",
    "movzx eax, byte ptr [rsi]",
    "sub eax, 48",
    "cmp eax, 9",
    "ja 3f",
    "imul rcx, rcx, 10",
    "add rcx, rax",
    "inc rsi",
    "jmp 2b",
    "3:",
    "mov [rsp], rcx",
    "mov qword ptr [rsp + 8], 0",
    "4:",
    "mov eax, 35", // nanosleep(time, time), again if it was interrupted
    "mov rdi, rsp",
    "mov rsi, rsp",
    "syscall",
    "cmp rax, -4",
    "je 4b",
    "mov eax, 231", // exit_group(0)
    "xor edi, edi",
    "syscall",
    ".balign 8",
    "skills_container_wait_end:",
    ".popsection",
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .rodata.skills_container, \"a\", @progbits",
    ".balign 8",
    "skills_container_launch_start:",
    "mov x8, #56", // openat(AT_FDCWD, input, O_RDONLY)
    "mov x0, #-100",
    "adr x1, 6f",
    "mov x2, #0",
    "mov x3, #0",
    "svc #0",
    "cmp w0, #0",
    "b.lt 2f",
    "b.eq 7f",
    "mov w19, w0",
    "mov x8, #24", // dup3(input, 0, 0)
    "mov x1, #0",
    "mov x2, #0",
    "svc #0",
    "mov x8, #57", // close(input)
    "mov w0, w19",
    "svc #0",
    "7:",
    "mov x8, #167", // prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    "mov x0, #38",
    "mov x1, #1",
    "mov x2, #0",
    "mov x3, #0",
    "mov x4, #0",
    "svc #0",
    "mov x8, #167", // prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, the data behind the code)
    "mov x0, #22",
    "mov x1, #2",
    "adr x2, skills_container_launch_end",
    "svc #0",
    "cbnz x0, 2f",
    "ldr x3, [sp]", // execve(argv[1], argv + 1, environ)
    "ldr x0, [sp, #16]",
    "add x1, sp, #16",
    "add x2, x1, x3, lsl #3",
    "mov x8, #221",
    "svc #0",
    "adr x1, 5f",
    "mov x2, #36",
    "mov x19, #127",
    "b 3f",
    "2:",
    "adr x1, 4f",
    "mov x2, #53",
    "mov x19, #126",
    "3:",
    "mov x8, #64", // write(2, message)
    "mov x0, #2",
    "svc #0",
    "mov x8, #94", // exit_group
    "mov x0, x19",
    "svc #0",
    "4:",
    ".ascii \"sandbox: cannot open the input or install the filter\\n\"",
    "5:",
    ".ascii \"sandbox: cannot execute the program\\n\"",
    "6:",
    ".asciz \"/.sandbox/input/stdin\"",
    ".balign 8",
    "skills_container_launch_end:",
    "skills_container_wait_start:",
    "mov x8, #167", // prctl(PR_SET_DUMPABLE, 0)
    "mov x0, #4",
    "mov x1, #0",
    "svc #0",
    "ldr x4, [sp, #16]", // the number in argv[1]
    "sub sp, sp, #48",
    "mov x9, #1", // rt_sigaction(SIGCHLD, { SIG_IGN }, 0, 8)
    "str x9, [sp]",
    "str xzr, [sp, #8]",
    "str xzr, [sp, #16]",
    "str xzr, [sp, #24]",
    "mov x8, #134",
    "mov x0, #17",
    "mov x1, sp",
    "mov x2, #0",
    "mov x3, #8",
    "svc #0",
    "mov x5, #0",
    "mov x6, #10",
    "2:",
    "ldrb w7, [x4], #1",
    "sub w7, w7, #48",
    "cmp w7, #9",
    "b.hi 3f",
    "madd x5, x5, x6, x7",
    "b 2b",
    "3:",
    "str x5, [sp]",
    "str xzr, [sp, #8]",
    "4:",
    "mov x8, #101", // nanosleep(time, time), again if it was interrupted
    "mov x0, sp",
    "mov x1, sp",
    "svc #0",
    "cmn x0, #4",
    "b.eq 4b",
    "mov x8, #94", // exit_group(0)
    "mov x0, #0",
    "svc #0",
    ".balign 8",
    "skills_container_wait_end:",
    ".popsection",
);

unsafe extern "C" {
    static skills_container_launch_start: u8;
    static skills_container_launch_end: u8;
    static skills_container_wait_start: u8;
    static skills_container_wait_end: u8;
}

fn launch_code() -> &'static [u8] {
    // SAFETY: the assembler places both symbols in one section, which is never written.
    unsafe {
        between(
            &raw const skills_container_launch_start,
            &raw const skills_container_launch_end,
        )
    }
}

fn wait_code() -> &'static [u8] {
    // SAFETY: as above.
    unsafe {
        between(
            &raw const skills_container_wait_start,
            &raw const skills_container_wait_end,
        )
    }
}

/// # Safety
/// Both must point into one readable object that lives as long as the process, in this order.
unsafe fn between(start: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test executes the programs")]
mod tests {
    use std::process::Command;

    use super::super::{EXECUTE_FAILED, SETUP_FAILED, write_programs};
    use super::*;

    #[test]
    fn the_launcher_executes_a_program_with_the_filter() {
        let directory = tempfile::tempdir().unwrap();
        write_programs(directory.path()).unwrap();
        let launch = |arguments: &[&str]| {
            Command::new(directory.path().join(LAUNCH))
                .args(arguments)
                .current_dir(directory.path())
                .env_clear()
                .env("NAME", "value")
                .output()
                .unwrap()
        };
        let failed = launch(&["/bin/sh"]);
        assert_eq!(failed.status.code().map(i64::from), Some(SETUP_FAILED.0));
        assert_eq!(String::from_utf8(failed.stderr).unwrap(), SETUP_FAILED.1);
        // The same program with a path of the same length that exists here.
        let path = b"/.sandbox/input/stdin";
        let here = b".///////////////stdin";
        let mut image = std::fs::read(directory.path().join(LAUNCH)).unwrap();
        let at = image.windows(path.len()).position(|found| found == path);
        image[at.unwrap()..][..path.len()].copy_from_slice(here);
        let program = directory.path().join(LAUNCH);
        std::fs::remove_file(&program).unwrap();
        super::super::write_program(&program, &image).unwrap();
        super::super::write_input(directory.path(), b"input").unwrap();
        let script = "read -r input; echo \"$0 $1 $NAME $input\"; while read -r line; do case $line in Seccomp:*|NoNewPrivs:*) echo $line;; esac; done < /proc/self/status";
        let output = launch(&["/bin/sh", "-c", script, "a b", "c"]);
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "a b c value input\nNoNewPrivs: 1\nSeccomp: 2\n"
        );
        let failed = launch(&["/nowhere"]);
        assert_eq!(failed.status.code().map(i64::from), Some(EXECUTE_FAILED.0));
        assert_eq!(String::from_utf8(failed.stderr).unwrap(), EXECUTE_FAILED.1);
        // The assembler has the same texts.
        let text = |message: &str| {
            launch_code()
                .windows(message.len())
                .any(|found| found == message.as_bytes())
        };
        assert!(text(SETUP_FAILED.1) && text(EXECUTE_FAILED.1));
        assert_eq!((SETUP_FAILED.1.len(), EXECUTE_FAILED.1.len()), (53, 36));
    }

    #[test]
    fn the_waiting_program_ends_after_its_time() {
        let directory = tempfile::tempdir().unwrap();
        write_programs(directory.path()).unwrap();
        let started = std::time::Instant::now();
        let status = Command::new(directory.path().join(WAIT)).arg("1").status();
        assert!(status.unwrap().success());
        assert!(started.elapsed() >= std::time::Duration::from_secs(1));
    }
}

//! The memory limit of a run without and with a cgroup.

use std::time::Duration;

use skills_sandbox::{RefusedOperation, Termination};
use skills_sandbox_linux::IsolationMode;
use skills_test_support::scene::processes_with_argument;

use crate::skill::{Skill, supported_modes};

/// A run with processes that use memory together, each of them less than the limit. Its processes have
/// left their parents, and keep others from inspecting them, which ends a run with a scratch
/// directory on a disk anyway.
#[tokio::test]
async fn processes_of_a_run_have_one_memory_limit() {
    let script = "import ctypes, os, time\n\
                  for _ in range(6):\n    if os.fork() == 0:\n        \
                  HIDE\n        \
                  if os.fork(): os._exit(0)\n        \
                  held = bytearray(b'x') * (100 << 20)\n        time.sleep(10)\n        os._exit(0)\n\
                  time.sleep(5)";
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash");
        let hide = match mode {
            IsolationMode::Namespaces => "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)",
            _ => "pass",
        };
        let output = skill.python(&script.replace("HIDE", hide)).await;
        // A cgroup of version 1 ends one of them.
        let limit_bytes = skill.limits.memory_bytes;
        let refused = RefusedOperation::UseMemory { limit_bytes };
        let mut refusals = output.refusals.list().iter();
        assert!(
            refusals.any(|refusal| refusal.operation == refused),
            "{mode:?} {:?} {}",
            output.termination,
            output.stderr.text()
        );
    }
}

#[tokio::test]
async fn memory_that_processes_share_counts_once() {
    let script = "import os, time\nheld = bytearray(b'x') * (100 << 20)\n\
                  for _ in range(6):\n    if os.fork() == 0:\n        time.sleep(0.5)\n        os._exit(0)\n\
                  print(sum(os.wait()[1] for _ in range(6)))";
    for mode in supported_modes() {
        let output = Skill::new(mode).tool("Bash").python(script).await;
        assert_eq!(
            output.stdout.text(),
            "0\n",
            "{mode:?} {:?}",
            output.termination
        );
    }
}

/// Read-only memory of nothing but zeros takes page tables and no pages.
#[tokio::test]
async fn page_tables_count_as_memory() {
    let script = "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n\
                  libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]\n\
                  size = 200 << 30\naddress = libc.mmap(None, size, 1, 0x4022, -1, 0)\n\
                  for at in range(0, size, 2 << 20): ctypes.c_char.from_address(address + at).value\n\
                  time.sleep(1)\nprint('held')";
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let output = skill.python(script).await;
        let is_counted = output
            .enforcement
            .restrictions()
            .iter()
            .any(|restriction| restriction.to_string().contains("cgroup"));
        let is_stopped = matches!(output.termination, Termination::MemoryLimit { .. });
        assert!(
            is_stopped || is_counted,
            "{mode:?} {:?} {}",
            output.termination,
            output.stderr.text()
        );
    }
}

#[tokio::test]
async fn processes_of_a_run_are_killed_first_if_the_machine_runs_out_of_memory() {
    let own = || std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let before = own();
    let script = "import os, time\nos.fork()\ntime.sleep(60)";
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash");
        let read = async {
            loop {
                let path = skill.path("skill").display().to_string();
                let processes = processes_with_argument(&path).into_iter();
                let values: Vec<String> = processes
                    .filter_map(|pid| {
                        std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).ok()
                    })
                    .collect();
                if values.len() >= 2 {
                    return values;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            output = skill.python(script) => panic!("{}", output.stderr.text()),
            values = read => assert!(
                values.iter().all(|value| value == "1000\n"),
                "{mode:?} {values:?}"
            ),
        }
    }
    assert_eq!(own(), before);
}

/// Ways to keep shared memory in use that no process has mapped any more.
const HIDING: [(&str, &str); 5] = [
    ("unmapped", "unmap(at + 4096, size - 4096)"),
    ("discarded", "discard(at, size)"),
    ("named", "name(at, size), unmap(at + 4096, size - 4096)"),
    (
        "moved",
        "unmap(at + 4096, size - 4096), libc.mremap(at, 4096, 8192, 1, None)",
    ),
    ("child", "0"),
];

/// Prints how many MiB of shared memory a program can use, of which measuring finds almost nothing.
const HIDE: &str = r#"import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
for call in (libc.mmap, libc.mremap): call.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
size, held, failed = 16 << 20, 0, ctypes.c_void_p(-1).value
def unmap(at, length): libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(length))
def discard(at, length): libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(length), 4)
def name(at, length): libc.prctl(0x53564d41, 0, ctypes.c_ulong(at), ctypes.c_ulong(length), ctypes.c_char_p(b'x'))
while held < 640:
    at = libc.mmap(None, size, 3, 0x21, -1, 0)
    if at == failed: break
    child = 'WAY' == 'child' and os.fork()
    if not child: ctypes.memset(at, 1, size)
    if child == 0 and child is not False: os._exit(0)
    if child: os.wait()
    HIDING
    held += 16
    print(held, flush=True)
print(ctypes.get_errno() if at == failed else 'all')
"#;

#[tokio::test]
async fn shared_memory_that_no_process_has_mapped_counts() {
    for mode in supported_modes() {
        for (way, code) in HIDING {
            let skill = Skill::new(mode).tool("Bash");
            let script = HIDE.replace("WAY", way).replace("HIDING", code);
            let output = skill.python(&script).await;
            let text = output.stdout.text();
            let held = text.lines().filter_map(|line| line.parse::<u64>().ok());
            let held_mib = held.filter(|held| *held >= 16).max().unwrap_or(0);
            let limit_bytes = skill.limits.memory_bytes;
            let refused = RefusedOperation::UseMemory { limit_bytes };
            let mut refusals = output.refusals.list().iter();
            assert!(
                (64..=limit_bytes >> 20).contains(&held_mib)
                    && !text.contains("all")
                    && refusals.any(|refusal| refusal.operation == refused),
                "{mode:?} {way} {text} {:?} {}",
                output.termination,
                output.stderr.text()
            );
        }
    }
}

#[tokio::test]
async fn processes_share_memory_and_return_it() {
    let script = "import mmap, os\n\
                  for _ in range(100):\n    shared = mmap.mmap(-1, 48 << 20)\n    \
                  if os.fork() == 0:\n        shared[:4] = b'done'\n        os._exit(0)\n    \
                  os.wait()\n    assert shared[:4] == b'done'\n    shared.close()\n\
                  print('shared')";
    for mode in supported_modes() {
        let output = Skill::new(mode).tool("Bash").python(script).await;
        assert_eq!(
            output.stdout.text(),
            "shared\n",
            "{mode:?} {:?} {}",
            output.termination,
            output.stderr.text()
        );
    }
}

/// The kernel reports no memory of a process by the state of its first thread then.
#[tokio::test]
async fn a_process_without_its_first_thread_is_measured() {
    let script = "import ctypes, threading, time\n\
                  def hold():\n    time.sleep(0.2)\n    held = bytearray(b'x') * (500 << 20)\n    time.sleep(20)\n\
                  threading.Thread(target=hold).start()\n\
                  ctypes.CDLL(None).syscall(60 if __import__('platform').machine() == 'x86_64' else 93, 0)";
    for mode in supported_modes() {
        let output = Skill::new(mode).python(script).await;
        assert!(
            matches!(output.termination, Termination::MemoryLimit { .. }),
            "{mode:?} {:?} {}",
            output.termination,
            output.stderr.text()
        );
    }
}

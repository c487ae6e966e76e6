//! The memory limit of a run without and with a cgroup.

use std::time::Duration;

use skills_sandbox::{RefusedOperation, Termination};
use skills_sandbox_linux::IsolationMode;
use skills_test_support::scene::processes_with_argument;

use crate::skill::{Skill, supported_modes};

/// A run whose processes use memory together, each of them less than the limit. Its processes have
/// left their parents, and keep others from inspecting them, which ends a run with a scratch directory
/// on a disk anyway.
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

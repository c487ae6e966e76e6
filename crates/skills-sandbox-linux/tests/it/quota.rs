//! Quotas of private workspaces, at each isolation level.

use skills_process::QuotaMonitor;
use skills_sandbox::{EnforcementStatus, Quota, QuotaExceeded, QuotaPart, RunOutput, Termination};

use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::{Skill, supported_modes};

const MIB: u64 = 1 << 20;
/// The quota of these tests.
const LIMIT: u64 = 8 * MIB;
/// How much processes may write beyond the quota before a busy host measures it. Usually it is
/// below 10 MiB; without a quota the scripts here write without end.
const OVERSHOOT: u64 = 1 << 30;

/// Runs Python in a workspace with the quota; the script can use `os` and the path `w`. Returns the
/// output and the number of bytes that are left in the workspace.
async fn run(skill: &Skill, script: &str) -> (RunOutput, u64) {
    let workspace = skill.path("workspace");
    let prelude = format!(
        "import ctypes, fcntl, mmap, os\nw = {:?}\nos.chdir(w)\n",
        workspace.to_str().unwrap()
    );
    let job = skill
        .job("main.py", &format!("{prelude}{script}"))
        .quota(Quota::new(&workspace, LIMIT));
    let output = skill.run(job).await;
    let left = QuotaMonitor::open(&[Quota::new(&workspace, u64::MAX)]).unwrap();
    let bytes = left.measure().map_or(0, |measured| measured[0].1);
    (output, bytes)
}

fn skill(mode: skills_sandbox_linux::IsolationMode) -> Skill {
    let mut skill = Skill::new(mode).tool("Write").tool("Bash");
    // Only a failing test runs for so long: the quota ends the run.
    skill.limits.wall_time = TEST_TIMEOUT * 10;
    skill
}

fn quota_exceeded(part: QuotaPart) -> Termination {
    Termination::DiskLimit(QuotaExceeded {
        limit_bytes: LIMIT,
        part,
    })
}

#[tokio::test]
async fn a_workspace_that_is_filled_in_any_way_ends_the_run() {
    let attempts = [
        "n = 0\nwhile True:\n    with open(f'f{n}', 'wb') as f: f.write(b'x' * 100_000)\n    n += 1",
        "with open('big', 'wb') as f:\n    try:\n        while True: f.write(b'x' * 1_000_000)\n    except OSError: pass\nwith open('more', 'wb') as f: f.write(b'x' * 1_000_000)",
        // More than the quota, possibly finished before the first measurement.
        "for n in range(4): open(f'f{n}', 'wb').write(b'x' * (4 << 20))",
        "d = '.'\nfor n in range(40):\n    d += '/d'\n    os.mkdir(d)\n    open(d + '/f', 'wb').write(b'x' * 1_000_000)",
        // Through a mapping.
        "n = 0\nwhile True:\n    with open(f'm{n}', 'w+b') as f:\n        f.truncate(4 << 20)\n        m = mmap.mmap(f.fileno(), 4 << 20)\n        m[:] = b'x' * (4 << 20)\n        m.close()\n    n += 1",
        // From several processes at once.
        "for n in range(4):\n    if os.fork() == 0:\n        i = 0\n        while True:\n            open(f'p{n}-{i}', 'wb').write(b'x' * 200_000)\n            i += 1\nos.wait()",
        // Without a name.
        "held = []\nwhile True:\n    f = open('gone', 'wb', buffering=0)\n    os.unlink('gone')\n    f.write(b'x' * 1_000_000)\n    held.append(f)\n    if len(held) > 100: break\nwhile True: pass",
        "held = []\nfor n in range(40):\n    fd = os.open('.', os.O_TMPFILE | os.O_RDWR)\n    os.write(fd, b'x' * 1_000_000)\n    held.append(fd)\nwhile True: pass",
        // Without a name or a descriptor.
        "held = []\nfor n in range(40):\n    with open('gone', 'w+b') as f:\n        f.write(b'x' * 1_000_000)\n        f.flush()\n        held.append(mmap.mmap(f.fileno(), 4096))\n    os.unlink('gone')\nos.closerange(3, 200)\nwhile True: pass",
    ];
    for mode in supported_modes() {
        for attempt in attempts {
            let skill = skill(mode);
            let (output, left) = run(&skill, attempt).await;
            assert_eq!(
                output.termination,
                quota_exceeded(QuotaPart::Bytes),
                "{mode:?}\n{attempt}\n{}",
                output.stderr.text()
            );
            assert!(left < LIMIT + OVERSHOOT, "{mode:?} {left} bytes\n{attempt}");
            let restriction = output
                .enforcement
                .restrictions()
                .iter()
                .find(|restriction| restriction.name() == "workspace")
                .unwrap();
            assert_eq!(restriction.status(), EnforcementStatus::Partial);
        }
    }
}

#[tokio::test]
async fn entries_and_depth_count_against_the_quota() {
    for mode in supported_modes() {
        let (output, _) = run(&skill(mode), "n = 0\nwhile True:\n    os.mkdir(str(n % 200)) if n < 200 else None\n    os.close(os.open(f'{n % 200}/{n}', os.O_CREAT | os.O_WRONLY))\n    n += 1").await;
        let Termination::DiskLimit(exceeded) = output.termination else {
            panic!("{:?} {}", output.termination, output.stderr.text())
        };
        assert!(
            matches!(exceeded.part, QuotaPart::Entries | QuotaPart::Bytes),
            "{exceeded:?}"
        );
        let (output, _) = run(
            &skill(mode),
            "for n in range(100):\n    os.mkdir('d')\n    os.chdir('d')",
        )
        .await;
        assert_eq!(
            output.termination,
            quota_exceeded(QuotaPart::Depth),
            "{}",
            output.stderr.text()
        );
    }
}

#[tokio::test]
async fn links_and_sparse_files_do_not_count_against_the_quota() {
    let script = "open('f', 'wb').write(b'x' * (5 << 20))\nfor n in range(50): os.link('f', f'l{n}')\nopen('sparse', 'wb').truncate(8 << 20)\n\
                  os.symlink('/usr', 'usr')\nfor n in range(30):\n    open('again', 'wb').write(b'x' * (1 << 20))\n    os.rename('again', 'other')\nprint('done')";
    for mode in supported_modes() {
        let (output, left) = run(&skill(mode), script).await;
        assert!(
            output.termination.is_success(),
            "{mode:?} {:?} {}",
            output.termination,
            output.stderr.text()
        );
        assert!((5 * MIB..=LIMIT).contains(&left), "{left}");
    }
}

/// Space that is allocated in one call would exceed the quota before it is measured.
#[tokio::test]
async fn fallocate_is_not_supported_with_a_quota() {
    let script = "libc = ctypes.CDLL(None, use_errno=True)\nfd = os.open('f', os.O_CREAT | os.O_RDWR)\n\
                  print(libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(4 << 20)), ctypes.get_errno() == 95)\n\
                  reserve = (ctypes.c_char * 48)()\n\
                  for command in (0x40305828, 0x4030582a, 0x40305839):\n    try: fcntl.ioctl(fd, command, bytes(reserve)); print('allowed')\n    except OSError as e: print(e.errno == 95)\n\
                  os.posix_fallocate(fd, 0, 1 << 20)\nprint(os.fstat(fd).st_size)\n\
                  try: os.ftruncate(fd, (8 << 20) + 1)\n    \nexcept OSError as e: print(e.errno == 27)";
    for mode in supported_modes() {
        let (output, _) = run(&skill(mode), script).await;
        assert_eq!(
            output.stdout.text(),
            "-1 True\nTrue\nTrue\nTrue\n1048576\nTrue\n",
            "{mode:?} {}",
            output.stderr.text()
        );
    }
}

/// Files of earlier runs count.
#[tokio::test]
async fn a_full_workspace_ends_the_run() {
    for mode in supported_modes() {
        let skill = skill(mode);
        std::fs::write(skill.path("workspace/old"), vec![b'x'; 9 << 20]).unwrap();
        let (output, _) = run(&skill, "while True: pass").await;
        assert_eq!(output.termination, quota_exceeded(QuotaPart::Bytes));
    }
}

//! Quotas of private workspaces, in every tier.

use skills_sandbox::{
    EnforcementStatus, Quota, QuotaExceeded, QuotaMonitor, QuotaPart, RunOutput, Termination,
};

use crate::lifeline::PATIENCE;
use crate::skill::{Skill, isolations};

const MIB: u64 = 1 << 20;
/// The quota of these tests.
const LIMIT: u64 = 8 * MIB;
/// How much more a busy machine may let processes write before the measurement gets its turn.
/// Usually it is below 10 MiB; without a quota the scripts here write without end.
const OVERSHOOT: u64 = 1 << 30;

/// Runs Python in a workspace with the quota; `os` and the path `w` are there. Returns what came of
/// it and how many bytes are left.
async fn run(skill: &Skill, script: &str) -> (RunOutput, u64) {
    let workspace = skill.path("workspace");
    let prelude = format!(
        "import ctypes, fcntl, mmap, os\nw = {:?}\nos.chdir(w)\n",
        workspace.to_str().unwrap()
    );
    let job = skill
        .job("main.py", &format!("{prelude}{script}"))
        .quota(Quota::new(&workspace, LIMIT));
    let outcome = skill.run(job).await;
    let left = QuotaMonitor::open(&[Quota::new(&workspace, u64::MAX)]).unwrap();
    let bytes = left.measure().map_or(0, |measured| measured[0].1);
    (outcome, bytes)
}

fn skill(tier: skills_sandbox_linux::IsolationMode) -> Skill {
    let mut skill = Skill::new(tier).tool("Write").tool("Bash");
    // Only a test that fails runs for so long: the quota ends the run.
    skill.limits.wall_time = PATIENCE * 10;
    skill
}

fn over(excess: QuotaPart) -> Termination {
    Termination::DiskLimit(QuotaExceeded {
        limit_bytes: LIMIT,
        part: excess,
    })
}

#[tokio::test]
async fn a_workspace_that_is_filled_in_any_way_ends_the_run() {
    let attempts = [
        "n = 0\nwhile True:\n    with open(f'f{n}', 'wb') as f: f.write(b'x' * 100_000)\n    n += 1",
        "with open('big', 'wb') as f:\n    try:\n        while True: f.write(b'x' * 1_000_000)\n    except OSError: pass\nwith open('more', 'wb') as f: f.write(b'x' * 1_000_000)",
        // Enough, and done before anybody looks, or not.
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
    for tier in isolations() {
        for attempt in attempts {
            let skill = skill(tier);
            let (outcome, left) = run(&skill, attempt).await;
            assert_eq!(
                outcome.termination,
                over(QuotaPart::Bytes),
                "{tier:?}\n{attempt}\n{}",
                outcome.stderr.text()
            );
            assert!(left < LIMIT + OVERSHOOT, "{tier:?} {left} bytes\n{attempt}");
            let layer = outcome
                .enforcement
                .restrictions()
                .iter()
                .find(|layer| layer.name() == "workspace")
                .unwrap();
            assert_eq!(layer.status(), EnforcementStatus::Partial);
        }
    }
}

#[tokio::test]
async fn entries_count_as_well() {
    for tier in isolations() {
        let (outcome, _) = run(&skill(tier), "n = 0\nwhile True:\n    os.mkdir(str(n % 200)) if n < 200 else None\n    os.close(os.open(f'{n % 200}/{n}', os.O_CREAT | os.O_WRONLY))\n    n += 1").await;
        let Termination::DiskLimit(exceeded) = outcome.termination else {
            panic!("{:?} {}", outcome.termination, outcome.stderr.text())
        };
        assert!(
            matches!(exceeded.part, QuotaPart::Entries | QuotaPart::Bytes),
            "{exceeded:?}"
        );
        let (outcome, _) = run(
            &skill(tier),
            "for n in range(100):\n    os.mkdir('d')\n    os.chdir('d')",
        )
        .await;
        assert_eq!(
            outcome.termination,
            over(QuotaPart::Depth),
            "{}",
            outcome.stderr.text()
        );
    }
}

#[tokio::test]
async fn what_takes_no_space_is_no_excess() {
    let script = "open('f', 'wb').write(b'x' * (5 << 20))\nfor n in range(50): os.link('f', f'l{n}')\nopen('sparse', 'wb').truncate(8 << 20)\n\
                  os.symlink('/usr', 'usr')\nfor n in range(30):\n    open('again', 'wb').write(b'x' * (1 << 20))\n    os.rename('again', 'other')\nprint('done')";
    for tier in isolations() {
        let (outcome, left) = run(&skill(tier), script).await;
        assert!(
            outcome.termination.is_success(),
            "{tier:?} {:?} {}",
            outcome.termination,
            outcome.stderr.text()
        );
        assert!((5 * MIB..=LIMIT).contains(&left), "{left}");
    }
}

/// Space that is allocated in one call would outrun every measurement.
#[tokio::test]
async fn space_is_allocated_by_writing_alone() {
    let script = "libc = ctypes.CDLL(None, use_errno=True)\nfd = os.open('f', os.O_CREAT | os.O_RDWR)\n\
                  print(libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(4 << 20)), ctypes.get_errno() == 95)\n\
                  reserve = (ctypes.c_char * 48)()\n\
                  for command in (0x40305828, 0x4030582a, 0x40305839):\n    try: fcntl.ioctl(fd, command, bytes(reserve)); print('allowed')\n    except OSError as e: print(e.errno == 95)\n\
                  os.posix_fallocate(fd, 0, 1 << 20)\nprint(os.fstat(fd).st_size)\n\
                  try: os.ftruncate(fd, (8 << 20) + 1)\n    \nexcept OSError as e: print(e.errno == 27)";
    for tier in isolations() {
        let (outcome, _) = run(&skill(tier), script).await;
        assert_eq!(
            outcome.stdout.text(),
            "-1 True\nTrue\nTrue\nTrue\n1048576\nTrue\n",
            "{tier:?} {}",
            outcome.stderr.text()
        );
    }
}

/// What earlier runs left counts.
#[tokio::test]
async fn a_full_workspace_lets_nothing_run_for_long() {
    for tier in isolations() {
        let skill = skill(tier);
        std::fs::write(skill.path("workspace/old"), vec![b'x'; 9 << 20]).unwrap();
        let (outcome, _) = run(&skill, "while True: pass").await;
        assert_eq!(outcome.termination, over(QuotaPart::Bytes));
    }
}

//! The disk of a workspace that a user named, which has no quota.

use skills_sandbox::{QuotaPart, Termination};
use skills_sandbox_linux::IsolationMode;
use skills_test_support::host_process::in_filesystem;

use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::{Skill, supported_modes};

/// Makes the disk of this test small: in it a run has to leave an eighth.
const SMALL: &str = "mount -t tmpfs -o size=64m,nr_inodes=8192,mode=700 none \"$0\"";

#[tokio::test]
async fn a_run_that_fills_the_disk_of_a_workspace_in_any_way_is_stopped() {
    let test = "disk::a_run_that_fills_the_disk_of_a_workspace_in_any_way_is_stopped";
    let Some(disk) = in_filesystem(test, SMALL) else {
        return;
    };
    let attempts = [
        (
            "for n in range(9999): open(f'f{n}', 'wb').write(b'x' * 100_000)",
            QuotaPart::DiskSpace,
        ),
        (
            "f = open('big', 'wb', buffering=0)\nwhile True: f.write(b'x' * 1_000_000)",
            QuotaPart::DiskSpace,
        ),
        // Without a name.
        (
            "f = open('gone', 'wb', buffering=0)\nos.unlink('gone')\nwhile True: f.write(b'x' * 1_000_000)",
            QuotaPart::DiskSpace,
        ),
        (
            "f = os.open('.', os.O_TMPFILE | os.O_RDWR)\nwhile True: os.write(f, b'x' * 1_000_000)",
            QuotaPart::DiskSpace,
        ),
        // Without a name or a descriptor.
        (
            "held = []\nfor n in range(99):\n    with open('gone', 'w+b') as f:\n        f.write(b'x' * 1_000_000)\n        f.flush()\n        held.append(mmap.mmap(f.fileno(), 4096))\n    os.unlink('gone')\n    os.closerange(3, 200)",
            QuotaPart::DiskSpace,
        ),
        // Through a mapping of a sparse file.
        (
            "f = open('m', 'w+b')\nf.truncate(1 << 30)\nm = mmap.mmap(f.fileno(), 1 << 30)\nfor n in range(0, 1 << 30, 4096): m[n] = 1",
            QuotaPart::DiskSpace,
        ),
        // From several processes.
        (
            "for p in range(4):\n    if os.fork() == 0:\n        for n in range(9999): open(f'p{p}-{n}', 'wb').write(b'x' * 50_000)\n        os._exit(0)\nos.wait()",
            QuotaPart::DiskSpace,
        ),
        (
            "for n in range(99_999): os.close(os.open(f'e{n}', os.O_CREAT | os.O_WRONLY))",
            QuotaPart::DiskEntries,
        ),
    ];
    for mode in supported_modes() {
        for (index, (attempt, part)) in attempts.iter().enumerate() {
            let mut skill = Skill::new(mode).tool("Write").tool("Bash");
            skill.limits.wall_time = TEST_TIMEOUT * 10;
            let workspace = disk.join(index.to_string());
            std::fs::create_dir(&workspace).unwrap();
            skill.workspace = Some(workspace.canonicalize().unwrap());
            // A disk that is full before it is measured does not end the attempt.
            let script = format!(
                "import mmap, os, signal\nsignal.signal(signal.SIGBUS, lambda *_: signal.pause())\nos.chdir({:?})\n\
                 try:\n    {}\nexcept OSError: pass\nwhile True: pass",
                skill.path("workspace").to_str().unwrap(),
                attempt.replace('\n', "\n    ")
            );
            let output = skill.python(&script).await;
            let Termination::DiskLimit(exceeded) = output.termination else {
                panic!(
                    "{mode:?} {attempt} {:?} {}",
                    output.termination,
                    output.stderr.text()
                )
            };
            assert_eq!(exceeded.part, *part, "{mode:?} {attempt}");
            std::fs::remove_dir_all(&workspace).unwrap();
        }
    }
}

#[tokio::test]
async fn files_of_a_workspace_are_as_large_as_a_program_makes_them() {
    let script = "import os\nos.chdir(WORKSPACE)\nf = open('large', 'wb')\nf.truncate(3 << 40)\nf.seek(600 << 20)\n\
                  f.write(b'x' * (1 << 20))\nprint(os.fstat(f.fileno()).st_size >> 40)\n\
                  with open(os.environ['HOME'] + '/sparse', 'wb') as f: f.truncate(70 << 20)\n";
    for mode in supported_modes() {
        let mut skill = Skill::new(mode).tool("Write");
        let script = script.replace(
            "WORKSPACE",
            &format!("{:?}", skill.path("workspace").to_str().unwrap()),
        );
        let output = skill.python(&script).await;
        assert_eq!(
            output.stdout.text(),
            "3\n",
            "{mode:?} {}",
            output.stderr.text()
        );
        let file = output.enforcement.field_value("file");
        assert_eq!(file, Some("not limited"), "{mode:?}");
        // The scratch directory of such a run is bounded.
        skill.limits.scratch_bytes = 8 << 20;
        let fill = "import os\nf = open(os.environ['HOME'] + '/big', 'wb', buffering=0)\nwhile True: f.write(b'x' * 1_000_000)";
        let output = skill.python(fill).await;
        match mode {
            IsolationMode::Namespaces => assert!(output.stderr.text().contains("Errno 28")),
            _ => assert!(matches!(output.termination, Termination::DiskLimit(_))),
        }
    }
}

/// The size of a file that is only mapped is not known, and files have no limit.
#[tokio::test]
async fn deleted_files_in_scratch_that_are_only_mapped_end_a_run_without_a_file_limit() {
    let script = "import mmap, os\nos.chdir(os.environ['HOME'])\n\
                  with open('gone', 'w+b') as f:\n    f.write(b'x' * 100_000)\n    f.flush()\n    held = mmap.mmap(f.fileno(), 4096)\n\
                  os.unlink('gone')\nos.closerange(3, 200)\nwhile True: pass";
    for mode in supported_modes() {
        if mode == IsolationMode::Namespaces {
            continue;
        }
        let output = Skill::new(mode).tool("Write").python(script).await;
        assert!(
            matches!(output.termination, Termination::DiskLimit(exceeded) if exceeded.part == QuotaPart::Unreadable),
            "{:?} {}",
            output.termination,
            output.stderr.text()
        );
    }
}

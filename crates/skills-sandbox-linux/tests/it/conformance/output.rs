//! Streams and terminations: cases 75 to 79.

use std::time::Duration;

use skills_sandbox::Termination;
use skills_sandbox_conformance::AttemptResult;

use super::observations::Observations;
use super::scene::create_scene;

pub(crate) async fn run(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode);
    (skill.limits.captured_bytes, skill.limits.output_limit_bytes) = (10_000, 512 << 10);
    for script in [
        "while True: print('x' * 1000)",
        "import sys\nwhile True: sys.stderr.write('x' * 1000)",
        "import sys\nwhile True:\n    sys.stdout.write('x' * 1000)\n    sys.stderr.write('y' * 1000)",
        "import os\nwhile True: os.write(1, b'x')",
    ] {
        let output = skill.python(script).await;
        let kept = |captured: &skills_sandbox::CapturedOutput| {
            captured.head().len() + captured.tail().len()
        };
        let is_truncated = output.stdout.is_truncated() || output.stderr.is_truncated();
        let is_bounded =
            kept(&output.stdout) <= 10_000 && kept(&output.stderr) <= 10_000 && is_truncated;
        let is_stopped = output.termination
            == Termination::OutputLimit {
                limit_bytes: 512 << 10,
            };
        observations.check(
            75,
            &format!("{script}: {:?}", output.termination),
            AttemptResult::Contained,
            is_bounded && is_stopped,
        );
    }

    let skill = create_scene(observations.mode);
    let all: Vec<u8> = (0..=255).chain([0, 0, 255, 10, 254]).collect();
    let output = skill
        .python("import sys\nsys.stdout.buffer.write(bytes(range(256)) + b'\\0\\0\\xff\\n\\xfe')")
        .await;
    observations.check(
        76,
        &format!("{:?}", output.stdout.head()),
        AttemptResult::Succeeded,
        output.stdout.head() == all && !output.stdout.is_truncated(),
    );

    let output = skill
        .run(
            skill
                .job("main.py", "print('done')")
                .stdin(vec![b'x'; 10 << 20]),
        )
        .await;
    observations.check(
        77,
        &format!("{:?}", output.termination),
        AttemptResult::Succeeded,
        output.stdout.text() == "done\n" && output.termination.is_success(),
    );

    let scripts = [
        (
            "main.py",
            "import os, time\nos.write(1, b'before')\nos.close(1)\ntime.sleep(0.1)\nos.write(2, b'after')\nos._exit(4)",
        ),
        (
            "main.sh",
            "printf before; exec >&-; printf after >&2; exit 4",
        ),
        (
            "main.py",
            "import os\nos.write(1, b'before')\nos.write(2, b'after')\nfor fd in range(3): os.close(fd)\nos._exit(4)",
        ),
    ];
    for (name, script) in scripts {
        let output = skill
            .run(skill.job(name, script).stdin(b"unread".to_vec()))
            .await;
        let is_so = (
            output.stdout.text().as_str(),
            output.stderr.text().as_str(),
            &output.termination,
        ) == ("before", "after", &Termination::Exited { code: 4 });
        observations.check(
            78,
            &format!("{output:?}"),
            AttemptResult::Succeeded,
            is_so && output.duration < Duration::from_secs(10),
        );
    }

    for (script, termination) in [
        (
            "import os\nos._exit(200)",
            Termination::Exited { code: 200 },
        ),
        (
            "import os\nos._exit(139)",
            Termination::Exited { code: 139 },
        ),
        (
            "import ctypes\nctypes.string_at(0)",
            Termination::Signaled { signal: 11 },
        ),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
            Termination::Signaled { signal: 15 },
        ),
    ] {
        let output = skill.python(script).await;
        observations.check(
            79,
            &format!("{:?}", output.termination),
            AttemptResult::Succeeded,
            output.termination == termination,
        );
    }
    observations.finish_group("output");
}

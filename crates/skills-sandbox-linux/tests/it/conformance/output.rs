//! Streams and endings: cases 75 to 79.

use std::time::Duration;

use skills_sandbox::Termination;
use skills_sandbox::conformance::AttemptResult;

use super::answers::Answers;
use super::scene::planted;

pub(crate) async fn answer(answers: &mut Answers) {
    let mut skill = planted(answers.tier);
    (skill.limits.captured_bytes, skill.limits.output_limit_bytes) = (10_000, 512 << 10);
    for script in [
        "while True: print('x' * 1000)",
        "import sys\nwhile True: sys.stderr.write('x' * 1000)",
        "import sys\nwhile True:\n    sys.stdout.write('x' * 1000)\n    sys.stderr.write('y' * 1000)",
        "import os\nwhile True: os.write(1, b'x')",
    ] {
        let outcome = skill.python(script).await;
        let kept = |captured: &skills_sandbox::CapturedOutput| {
            captured.head().len() + captured.tail().len()
        };
        let is_cut = outcome.stdout.is_truncated() || outcome.stderr.is_truncated();
        let is_bounded =
            kept(&outcome.stdout) <= 10_000 && kept(&outcome.stderr) <= 10_000 && is_cut;
        let is_stopped = outcome.termination
            == Termination::OutputLimit {
                limit_bytes: 512 << 10,
            };
        answers.holds(
            75,
            &format!("{script}: {:?}", outcome.termination),
            AttemptResult::Contained,
            is_bounded && is_stopped,
        );
    }

    let skill = planted(answers.tier);
    let all: Vec<u8> = (0..=255).chain([0, 0, 255, 10, 254]).collect();
    let outcome = skill
        .python("import sys\nsys.stdout.buffer.write(bytes(range(256)) + b'\\0\\0\\xff\\n\\xfe')")
        .await;
    answers.holds(
        76,
        &format!("{:?}", outcome.stdout.head()),
        AttemptResult::Succeeded,
        outcome.stdout.head() == all && !outcome.stdout.is_truncated(),
    );

    let outcome = skill
        .run(
            skill
                .job("main.py", "print('done')")
                .stdin(vec![b'x'; 10 << 20]),
        )
        .await;
    answers.holds(
        77,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        outcome.stdout.text() == "done\n" && outcome.termination.is_success(),
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
        let outcome = skill
            .run(skill.job(name, script).stdin(b"unread".to_vec()))
            .await;
        let is_so = (
            outcome.stdout.text().as_str(),
            outcome.stderr.text().as_str(),
            &outcome.termination,
        ) == ("before", "after", &Termination::Exited { code: 4 });
        answers.holds(
            78,
            &format!("{outcome:?}"),
            AttemptResult::Succeeded,
            is_so && outcome.duration < Duration::from_secs(10),
        );
    }

    for (script, ending) in [
        (
            "import os\nos._exit(200)",
            Termination::Exited { code: 200 },
        ),
        (
            "import os\nos._exit(139)",
            Termination::Exited { code: 139 },
        ),
        // A fault of the program itself, since the first process of a table of its own gets no
        // other signals from inside.
        (
            "import ctypes\nctypes.string_at(0)",
            Termination::Signaled { signal: 11 },
        ),
    ] {
        let outcome = skill.python(script).await;
        answers.holds(
            79,
            &format!("{:?}", outcome.termination),
            AttemptResult::Succeeded,
            outcome.termination == ending,
        );
    }
    answers.through("output");
}

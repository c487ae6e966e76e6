//! Streams and terminations: cases 75 to 79.

use std::time::Duration;

use skills_sandbox::{CapturedOutput, Termination};
use skills_sandbox_conformance::{AttemptResult, Observations};

use super::attempts::{create_scene, sandbox, script};

pub(crate) async fn observe(observations: &mut Observations) {
    floods(observations).await;
    bytes_and_unread_input(observations).await;
    closed_streams(observations).await;
    endings(observations).await;
}

async fn floods(observations: &mut Observations) {
    const LIMIT: u64 = 512 << 10;
    let mut skill = create_scene();
    skill.limits.captured_bytes = 10_000;
    skill.limits.output_limit_bytes = LIMIT;
    for text in [
        "import sys\nwhile True:\n    sys.stdout.write('x' * 1000)\n    sys.stderr.write('y' * 1000)",
        "import os\nwhile True: os.write(1, b'x')",
    ] {
        let output = script(&skill, text).await;
        let is_bounded =
            |captured: &CapturedOutput| captured.head().len() + captured.tail().len() <= 10_000;
        let is_truncated = output.stdout.is_truncated() || output.stderr.is_truncated();
        let is_stopped = output.termination == Termination::OutputLimit { limit_bytes: LIMIT };
        observations.check(
            75,
            &format!("{text}: {:?}", output.termination),
            AttemptResult::Contained,
            is_bounded(&output.stdout) && is_bounded(&output.stderr) && is_truncated && is_stopped,
        );
    }
}

async fn bytes_and_unread_input(observations: &mut Observations) {
    let skill = create_scene();
    let all: Vec<u8> = (0..=255).chain([0, 0, 255, 10, 254]).collect();
    let text = "import sys\nsys.stdout.buffer.write(bytes(range(256)) + b'\\0\\0\\xff\\n\\xfe')";
    let job = skill.job("main.py", text).stdin(vec![b'x'; 10 << 20]);
    let output = skill.run(&sandbox(&skill), job).await;
    for case in [76, 77] {
        observations.check(
            case,
            &format!("{:?} {:?}", output.termination, output.stdout.head()),
            AttemptResult::Succeeded,
            output.stdout.head() == all && output.termination.is_success(),
        );
    }
}

async fn closed_streams(observations: &mut Observations) {
    let skill = create_scene();
    for text in [
        "import os, time\nos.write(1, b'before')\nos.close(1)\ntime.sleep(0.1)\nos.write(2, b'after')\nos._exit(4)",
        "import os\nos.write(1, b'before')\nos.write(2, b'after')\nfor fd in range(3): os.close(fd)\nos._exit(4)",
    ] {
        let job = skill.job("main.py", text).stdin(b"unread".to_vec());
        let output = skill.run(&sandbox(&skill), job).await;
        let found = (
            output.stdout.text(),
            output.stderr.text(),
            &output.termination,
        );
        let is_so = found.0 == "before"
            && found.1 == "after"
            && *found.2 == Termination::Exited { code: 4 };
        observations.check(
            78,
            &format!("{found:?}"),
            AttemptResult::Succeeded,
            is_so && output.duration < Duration::from_secs(30),
        );
    }
}

/// Engines return one number for both, and the report says so.
async fn endings(observations: &mut Observations) {
    let skill = create_scene();
    let exited = script(&skill, "import os\nos._exit(200)").await;
    let signaled = script(&skill, "import os\nos.kill(os.getpid(), 15)").await;
    let is_so = exited.termination == Termination::Exited { code: 200 };
    observations.check(
        79,
        &format!("{:?}", exited.termination),
        AttemptResult::Reported,
        is_so,
    );
    if signaled.termination == (Termination::Signaled { signal: 15 }) {
        observations.observe(79, "both are distinguished", AttemptResult::Succeeded);
    } else {
        observations.check_reported(79, &signaled.enforcement, "termination");
    }
}

//! Output and termination: cases 73 and 75 to 79.

use skills_sandbox::{CapturedOutput, Termination};
use skills_sandbox_conformance::{AttemptResult, Observations};

use super::layout::create_layout;
use crate::cases::fixture::{Generation, kind};

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        floods(observations, generation).await;
        endings(observations, generation).await;
    }
    bytes(observations).await;
}

async fn floods(observations: &mut Observations, generation: Generation) {
    let mut fixture = create_layout(generation);
    (
        fixture.limits.captured_bytes,
        fixture.limits.output_limit_bytes,
    ) = (10_000, 256 << 10);
    let more: &[&str] = if generation == Generation::P2 {
        &["flood-both", "flood-bytes"]
    } else {
        &["flood-on"]
    };
    for action in ["flood", "flood-stderr"].iter().chain(more) {
        let outcome = fixture.run(&[action]).await;
        let kept = |captured: &CapturedOutput| captured.head().len() + captured.tail().len();
        let is_cut = outcome.stdout.is_truncated() || outcome.stderr.is_truncated();
        let is_bounded =
            kept(&outcome.stdout) <= 10_000 && kept(&outcome.stderr) <= 10_000 && is_cut;
        let is_stopped = outcome.termination
            == Termination::OutputLimit {
                limit_bytes: 256 << 10,
            };
        observations.check(
            75,
            &format!("{action}: {:?}", outcome.termination),
            AttemptResult::Contained,
            is_bounded && is_stopped,
        );
    }
}

async fn endings(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    let outcome = fixture
        .run_job(fixture.job(&["environment"]).stdin(vec![b'x'; 10 << 20]))
        .await
        .unwrap();
    let is_so = outcome.termination.is_success() && outcome.stdout.text().is_empty();
    observations.check(
        77,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
    for code in [200, 139] {
        let ending = fixture.run(&["exit", &code.to_string()]).await.termination;
        observations.check(
            79,
            &format!("{ending}"),
            AttemptResult::Succeeded,
            ending == Termination::Exited { code },
        );
    }
    let ending = fixture.run(&["panic"]).await.termination;
    observations.check(
        79,
        &format!("{ending}"),
        AttemptResult::Succeeded,
        kind(&ending) == "trapped",
    );
}

/// Attempts of the WASI 0.2 guest only.
async fn bytes(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2);
    let odd: Vec<u8> = (0..=255).chain([0, 0, 255, 10, 254]).collect();
    let sequences =
        "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n\x1b]52;c;ZXZpbA==\x07\u{9b}31m\u{202e}"
            .as_bytes()
            .to_vec();
    for (case, bytes) in [(73, sequences), (76, odd)] {
        let stdout = fixture
            .run_job(fixture.job(&["copy"]).stdin(bytes.clone()))
            .await
            .unwrap()
            .stdout;
        observations.check(
            case,
            &format!("{:?}", stdout.head()),
            AttemptResult::Succeeded,
            stdout.head() == bytes && !stdout.is_truncated(),
        );
    }
    let outcome = fixture
        .run_job(fixture.job(&["close"]).stdin(b"unread".to_vec()))
        .await
        .unwrap();
    let output = (outcome.stdout.text(), outcome.stderr.text());
    let is_so = (output.0.as_str(), output.1.as_str(), &outcome.termination)
        == ("before", "after", &Termination::Exited { code: 4 });
    observations.check(
        78,
        &format!("{output:?} {:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
}

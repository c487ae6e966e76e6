//! Output and termination: cases 73 and 75 to 79.

use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::{CapturedOutput, Termination};

use super::answers::Answers;
use super::scene::planted;
use crate::cases::lab::{Generation, kind};

pub(crate) async fn answer(answers: &mut Answers) {
    for &generation in Generation::ALL {
        floods(answers, generation).await;
        endings(answers, generation).await;
    }
    bytes(answers).await;
}

async fn floods(answers: &mut Answers, generation: Generation) {
    let mut lab = planted(generation);
    (lab.limits.captured_bytes, lab.limits.output_limit_bytes) = (10_000, 256 << 10);
    let more: &[&str] = if generation == Generation::P2 {
        &["flood-both", "flood-bytes"]
    } else {
        &["flood-on"]
    };
    for action in ["flood", "flood-stderr"].iter().chain(more) {
        let outcome = lab.run(&[action]).await;
        let kept = |captured: &CapturedOutput| captured.head().len() + captured.tail().len();
        let is_cut = outcome.stdout.is_truncated() || outcome.stderr.is_truncated();
        let is_bounded =
            kept(&outcome.stdout) <= 10_000 && kept(&outcome.stderr) <= 10_000 && is_cut;
        let is_stopped = outcome.termination
            == Termination::OutputLimit {
                limit_bytes: 256 << 10,
            };
        answers.holds(
            75,
            &format!("{action}: {:?}", outcome.termination),
            AttemptResult::Contained,
            is_bounded && is_stopped,
        );
    }
}

async fn endings(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation);
    let outcome = lab
        .run_job(lab.job(&["environment"]).stdin(vec![b'x'; 10 << 20]))
        .await
        .unwrap();
    let is_so = outcome.termination.is_success() && outcome.stdout.text().is_empty();
    answers.holds(
        77,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
    for code in [200, 139] {
        let ending = lab.run(&["exit", &code.to_string()]).await.termination;
        answers.holds(
            79,
            &format!("{ending}"),
            AttemptResult::Succeeded,
            ending == Termination::Exited { code },
        );
    }
    let ending = lab.run(&["panic"]).await.termination;
    answers.holds(
        79,
        &format!("{ending}"),
        AttemptResult::Succeeded,
        kind(&ending) == "trapped",
    );
}

/// Attempts of the WASI 0.2 guest only.
async fn bytes(answers: &mut Answers) {
    let lab = planted(Generation::P2);
    let odd: Vec<u8> = (0..=255).chain([0, 0, 255, 10, 254]).collect();
    let sequences =
        "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n\x1b]52;c;ZXZpbA==\x07\u{9b}31m\u{202e}"
            .as_bytes()
            .to_vec();
    for (case, bytes) in [(73, sequences), (76, odd)] {
        let stdout = lab
            .run_job(lab.job(&["copy"]).stdin(bytes.clone()))
            .await
            .unwrap()
            .stdout;
        answers.holds(
            case,
            &format!("{:?}", stdout.head()),
            AttemptResult::Succeeded,
            stdout.head() == bytes && !stdout.is_truncated(),
        );
    }
    let outcome = lab
        .run_job(lab.job(&["close"]).stdin(b"unread".to_vec()))
        .await
        .unwrap();
    let said = (outcome.stdout.text(), outcome.stderr.text());
    let is_so = (said.0.as_str(), said.1.as_str(), &outcome.termination)
        == ("before", "after", &Termination::Exited { code: 4 });
    answers.holds(
        78,
        &format!("{said:?} {:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
}

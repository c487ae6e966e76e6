//! Programs that write without end.

use skills_sandbox::{CapturedOutput, Termination};

use super::lab::{Generation, Lab};

const FLOOD_BYTES: u64 = 2 << 20;
const KEPT_BYTES: usize = 1_000;

fn lab(generation: Generation) -> Lab {
    let mut lab = Lab::new(generation);
    (lab.limits.flood_bytes, lab.limits.output_bytes) = (FLOOD_BYTES, KEPT_BYTES);
    lab
}

fn is_cut(captured: &CapturedOutput) {
    assert!(captured.is_truncated() && captured.head().iter().all(|byte| *byte == b'x'));
    assert_eq!(captured.head().len() + captured.tail().len(), KEPT_BYTES);
    // What is written in one piece may go over the limit.
    assert!(
        captured.total_bytes() < FLOOD_BYTES + (1 << 20),
        "{}",
        captured.total_bytes()
    );
}

#[tokio::test]
async fn case_07_a_flood_of_output_is_stopped_and_its_ends_are_kept() {
    for &generation in Generation::ALL {
        let outcome = lab(generation).run(&["flood"]).await;
        assert_eq!(
            outcome.termination,
            Termination::OutputLimit {
                limit_bytes: FLOOD_BYTES
            },
            "{generation:?}"
        );
        is_cut(&outcome.stdout);
        assert_eq!(outcome.stderr.text(), "");
    }
}

/// A program that does not mind that nobody takes what it writes must not go on until its time is
/// over.
#[tokio::test]
async fn case_07_a_flood_that_does_not_mind_is_stopped_as_well() {
    for &generation in Generation::ALL {
        let mut lab = lab(generation);
        lab.limits.wall_time = std::time::Duration::from_secs(10);
        let outcome = lab.run(&["flood-on"]).await;
        assert_eq!(
            outcome.termination,
            Termination::OutputLimit {
                limit_bytes: FLOOD_BYTES
            },
            "{generation:?}"
        );
        is_cut(&outcome.stdout);
    }
}

#[tokio::test]
async fn case_08_a_flood_of_errors_is_stopped_by_a_limit_of_its_own() {
    for &generation in Generation::ALL {
        let outcome = lab(generation).run(&["flood-stderr"]).await;
        assert_eq!(
            outcome.termination,
            Termination::OutputLimit {
                limit_bytes: FLOOD_BYTES
            },
            "{generation:?}"
        );
        is_cut(&outcome.stderr);
        assert_eq!(outcome.stdout.text(), "");
    }
}

//! Programs that write without bound.

use skills_sandbox::{CapturedOutput, Termination};

use super::fixture::{Fixture, Generation};

const FLOOD_BYTES: u64 = 2 << 20;
const KEPT_BYTES: usize = 1_000;

fn fixture(generation: Generation) -> Fixture {
    let mut fixture = Fixture::new(generation);
    (
        fixture.limits.output_limit_bytes,
        fixture.limits.captured_bytes,
    ) = (FLOOD_BYTES, KEPT_BYTES);
    fixture
}

fn is_cut(captured: &CapturedOutput) {
    assert!(captured.is_truncated() && captured.head().iter().all(|byte| *byte == b'x'));
    assert_eq!(captured.head().len() + captured.tail().len(), KEPT_BYTES);
    // A single write may exceed the limit.
    assert!(
        captured.total_bytes() < FLOOD_BYTES + (1 << 20),
        "{}",
        captured.total_bytes()
    );
}

#[tokio::test]
async fn case_07_excessive_output_is_stopped_and_both_ends_are_kept() {
    for &generation in Generation::ALL {
        let outcome = fixture(generation).run(&["flood"]).await;
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

/// A program that ignores write errors must not continue until its deadline.
#[tokio::test]
async fn case_07_a_writer_that_ignores_errors_is_stopped() {
    for &generation in Generation::ALL {
        let mut fixture = fixture(generation);
        fixture.limits.wall_time = std::time::Duration::from_secs(10);
        let outcome = fixture.run(&["flood-on"]).await;
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
async fn case_08_excessive_error_output_has_its_own_limit() {
    for &generation in Generation::ALL {
        let outcome = fixture(generation).run(&["flood-stderr"]).await;
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

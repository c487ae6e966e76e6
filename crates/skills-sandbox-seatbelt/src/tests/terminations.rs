//! However a run ends, its process group is gone and its files are removed.

use std::time::Duration;

use skills_sandbox::{Sandbox, Termination};

use super::{EXECUTE, Fixture};

const PULSE: &str = "while :; do echo . >> \"$base/record/pulse\"; sleep 0.02; done";

#[tokio::test]
async fn the_deadline_kills_the_group() {
    let fixture = Fixture::new(
        "",
        &format!("trap '' TERM INT HUP; ({PULSE}) & echo begun; wait"),
    );
    let outcome = fixture
        .sandbox()
        .run(fixture.job(Duration::from_millis(1_500)))
        .await
        .unwrap();
    assert_eq!(
        (outcome.termination, outcome.stdout.text().as_str()),
        (Termination::TimedOut { limit_ms: 1_500 }, "begun\n")
    );
    fixture.assert_silent().await;
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_double_forked_process_dies_with_the_group() {
    let fixture = Fixture::new(
        "",
        &format!("(({PULSE}) & ); until [ -s \"$base/record/pulse\" ]; do sleep 0.02; done"),
    );
    assert_eq!(
        fixture.run().await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
    fixture.assert_silent().await;
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_files() {
    let fixture = Fixture::new("", PULSE);
    let begun = async {
        while fixture.record("pulse").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = fixture.run() => panic!("{ended:?}"),
        () = begun => {}
    }
    fixture.assert_silent().await;
    fixture.assert_clean(1);
}

#[tokio::test]
async fn excessive_output_is_stopped_and_both_ends_are_kept() {
    let fixture = Fixture::new(
        "",
        "while :; do echo 0123456789012345678901234567890123456789; done",
    );
    let outcome = fixture.run().await.unwrap();
    assert_eq!(
        outcome.termination,
        Termination::OutputLimit {
            limit_bytes: 1 << 20
        }
    );
    assert_eq!(
        outcome.stdout.head().len() + outcome.stdout.tail().len(),
        64
    );
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_signal_is_distinguished_from_an_exit_code() {
    let fixture = Fixture::new("kill -KILL $$", EXECUTE);
    assert_eq!(
        fixture.run().await.unwrap().termination,
        Termination::Signaled { signal: 9 }
    );
    fixture.assert_clean(1);
}

#[tokio::test]
async fn concurrent_runs_have_their_own_profiles() {
    let fixture = Fixture::new("cat; sleep 0.2", EXECUTE);
    let sandbox = fixture.sandbox();
    let run = |input: &str| {
        sandbox.run(
            fixture
                .job(Duration::from_secs(60))
                .stdin(input.as_bytes().to_vec()),
        )
    };
    let (one, two, three) = tokio::join!(run("one"), run("two"), run("three"));
    let texts = [one, two, three].map(|outcome| outcome.unwrap().stdout.text());
    assert_eq!(texts, ["one", "two", "three"]);
    fixture.assert_clean(3);
}

//! Runs that are cancelled.

use skills_sandbox::{CancellationToken, Termination};

use super::fixture::{Fixture, Generation};
use super::programs;

#[tokio::test]
async fn case_41_a_run_cancelled_before_its_start_does_not_run() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let cancellation = CancellationToken::new();
        cancellation.cancel();
        let outcome = fixture
            .run_job(fixture.job(&["echo"]).cancellation(cancellation))
            .await
            .unwrap();
        assert_eq!(
            (outcome.termination, outcome.stdout.text().as_str()),
            (Termination::Cancelled, ""),
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_41_a_cancelled_run_ends_and_does_not_affect_others() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        for action in ["spin", "sleep", "fill"] {
            let cancellation = CancellationToken::new();
            let run = fixture.run_job(
                fixture
                    .job(&[action, "1000000"])
                    .cancellation(cancellation.clone()),
            );
            let cancel = async {
                // The other one is running when this one got a slot.
                fixture.still_works().await;
                cancellation.cancel();
            };
            let (outcome, ()) = tokio::join!(run, cancel);
            assert_eq!(
                outcome.unwrap().termination,
                Termination::Cancelled,
                "{generation:?}: {action}"
            );
        }
        fixture.still_works().await;
    }
}

/// Nothing else is polled while it computes, so another thread cancels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_41_another_thread_may_cancel() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let cancellation = CancellationToken::new();
        let job = fixture
            .job_of(programs::endless(generation))
            .cancellation(cancellation.clone());
        let cancel = std::thread::spawn(move || cancellation.cancel());
        assert_eq!(
            fixture.run_job(job).await.unwrap().termination,
            Termination::Cancelled,
            "{generation:?}"
        );
        cancel.join().unwrap();
    }
}

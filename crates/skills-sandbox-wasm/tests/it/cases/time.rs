//! Programs that do not end.

use std::time::{Duration, Instant};

use skills_sandbox::Termination;

use super::fixture::{Fixture, Generation};
use super::programs;

const LIMIT: Duration = Duration::from_secs(1);
const TIMED_OUT: Termination = Termination::TimedOut { limit_ms: 1_000 };
/// Far more than any machine needs to stop a program, far less than the programs would take.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn case_01_an_endless_loop_is_stopped_and_its_output_is_kept() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, LIMIT).await;
        let outcome = fixture.run(&["spin"]).await;
        assert_eq!(
            (&outcome.termination, outcome.stdout.text().as_str()),
            (&TIMED_OUT, "spinning\n"),
            "{generation:?}"
        );
        assert!(
            outcome.duration < SOON,
            "{generation:?}: {:?}",
            outcome.duration
        );
    }
}

/// Code that runs during instantiation is under the same limit.
#[tokio::test]
async fn case_01_an_endless_start_is_stopped() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, LIMIT).await;
        let core = r#"(func $start (loop $again (br $again))) (start $start) (func (export "run") (result i32) i32.const 0)"#;
        let outcome = fixture
            .run_bytes(&programs::command(generation, core))
            .await
            .unwrap();
        assert_eq!(outcome.termination, TIMED_OUT, "{generation:?}");
    }
}

#[tokio::test]
async fn case_19_a_sleep_ends_at_the_deadline() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, LIMIT).await;
        let started = Instant::now();
        assert_eq!(
            fixture.run(&["sleep"]).await.termination,
            TIMED_OUT,
            "{generation:?}"
        );
        assert!(
            started.elapsed() < SOON,
            "{generation:?}: {:?}",
            started.elapsed()
        );
    }
}

/// Such an instruction cannot be interrupted, so the memory limit of a run bounds how late it is
/// stopped.
#[tokio::test]
async fn case_37_filling_all_memory_again_and_again_is_stopped() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, LIMIT).await;
        let outcome = fixture.run(&["fill", "200000000"]).await;
        assert_eq!(
            (&outcome.termination, outcome.stdout.text().as_str()),
            (&TIMED_OUT, "filling\n"),
            "{generation:?}"
        );
        assert!(
            outcome.duration < SOON,
            "{generation:?}: {:?}",
            outcome.duration
        );
    }
}

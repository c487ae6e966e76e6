//! Input of the program.

use std::time::Duration;

use super::fixture::{Fixture, Generation};

#[tokio::test]
async fn case_18_nothing_of_the_host_is_in_the_environment() {
    assert!(
        std::env::vars_os().next().is_some(),
        "the host has an environment"
    );
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        assert_eq!(fixture.attempt(&["environment"]).await, "");
        assert_eq!(fixture.attempt(&["echo"]).await, "[]");
        let job = fixture.job(&["environment"]).env("SKILL_ID", "pdf");
        assert_eq!(
            fixture.run_job(job).await.unwrap().stdout.text(),
            "SKILL_ID=pdf\n"
        );
    }
}

#[tokio::test]
async fn case_21_input_ends() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, Duration::from_secs(10)).await;
        assert_eq!(fixture.attempt(&["input"]).await, "ok: 0 bytes");
        let not_text = fixture.job(&["input"]).stdin(vec![0xff, 0, 0xfe]);
        assert_eq!(
            fixture.run_job(not_text).await.unwrap().stdout.text(),
            "ok: 3 bytes\n"
        );
        let large = fixture.job(&["input"]).stdin(vec![b'x'; 3 << 20]);
        assert_eq!(
            fixture.run_job(large).await.unwrap().stdout.text(),
            "ok: 3145728 bytes\n"
        );
    }
}

#[tokio::test]
async fn case_39_a_name_has_one_value() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let job = fixture
            .job(&["environment"])
            .env("SKILL_INPUT", "first")
            .env("SKILL_INPUT", "second");
        assert_eq!(
            fixture.run_job(job).await.unwrap().stdout.text(),
            "SKILL_INPUT=second\n"
        );
    }
}

#[tokio::test]
async fn case_39_a_large_value_arrives_completely_or_not_at_all() {
    for &generation in Generation::ALL {
        let mut fixture = Fixture::new(generation);
        fixture.limits.captured_bytes = 4 << 20;
        let value = "x".repeat(1 << 20);
        // A rejection happens before anything runs.
        if let Ok(outcome) = fixture
            .run_job(fixture.job(&["environment"]).env("SKILL_INPUT", &value))
            .await
        {
            assert_eq!(
                outcome.stdout.text(),
                format!("SKILL_INPUT={value}\n"),
                "{generation:?}"
            );
        }
    }
}

#[tokio::test]
async fn case_39_a_value_with_a_zero_byte_is_rejected_before_the_run() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let ran = fixture
            .run_job(fixture.job(&["environment"]).env("SKILL_INPUT", "a\0b"))
            .await;
        assert!(
            ran.is_err(),
            "{generation:?}: {:?}",
            ran.map(|outcome| outcome.stdout.text())
        );
    }
}

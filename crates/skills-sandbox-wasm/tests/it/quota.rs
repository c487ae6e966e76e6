//! Quotas of private workspaces.

use std::fs;

use skills_sandbox::{EnforcementStatus, Quota};

use crate::cases::fixture::{Fixture, Generation};

const LIMIT: u64 = 8 << 20;

async fn pour(fixture: &Fixture, file: &str, bytes: &str) -> String {
    let job = fixture
        .job(&["pour", file, bytes])
        .quota(Quota::new(fixture.path("workspace"), LIMIT));
    let outcome = fixture.run_job(job).await.unwrap();
    assert!(
        outcome.termination.is_success(),
        "{:?} {}",
        outcome.termination,
        outcome.stderr.text()
    );
    let layer = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "workspace")
        .unwrap();
    assert_eq!(layer.status(), EnforcementStatus::Enforced);
    outcome.stdout.text()
}

/// One run has the whole quota, several together have the same one.
#[tokio::test]
async fn files_of_earlier_runs_count() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation).writable();
        assert!(
            pour(&fixture, "/workspace/one", "5000000")
                .await
                .starts_with("ok")
        );
        assert!(
            pour(&fixture, "/workspace/two", "5000000")
                .await
                .starts_with("refused: ")
        );
        // A file created by a run that then failed counts as well.
        assert!(
            pour(&fixture, "/workspace/three", "5000000")
                .await
                .starts_with("refused: ")
        );
        let bytes: u64 = fs::read_dir(fixture.path("workspace"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes <= LIMIT, "{bytes}");
        fs::write(fixture.path("workspace/more"), vec![b'x'; 9 << 20]).unwrap();
        assert!(
            pour(&fixture, "/workspace/four", "1")
                .await
                .starts_with("refused: "),
            "the quota is exceeded"
        );
        // A sparse file takes no space.
        for name in ["one", "two", "three", "more"] {
            let _ = fs::remove_file(fixture.path("workspace").join(name));
        }
        fs::File::create(fixture.path("workspace/sparse"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        assert!(
            pour(&fixture, "/workspace/five", "5000000")
                .await
                .starts_with("ok")
        );
    }
}

/// Concurrent runs with one workspace share its quota.
#[tokio::test]
async fn concurrent_runs_share_a_quota() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation).writable();
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..6 {
            let job = fixture
                .job(&["pour", &format!("/workspace/{number}"), "6000000"])
                .quota(Quota::new(fixture.path("workspace"), LIMIT));
            runs.spawn(Fixture::start(job));
        }
        while runs.join_next().await.is_some() {}
        let bytes: u64 = fs::read_dir(fixture.path("workspace"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes <= LIMIT, "{bytes}");
    }
}

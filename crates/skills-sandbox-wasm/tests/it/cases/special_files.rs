//! Files whose opening or reading blocks.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::fixture::{Fixture, Generation};

/// Opens the other end of a pipe when the test is over: if a host thread blocked on it, the test
/// program would hang as well.
struct Release(PathBuf);

impl Drop for Release {
    fn drop(&mut self) {
        drop(
            std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(&self.0),
        );
    }
}

async fn refuses_at_once(generation: Generation, fixture: &Fixture, path: &str) {
    for action in ["read", "raw-read", "create", "truncate"] {
        let outcome = fixture.run(&[action, path]).await;
        let output: String = outcome.stdout.text().chars().take(40).collect();
        assert!(
            outcome.termination.is_success() && output.starts_with("refused: "),
            "{generation:?}: {action} {path}: {}, {output}",
            outcome.termination
        );
    }
}

#[tokio::test]
async fn case_20_a_pipe_or_a_socket_is_rejected_at_once() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, Duration::from_secs(5))
            .await
            .writable();
        let pipe = fixture.path("workspace/pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let _release = Release(pipe);
        let _listener = UnixListener::bind(fixture.path("workspace/socket")).unwrap();
        refuses_at_once(generation, &fixture, "/workspace/socket").await;
        refuses_at_once(generation, &fixture, "/workspace/pipe").await;
    }
}

#[tokio::test]
async fn case_20_a_device_is_rejected_at_once() {
    for &generation in Generation::ALL {
        let fixture = Fixture::with_wall_time(generation, Duration::from_secs(5))
            .await
            .writable();
        // The device that returns zeros forever.
        let made = Command::new("mknod")
            .arg(fixture.path("workspace/device"))
            .args(["c", "1", "5"])
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            return skills_test_support::skip("only root makes device nodes");
        }
        refuses_at_once(generation, &fixture, "/workspace/device").await;
    }
}

//! Files whose opening or reading blocks.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::lab::{Generation, Lab};

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

async fn refuses_at_once(generation: Generation, lab: &Lab, path: &str) {
    for action in ["read", "raw-read", "create", "truncate"] {
        let outcome = lab.run(&[action, path]).await;
        let said: String = outcome.stdout.text().chars().take(40).collect();
        assert!(
            outcome.termination.is_success() && said.starts_with("refused: "),
            "{generation:?}: {action} {path}: {}, {said}",
            outcome.termination
        );
    }
}

#[tokio::test]
async fn case_20_a_pipe_or_a_socket_is_rejected_at_once() {
    for &generation in Generation::ALL {
        let lab = Lab::in_time(generation, Duration::from_secs(5))
            .await
            .writing();
        let pipe = lab.path("workspace/pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let _release = Release(pipe);
        let _listener = UnixListener::bind(lab.path("workspace/socket")).unwrap();
        refuses_at_once(generation, &lab, "/workspace/socket").await;
        refuses_at_once(generation, &lab, "/workspace/pipe").await;
    }
}

#[tokio::test]
async fn case_20_a_device_is_rejected_at_once() {
    for &generation in Generation::ALL {
        let lab = Lab::in_time(generation, Duration::from_secs(5))
            .await
            .writing();
        // The device that returns zeros forever.
        let made = Command::new("mknod")
            .arg(lab.path("workspace/device"))
            .args(["c", "1", "5"])
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            return skills_test_support::skip("only root makes device nodes");
        }
        refuses_at_once(generation, &lab, "/workspace/device").await;
    }
}

//! A server whose user may not start threads.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use skills_test_support::{host, skip};

use crate::skills::binary;

/// A user that has no other process, so that its limit is that of the server.
const USER: &str = "64917";

#[test]
fn a_server_that_cannot_start_threads_ends_with_one_line() {
    let (setpriv, prlimit) = match (host::program("setpriv"), host::program("prlimit")) {
        (Ok(setpriv), Ok(prlimit)) => (setpriv, prlimit),
        (Err(reason), _) | (_, Err(reason)) => return skip(reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    let file = home.join("skills");
    std::fs::copy(binary(), &file).unwrap();
    // Only root can do that, and only root starts the server.
    let _ = std::os::unix::fs::chown(home, USER.parse().ok(), None);
    std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o755)).unwrap();
    for limit in 1..=12 {
        let output = Command::new(&setpriv)
            .args(["--reuid", USER, "--regid", USER, "--clear-groups"])
            .arg(&prlimit)
            .arg(format!("--nproc={limit}"))
            .arg(&file)
            .arg("mcp")
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.starts_with("setpriv: ") {
            return skip("only root starts processes of another user");
        }
        assert!(!stderr.contains("panicked"), "{limit}: {stderr}");
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                let line = stderr.lines().next().unwrap_or_default();
                assert!(
                    line.contains("cannot start a thread: "),
                    "{limit}: {stderr}"
                );
            }
            other => panic!("{limit}: {other:?}: {stderr}"),
        }
        assert!(limit > 2 || output.status.code() == Some(1), "{limit}");
    }
}

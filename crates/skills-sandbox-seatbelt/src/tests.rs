//! Tests of the backend with a stub for `sandbox-exec` that restricts nothing and records its
//! input.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests check the files that a run left"
)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod command;
mod files;
mod network;
mod rejections;
mod resolved;
mod terminations;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use skills_policy::{Authorization, Grants, Policy, Request, ResourceLimits};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, SandboxError, ScriptType};
use tempfile::TempDir;

use crate::SeatbeltSandbox;

/// Runs the command after `--`, as `sandbox-exec` does once the profile is applied.
const EXECUTE: &str = "exec \"$@\"";

/// A skill, a stub with a behavior, and its recorded input.
struct Fixture {
    top: TempDir,
}

impl Fixture {
    /// Creates a skill with a shell script, and a stub that runs the shell commands.
    fn new(script: &str, behavior: &str) -> Self {
        let fixture = Self {
            top: tempfile::tempdir().unwrap(),
        };
        for directory in ["skill/scripts", "record", "profiles", "scratch"] {
            fs::create_dir_all(fixture.path(directory)).unwrap();
        }
        fs::write(fixture.path("skill/scripts/run.sh"), script).unwrap();
        fs::write(fixture.path("behavior"), behavior).unwrap();
        fixture
    }

    fn path(&self, below: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(below)
    }

    fn record(&self, name: &str) -> String {
        fs::read_to_string(self.path("record").join(name)).unwrap_or_default()
    }

    fn sandbox(&self) -> SeatbeltSandbox {
        let program = skills_test_support::source_tree()
            .join("crates/skills-sandbox-seatbelt/src/tests/stand-in.sh");
        SeatbeltSandbox::with_stub_launcher(program, self.path("profiles"), self.path("scratch"))
    }

    fn grants(&self, limits: ResourceLimits) -> Grants {
        match Policy::default().authorize(&Request::new(self.path("skill")).limits(limits)) {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    fn job(&self, wall_time: Duration) -> Job {
        let mut limits = ResourceLimits::default();
        (
            limits.wall_time,
            limits.captured_bytes,
            limits.output_limit_bytes,
        ) = (wall_time, 64, 1 << 20);
        Job::new(
            self.grants(limits),
            Program::script(ScriptType::Shell, self.path("skill/scripts/run.sh")),
        )
    }

    /// Runs with a generous deadline.
    async fn run(&self) -> Result<RunOutput, SandboxError> {
        self.sandbox().run(self.job(Duration::from_secs(60))).await
    }

    /// Checks that the stub was started this many times, and that no profiles and scratch
    /// directories are left.
    fn assert_clean(&self, runs: usize) {
        assert_eq!(
            self.record("runs").lines().count(),
            runs,
            "number of starts"
        );
        for directory in ["profiles", "scratch"] {
            let left: Vec<_> = fs::read_dir(self.path(directory))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    /// Checks that no process appends to `record/pulse` any more.
    async fn assert_silent(&self) {
        let before = self.record("pulse");
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(
            !before.is_empty() && self.record("pulse") == before,
            "a process is still alive"
        );
    }
}

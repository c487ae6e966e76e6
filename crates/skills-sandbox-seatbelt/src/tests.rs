//! Drives the backend with a stand-in for `sandbox-exec` that confines nothing and writes down what
//! it was given.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests look at what a run left behind"
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
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_policy::{Decision, Grants, Limits, Request, Rules};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, SandboxError, ScriptType};
use tempfile::TempDir;

use crate::SeatbeltSandbox;

/// Runs what follows `--`, as the original does once the profile stands.
const EXECUTE: &str = "exec \"$@\"";

/// A skill, a stand-in with a behaviour, and what it writes down.
struct Bench {
    top: TempDir,
}

impl Bench {
    /// Makes a skill with a shell script, and a stand-in that behaves as the shell commands say.
    fn new(script: &str, behaviour: &str) -> Self {
        let bench = Self {
            top: tempfile::tempdir().unwrap(),
        };
        for directory in ["skill/scripts", "record", "profiles", "scratch"] {
            fs::create_dir_all(bench.path(directory)).unwrap();
        }
        fs::write(bench.path("skill/scripts/run.sh"), script).unwrap();
        fs::write(bench.path("behaviour"), behaviour).unwrap();
        bench
    }

    fn path(&self, below: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(below)
    }

    fn record(&self, name: &str) -> String {
        fs::read_to_string(self.path("record").join(name)).unwrap_or_default()
    }

    fn sandbox(&self) -> SeatbeltSandbox {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/stand-in.sh");
        SeatbeltSandbox::with_stub_launcher(program, self.path("profiles"), self.path("scratch"))
    }

    fn grants(&self, limits: Limits) -> Grants {
        match Rules::default().decide(&Request::new(self.path("skill")).limits(limits)) {
            Decision::Granted(grants) => grants,
            Decision::Denied(denial) => panic!("{denial}"),
        }
    }

    fn job(&self, wall_time: Duration) -> Job {
        let mut limits = Limits::default();
        (limits.wall_time, limits.output_bytes, limits.flood_bytes) = (wall_time, 64, 1 << 20);
        Job::new(
            self.grants(limits),
            Program::script(ScriptType::Shell, self.path("skill/scripts/run.sh")),
        )
    }

    /// Runs with a generous deadline.
    async fn run(&self) -> Result<RunOutput, SandboxError> {
        self.sandbox().run(self.job(Duration::from_secs(60))).await
    }

    /// Says that the stand-in was started so often, and that neither profiles nor scratch
    /// directories are left.
    fn assert_clean(&self, runs: usize) {
        assert_eq!(
            self.record("runs").lines().count(),
            runs,
            "so often it was started"
        );
        for directory in ["profiles", "scratch"] {
            let left: Vec<_> = fs::read_dir(self.path(directory))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    /// Says that nobody appends to `record/pulse` any more.
    async fn assert_silent(&self) {
        let before = self.record("pulse");
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(
            !before.is_empty() && self.record("pulse") == before,
            "somebody is still alive"
        );
    }
}

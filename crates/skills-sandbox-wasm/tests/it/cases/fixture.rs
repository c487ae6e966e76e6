//! Shared by the cases: a skill, files next to it, and a sandbox that compiles each guest once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use skills_policy::{ApprovalMode, Authorization, Grants, Policy, Request, ResourceLimits};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, SandboxError, Termination};
use skills_sandbox_wasm::WasmSandbox;
use tempfile::TempDir;

/// One engine for all cases, so that each guest is compiled once.
static SANDBOX: LazyLock<(WasmSandbox, TempDir)> = LazyLock::new(|| {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = WasmSandbox::new(scratch.path());
    #[cfg(unix)]
    let sandbox = sandbox.compile_command(crate::compile::this(&scratch.path().join("starts")));
    (sandbox, scratch)
});

static PROBE: LazyLock<Arc<[u8]>> =
    LazyLock::new(|| Arc::from(include_bytes!("../../guest/probe.wasm").as_slice()));
static PROBE3: LazyLock<Arc<[u8]>> =
    LazyLock::new(|| Arc::from(include_bytes!("../../guest-p3/probe3.wasm").as_slice()));

/// A version of WASI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Generation {
    /// WASI 0.2.
    P2,
    /// WASI 0.3.
    P3,
}

impl Generation {
    /// Those that this build of the sandbox runs.
    pub(crate) const ALL: &[Self] = if cfg!(feature = "wasi-p3") {
        &[Self::P2, Self::P3]
    } else {
        &[Self::P2]
    };

    /// Returns the guest that does what its first argument says.
    pub(crate) fn guest(self) -> Arc<[u8]> {
        Arc::clone(if self == Self::P2 { &PROBE } else { &PROBE3 })
    }
}

/// A skill at `/skill`, a workspace, and next to both inaccessible files: `secret.txt` and
/// `outside/`.
pub(crate) struct Fixture {
    directory: TempDir,
    generation: Generation,
    pub(crate) limits: ResourceLimits,
    tool: &'static str,
    read_only: Option<&'static str>,
}

impl Fixture {
    pub(crate) fn new(generation: Generation) -> Self {
        let directory = tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap();
        for name in ["skill/sub", "workspace", "outside"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        for (name, content) in [
            ("skill/data.txt", "data"),
            ("secret.txt", "secret"),
            ("outside/data.txt", "secret"),
        ] {
            std::fs::write(directory.path().join(name), content).unwrap();
        }
        Self {
            directory,
            generation,
            limits: ResourceLimits::default(),
            tool: "Read",
            read_only: None,
        }
    }

    /// Creates one for runs with little time; compiling counts as well, so it is done before.
    pub(crate) async fn with_wall_time(generation: Generation, wall_time: Duration) -> Self {
        let mut fixture = Self::new(generation);
        assert_eq!(fixture.attempt(&["input"]).await, "ok: 0 bytes");
        fixture.limits.wall_time = wall_time;
        fixture
    }

    /// Lets the guest write in the workspace.
    pub(crate) fn writable(mut self) -> Self {
        self.tool = "Write";
        self
    }

    /// Grants something in the workspace for reading only.
    pub(crate) fn read_only(mut self, below: &'static str) -> Self {
        self.read_only = Some(below);
        self
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    pub(crate) fn grants(&self) -> Grants {
        let request = Request::new(self.path("skill"))
            .workspace(self.path("workspace"))
            .limits(self.limits.clone())
            .allowed_tool(self.tool, None);
        let request = match self.read_only {
            Some(below) => request.allowed_tool("Read", None).read(self.path(below)),
            None => request,
        };
        let Authorization::Granted(grants) = Policy::default()
            .with_mode(ApprovalMode::Trusted)
            // The limit of a request does not bound files of a granted directory.
            .with_ceiling(self.limits.clone())
            .authorize(&request)
        else {
            panic!("granted")
        };
        grants
    }

    /// Creates a job of the guest.
    pub(crate) fn job(&self, arguments: &[&str]) -> Job {
        let job = Job::new(self.grants(), Program::Wasm(self.generation.guest()));
        arguments
            .iter()
            .fold(job, |job, argument| job.arg(*argument))
    }

    /// Runs the guest.
    pub(crate) async fn run(&self, arguments: &[&str]) -> RunOutput {
        self.run_job(self.job(arguments)).await.unwrap()
    }

    /// Runs a job concurrently with others.
    pub(crate) async fn start(job: Job) -> Result<RunOutput, SandboxError> {
        SANDBOX.0.run(job).await
    }

    pub(crate) async fn run_job(&self, job: Job) -> Result<RunOutput, SandboxError> {
        SANDBOX.0.run(job).await
    }

    /// Runs the bytes of another program.
    pub(crate) async fn run_bytes(&self, bytes: &[u8]) -> Result<RunOutput, SandboxError> {
        self.run_job(self.job_of(bytes.to_vec())).await
    }

    /// Creates a job of another program.
    pub(crate) fn job_of(&self, bytes: Vec<u8>) -> Job {
        Job::new(self.grants(), Program::Wasm(bytes.into()))
    }

    /// Runs one attempt and returns the output of the guest.
    pub(crate) async fn attempt(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments).await;
        assert!(
            outcome.termination.is_success(),
            "{:?}: {arguments:?}: {}, {}",
            self.generation,
            outcome.termination,
            outcome.stderr.text()
        );
        outcome.stdout.text().trim().to_owned()
    }

    /// Runs attempts that must each be rejected with one of the words.
    pub(crate) async fn rejects(&self, attempts: &[&[&str]], words: &[&str]) {
        for attempt in attempts {
            let output = self.attempt(attempt).await;
            let word = output.strip_prefix("refused: ");
            assert!(
                word.is_some_and(|word| words.contains(&word)),
                "{:?}: {attempt:?}: {output}",
                self.generation
            );
        }
    }

    /// Checks that the engine still works.
    pub(crate) async fn still_works(&self) {
        let fresh = Self::new(self.generation);
        assert_eq!(
            fresh.attempt(&["raw-read", "/skill/data.txt"]).await,
            "ok: data"
        );
    }

    /// Lists every file below the skill and next to it, to compare before and after.
    pub(crate) fn tree(&self, below: &str) -> Vec<String> {
        let mut entries = Vec::new();
        tree(&self.path(below), &mut entries);
        entries.sort();
        entries
    }
}

fn tree(path: &Path, entries: &mut Vec<String>) {
    let metadata = path.symlink_metadata().unwrap();
    let content = if metadata.is_file() {
        std::fs::read(path).unwrap()
    } else {
        Vec::new()
    };
    entries.push(format!(
        "{} {:?} {:?} {content:?}",
        path.display(),
        metadata.file_type(),
        metadata.modified().unwrap()
    ));
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            tree(&entry.unwrap().path(), entries);
        }
    }
}

/// Returns the kind of a termination as one word.
pub(crate) fn kind(termination: &Termination) -> String {
    serde_json::to_value(termination).unwrap()["kind"]
        .as_str()
        .unwrap()
        .to_owned()
}

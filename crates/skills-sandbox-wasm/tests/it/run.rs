use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use skills_policy::{ApprovalMode, Authorization, Policy, Request, ResourceLimits};
use skills_sandbox::{ExecutedFiles, Job, Program, RunOutput, Sandbox, Termination};
use skills_sandbox_wasm::WasmSandbox;
use tempfile::TempDir;

/// One engine for all tests, so that the guest is compiled once.
static SANDBOX: LazyLock<(WasmSandbox, TempDir)> = LazyLock::new(|| {
    let scratch = tempfile::tempdir().unwrap();
    (WasmSandbox::new(scratch.path()), scratch)
});

struct Skill {
    directory: TempDir,
    limits: ResourceLimits,
    tool: &'static str,
}

impl Skill {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap();
        for name in ["skill", "workspace"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        std::fs::write(directory.path().join("skill/data.txt"), "data").unwrap();
        std::fs::write(directory.path().join("secret.txt"), "secret").unwrap();
        Self {
            directory,
            limits: ResourceLimits::default(),
            tool: "Read",
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn job(&self, arguments: &[&str]) -> Job {
        let request = Request::new(self.path("skill"))
            .workspace(self.path("workspace"))
            .limits(self.limits.clone())
            .allowed_tool(self.tool, None);
        let rules = Policy::default()
            .with_mode(ApprovalMode::Trusted)
            .with_ceiling(self.limits.clone());
        let Authorization::Granted(grants) = rules.authorize(&request) else {
            panic!("granted")
        };
        let program = Program::Wasm(Arc::from(include_bytes!("../guest/probe.wasm").as_slice()));
        arguments
            .iter()
            .fold(Job::new(grants, program), |job, argument| {
                job.arg(*argument)
            })
    }

    async fn run(&self, arguments: &[&str]) -> RunOutput {
        self.run_job(self.job(arguments)).await
    }

    async fn run_job(&self, job: Job) -> RunOutput {
        SANDBOX.0.run(job).await.unwrap()
    }

    /// Runs one attempt and returns the output of the guest.
    async fn attempt(&self, arguments: &[&str]) -> String {
        self.run(arguments).await.stdout.text().trim().to_owned()
    }
}

#[tokio::test]
async fn input_arguments_and_environment_reach_the_program_unchanged() {
    let skill = Skill::new();
    let outcome = skill
        .run_job(
            skill
                .job(&["echo", "a 'b' \"c\"", "$(id)"])
                .stdin(b"{\"x\": 1}".to_vec()),
        )
        .await;
    assert_snapshot!(outcome.stdout.text(), @r#"{"x": 1} ["a 'b' \"c\"", "$(id)"]"#);
    assert_eq!(
        (outcome.stderr.text().as_str(), &outcome.termination),
        ("to stderr\n", &Termination::Exited { code: 0 })
    );
    let job = skill
        .job(&["environment"])
        .env("SKILL_ID", "one")
        .env("SKILL_ID", "pdf")
        .env("SKILL_INPUT", "{}");
    assert_snapshot!(skill.run_job(job).await.stdout.text(), @"
    SKILL_ID=pdf
    SKILL_INPUT={}
    ");
}

/// Also files that are not among the first output files of a workspace.
#[tokio::test]
async fn written_files_that_other_programs_execute_are_returned() {
    let mut skill = Skill::new();
    skill.tool = "Write";
    std::fs::write(skill.path("workspace/package.json"), "{}").unwrap();
    let executed = skill.run(&["write", "/workspace/out.txt"]).await;
    assert_eq!(executed.executed_files, ExecutedFiles::of_search([]));
    let executed = skill.run(&["write", "/workspace/package.json"]).await;
    let executed = executed.executed_files;
    assert!(executed.is_complete);
    let found: Vec<_> = executed
        .files
        .iter()
        .map(|file| {
            (
                file.path.ends_with("package.json"),
                file.program,
                file.is_created,
            )
        })
        .collect();
    assert_eq!(found, [(true, "npm and pnpm", false)]);
}

#[tokio::test]
async fn granted_directories_and_no_others() {
    let mut skill = Skill::new();
    std::os::unix::fs::symlink("../secret.txt", skill.path("skill/link")).unwrap();
    std::os::unix::fs::symlink("/etc", skill.path("skill/etc")).unwrap();
    let mut seen = String::new();
    let attempts: &[&[&str]] = &[
        &["read", "/skill/data.txt"],
        &["list", "/skill"],
        &["list", "/"],
        &["read", "/etc/passwd"],
        &["read", "/skill/../secret.txt"],
        &["read", "/skill/link"],
        &["read", "/skill/etc/passwd"],
        &["read", "/proc/self/environ"],
        &["write", "/skill/data.txt"],
        &["write", "/skill/new.txt"],
        &["remove", "/skill/data.txt"],
        &["write", "/workspace/out.txt"],
        &["write", "/work/private.txt"],
        &["list", "/work"],
        &["connect"],
        &["spawn"],
    ];
    for attempt in attempts {
        seen.push_str(&format!(
            "{}: {}\n",
            attempt.join(" "),
            skill.attempt(attempt).await
        ));
    }
    assert_snapshot!(seen);
    skill.tool = "Write";
    assert_eq!(
        skill.attempt(&["write", "/workspace/out.txt"]).await,
        "ok: written"
    );
    assert_eq!(
        std::fs::read_to_string(skill.path("workspace/out.txt")).unwrap(),
        "written"
    );
}

#[tokio::test]
async fn terminations_are_distinguished() {
    let mut skill = Skill::new();
    skill.limits.output_limit_bytes = 1 << 20;
    skill.limits.captured_bytes = 1_000;
    skill.limits.memory_bytes = 32 << 20;
    // The standard library of this target knows only success and failure.
    assert_eq!(
        skill.run(&["fail"]).await.termination,
        Termination::Exited { code: 1 }
    );
    let panicked = skill.run(&["panic"]).await;
    assert!(panicked.stderr.text().contains("as asked"));
    assert_snapshot!(panicked.termination, @"trapped: wasm trap: wasm `unreachable` instruction executed");
    assert_eq!(
        skill.run(&["allocate"]).await.termination,
        Termination::MemoryLimit {
            limit_bytes: 32 << 20
        }
    );
    let flood = skill.run(&["flood"]).await;
    assert_eq!(
        (
            &flood.termination,
            flood.stdout.head().len() + flood.stdout.tail().len()
        ),
        (
            &Termination::OutputLimit {
                limit_bytes: 1 << 20
            },
            1_000
        )
    );
    assert!(flood.stdout.is_truncated());
    assert!(matches!(
        skill.run(&["recurse"]).await.termination,
        Termination::Trapped { .. }
    ));
    assert!(
        !skill
            .run(&["open", "/skill/data.txt"])
            .await
            .termination
            .is_success()
    );
}

#[tokio::test]
async fn a_loop_and_a_sleep_are_stopped_at_the_deadline() {
    let mut skill = Skill::new();
    // Compiling counts too, so it is done before.
    assert!(skill.run(&["echo"]).await.termination.is_success());
    skill.limits.wall_time = Duration::from_millis(1_000);
    for action in ["spin", "sleep"] {
        let started = Instant::now();
        let outcome = skill.run(&[action]).await;
        assert_eq!(
            outcome.termination,
            Termination::TimedOut { limit_ms: 1_000 },
            "{action}"
        );
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{action} came to an end"
        );
    }
    assert_eq!(
        skill.run(&["spin"]).await.stdout.text(),
        "spinning\n",
        "partial output is kept"
    );
}

/// Opening it would block until a writer opens it.
#[tokio::test]
async fn a_pipe_without_a_writer_is_not_opened() {
    let skill = Skill::new();
    let fifo = skill.path("skill/fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        skill.attempt(&["read", "/skill/fifo"]).await,
        "refused: PermissionDenied"
    );
}

#[tokio::test]
async fn a_busy_program_lets_others_run_and_can_be_dropped() {
    let skill = Skill::new();
    std::fs::create_dir(skill.path("scratch")).unwrap();
    let sandbox = WasmSandbox::new(skill.path("scratch"));
    let echo = skill.job(&["echo"]);
    assert!(
        sandbox
            .run(echo.clone())
            .await
            .unwrap()
            .termination
            .is_success()
    );
    let spin = sandbox.run(skill.job(&["spin"]));
    tokio::select! {
        biased;
        _ = spin => panic!("an endless loop ended by itself"),
        outcome = sandbox.run(echo) => assert!(outcome.unwrap().termination.is_success()),
    }
    assert_eq!(
        std::fs::read_dir(skill.path("scratch")).unwrap().count(),
        0,
        "scratch directories are gone"
    );
}

#[tokio::test]
async fn the_report_names_every_restriction() {
    let mut skill = Skill::new();
    // The default depends on the machine.
    skill.limits.memory_bytes = 256 << 20;
    let lines: Vec<String> = skill
        .run(&["echo"])
        .await
        .enforcement
        .restrictions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    files enforced: granted directories only, behind handles that cannot leave them
    network enforced: no sockets, no name lookup
    processes enforced: not available in WebAssembly
    memory enforced: 256 MiB over all memories
    disk enforced: 256 MiB written in all, 64 MiB in a file, in /work and elsewhere
    time enforced: 30000 ms, in compilation, computation and host calls
    environment enforced: declared variables only
    ");
    skill.tool = "WebFetch";
    let report = skill.run(&["echo"]).await.enforcement;
    let network = report
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert_snapshot!(network, @"network enforced: no sockets, requests to granted hosts only; no requests");
}

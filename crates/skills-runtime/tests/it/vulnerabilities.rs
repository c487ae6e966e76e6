//! Tests of known vulnerabilities of other runtimes that no other test covers.
//! `docs/threat-model.md` has the complete list.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skills_runtime::{Answer, ExecutionOptions, Root, Scope, SkillRuntime, Termination, Workspace};
use skills_sandbox::{EnforcementReport, Job, RunFuture, RunOutput, Sandbox, SandboxError};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

/// If a sandbox is unavailable or a program fails, no other sandbox is used.
#[tokio::test]
async fn there_is_no_fallback_after_a_failure() {
    struct Broken(AtomicUsize);
    impl Sandbox for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn run(&self, _: Job) -> RunFuture<'_> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Err(SandboxError::unavailable(
                "a restriction",
                "the kernel rejects it",
                "use another kernel",
            ))))
        }
    }
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.sh", "");
    let broken = Arc::new(Broken(AtomicUsize::new(0)));
    let runtime = fixture.recording().native_sandbox(broken.clone()).build();
    assert!(
        runtime
            .execute_skill("a", ExecutionOptions::default())
            .await
            .is_err()
    );
    assert_eq!(
        (
            broken.0.load(Ordering::SeqCst),
            fixture.sandbox.jobs().len()
        ),
        (1, 0)
    );
    let runtime = fixture.recording().build();
    for (index, code) in [1, 134, 136, 139].into_iter().enumerate() {
        *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Exited { code });
        let _ = runtime
            .execute_skill("a", ExecutionOptions::default())
            .await
            .unwrap();
        assert_eq!(fixture.sandbox.jobs().len(), index + 1);
    }
}

/// WebAssembly receives guest paths, not paths of the host.
#[tokio::test]
async fn a_module_receives_guest_paths() {
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/skill.wasm", b"\0asm");
    let runtime = fixture
        .recording()
        .scratch_directory(fixture.path(""))
        .build();
    let _ = runtime
        .execute_skill(
            "a",
            ExecutionOptions::default().workspace(Workspace::Private(Vec::new())),
        )
        .await
        .unwrap();
    let job = fixture.sandbox.jobs().pop().unwrap();
    let root = fixture.path("").display().to_string();
    assert!(
        job.envs().all(|(_, value)| !value.contains(&root)),
        "{job:?}"
    );
    assert!(
        job.envs()
            .any(|(name, value)| (name, value) == ("SKILL_WORKSPACE", "/workspace"))
    );
}

/// Output that is not UTF-8 is preserved.
#[tokio::test]
async fn output_that_is_not_utf8_is_preserved() {
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.sh", "");
    *fixture.sandbox.stdout.lock().unwrap() = b"caf\xe9 \xff".to_vec();
    let artifacts = fixture
        .recording()
        .build()
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    assert_eq!(
        (artifacts.stdout.head(), artifacts.output.as_str()),
        (b"caf\xe9 \xff".as_slice(), Some("caf\u{FFFD} \u{FFFD}"))
    );
}

/// Each run has its own private workspace, which is removed afterwards.
#[tokio::test]
async fn private_workspaces_are_never_shared() {
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.sh", "");
    let runtime = fixture
        .recording()
        .scratch_directory(fixture.path(""))
        .build();
    for _ in 0..3 {
        let _ = runtime
            .execute_skill(
                "a",
                ExecutionOptions::default().workspace(Workspace::Private(Vec::new())),
            )
            .await
            .unwrap();
    }
    let jobs = fixture.sandbox.jobs();
    let paths: std::collections::BTreeSet<_> = jobs
        .iter()
        .map(|job| job.grants().files()[1].path().to_owned())
        .collect();
    assert_eq!(paths.len(), 3);
    assert!(paths.iter().all(|path| !path.exists()));
}

/// A relative root is resolved once, before the working directory can change.
#[tokio::test]
async fn a_relative_root_gives_absolute_paths() {
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.sh", "");
    let here = std::path::absolute(".").unwrap();
    let up: String = here.components().skip(1).map(|_| "../").collect();
    let relative = format!(
        "{up}{}",
        fixture.path("").strip_prefix("/").unwrap().display()
    );
    let builder = SkillRuntime::builder()
        .root(Root::new(relative, Scope::Custom))
        .native_sandbox(fixture.sandbox.clone());
    let _ = builder
        .build()
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    let job = fixture.sandbox.jobs().pop().unwrap();
    let skills_sandbox::Program::Script { path, .. } = job.program() else {
        panic!("a script")
    };
    assert_eq!(*path, fixture.path("a/scripts/run.sh"));
}

/// At most the configured number of programs run at the same time.
#[tokio::test]
async fn concurrent_runs_are_bounded() {
    #[derive(Default)]
    struct Slow {
        now: AtomicUsize,
        most: AtomicUsize,
    }
    impl Sandbox for Slow {
        fn name(&self) -> &'static str {
            "slow"
        }
        fn run(&self, _: Job) -> RunFuture<'_> {
            Box::pin(async {
                let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                self.now.fetch_sub(1, Ordering::SeqCst);
                let nothing = skills_runtime::CapturedOutput::default;
                Ok(RunOutput::new(
                    Termination::Exited { code: 0 },
                    nothing(),
                    nothing(),
                    Duration::ZERO,
                    EnforcementReport::new("slow"),
                ))
            })
        }
    }
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.sh", "");
    let slow = Arc::new(Slow::default());
    let runtime = fixture
        .builder()
        .native_sandbox(slow.clone())
        .max_concurrent_runs(3)
        .build();
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let runtime = runtime.clone();
        runs.spawn(async move {
            runtime
                .execute_skill("a", ExecutionOptions::default())
                .await
                .unwrap()
                .exit_status
                .is_success()
        });
    }
    assert!(
        runs.join_all()
            .await
            .into_iter()
            .all(|is_success| is_success)
    );
    assert_eq!(slow.most.load(Ordering::SeqCst), 3);
}

/// Concurrent runs prompt one after another, and a permission that was approved is not requested
/// again.
#[tokio::test]
async fn questions_are_serialized() {
    let fixture = Fixture::new();
    fixture
        .skill("a", "allowed-tools: Bash\n")
        .file("a/scripts/run.sh", "");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let ask = move |_: &skills_runtime::policy::Question| {
        counter.fetch_add(1, Ordering::SeqCst);
        Answer::AllowSession
    };
    let runtime = fixture.recording().approver(Arc::new(ask)).build();
    let run = || runtime.execute_skill("a", ExecutionOptions::default());
    let (first, second) = tokio::join!(run(), run());
    assert!(first.unwrap().exit_status.is_success() && second.unwrap().exit_status.is_success());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Dropping the future of a run kills its processes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("a", "").file("a/scripts/run.py", "import os, sys\nopen(os.environ['SKILL_WORKSPACE'] + '/pid', 'w').write(str(os.getpid()))\nsys.stdin.read()\nimport time\ntime.sleep(600)\n");
    let scratch = fixture.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let runtime = SkillRuntime::builder()
        .root(Root::new(fixture.path(""), Scope::Custom))
        .scratch_directory(&scratch)
        .build();
    let running = {
        let runtime = runtime.clone();
        let options = ExecutionOptions::default().workspace(Workspace::Private(Vec::new()));
        tokio::spawn(async move { runtime.execute_skill("a", options).await })
    };
    // The PID inside the sandbox differs, so the process is found by the unique path of its script.
    let has_begun = || {
        std::fs::read_dir(&scratch).unwrap().flatten().any(|entry| {
            std::fs::metadata(entry.path().join("pid")).is_ok_and(|file| file.len() > 0)
        })
    };
    while !has_begun() {
        tokio::task::yield_now().await;
    }
    let script = fixture.path("a/scripts/run.py").display().to_string();
    let is_alive = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
            .any(|line| String::from_utf8_lossy(&line).contains(&script))
    };
    assert!(is_alive());
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    while is_alive() {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        std::fs::read_dir(&scratch).unwrap().count(),
        0,
        "and no workspace"
    );
}

#[test]
fn a_runtime_is_shared_between_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    fn is_sent<T: Send>(_: &T) {}
    is_shared::<SkillRuntime>();
    let runtime = SkillRuntime::builder().build();
    is_sent(&runtime.execute_skill("a", ExecutionOptions::default()));
}

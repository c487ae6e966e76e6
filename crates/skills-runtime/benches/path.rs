//! Benchmarks of the overhead of a run without the program: the sandbox does nothing.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "benches make their own files and fail by panicking"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use skills_runtime::audit::AuditLog;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{
    Answer, Builder, CapturedOutput, EnforcementReport, ExecutionOptions, FileApprovalStore,
    Policy, Root, Sandbox, Scope, SkillRuntime, Termination,
};
use skills_sandbox::{Job, RunFuture, RunOutput};
use tempfile::TempDir;

fn main() {
    divan::main();
}

struct NoopSandbox;

impl Sandbox for NoopSandbox {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn run(&self, _: Job) -> RunFuture<'_> {
        let (stdout, stderr) = (CapturedOutput::default(), CapturedOutput::default());
        let outcome = RunOutput::new(
            Termination::Exited { code: 0 },
            stdout,
            stderr,
            Duration::ZERO,
            EnforcementReport::new("nothing"),
        );
        Box::pin(std::future::ready(Ok(outcome)))
    }
}

fn skill(frontmatter: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let skill = place.path().join("skills/one");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        format!(
            "---\nname: one\ndescription: About one.\n{frontmatter}---\n# One\n{}",
            "Text.\n".repeat(600)
        ),
    )
    .unwrap();
    std::fs::write(skill.join("scripts/run.sh"), "true\n").unwrap();
    place
}

fn run(bencher: Bencher<'_, '_>, place: &Path, with: impl FnOnce(Builder) -> Builder) {
    let builder = SkillRuntime::builder()
        .root(Root::new(place.join("skills"), Scope::User))
        .native_sandbox(Arc::new(NoopSandbox));
    let runtime = with(builder).build();
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let once = || {
        executor
            .block_on(runtime.execute_skill("one", ExecutionOptions::default()))
            .unwrap()
    };
    assert!(once().exit_status.is_success());
    bencher.bench_local(once);
}

/// Baseline: the minimum that any runtime reads before a run, the current text and the list of
/// scripts.
#[divan::bench]
fn floor(bencher: Bencher<'_, '_>) {
    let place = skill("");
    let directory = place.path().join("skills/one");
    bencher.bench_local(|| {
        let text = std::fs::read(directory.join("SKILL.md")).unwrap();
        let scripts = std::fs::read_dir(directory.join("scripts"))
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect::<Vec<_>>();
        (text.len(), scripts.len())
    });
}

#[divan::bench]
fn least(bencher: Bencher<'_, '_>) {
    let place = skill("");
    run(bencher, place.path(), |builder| builder);
}

#[divan::bench]
fn with_a_thousand_rules(bencher: Bencher<'_, '_>) {
    let place = skill("allowed-tools: Bash(git:*), Bash(program7:*), WebFetch(domain:a.example)\n");
    let rule = |text: String| Rule::parse(Effect::Allow, RuleSource::Invocation, &text).unwrap();
    let rules = (0..499).flat_map(|n| {
        [
            rule(format!("spawn:program{n}")),
            rule(format!("network:host{n}.example")),
        ]
    });
    let rules = Policy::default().with_rules(rules).with_rules([
        rule("spawn:git".to_owned()),
        rule("network:a.example".to_owned()),
    ]);
    run(bencher, place.path(), |builder| builder.policy(rules));
}

#[divan::bench]
fn with_an_approval_for_this_content(bencher: Bencher<'_, '_>) {
    let place = skill("allowed-tools: Bash\n");
    let approvals = Arc::new(FileApprovalStore::new(place.path().join("approvals.json")));
    run(bencher, place.path(), |builder| {
        builder
            .approval_store(approvals)
            .approver(Arc::new(Answer::AllowAlways))
    });
}

#[divan::bench]
fn with_a_record(bencher: Bencher<'_, '_>) {
    let place = skill("");
    let log = Arc::new(AuditLog::open(place.path().join("audit.jsonl")).unwrap());
    run(bencher, place.path(), |builder| builder.audit(log));
}

/// A run from a cached private copy: the cost of the cache lookup for a skill of twenty files.
#[divan::bench]
fn from_a_kept_copy_of_twenty_files(bencher: Bencher<'_, '_>) {
    let place = skill("allowed-tools: Bash\n");
    twenty_files(place.path());
    run(bencher, place.path(), |builder| {
        builder.approver(Arc::new(Answer::AllowSession))
    });
}

/// Creating that copy: the first run in a process.
#[divan::bench]
fn from_a_new_copy_of_twenty_files(bencher: Bencher<'_, '_>) {
    let place = skill("allowed-tools: Bash\n");
    twenty_files(place.path());
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let root = || Root::new(place.path().join("skills"), Scope::User);
    let builder = || {
        SkillRuntime::builder()
            .root(root())
            .native_sandbox(Arc::new(NoopSandbox))
            .approver(Arc::new(Answer::AllowSession))
    };
    bencher
        .with_inputs(|| builder().build())
        .bench_local_values(|runtime| {
            executor
                .block_on(runtime.execute_skill("one", ExecutionOptions::default()))
                .unwrap()
        });
}

fn twenty_files(place: &Path) {
    for number in 0..18 {
        std::fs::write(
            place.join(format!("skills/one/module{number}.py")),
            "x = 1\n".repeat(500),
        )
        .unwrap();
    }
}

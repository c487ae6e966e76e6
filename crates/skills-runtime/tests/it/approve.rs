//! Tests of questions, stored approvals and changes that invalidate them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use skills_runtime::policy::{AnswerFuture, ContentStatus, Effect, Question, Rule, RuleSource};
use skills_runtime::{
    Answer, Approver, Authorization, CallContext, EnforcementReport, ErrorKind, ExecutionArtifacts,
    ExecutionOptions, ExecutionStatus, FileApprovalStore, Policy, ProgramFinder, RunTarget,
    ScriptType, Termination,
};
use skills_sandbox::{
    Evidence, Job, Refusal, Refusals, RefusedOperation, RunFuture, RunOutput, Sandbox,
};

use crate::fixture::{Fixture, OptionsExt as _, UnresponsiveApprover};

/// Approves permanently and records its requests.
#[derive(Default)]
struct Host(Mutex<Vec<Question>>);

impl Approver for Host {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        self.0.lock().unwrap().push(question.clone());
        Box::pin(std::future::ready(Ok(Some(Answer::AllowAlways))))
    }
}

impl Host {
    fn asked(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn denied(artifacts: &ExecutionArtifacts) -> String {
    match &artifacts.exit_status {
        ExecutionStatus::PermissionDenied { denial } => denial.to_string(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn an_approval_is_valid_for_exactly_one_content() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash(git:*)\n")
        .file("deploy/scripts/run.sh", "git push");
    let (host, approvals) = (
        Arc::new(Host::default()),
        Arc::new(FileApprovalStore::new(fixture.path("state/approvals.json"))),
    );
    let build = || {
        fixture
            .recording()
            .approver(host.clone())
            .approval_store(approvals.clone())
            .build()
    };
    let runtime = build();
    for _ in 0..2 {
        assert!(
            runtime
                .execute_skill("deploy", ExecutionOptions::default())
                .await
                .unwrap()
                .exit_status
                .is_success()
        );
    }
    assert_eq!(host.asked(), 1);
    // Another process with the same store has the approval.
    assert!(
        build()
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(host.asked(), 1);
    fixture.file("deploy/scripts/run.sh", "git push --force");
    assert!(
        runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    let content = host.0.lock().unwrap()[1].content.clone();
    assert_eq!(
        content,
        ContentStatus::Changed {
            added: Vec::new(),
            removed: Vec::new()
        }
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(fixture.path("state/approvals.json"))
            .unwrap()
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        approvals.revoke(&fixture.path("deploy")).unwrap()
            && !approvals.revoke(&fixture.path("deploy")).unwrap()
    );
    assert!(approvals.all().unwrap().is_empty());
}

/// The program of a first line is asked for, and an approval of it is for the content of the script.
#[tokio::test]
async fn the_program_of_a_first_line_is_asked_for() {
    let fixture = Fixture::new();
    fixture
        // The tools do not include the program.
        .skill("stats", "allowed-tools: Read, Bash(git:*)\n")
        .file("stats/scripts/fit.R", "#!/usr/bin/env -S cat -n\n1\n");
    let run = async |host: Option<Arc<Host>>| {
        let approvals = FileApprovalStore::new(fixture.path("state/approvals.json"));
        let builder = fixture.recording().approval_store(Arc::new(approvals));
        let builder = host.into_iter().fold(builder, |builder, host| {
            builder.approver(host as Arc<dyn Approver>)
        });
        let options = ExecutionOptions {
            args: vec!["x y".to_owned()],
            ..ExecutionOptions::default()
        };
        builder
            .build()
            .execute_skill("stats", options)
            .await
            .unwrap()
    };
    assert_snapshot!(denied(&run(None).await), @"permission denied: spawn `cat` (requested by the first line of its script): no rule allows it and no approver is available");
    assert!(fixture.sandbox.jobs().is_empty());
    let host = Arc::new(Host::default());
    assert!(run(Some(host.clone())).await.exit_status.is_success());
    let command = host.0.lock().unwrap()[0].command.clone();
    let script = fixture.path("stats/scripts/fit.R").display().to_string();
    assert_eq!(command, ["cat", "-n", script.as_str(), "x y"]);
    assert!(run(Some(host.clone())).await.exit_status.is_success());
    assert_eq!(host.asked(), 1);
    fixture.file("stats/scripts/fit.R", "#!/usr/bin/env -S cat -n\n2\n");
    let _ = run(Some(host.clone())).await;
    assert_eq!(host.asked(), 2);
    fixture.file("stats/scripts/fit.R", "#!/usr/bin/env -S git x\n1\n");
    let _ = run(Some(host.clone())).await;
    assert_eq!(host.asked(), 3);
}

#[tokio::test]
async fn an_unreadable_store_approves_nothing_and_is_not_overwritten() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "")
        .file("approvals.json", "{\"version\": 99, \"approvals\": []}");
    let approvals = Arc::new(FileApprovalStore::new(fixture.path("approvals.json")));
    let host = Arc::new(Host::default());
    let runtime = fixture
        .recording()
        .approver(host.clone())
        .approval_store(approvals)
        .build();
    let artifacts = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap();
    let reason = artifacts.decisions[0].reason().to_string();
    assert!(
        reason.contains("could not be stored") && reason.contains("newer than this program"),
        "{reason}"
    );
    assert!(host.0.lock().unwrap()[0].notes[0].starts_with("cannot read stored approvals"));
    assert!(
        std::fs::read_to_string(fixture.path("approvals.json"))
            .unwrap()
            .contains("99")
    );
}

/// The skill could be replaced between a request and its response.
#[tokio::test]
async fn a_skill_that_changes_during_the_prompt_does_not_run() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good");
    let script = fixture.path("deploy/scripts/run.sh");
    let swap = move |_: &Question| {
        std::fs::write(&script, "echo evil, and longer").unwrap();
        Answer::AllowOnce
    };
    let runtime = fixture.recording().approver(Arc::new(swap)).build();
    let error = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentChanged);
    assert!(fixture.sandbox.jobs().is_empty());
}

/// Exactly the request that was shown is approved.
#[test]
fn a_request_that_changed_since_it_was_shown_is_not_approved() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash(git:*)\n")
        .file("deploy/scripts/run.sh", "git push");
    let approvals = Arc::new(FileApprovalStore::new(fixture.path("state/a.json")));
    let runtime = fixture
        .recording()
        .approval_store(approvals.clone())
        .build();
    let shown = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default())
        .unwrap()
        .question
        .unwrap();
    fixture.skill("deploy", "allowed-tools: Bash\n");
    let error = runtime
        .executor()
        .approve("deploy", &ExecutionOptions::default(), &shown)
        .unwrap_err();
    assert_eq!(
        (error.kind(), approvals.all().unwrap().len()),
        (ErrorKind::ContentChanged, 0)
    );
}

/// Without an audit log, content with privileges from a rule is still verified.
#[tokio::test(start_paused = true)]
async fn a_privileged_skill_is_verified_before_it_runs() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good");
    let script = fixture.path("deploy/scripts/run.sh");
    let swap = Arc::new(Swap(AtomicUsize::new(0), move || {
        drop(std::fs::write(&script, "echo evil, and longer"))
    }));
    let rules = Policy::default().allow(RuleSource::Invocation, skills_runtime::Capability::Spawn);
    let runtime = fixture
        .recording()
        .native_sandbox(swap.clone())
        .policy(rules)
        .max_concurrent_runs(1)
        .build();
    let first = started(&runtime, &swap.0).await;
    let phases = Arc::<Mutex<Vec<Option<String>>>>::default();
    let reported = Arc::clone(&phases);
    let report = move |phase: Option<&str>| reported.lock().unwrap().push(phase.map(str::to_owned));
    let options = ExecutionOptions {
        context: CallContext::default().progress(Arc::new(report)),
        ..ExecutionOptions::default()
    };
    let second = runtime.execute_skill("deploy", options).await;
    let first = first.await.unwrap();
    assert!(first.unwrap().exit_status.is_success());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::ContentChanged);
    let waiting = Some("waiting for a free slot".to_owned());
    assert_eq!(*phases.lock().unwrap(), [waiting, None]);
}

/// Starts a run of `deploy`, and returns when its program runs.
async fn started(
    runtime: &skills_runtime::SkillRuntime,
    runs: &AtomicUsize,
) -> tokio::task::JoinHandle<Result<skills_runtime::ExecutionArtifacts, skills_runtime::RuntimeError>>
{
    let runtime = runtime.clone();
    let first = tokio::spawn(async move {
        runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
    });
    while runs.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    first
}

/// Waits, then runs a callback; counts its runs.
struct Swap<F>(AtomicUsize, F);

impl<F: Fn() + Send + Sync> Sandbox for Swap<F> {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn run(&self, _: Job) -> RunFuture<'_> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::SeqCst);
            // Test time is paused: it advances when all other runs are authorized and wait for this
            // one.
            tokio::time::sleep(Duration::from_secs(1)).await;
            (self.1)();
            let nothing = skills_runtime::CapturedOutput::default;
            Ok(RunOutput::new(
                Termination::Exited { code: 0 },
                nothing(),
                nothing(),
                Duration::ZERO,
                EnforcementReport::new("swap"),
            ))
        })
    }
}

/// A run that waits for a permit verifies the content after it is admitted.
#[tokio::test(start_paused = true)]
async fn a_skill_that_changes_while_it_waits_for_a_permit_does_not_run() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good")
        .file("work/a", "");
    fixture
        .skill("reader", "allowed-tools: Read(src/**)\n")
        .file("reader/scripts/run.sh", "")
        .file("secret/key", "");
    let (script, link, secret) = (
        fixture.path("deploy/scripts/run.sh"),
        fixture.path("work/src"),
        fixture.path("secret"),
    );
    // The first program replaces the content that the others were authorized for.
    let swap = Swap(AtomicUsize::new(0), move || {
        let _ = std::fs::write(&script, "echo evil, and longer");
        let _ = std::os::unix::fs::symlink(&secret, &link);
    });
    let swap = Arc::new(swap);
    let runtime = fixture
        .recording()
        .native_sandbox(swap.clone())
        .approver(Arc::new(Answer::AllowOnce))
        .max_concurrent_runs(1)
        .build();
    let workspace = skills_runtime::Workspace::Directory(fixture.path("work"));
    let first = started(&runtime, &swap.0).await;
    let second = runtime.execute_skill("deploy", ExecutionOptions::default());
    let third = runtime.execute_skill("reader", ExecutionOptions::default().workspace(workspace));
    let (second, third) = tokio::join!(second, third);
    let first = first.await.unwrap();
    assert!(first.unwrap().exit_status.is_success());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::ContentChanged);
    assert_eq!(third.unwrap_err().kind(), ErrorKind::Symlink);
    assert_eq!(swap.0.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_times_out() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "");
    let runtime = fixture
        .recording()
        .approver(Arc::new(UnresponsiveApprover))
        .approval_timeout(Duration::from_secs(7))
        .build();
    let artifacts = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap();
    assert_snapshot!(denied(&artifacts), @"permission denied: spawn any program (requested by `Bash`): the approver did not respond");
}

#[tokio::test]
async fn the_question_describes_the_run() {
    let fixture = Fixture::new();
    let yaml = "allowed-tools: Read, Write, Bash(git:*), WebFetch(domain:api.example.com)\nrequires: {env: [API_KEY]}\n";
    fixture
        .skill("deploy", yaml)
        .file("deploy/scripts/run.sh", "")
        .file("work/a", "");
    let host = Arc::new(Host::default());
    let secrets = skills_runtime::Secrets::default()
        .with("API_KEY", "hunter2hunter2")
        .with("OTHER", "not asked for");
    let runtime = fixture
        .recording()
        .approver(host.clone())
        .secrets(secrets)
        .build();
    let mut options = ExecutionOptions::default()
        .workspace(skills_runtime::Workspace::Directory(fixture.path("work")));
    options.args = vec!["--now".to_owned()];
    options.memory_bytes = Some(256 << 20);
    let _ = runtime.execute_skill("deploy", options).await.unwrap();
    let question = serde_json::to_string_pretty(&host.0.lock().unwrap()[0]).unwrap();
    assert!(!question.contains("hunter2"));
    let root = fixture.path("").display().to_string();
    assert_snapshot!(question.replace(root.trim_end_matches('/'), "ROOT"));
}

#[tokio::test]
async fn a_preview_asks_no_approver_and_runs_nothing() {
    let fixture = Fixture::new();
    fixture
        .skill(
            "deploy",
            "allowed-tools: Read, Bash(git:*), Task\nrequires: {bins: [no-such-program]}\n",
        )
        .file("deploy/scripts/run.sh", "");
    let host = Arc::new(Host::default());
    let runtime = fixture
        .recording()
        .approver(host.clone())
        .approval_store(Arc::new(FileApprovalStore::new(
            fixture.path("state/a.json"),
        )))
        .build();
    let preview = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default())
        .unwrap();
    assert!(
        matches!(preview.authorization, Authorization::Denied(_)) && preview.question.is_some()
    );
    assert_eq!(preview.missing_requirements, ["program `no-such-program`"]);
    assert_eq!(
        preview
            .unused_tools
            .iter()
            .map(|(tool, _)| tool.as_str())
            .collect::<Vec<_>>(),
        ["Read", "Task"]
    );
    let question = preview.question.unwrap();
    assert!(matches!(
        runtime
            .executor()
            .approve("deploy", &ExecutionOptions::default(), &question),
        Ok(Authorization::Granted(_))
    ));
    assert!(matches!(
        runtime
            .executor()
            .preview("deploy", &ExecutionOptions::default())
            .unwrap()
            .authorization,
        Authorization::Granted(_)
    ));
    assert_eq!((host.asked(), fixture.sandbox.jobs().len()), (0, 0));
}

#[tokio::test]
async fn all_declarations_of_requirements_are_checked_alike() {
    let fixture = Fixture::new();
    let yaml = "requires: {bins: [no-such-a], env: [TOP_KEY]}\nmetadata:\n  openclaw:\n    primaryEnv: PRIMARY_KEY\n    envVars: [{name: MORE_KEY}, {name: OPTIONAL_KEY, required: false}]\n    requires: {bins: [no-such-b]}\n";
    fixture
        .skill("deploy", yaml)
        .file("deploy/scripts/run.sh", "")
        .file(
            "deploy/agents/openai.yaml",
            "dependencies:\n  tools:\n    - {type: env_var, value: TOOL_KEY}\n    - {type: cli, value: no-such-c}\n",
        );
    let runtime = fixture.recording().build();
    let listed = runtime
        .library()
        .missing_requirements(runtime.library().catalog().entries());
    assert_eq!(
        listed.to_lines(),
        [
            "program `no-such-c`",
            "program `no-such-a`",
            "program `no-such-b`",
            "variable `TOOL_KEY`",
            "variable `TOP_KEY`",
            "variable `MORE_KEY`",
            "variable `PRIMARY_KEY`",
        ]
    );
    let preview = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default());
    assert_eq!(preview.unwrap().missing_requirements, listed.to_lines());
    let error = runtime.execute_skill("deploy", ExecutionOptions::default());
    assert_eq!(
        error.await.unwrap_err().suggestions(),
        listed.program_lines(),
        "missing variables do not prevent a run"
    );
}

#[cfg(unix)]
#[test]
fn required_programs_are_searched_where_runs_find_them() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "requires: {bins: [sh]}\n");
    // An absolute path that does not exist.
    let empty = fixture.path("empty");
    let missing = |finder| {
        let runtime = fixture.recording().program_finder(finder).build();
        let library = runtime.library();
        library
            .missing_requirements(library.catalog().entries())
            .to_lines()
    };
    let finder = ProgramFinder::with_search_path([&empty]);
    assert_eq!(missing(finder.clone()), ["program `sh`"]);
    let overridden = finder
        .clone()
        .override_interpreter(ScriptType::Shell, "/bin/sh");
    assert_eq!(missing(overridden.clone()), [""; 0]);
    // Interpreters of one skill are programs of this skill only.
    fixture.skill("other", "requires: {bins: [sh]}\n");
    let runtime = fixture
        .recording()
        .program_finder(finder)
        .skill_program_finder("deploy", overridden)
        .build();
    let catalog = runtime.library().catalog();
    let missing = catalog.entries().iter().filter_map(|entry| {
        let missing = runtime.library().missing_requirements([entry]);
        (!missing.to_lines().is_empty()).then(|| entry.name().to_string())
    });
    assert_eq!(missing.collect::<Vec<_>>(), ["other"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_run_has_the_interpreters_of_its_skill_as_programs() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {bins: [sh]}\n")
        .file("deploy/scripts/run.sh", "");
    let empty = ProgramFinder::with_search_path([fixture.path("empty")]);
    let of_skill = empty
        .clone()
        .override_interpreter(ScriptType::Shell, "/bin/sh");
    let runtime = fixture
        .recording()
        .program_finder(empty)
        .skill_program_finder("deploy", of_skill)
        .build();
    let preview = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default());
    assert_eq!(preview.unwrap().missing_requirements, [""; 0]);
}

#[tokio::test]
async fn missing_requirements_are_reported_before_approval() {
    let fixture = Fixture::new();
    let yaml = "allowed-tools: Bash\nrequires: {bins: [no-such-program, sh], env: [API_KEY, HOME, USER], platforms: [windows]}\n";
    fixture
        .skill("deploy", yaml)
        .file("deploy/scripts/run.sh", "");
    let host = Arc::new(Host::default());
    let runtime = fixture.recording().approver(host.clone()).build();
    let error = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), host.asked()),
        (ErrorKind::MissingRequirements, 0)
    );
    assert_snapshot!(error, @r#"skill `deploy` has missing requirements: operating system win32; program `no-such-program`"#);
    let noted = fixture
        .recording()
        .approver(host.clone())
        .on_missing_requirements(skills_runtime::OnMissing::Warn)
        .build();
    assert_eq!(
        noted
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .notes
            .len(),
        3
    );
}

/// A rule that was written for an earlier version gives no privileges to the current one.
#[tokio::test]
async fn a_rule_gives_no_privileges_to_new_content() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash(git:*)\n")
        .file("deploy/scripts/run.sh", "");
    let rules = || {
        Policy::default().rule(Rule::parse(Effect::Allow, RuleSource::User, "spawn:git").unwrap())
    };
    let runtime = fixture.recording().policy(rules()).build();
    let artifacts = runtime
        .execute_skill("deploy", ExecutionOptions::default())
        .await
        .unwrap();
    assert_snapshot!(denied(&artifacts), @"permission denied: this content of the skill has not been approved: no approver is available");
    let asked = fixture
        .recording()
        .policy(rules())
        .approver(Arc::new(Answer::AllowSession))
        .build();
    assert!(
        asked
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    // A low-risk skill runs without approval, as OpenSkills specifies.
    fixture
        .skill("review", "allowed-tools: Read, Grep, Glob, LS\n")
        .file("review/scripts/run.sh", "");
    let all = fixture.recording().policy(rules()).build();
    assert!(
        all.execute_skill("review", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
}

/// Approvals of one session do not apply to another.
#[tokio::test]
async fn a_session_approval_applies_to_one_session() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash(git:*)\n")
        .file("deploy/scripts/run.sh", "");
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let approver = move |_: &skills_runtime::policy::Question| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Answer::AllowSession
    };
    let runtime = fixture.recording().approver(Arc::new(approver)).build();
    let check = async |session: Option<&str>, is_command: bool, questions: usize| {
        let options = ExecutionOptions {
            context: session.into_iter().fold(
                skills_runtime::CallContext::default(),
                skills_runtime::CallContext::session,
            ),
            ..ExecutionOptions::default()
        };
        let command = skills_runtime::HostCommand::Program("git".to_owned());
        let ran = match is_command {
            true => {
                runtime
                    .executor()
                    .execute_command(&fixture.path(""), command, options)
                    .await
            }
            false => runtime.execute_skill("deploy", options).await,
        };
        assert!(ran.unwrap().exit_status.is_success());
        assert_eq!(
            asked.load(std::sync::atomic::Ordering::Relaxed),
            questions,
            "{session:?}"
        );
    };
    for (session, questions) in [
        (Some("one"), 1),
        (Some("one"), 1),
        (Some("two"), 2),
        (None, 3),
        (None, 3),
    ] {
        check(session, false, questions).await;
    }
    for (session, questions) in [(Some("one"), 4), (Some("one"), 4), (Some("two"), 5)] {
        check(session, true, questions).await;
    }
    runtime.executor().clear_session_approvals("one");
    for (session, is_command, questions) in [
        (Some("two"), false, 5),
        (None, false, 5),
        (Some("one"), false, 6),
        (Some("one"), true, 7),
    ] {
        check(session, is_command, questions).await;
    }
}

#[tokio::test]
async fn missing_variables_are_notes_unless_policy_refuses() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {env: [API_KEY]}\n")
        .file("deploy/scripts/run.sh", "");
    let runtime = fixture.recording().build();
    let options = ExecutionOptions::default;
    let artifacts = runtime.execute_skill("deploy", options()).await.unwrap();
    assert_eq!(artifacts.notes, ["missing requirement: variable `API_KEY`"]);
    let strict = fixture
        .recording()
        .policy(Policy::default().refuse_missing_requirements())
        .on_missing_requirements(skills_runtime::OnMissing::Warn)
        .build();
    let error = strict.execute_skill("deploy", options()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingRequirements);
}

/// A required program is a permission that a rule or an approver can give, and that a run can do
/// without.
#[tokio::test]
async fn required_programs_are_asked_for_and_not_needed() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {bins: [sort]}\n")
        .file("deploy/scripts/run.sh", "");
    let spawned = |artifacts: &skills_runtime::ExecutionArtifacts| {
        let decisions = artifacts.decisions.iter();
        decisions
            .map(ToString::to_string)
            .filter(|text| text.contains("spawn"))
            .collect::<Vec<_>>()
    };
    let run = async |builder: skills_runtime::Builder| {
        let runtime = builder.build();
        let options = ExecutionOptions::default();
        runtime.execute_skill("deploy", options).await.unwrap()
    };
    let without = run(fixture.recording()).await;
    assert!(without.exit_status.is_success());
    assert_eq!(spawned(&without), [""; 0]);
    let rule = skills_runtime::policy::Rule::parse(
        skills_runtime::policy::Effect::Deny,
        skills_runtime::policy::RuleSource::Admin,
        "spawn:sort",
    );
    let denied = run(fixture
        .recording()
        .policy(Policy::default().rule(rule.unwrap())))
    .await;
    assert!(denied.exit_status.is_success());
    assert_eq!(spawned(&denied), [""; 0]);
    let host = Arc::new(Host::default());
    let asked = run(fixture.recording().approver(host.clone())).await;
    assert_eq!(host.asked(), 1);
    assert_snapshot!(spawned(&asked).join("\n"), @"granted, the approver responded `always`, which could not be stored: no approval store is configured: spawn `sort` (requested by its requirements)");
    let refused = run(fixture.recording().approver(Arc::new(Answer::Deny))).await;
    assert!(!refused.exit_status.is_success(), "a person said no");
    let unanswered = run(fixture
        .recording()
        .approver(Arc::new(UnresponsiveApprover))
        .approval_timeout(Duration::from_millis(50)))
    .await;
    assert!(!unanswered.exit_status.is_success(), "a person was asked");
    let rule = Rule::parse(Effect::Allow, RuleSource::User, "spawn:sort").unwrap();
    let policy = Policy::default().rule(rule);
    let refused = run(fixture
        .recording()
        .policy(policy.clone())
        .approver(Arc::new(Answer::Deny)))
    .await;
    assert!(
        !refused.exit_status.is_success(),
        "a person refused the content: {:?}",
        refused.decisions
    );
    let allowed = run(fixture.recording().policy(policy)).await;
    assert!(
        allowed.exit_status.is_success(),
        "a rule for a program does not prevent the run of new content: {:?}",
        allowed.decisions
    );
}

/// A process that was refused to a run without its required programs is explained by these, unless a
/// shell script tried it: that starts far more programs than its skill lists.
#[tokio::test]
async fn a_refused_process_names_the_required_programs() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {bins: [sort]}\n")
        .file("deploy/scripts/run.py", "")
        .file("deploy/scripts/run.sh", "");
    let mut refusals = Refusals::default();
    refusals.add(Refusal::new(RefusedOperation::StartProcess, Evidence::Kernel).count(2));
    *fixture.sandbox.refusals.lock().unwrap() = refusals;
    let runtime = fixture.recording().build();
    for (script, rule) in [("run.py", "spawn:sort"), ("run.sh", "spawn")] {
        let options = ExecutionOptions {
            target: RunTarget::Script(script.to_owned()),
            ..ExecutionOptions::default()
        };
        let artifacts = runtime.execute_skill("deploy", options).await.unwrap();
        let [(refused, Evidence::Kernel)] = artifacts.explanation.refused().collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", artifacts.explanation)
        };
        assert_eq!(refused.rule(), Some(rule));
        assert_eq!(refused.count, 2);
    }
}

#[tokio::test]
async fn previews_show_required_programs() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "requires: {bins: [sort]}\n")
        .file("deploy/scripts/run.sh", "");
    let programs = |builder: skills_runtime::Builder| {
        let runtime = builder.build();
        let options = ExecutionOptions::default();
        let preview = runtime.executor().preview("deploy", &options).unwrap();
        preview
            .question
            .map(|question| question.permissions().count())
    };
    assert_eq!(programs(fixture.recording()), Some(1));
    let rule = Rule::parse(Effect::Deny, RuleSource::Admin, "spawn:sort").unwrap();
    assert_eq!(
        programs(fixture.recording().policy(Policy::default().rule(rule))),
        None,
        "a run goes on without a denied program"
    );
}

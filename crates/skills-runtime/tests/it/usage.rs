//! Tests of the usage ledger: what each part of a runtime records.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use skills_runtime::ledger::{Activity, Digest, Ledger, TurnOutcome};
use skills_runtime::prompt::{ActiveSkills, CommandLine, MentionOptions, UserInput};
use skills_runtime::{
    Budget, Builder, CallContext, CancellationToken, ExecutionOptions, HostCommand,
    InjectionFormat, RunTarget, SkillRuntime, Termination,
};

use crate::fixture::{Fixture, OptionsExt as _, UnresponsiveApprover};

fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1)
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .skill("tax", "")
        .file("pdf/scripts/run.sh", "");
    fixture
}

fn with_ledger(fixture: &Fixture, builder: Builder) -> SkillRuntime {
    let ledger = Ledger::new(fixture.path(".ledger"));
    builder.usage_ledger(ledger).clock(clock).build()
}

/// Returns what was recorded, one line for each event: skill, event and class.
fn recorded(runtime: &SkillRuntime) -> Vec<String> {
    runtime.library().usage().flush();
    let ledger = runtime.library().usage().ledger().unwrap();
    let lines = ["offers.jsonl", "uses.jsonl"].map(|name| lines(&ledger.directory().join(name)));
    lines
        .into_iter()
        .flatten()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let line = [text("skill"), text("event"), text("class")].join(" ");
            line.trim_end().to_owned()
        })
        .collect()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn nothing_is_recorded_without_a_ledger() {
    let fixture = fixture();
    let runtime = fixture.builder().build();
    assert!(!runtime.library().usage().is_enabled());
    let _ = runtime.prompt().section(Budget::for_context_window(None));
    runtime.library().usage().flush();
    assert!(!fixture.path(".ledger").exists());
}

#[tokio::test]
async fn runs_are_recorded_with_their_outcome_and_the_content_that_ran() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.recording());
    let terminations = [
        Termination::Exited { code: 0 },
        Termination::Exited { code: 2 },
        Termination::TimedOut { limit_ms: 1 },
        Termination::MemoryLimit { limit_bytes: 1 },
        Termination::Cancelled,
        Termination::Unknown,
    ];
    for termination in terminations {
        *fixture.sandbox.termination.lock().unwrap() = Some(termination);
        let context = CallContext::default().session("the session");
        let options = ExecutionOptions {
            context,
            ..ExecutionOptions::default()
        };
        let _ = runtime.execute_skill("pdf", options).await.unwrap();
    }
    let outcomes: Vec<String> = recorded(&runtime);
    assert_eq!(
        outcomes,
        [
            "pdf script_run succeeded",
            "pdf script_run failed",
            "pdf script_run timed_out",
            "pdf script_run limit_exceeded",
            "pdf script_run cancelled",
            "pdf script_run not_observed",
        ]
    );
    let mut cache = skills_runtime::discovery::DigestCache::default();
    let catalog = runtime.library().catalog();
    let files = catalog.entries()[0].open();
    let digest = files.unwrap().digest(&mut cache).unwrap();
    let expected = Digest::from_content_digest(digest.as_bytes()).to_string();
    for line in lines(&fixture.path(".ledger/uses.jsonl")) {
        assert_eq!(line["digest"], expected);
        assert_eq!(line["t"], 1_000);
        assert!(line["scope"].as_str().unwrap().starts_with("repo:"));
        assert!(!line.to_string().contains("the session"));
        assert_eq!(line["session"].as_str().unwrap().len(), 12);
    }
}

#[tokio::test]
async fn runs_that_did_not_start_are_told_from_failures() {
    let fixture = fixture();
    fixture
        .skill("needy", "requires: {bins: [no-such-program]}\n")
        .file("needy/scripts/run.sh", "");
    let runtime = with_ledger(&fixture, fixture.recording());
    let run = async |name: &str, options: ExecutionOptions| {
        let _ = runtime.execute_skill(name, options).await;
    };
    run("needy", ExecutionOptions::default()).await;
    let cancelled = CancellationToken::default();
    cancelled.cancel();
    run("pdf", ExecutionOptions::default().cancellation(cancelled)).await;
    // A future that is dropped while it waits for its approver.
    let asks = ExecutionOptions {
        hosts: vec!["example.com".parse().unwrap()],
        ..ExecutionOptions::default()
    };
    let denied = asks.clone();
    run("pdf", denied).await;
    let asks = asks.approver(Arc::new(UnresponsiveApprover));
    let dropped = tokio::time::timeout(Duration::from_millis(1), run("pdf", asks)).await;
    assert!(dropped.is_err());
    // Neither a program of the skill nor a skill.
    let command = RunTarget::Command(HostCommand::Program("ls".to_owned()));
    let options = ExecutionOptions {
        target: command,
        ..ExecutionOptions::default()
    };
    run("pdf", options).await;
    run("unknown", ExecutionOptions::default()).await;
    assert_eq!(
        recorded(&runtime),
        [
            "needy script_run requirement_missing",
            "pdf script_run cancelled",
            "pdf script_run denied",
            "pdf script_run cancelled",
        ]
    );
}

#[test]
fn lists_are_recorded_once_for_each_session() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.builder());
    let budget = Budget::for_context_window(None);
    for _ in 0..3 {
        let _ = runtime.prompt().section(budget);
        let _ = runtime.prompt().in_session("one").section(budget);
    }
    let offered = ["pdf offered", "tax offered"];
    assert_eq!(recorded(&runtime), [offered, offered].concat());
}

/// A name alone does not say what a skill is for, and an explanation is shown to no model.
#[test]
fn only_skills_with_a_description_are_offered() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.builder());
    let _ = runtime.prompt().section(Budget::Characters(0));
    let renderer = skills_runtime::prompt::SkillListRenderer::new(Budget::for_context_window(None));
    let _ = runtime.prompt().explain_section(&renderer);
    assert_eq!(recorded(&runtime), Vec::<String>::new());
}

#[test]
fn mentions_and_activations_are_recorded() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.builder());
    let prompt = runtime.prompt();
    let mut active = ActiveSkills::default();
    let index = prompt.mention_index();
    for _ in 0..2 {
        let found = index.find(&[UserInput::Text("use $pdf")], &MentionOptions::default());
        let format = InjectionFormat::Fenced;
        let _ = prompt.inject_selected(&found.selected, format, None, &mut active);
    }
    prompt.activate("pdf", None, &mut active).unwrap();
    prompt.activate("tax", None, &mut active).unwrap();
    runtime.start_session("tax", None).unwrap();
    // Text for another purpose.
    prompt.inject("pdf", InjectionFormat::Fenced, None).unwrap();
    assert_eq!(
        recorded(&runtime),
        [
            "pdf mentioned",
            "pdf activated user",
            "pdf mentioned",
            "tax activated model",
            "tax activated model",
        ]
    );
}

#[test]
fn implicit_uses_and_outcomes_are_recorded_on_request() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.builder());
    let usage = runtime.library().usage();
    let index = runtime.prompt().implicit_index();
    let command = CommandLine::Shell("cat pdf/SKILL.md && bash pdf/scripts/run.sh");
    for one in index.detect(command, &fixture.path("")) {
        usage.record_implicit(one.entry, one.kind, Some("one"));
    }
    let outcome = Activity::TurnEnded(TurnOutcome::Retried);
    usage.record(runtime.library().catalog().entries(), outcome, None);
    assert_eq!(
        recorded(&runtime),
        [
            "pdf activated implicit",
            "pdf script_run not_observed",
            "pdf outcome retried",
            "tax outcome retried",
        ]
    );
}

/// The digest of a large skill takes longer than it is worth in a list.
#[test]
fn offers_of_large_skills_have_no_digest() {
    let fixture = fixture();
    fixture.file("tax/assets/large.bin", vec![0; 1 << 20]);
    let runtime = with_ledger(&fixture, fixture.builder());
    let _ = runtime.prompt().section(Budget::for_context_window(None));
    runtime.start_session("tax", None).unwrap();
    recorded(&runtime);
    let has_digest = |name: &str| -> Vec<bool> {
        let lines = lines(&fixture.path(".ledger").join(name));
        lines.iter().map(|line| !line["digest"].is_null()).collect()
    };
    assert_eq!(has_digest("offers.jsonl"), [true, false]);
    assert_eq!(has_digest("uses.jsonl"), [true]);
}

/// A ledger that cannot be written fails nothing that it records.
#[tokio::test]
async fn a_broken_ledger_fails_nothing() {
    let fixture = fixture();
    fixture.file(".ledger", "not a directory");
    let runtime = fixture
        .recording()
        .usage_ledger(Ledger::new(fixture.path(".ledger")))
        .build();
    let artifacts = runtime
        .execute_skill("pdf", ExecutionOptions::default())
        .await
        .unwrap();
    assert!(artifacts.exit_status.is_success());
    runtime.library().usage().flush();
}

#[test]
fn dropping_a_runtime_writes_what_waits() {
    let fixture = fixture();
    let runtime = with_ledger(&fixture, fixture.builder());
    runtime.start_session("pdf", None).unwrap();
    drop(runtime);
    assert_eq!(lines(&fixture.path(".ledger/uses.jsonl")).len(), 1);
}

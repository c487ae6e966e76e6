//! Tests of variables: declaration, permission and redaction.

use std::sync::Arc;

use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Answer, ExecutionOptions, Policy, Secrets, Termination};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

const YAML: &str = "requires: {env: [API_KEY]}\nmetadata:\n  openclaw:\n    primaryEnv: OTHER_KEY\n    envVars: [{name: THIRD, required: false}]\n";

fn secrets() -> Secrets {
    Secrets::default()
        .with("API_KEY", "hunter2hunter2")
        .with("OTHER_KEY", "swordfish-42")
        .with("UNDECLARED", "never to be seen")
        .with("THIRD", "3")
}

fn given(fixture: &Fixture) -> Vec<String> {
    let job = fixture.sandbox.jobs().pop().unwrap();
    job.envs()
        .filter(|(name, _)| !name.contains("SKILL_") && *name != "TIMEOUT_MS")
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

#[tokio::test]
async fn only_declared_and_allowed_variables_are_set() {
    let fixture = Fixture::new();
    fixture.skill("a", YAML).file("a/scripts/run.sh", "");
    let denied = fixture.recording().secrets(secrets()).build();
    assert!(
        !denied
            .execute_skill("a", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    let asked = fixture
        .recording()
        .secrets(secrets())
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let artifacts = asked
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    assert_eq!(
        given(&fixture),
        [
            "API_KEY=hunter2hunter2",
            "OTHER_KEY=swordfish-42",
            "THIRD=3"
        ]
    );
    assert_eq!(
        artifacts.notes,
        ["the value of `THIRD` is too short to be redacted in the output"]
    );
    let ruled = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, "env:*").unwrap());
    let ruled = fixture.recording().secrets(secrets()).policy(ruled).build();
    assert!(
        ruled
            .execute_skill("a", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(given(&fixture).len(), 3);
}

#[tokio::test]
async fn undeclared_variables_of_the_caller_need_permission() {
    let fixture = Fixture::new();
    fixture
        .skill("a", "requires: {env: [API_KEY]}\n")
        .file("a/scripts/run.sh", "");
    let runtime = fixture.recording().secrets(secrets()).build();
    let run = |options| runtime.execute_skill("a", options);
    assert!(
        run(ExecutionOptions::default().env("API_KEY", "given now"))
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(given(&fixture), ["API_KEY=given now"]);
    let jobs = fixture.sandbox.jobs().len();
    for name in [
        "UNASKED",
        "LD_PRELOAD",
        "PATH",
        "PYTHONPATH",
        "SKILL_INPUT",
        "HTTPS_PROXY",
    ] {
        let options = ExecutionOptions::default()
            .env("API_KEY", "given now")
            .env(name, "x");
        assert!(
            !run(options).await.unwrap().exit_status.is_success(),
            "{name}"
        );
    }
    assert_eq!(fixture.sandbox.jobs().len(), jobs);
}

/// The author of a skill can declare any variable.
#[tokio::test]
async fn a_declared_variable_that_changes_what_runs_is_never_set() {
    let fixture = Fixture::new();
    fixture
        .skill("a", "requires: {env: [LD_PRELOAD, PATH]}\n")
        .file("a/scripts/run.sh", "");
    let secrets = Secrets::default().with("LD_PRELOAD", "/tmp/evil.so");
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, "env:*").unwrap());
    let runtime = fixture
        .recording()
        .secrets(secrets)
        .policy(rules)
        .approver(Arc::new(Answer::AllowAlways))
        .build();
    assert!(
        !runtime
            .execute_skill("a", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert!(fixture.sandbox.jobs().is_empty());
}

#[tokio::test]
async fn what_is_read_from_the_output_has_no_part_of_a_value() {
    let fixture = Fixture::new();
    let yaml = "requires: {env: [API_KEY, OTHER_KEY]}\n";
    fixture.skill("a", yaml).file("a/scripts/run.py", "");
    let text = "cat: /data/abcd1234:efgh5678: No such file or directory\nModuleNotFoundError: No module named 'hunter2hunter2'\n";
    *fixture.sandbox.stderr.lock().unwrap() = text.into();
    *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Exited { code: 1 });
    let secrets = Secrets::default()
        .with("API_KEY", "hunter2hunter2")
        .with("OTHER_KEY", "abcd1234:efgh5678");
    let runtime = fixture
        .recording()
        .secrets(secrets)
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let artifacts = runtime
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    let read = format!("{:?}", artifacts.explanation);
    assert!(!read.contains("hunter2"), "{read}");
    assert!(!read.contains("abcd1234"), "{read}");
    assert!(artifacts.explanation.refused().count() > 0, "{read}");
}

#[tokio::test]
async fn values_are_redacted_in_the_output() {
    let fixture = Fixture::new();
    fixture.skill("a", YAML).file("a/scripts/run.sh", "");
    *fixture.sandbox.stdout.lock().unwrap() =
        br#"{"key": "hunter2hunter2", "other": ["xswordfish-42x"]}"#.to_vec();
    *fixture.sandbox.stderr.lock().unwrap() = b"hunter2hunter2\n".to_vec();
    let runtime = fixture
        .recording()
        .secrets(secrets())
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let artifacts = runtime
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    assert_eq!(
        artifacts.output,
        serde_json::json!({"key": "[redacted API_KEY]", "other": ["x[redacted OTHER_KEY]x"]})
    );
    assert_eq!(artifacts.stderr.text(), "[redacted API_KEY]\n");
    assert!(
        !format!(
            "{artifacts:?} {:?}",
            ExecutionOptions::default().env("A", "swordfish-42")
        )
        .contains("swordfish")
    );
}

/// The place of files is not a secret. What only looks like a path can be one.
#[tokio::test]
async fn paths_of_existing_files_are_not_redacted() {
    let fixture = Fixture::new();
    fixture
        .skill("a", "")
        .file("a/scripts/run.sh", "")
        .file("data/x", "");
    let (existing, missing) = (fixture.path("data"), fixture.path("secret"));
    let (existing, missing) = (existing.to_str().unwrap(), missing.to_str().unwrap());
    let text = format!("{existing}/x {missing} {existing}");
    *fixture.sandbox.stdout.lock().unwrap() = text.into_bytes();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let options = ExecutionOptions::default()
        .env("ROOT", existing)
        .env("KEY", missing);
    let artifacts = runtime.execute_skill("a", options).await.unwrap();
    assert_eq!(
        artifacts.output,
        format!("{existing}/x [redacted KEY] {existing}")
    );
}

#[tokio::test]
async fn values_are_redacted_in_all_notes() {
    let fixture = Fixture::new();
    fixture.skill("a", YAML).file("a/scripts/run.sh", "");
    let path = fixture.path("hunter2hunter2/.envrc");
    *fixture.sandbox.read_only_paths.lock().unwrap() = vec![path];
    // The output names a part of the path, the note all of it.
    *fixture.sandbox.stderr.lock().unwrap() = b"the file .envrc is not writable\n".to_vec();
    *fixture.sandbox.termination.lock().unwrap() = Some(Termination::Trapped {
        reason: "hunter2\\u0068unter2".to_owned(),
        frames: vec!["%68unter2hunter2".to_owned()],
    });
    let runtime = fixture
        .recording()
        .secrets(secrets())
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let artifacts = runtime
        .execute_skill("a", ExecutionOptions::default())
        .await
        .unwrap();
    let notes = artifacts.explanation.facts.iter().map(ToString::to_string);
    let notes: Vec<String> = notes.collect();
    assert!(
        notes[0].contains("/[redacted API_KEY]/.envrc` stayed read-only"),
        "{notes:?}"
    );
    let all = format!("{artifacts:?}");
    assert!(
        !all.contains("unter2hunter2") && !all.contains("unter2\\\\u0068"),
        "{all}"
    );
}

//! Tests of host commands, with and without a skill.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use insta::assert_snapshot;
use skills_runtime::audit::{AuditError, AuditSink, Event};
use skills_runtime::policy::{Effect, Grants, Question, Rule, RuleSource};
use skills_runtime::{
    Answer, ExecutionOptions, ExecutionStatus, HostCommand, InputProtocol, Policy, RunTarget,
    SkillRuntime, Workspace,
};
use skills_sandbox::{Job, Program, RunFuture, Sandbox, SandboxError};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

fn allow(texts: &[&str]) -> Policy {
    texts.iter().fold(Policy::default(), |rules, text| {
        rules.rule(Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap())
    })
}

fn options(command: HostCommand) -> ExecutionOptions {
    ExecutionOptions {
        input_protocol: InputProtocol::ScriptRunner,
        target: RunTarget::Command(command),
        ..ExecutionOptions::default()
    }
}

async fn denied(runtime: &SkillRuntime, skill: &str, options: ExecutionOptions) -> String {
    match runtime
        .execute_skill(skill, options)
        .await
        .unwrap()
        .exit_status
    {
        ExecutionStatus::PermissionDenied { denial } => denial.to_string(),
        status => format!("{status:?}"),
    }
}

#[tokio::test]
async fn a_command_of_a_skill_needs_permission_to_spawn_its_program() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .skill("narrow", "allowed-tools: Read\n");
    let runtime = fixture.recording().build();
    let sort = || options(HostCommand::Program("sort".to_owned()));
    assert_snapshot!(denied(&runtime, "pdf", sort()).await, @"permission denied: spawn `sort` (requested by the caller): no rule allows it and no approver is available");
    assert_snapshot!(denied(&runtime, "pdf", options(HostCommand::Shell("sort | wc".to_owned()))).await, @"permission denied: spawn any program (requested by the caller): no rule allows it and no approver is available");
    let runtime = fixture.recording().policy(allow(&["spawn:wc"])).build();
    assert_snapshot!(denied(&runtime, "narrow", sort()).await, @"permission denied: spawn `sort` (requested by the caller): the `allowed-tools` of the skill do not include it");
    assert!(fixture.sandbox.jobs().is_empty());

    let runtime = fixture.recording().policy(allow(&["spawn"])).build();
    let mut shell = options(HostCommand::Shell("echo \"$0\"; sort | wc".to_owned()));
    shell.stdin = Some(b"text".to_vec());
    assert!(
        runtime
            .execute_skill("pdf", shell)
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    let jobs = fixture.sandbox.jobs();
    assert!(matches!(jobs[0].program(), Program::Command { name } if name == "sh"));
    assert_eq!(jobs[0].args(), ["-c", "echo \"$0\"; sort | wc"]);
    assert_eq!(jobs[0].stdin_bytes(), b"text");
    let names: BTreeSet<&str> = jobs[0].envs().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        BTreeSet::from([
            "CLAUDE_SKILL_DIR",
            "SKILL_ASSETS_DIR",
            "SKILL_DIR",
            "SKILL_NAME"
        ])
    );
}

#[tokio::test]
async fn a_session_directory_is_shared_by_its_runs_only() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let runtime = fixture
        .recording()
        .scratch_directory(fixture.path(""))
        .build();
    let directory = runtime.executor().session_directory().unwrap();
    let other = runtime.executor().session_directory().unwrap();
    assert_ne!(directory.path(), other.path());
    for _ in 0..2 {
        let mut options =
            ExecutionOptions::default().workspace(Workspace::Session(directory.clone()));
        options.input_protocol = InputProtocol::ScriptRunner;
        options.current_dir = Some(directory.path().to_owned());
        assert!(
            runtime
                .execute_skill("pdf", options)
                .await
                .unwrap()
                .exit_status
                .is_success()
        );
        fs::write(directory.path().join("kept"), "").unwrap();
    }
    let jobs = fixture.sandbox.jobs();
    assert_eq!(jobs[1].working_directory("test").unwrap(), directory.path());
    assert!(
        jobs[1].stdin_bytes().is_empty()
            && !jobs[1]
                .envs()
                .any(|(name, _)| name == "SKILL_WORKSPACE" || name == "SKILL_INPUT")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
    let path = directory.path().to_owned();
    drop(directory);
    assert!(!path.exists() && other.path().exists());
}

/// Collects audit events.
#[derive(Default)]
struct Records(std::sync::Mutex<Vec<Event>>);

impl AuditSink for Records {
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

#[tokio::test]
async fn a_command_without_a_skill_works_on_a_directory_and_is_recorded() {
    let fixture = Fixture::new();
    fixture.file("work/a", "");
    let records = Arc::new(Records::default());
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let approver = move |question: &Question| {
        seen.lock()
            .unwrap()
            .push((question.covers.digest.clone(), question.command.clone()));
        Answer::AllowSession
    };
    let runtime = fixture
        .recording()
        .audit(records.clone())
        .approver(Arc::new(approver))
        .build();
    let work = fixture.path("work");
    let run = |words: &'static [&'static str]| {
        let command = HostCommand::Program(words[0].to_owned());
        let options = ExecutionOptions {
            input_protocol: InputProtocol::ScriptRunner,
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            writable_paths: vec![work.clone()],
            ..ExecutionOptions::default()
        };
        runtime.executor().execute_command(&work, command, options)
    };
    assert!(run(&["ls", "-l"]).await.unwrap().exit_status.is_success());
    // The same command needs no second approval; another command does.
    assert!(run(&["ls", "-l"]).await.unwrap().exit_status.is_success());
    assert!(run(&["ls", "-a"]).await.unwrap().exit_status.is_success());
    let asked = asked.lock().unwrap().clone();
    assert_eq!(
        asked
            .iter()
            .map(|(_, command)| command.join(" "))
            .collect::<Vec<_>>(),
        ["ls -l", "ls -a"]
    );
    assert!(asked[0].0 != asked[1].0);
    let recorded = records.0.lock().unwrap().clone();
    assert_eq!(recorded.len(), 3);
    assert_eq!(
        (recorded[0].skill.as_str(), recorded[0].program.as_deref()),
        ("commands/", Some("ls"))
    );
    assert!(
        fixture.sandbox.jobs()[0]
            .envs()
            .all(|(name, _)| name == "SKILL_WORKSPACE")
    );
    let missing = runtime
        .executor()
        .execute_command(
            &fixture.path("nowhere"),
            HostCommand::Program("ls".to_owned()),
            ExecutionOptions::default(),
        )
        .await
        .unwrap_err();
    assert!(missing.to_string().contains("nowhere"));
}

#[tokio::test]
async fn optional_mounts_need_no_approval_and_cause_no_failure() {
    use skills_runtime::policy::Access;
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .skill("narrow", "allowed-tools: Bash(git:*)\n")
        .file("pdf/scripts/run.py", "")
        .file("work/a", "");
    fixture.file("narrow/scripts/run.py", "");
    let work = fixture.path("work");
    let offer = || ExecutionOptions {
        optional_mounts: vec![(work.clone(), Access::ReadWrite)],
        ..ExecutionOptions::default()
    };
    let user = |text: &str| {
        Policy::default().rule(Rule::parse(Effect::Allow, RuleSource::User, text).unwrap())
    };
    let write = format!("write:{}", work.display());
    // Reading needs no approval; a rule for writing would require approval of the content.
    for (rules, expected) in [
        (Policy::default(), "ro"),
        (allow(&[&write]), "rw"),
        (user(&write), "ro"),
        (deny_reading(&work), "none"),
    ] {
        let runtime = fixture.recording().policy(rules).build();
        assert!(
            runtime
                .execute_skill("pdf", offer())
                .await
                .unwrap()
                .exit_status
                .is_success(),
            "{expected}"
        );
        let jobs = fixture.sandbox.jobs();
        let given = jobs
            .last()
            .unwrap()
            .grants()
            .files()
            .iter()
            .find(|file| file.path() == work)
            .map(|file| file.access());
        let given = given.map_or("none", |access| {
            if access == Access::ReadOnly {
                "ro"
            } else {
                "rw"
            }
        });
        assert_eq!(given, expected);
    }
    // A skill does not get mounts that its `allowed-tools` do not cover; the rest is still granted.
    let runtime = fixture
        .recording()
        .policy(allow(&["spawn", "write"]))
        .build();
    assert!(
        runtime
            .execute_skill("narrow", offer())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert!(
        !fixture
            .sandbox
            .jobs()
            .last()
            .unwrap()
            .grants()
            .files()
            .iter()
            .any(|file| file.path() == work)
    );
}

fn deny_reading(path: &std::path::Path) -> Policy {
    Policy::default().rule(
        Rule::parse(
            Effect::Deny,
            RuleSource::User,
            &format!("read:{}", path.display()),
        )
        .unwrap(),
    )
}

/// Landlock cannot withhold keys beside very many files.
struct NeedsKeys {
    keys: Vec<std::path::PathBuf>,
    jobs: Arc<crate::fixture::Recorder>,
}

impl Sandbox for NeedsKeys {
    fn name(&self) -> &'static str {
        "needs-keys"
    }

    fn check_grants(&self, grants: &Grants) -> Result<(), SandboxError> {
        if self.keys.iter().all(|key| !grants.withholds(key)) {
            return Ok(());
        }
        Err(SandboxError::keys_required(
            "test",
            "too many files",
            self.keys.clone(),
        ))
    }

    fn run(&self, job: Job) -> RunFuture<'_> {
        if let Err(error) = self.check_grants(job.grants()) {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.jobs.run(job)
    }
}

#[tokio::test]
async fn keys_that_cannot_be_withheld_are_asked_for() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("work/.env", "KEY=1");
    let work = fixture.path("work").canonicalize().unwrap();
    let run = async |count: usize, approver: Option<Answer>| {
        let keys = (0..count).map(|number| match number {
            0 => work.join(".env"),
            _ => work.join(format!("{number}/.env")),
        });
        let sandbox = NeedsKeys {
            keys: keys.collect(),
            jobs: Arc::clone(&fixture.sandbox),
        };
        let mut builder = SkillRuntime::builder()
            .policy(allow(&["spawn:ls"]))
            .native_sandbox(Arc::new(sandbox));
        if let Some(approver) = approver {
            builder = builder.approver(Arc::new(approver));
        }
        let command = HostCommand::Program("ls".to_owned());
        let executor = builder.build().executor().clone();
        let options = ExecutionOptions::default();
        match executor.execute_command(&work, command, options).await {
            Ok(artifacts) => match artifacts.exit_status {
                ExecutionStatus::PermissionDenied { denial } => denial.to_string(),
                status => format!("success: {}", status.is_success()),
            },
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(run(1, Some(Answer::AllowOnce)).await, "success: true");
    let denied = run(1, Some(Answer::Deny)).await;
    assert!(denied.contains(".env"), "{denied}");
    for rejected in [run(1, None).await, run(17, Some(Answer::AllowOnce)).await] {
        assert_eq!(
            rejected,
            "cannot run the job in the test sandbox: too many files"
        );
    }
    assert_eq!(fixture.sandbox.jobs().len(), 1);
}

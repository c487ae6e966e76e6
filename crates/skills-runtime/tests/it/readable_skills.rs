//! Skills whose files a run reads in addition to those of its own skill.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skills_runtime::discovery::{Root, Scope, SkillFiles, Trust};
use skills_runtime::policy::{Effect, Question, Rule, RuleSource};
use skills_runtime::{
    Answer, Builder, ErrorKind, ExecutionArtifacts, ExecutionOptions, HostCommand, Policy,
    RunTarget, format_question,
};
use skills_sandbox::Job;

use crate::fixture::Fixture;

fn rule(effect: Effect, text: &str) -> Rule {
    Rule::parse(effect, RuleSource::Invocation, text).unwrap()
}

/// A fixture with the skill `pdf` and a working directory, and a runtime whose commands may start.
fn fixture() -> (Fixture, Builder) {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .file("pdf/scripts/run.py", "print('good')")
        .file("pdf/scripts/__pycache__/run.pyc", "x")
        .file("work/a", "");
    fs::create_dir(fixture.path("scratch")).unwrap();
    let builder = fixture
        .recording()
        .scratch_directory(fixture.path("scratch"))
        .policy(Policy::default().rule(rule(Effect::Allow, "spawn")));
    (fixture, builder)
}

async fn command(fixture: &Fixture, builder: Builder, skills: &[&str]) -> ExecutionArtifacts {
    let directories: Vec<PathBuf> = skills.iter().map(|name| fixture.path(name)).collect();
    let options = ExecutionOptions {
        path_aliases: directories
            .iter()
            .map(|path| (PathBuf::from("/skills/x"), path.clone()))
            .collect(),
        readable_skills: directories,
        ..ExecutionOptions::default()
    };
    let program = HostCommand::Program("cat".to_owned());
    let executor = builder.build().executor().clone();
    let work = fixture.path("work");
    executor
        .execute_command(&work, program, options)
        .await
        .unwrap()
}

fn last_job(fixture: &Fixture) -> Job {
    fixture.sandbox.jobs().pop().unwrap()
}

/// Returns why the only skill could not be read, without the path of the fixture.
fn reason(fixture: &Fixture, artifacts: &ExecutionArtifacts) -> String {
    let job = last_job(fixture);
    assert!(job.path_aliases().is_empty(), "{:?}", job.path_aliases());
    let granted = job.grants().files().iter().map(|file| file.path());
    assert!(granted.into_iter().all(|path| path == fixture.path("work")));
    let unreadable = &artifacts.unreadable_skills;
    assert_eq!(unreadable.len(), 1, "{unreadable:?}");
    let host = fixture.path("");
    unreadable[0]
        .reason
        .replace(&*host.to_string_lossy(), "/host/")
}

#[tokio::test]
async fn a_command_reads_a_private_copy_of_a_skill() {
    let (fixture, builder) = fixture();
    let seen = Arc::new(Mutex::new(String::new()));
    let (noted, live) = (Arc::clone(&seen), fixture.path("pdf/scripts/run.py"));
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |job| {
        // Another program changes the skill just before the command starts.
        fs::write(&live, "print('evil')").unwrap();
        let copy = job.grants().locate(&live);
        assert!(!copy.with_file_name("__pycache__").exists());
        *noted.lock().unwrap() = fs::read_to_string(copy).unwrap();
    }));
    let artifacts = command(&fixture, builder, &["pdf"]).await;
    assert!(artifacts.exit_status.is_success() && artifacts.unreadable_skills.is_empty());
    assert_eq!(*seen.lock().unwrap(), "print('good')");
    let job = last_job(&fixture);
    let skill = fixture.path("pdf");
    let file = job.grants().innermost_grant(&skill).unwrap();
    assert!(file.path() == skill && file.location().starts_with(fixture.path("scratch")));
    assert_eq!(file.access(), skills_runtime::policy::Access::ReadOnly);
    assert_eq!(
        job.path_aliases(),
        [(PathBuf::from("/skills/x"), skill.clone())]
    );
    let copies = [(file.location().to_owned(), skill)];
    assert_eq!(artifacts.copies, copies);
}

#[tokio::test]
async fn a_skill_that_could_not_run_is_not_readable() {
    let (fixture, _) = fixture();
    fixture.skill("broken", "allowed-tools: {a: 1}\n");
    let untrusted = Fixture::new();
    untrusted.skill("draft", "");
    let builder = || {
        let root = Root::new(untrusted.path(""), Scope::User).trust(Trust::Untrusted);
        fixture
            .recording()
            .root(root)
            .policy(Policy::default().rule(rule(Effect::Allow, "spawn")))
    };
    let check = async |name: &str, expected: &str| {
        let artifacts = command(&fixture, builder(), &[name]).await;
        assert!(artifacts.exit_status.is_success());
        assert_eq!(reason(&fixture, &artifacts), expected);
    };
    check(
        "broken",
        "/host/broken/SKILL.md:4: cannot run skill `broken`: invalid `allowed-tools`",
    )
    .await;
    let draft = untrusted.path("draft");
    let location = draft.join("SKILL.md").display().to_string();
    check(
        draft.to_str().unwrap(),
        &format!(
            "skill `{}` ({location}) is inactive: its root is not trusted",
            draft.display()
        ),
    )
    .await;
    check("work", "skill `/host/work` not found").await;
}

#[tokio::test]
async fn a_locked_skill_is_readable_only_with_the_content_of_its_lock_file() {
    let (fixture, builder) = fixture();
    let files = SkillFiles::open_directory(&fixture.path("pdf")).unwrap();
    let digest = files.digest(&mut Default::default()).unwrap();
    fixture.file(
        "skills.lock",
        format!("version = 1\n\n[[skill]]\nname = \"pdf\"\ncontent = \"{digest}\"\nsource = \"./x\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n"),
    );
    let runtime = builder.build();
    runtime.library().catalog();
    // After the scan, which saw the content of the lock file.
    fixture.file("pdf/scripts/run.py", "print('evil')");
    let options = ExecutionOptions {
        readable_skills: vec![fixture.path("pdf")],
        ..ExecutionOptions::default()
    };
    let cat = HostCommand::Program("cat".to_owned());
    let executor = runtime.executor();
    let work = fixture.path("work");
    let artifacts = executor.execute_command(&work, cat, options);
    let artifacts = artifacts.await.unwrap();
    let reason = reason(&fixture, &artifacts);
    assert!(reason.contains("lock"), "{reason}");
}

#[tokio::test]
async fn policy_decides_whether_a_skill_is_readable() {
    let (fixture, builder) = fixture();
    fixture
        .skill("narrow", "allowed-tools: Bash\n")
        .file("narrow/scripts/run.py", "");
    let denied = rule(
        Effect::Deny,
        &format!("read:{}", fixture.path("pdf").display()),
    );
    let policy = Policy::default()
        .rule(rule(Effect::Allow, "spawn"))
        .rule(denied);
    let artifacts = command(&fixture, fixture.recording().policy(policy), &["pdf"]).await;
    assert_eq!(
        reason(&fixture, &artifacts),
        "the policy does not let the program read it"
    );
    // A skill that names its tools, and reading is not one of them.
    let options = ExecutionOptions {
        readable_skills: vec![fixture.path("pdf"), fixture.path("narrow")],
        ..ExecutionOptions::default()
    };
    let artifacts = builder
        .build()
        .execute_skill("narrow", options)
        .await
        .unwrap();
    let reasons = artifacts.unreadable_skills.iter();
    assert_eq!(
        reasons
            .map(|skill| skill.reason.as_str())
            .collect::<Vec<_>>(),
        ["the `allowed-tools` of skill `narrow` do not include reading other directories"]
    );
}

#[tokio::test]
async fn a_skill_that_changes_before_the_start_stops_the_command() {
    let (fixture, builder) = fixture();
    let live = fixture.path("pdf/scripts/run.py");
    let approver = move |_: &Question| {
        fs::write(&live, "print('evil')").unwrap();
        Answer::AllowOnce
    };
    let runtime = builder
        .policy(Policy::default())
        .approver(Arc::new(approver))
        .build();
    let options = ExecutionOptions {
        readable_skills: vec![fixture.path("pdf")],
        ..ExecutionOptions::default()
    };
    let python = HostCommand::Program("python3".to_owned());
    let work = fixture.path("work");
    let error = runtime.executor().execute_command(&work, python, options);
    assert_eq!(error.await.unwrap_err().kind(), ErrorKind::ContentChanged);
    assert!(fixture.sandbox.jobs().is_empty());
}

/// The command can run files of the skill, so that an approval of it covers one content.
#[tokio::test]
async fn an_approval_of_a_command_covers_one_content_of_the_skills_that_it_reads() {
    let (fixture, builder) = fixture();
    fixture.skill("own", "").file("own/scripts/run.py", "");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let approver = move |question: &Question| {
        seen.lock().unwrap().push(format_question(question));
        Answer::AllowSession
    };
    let runtime = builder
        .policy(Policy::default())
        .approver(Arc::new(approver))
        .build();
    let work = fixture.path("work");
    let options = |skills: &[&str]| ExecutionOptions {
        readable_skills: skills.iter().map(|name| fixture.path(name)).collect(),
        ..ExecutionOptions::default()
    };
    let python = || HostCommand::Program("python3".to_owned());
    let alone = async |skills: &[&str]| {
        let executor = runtime.executor();
        let artifacts = executor.execute_command(&work, python(), options(skills));
        assert!(artifacts.await.unwrap().exit_status.is_success());
        asked.lock().unwrap().len()
    };
    let for_skill = async |skills: &[&str]| {
        let options = ExecutionOptions {
            target: RunTarget::Command(python()),
            ..options(skills)
        };
        let artifacts = runtime.execute_skill("own", options);
        assert!(artifacts.await.unwrap().exit_status.is_success());
        asked.lock().unwrap().len()
    };
    assert_eq!((alone(&["pdf"]).await, alone(&["pdf"]).await), (1, 1));
    assert_eq!(
        (for_skill(&["pdf"]).await, for_skill(&["pdf"]).await),
        (2, 2)
    );
    fixture.file("pdf/scripts/run.py", "print('other')");
    assert_eq!((alone(&["pdf"]).await, for_skill(&["pdf"]).await), (3, 4));
    assert_eq!((alone(&[]).await, for_skill(&[]).await), (5, 6));
    let prompts = asked.lock().unwrap();
    let names = format!(
        "an answer covers the content of {}",
        fixture.path("pdf").display()
    );
    assert!(prompts[0].contains(&names), "{}", prompts[0]);
    assert!(prompts[0].contains("; an answer stays valid if other files change"));
    assert!(prompts[1].contains(&names) && !prompts[4].contains(&names));
}

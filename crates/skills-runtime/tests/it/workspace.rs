//! Tests of workspaces and output files.

use std::fs;
use std::sync::Arc;

use insta::assert_snapshot;
use skills_runtime::policy::{Effect, NewContentPolicy, Rule, RuleSource};
use skills_runtime::{
    Answer, ErrorKind, ExecutionOptions, ExecutionStatus, InputFile, OutputFiles, Policy,
    Termination, Workspace,
};
use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

fn list(output_files: &OutputFiles) -> String {
    let line = |file: &skills_runtime::OutputFile| {
        let content = file
            .content
            .as_ref()
            .map(|content| String::from_utf8_lossy(content).into_owned());
        format!(
            "{} {} bytes, {}, {content:?}\n",
            file.path,
            file.bytes,
            if file.is_created { "new" } else { "changed" }
        )
    };
    let left_out = output_files
        .omitted
        .iter()
        .map(|left_out| format!("left out: {left_out}\n"));
    output_files
        .files
        .iter()
        .map(line)
        .chain(left_out)
        .collect()
}

#[tokio::test]
async fn a_private_workspace_has_input_and_output_files_and_is_removed() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").file("pdf/scripts/run.py", "");
    let seen = Arc::new(std::sync::Mutex::new(None));
    let saw = Arc::clone(&seen);
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |job| {
        let directory = job
            .envs()
            .find(|(name, _)| *name == "SKILL_WORKSPACE")
            .unwrap()
            .1
            .to_owned();
        let directory = std::path::PathBuf::from(directory);
        assert_eq!(fs::read(directory.join("in.txt")).unwrap(), b"input");
        fs::create_dir_all(directory.join("out/deep")).unwrap();
        fs::write(directory.join("out/deep/a.txt"), "made").unwrap();
        fs::write(directory.join("also.txt"), "input, longer").unwrap();
        fs::write(directory.join("..\\..\\home\\x.toml"), "elsewhere").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", directory.join("out/etc")).unwrap();
        nix::unistd::mkfifo(&directory.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        *saw.lock().unwrap() = Some(directory);
    }));
    let runtime = fixture
        .recording()
        .scratch_directory(fixture.path(""))
        .build();
    let input = |name: &str| InputFile {
        name: name.to_owned(),
        content: b"input".to_vec(),
    };
    let options = ExecutionOptions::default()
        .workspace(Workspace::Private(vec![input("in.txt"), input("also.txt")]));
    let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
    assert_snapshot!(list(&artifacts.output_files), @r#"
    also.txt 13 bytes, changed, Some("input, longer")
    out/deep/a.txt 4 bytes, new, Some("made")
    left out: `link`: a symlink
    left out: `out/etc`: a symlink
    left out: `pipe`: not a regular file
    left out: `..\..\home\x.toml`: invalid file name
    "#);
    assert!(!seen.lock().unwrap().as_ref().unwrap().exists());
    for name in ["../x", "a/b", "/etc/x", "..", ""] {
        let options = ExecutionOptions::default().workspace(Workspace::Private(vec![input(name)]));
        assert_eq!(
            runtime
                .execute_skill("pdf", options)
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::Sandbox,
            "{name}"
        );
    }
}

#[tokio::test]
async fn output_files_in_a_directory_stay_there_and_are_listed() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read, Write\n")
        .file("pdf/scripts/run.py", "")
        .file("work/old.txt", "old")
        .file("work/kept.txt", "kept");
    let work = fixture.path("work");
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |_| {
        fs::write(work.join("old.txt"), "new").unwrap();
        fs::write(work.join("made.txt"), "made").unwrap();
    }));
    let options =
        || ExecutionOptions::default().workspace(Workspace::Directory(fixture.path("work")));
    let asked = fixture
        .recording()
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    assert_snapshot!(list(&asked.execute_skill("pdf", options()).await.unwrap().output_files), @"
    made.txt 4 bytes, new, None
    old.txt 3 bytes, changed, None
    ");
    // With any spelling of the workspace.
    std::os::unix::fs::symlink(fixture.path("work"), fixture.path("link")).unwrap();
    fs::remove_file(fixture.path("work/made.txt")).unwrap();
    let by_link = ExecutionOptions::default().workspace(Workspace::Directory(fixture.path("link")));
    assert_eq!(
        asked
            .execute_skill("pdf", by_link)
            .await
            .unwrap()
            .output_files
            .files[0]
            .path,
        "made.txt"
    );
    // In a read-only workspace, changes by others are not output files.
    let mut reading = options();
    reading.dropped_capabilities = vec![skills_runtime::Capability::Write];
    fs::remove_file(fixture.path("work/made.txt")).unwrap();
    assert_eq!(
        asked
            .execute_skill("pdf", reading)
            .await
            .unwrap()
            .output_files,
        OutputFiles::default()
    );
}

#[tokio::test]
async fn the_caller_adds_readable_and_writable_files() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .file("pdf/scripts/run.py", "")
        .file("docs/a.pdf", "");
    let runtime = fixture.recording().build();
    let options = ExecutionOptions {
        readable_paths: vec![fixture.path("docs/../docs/a.pdf")],
        ..ExecutionOptions::default()
    };
    let _ = runtime.execute_skill("pdf", options).await.unwrap();
    let grants = fixture.sandbox.jobs().pop().unwrap().grants().clone();
    assert_eq!(grants.files()[1].path(), fixture.path("docs/a.pdf"));
    let options = ExecutionOptions {
        writable_paths: vec![fixture.path("docs")],
        ..ExecutionOptions::default()
    };
    assert!(
        !runtime
            .execute_skill("pdf", options)
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
}

/// A missing path that the caller or an option names is created as a file, and removed if the program
/// did not write it; with a slash at its end it is a directory. A standing rule creates nothing.
#[tokio::test]
async fn a_missing_writable_path_is_created_as_it_is_named() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .file("pdf/scripts/run.py", "")
        .file("work/a", "");
    let (work, out) = (fixture.path("work"), fixture.path("work/out.txt"));
    let rule = |source, permission: &str| {
        let target = format!("write:{}", fixture.path(permission).display());
        let slash = if permission.ends_with('/') { "/" } else { "" };
        Rule::parse(
            Effect::Allow,
            source,
            &format!("{target}{slash}").replace("//", "/"),
        )
        .unwrap()
    };
    let kind = |path: &std::path::Path| match path.metadata() {
        Ok(metadata) if metadata.is_dir() => "directory",
        Ok(_) => "file",
        Err(_) => "missing",
    };
    let seen = Arc::new(std::sync::Mutex::new(String::new()));
    for (sources, rules, expected) in [
        (
            vec![],
            vec![rule(RuleSource::Invocation, "work/out.txt")],
            ["file", "missing"],
        ),
        (
            vec![],
            vec![rule(RuleSource::Invocation, "work/out.txt/")],
            ["directory", "directory"],
        ),
        (
            vec![],
            vec![rule(RuleSource::User, "work/out.txt")],
            ["missing", "missing"],
        ),
        (
            vec![fixture.path("work/../work/out.txt")],
            vec![rule(RuleSource::User, "work/out.txt")],
            ["file", "missing"],
        ),
    ] {
        let (seen_by_act, path) = (Arc::clone(&seen), out.clone());
        *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |_| {
            *seen_by_act.lock().unwrap() = kind(&path).to_owned();
        }));
        let policy = rules.into_iter().fold(Policy::default(), Policy::rule);
        let runtime = fixture
            .recording()
            .policy(policy.with_new_content(NewContentPolicy::Allow))
            .build();
        let options = ExecutionOptions {
            writable_paths: sources,
            ..ExecutionOptions::default().workspace(Workspace::Directory(work.clone()))
        };
        let artifacts = runtime.execute_skill("pdf", options).await.unwrap();
        assert!(
            artifacts.exit_status.is_success(),
            "{:?}",
            artifacts.decisions
        );
        assert_eq!([seen.lock().unwrap().as_str(), kind(&out)], expected);
        let _ = std::fs::remove_dir(&out);
    }
    // A file that was written stays.
    let path = out.clone();
    *fixture.sandbox.act.lock().unwrap() =
        Some(Box::new(move |_| std::fs::write(&path, "x").unwrap()));
    let policy = Policy::default().rule(rule(RuleSource::Invocation, "work/out.txt"));
    let runtime = fixture.recording().policy(policy).build();
    let options = ExecutionOptions::default().workspace(Workspace::Directory(work));
    let _ = runtime.execute_skill("pdf", options).await.unwrap();
    assert_eq!(kind(&out), "file");
}

/// A pattern refers to a directory of the workspace, which could be a symlink to another directory.
#[tokio::test]
async fn a_pattern_through_a_symlink_is_rejected() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read(src/**)\n")
        .file("pdf/scripts/run.py", "")
        .file("work/a", "")
        .file("secret/key", "");
    std::os::unix::fs::symlink(fixture.path("secret"), fixture.path("work/src")).unwrap();
    let runtime = fixture.recording().build();
    let options = ExecutionOptions::default().workspace(Workspace::Directory(fixture.path("work")));
    let error = runtime.execute_skill("pdf", options).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("work/src`: it contains a symlink; nothing ran"),
        "{error}"
    );
    assert!(fixture.sandbox.jobs().is_empty());
}

/// Part of a workspace can be granted; a missing directory is created.
#[tokio::test]
async fn a_part_of_a_workspace_is_created_and_listed() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read(src/**), Write(out/deep/**)\n")
        .file("pdf/scripts/run.py", "")
        .file("work/src/a", "");
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let options = ExecutionOptions::default().workspace(Workspace::Directory(fixture.path("work")));
    assert!(
        runtime
            .execute_skill("pdf", options)
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert!(fixture.path("work/out/deep").is_dir());
    let job = fixture.sandbox.jobs().pop().unwrap();
    let work = fixture.path("work").display().to_string();
    assert!(
        job.envs()
            .any(|(name, value)| name == "SKILL_WORKSPACE" && value == work)
    );
    let paths: Vec<_> = job
        .grants()
        .files()
        .iter()
        .map(|file| file.guest_path().to_owned())
        .collect();
    let expected = [
        "/skill",
        "/workspace",
        "/workspace/src",
        "/workspace/out/deep",
    ];
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn no_directory_is_created_through_a_symlink() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Write(out/deep/**)\n")
        .file("pdf/scripts/run.py", "")
        .file("work/a", "")
        .file("elsewhere/b", "");
    std::os::unix::fs::symlink(fixture.path("elsewhere"), fixture.path("work/out")).unwrap();
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowOnce))
        .build();
    let options = ExecutionOptions::default().workspace(Workspace::Directory(fixture.path("work")));
    assert_eq!(
        runtime
            .execute_skill("pdf", options)
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::FileAccess
    );
    assert!(!fixture.path("elsewhere/deep").exists() && fixture.sandbox.jobs().is_empty());
}

#[test]
fn a_preview_includes_the_private_workspace() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Read\n")
        .file("pdf/scripts/run.py", "");
    let options = ExecutionOptions::default().workspace(Workspace::Private(Vec::new()));
    let preview = fixture
        .recording()
        .build()
        .executor()
        .preview("pdf", &options)
        .unwrap();
    let skills_runtime::Authorization::Granted(grants) = preview.authorization else {
        panic!("nothing is asked")
    };
    assert_eq!(grants.files()[1].guest_path(), "/workspace");
    assert_eq!(
        preview.unused_tools,
        [("Read".to_owned(), "the run has a private workspace")]
    );
}

#[tokio::test]
async fn a_private_workspace_has_the_quota_of_the_scratch_directory() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "allowed-tools: Write\n")
        .file("pdf/scripts/run.py", "")
        .file("work/a", "");
    let runtime = fixture
        .recording()
        .approver(Arc::new(Answer::AllowOnce))
        .scratch_directory(fixture.path(""))
        .build();
    let session = runtime.executor().session_directory().unwrap();
    let workspaces = [
        Workspace::None,
        Workspace::Directory(fixture.path("work")),
        Workspace::Private(Vec::new()),
        Workspace::Session(session.clone()),
    ];
    for (workspace, expected) in workspaces.into_iter().zip([0, 0, 1, 1]) {
        let mut options = ExecutionOptions::default().workspace(workspace);
        options.scratch_bytes = Some(5 << 20);
        let _ = runtime.execute_skill("pdf", options).await.unwrap();
        let job = fixture.sandbox.jobs().pop().unwrap();
        assert_eq!(job.quotas().len(), expected);
        assert!(
            job.quotas()
                .iter()
                .all(|quota| quota.max_bytes() == 5 << 20)
        );
        assert_eq!(job.grants().limits().scratch_bytes, 5 << 20);
    }
    assert_eq!(
        fixture.sandbox.jobs().pop().unwrap().quotas()[0].directory(),
        session.path()
    );
}

#[tokio::test]
async fn exceeding_the_quota_of_a_private_workspace_stops_the_run() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    let script = "import os\nos.chdir(os.environ['SKILL_WORKSPACE'])\nn = 0\nwhile True:\n    open(f'{n:06}', 'wb').write(b'x' * 100_000)\n    n += 1\n";
    fixture
        .skill("fill", "")
        .file("fill/scripts/run.py", script)
        .file("scratch/.keep", "");
    let runtime = fixture
        .builder()
        .scratch_directory(fixture.path("scratch"))
        .build();
    let mut options = ExecutionOptions::default().workspace(Workspace::Private(Vec::new()));
    options.scratch_bytes = Some(4 << 20);
    let artifacts = runtime.execute_skill("fill", options).await.unwrap();
    let ExecutionStatus::Failed {
        termination: Termination::DiskLimit(exceeded),
    } = artifacts.exit_status
    else {
        panic!("{:?} {}", artifacts.exit_status, artifacts.stderr.text())
    };
    assert_eq!(exceeded.limit_bytes, 4 << 20);
    assert_eq!(
        artifacts.output_files.omitted[0],
        "files not written before the run was stopped: private workspace exceeds its quota of 4 MiB"
    );
    assert!(
        artifacts.output_files.files.len() >= 40,
        "files written before the stop are returned"
    );
    assert_eq!(
        fs::read_dir(fixture.path("scratch")).unwrap().count(),
        1,
        "the workspace is removed"
    );
}

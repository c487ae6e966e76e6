//! Tests of the contract: what a job holds, and what its parts say of themselves.

use std::path::Path;

use insta::assert_snapshot;
use skills_policy::{Decision, Grants, Origin, Request, Rules};
use skills_sandbox::{Ending, ErrorKind, Job, Program, Report, SandboxError, Scratch, ScriptKind, Status};

#[test]
fn the_last_value_of_a_variable_wins() {
    let job = Job::new(Grants::none(), Program::script(ScriptKind::Shell, "/s/a.sh"));
    let job = job.environment("A", "1").environment("B", "2").environment("A", "3");
    let variables: Vec<(&str, &str)> = job.variables().collect();
    assert_eq!(variables, [("B", "2"), ("A", "3")]);
}

#[test]
fn secrets_need_a_grant_and_are_not_shown() {
    let program = || Program::script(ScriptKind::Shell, "/s/a.sh");
    let refused = Job::new(Grants::none(), program()).secret("API_KEY", "hunter22").unwrap_err();
    assert_snapshot!(refused, @"the variable API_KEY was not granted");
    let request = Request::new("/s").variable("API_KEY", Origin::Caller);
    let Decision::Granted(grants) = Rules::default().decide(&request) else { panic!("the caller gives it") };
    let job = Job::new(grants, program()).environment("A", "1").secret("API_KEY", "hunter22").unwrap();
    assert_eq!(job.variables().collect::<Vec<_>>(), [("A", "1"), ("API_KEY", "hunter22")]);
    let shown = format!("{job:?}");
    assert!(shown.contains("API_KEY=\"…\"") && !shown.contains("hunter22"), "{shown}");
}

#[test]
fn languages_come_from_file_names_alone() {
    let kind = |path: &str| ScriptKind::of_path(Path::new(path));
    assert_eq!((kind("a.py"), kind("x/b.sh")), (Some(ScriptKind::Python), Some(ScriptKind::Shell)));
    for none in ["a", "a.PY", "a.pyc", ".sh", "sh"] {
        assert_eq!(kind(none), None, "{none}");
    }
}

#[test]
fn endings_and_errors_say_what_happened() {
    assert!(Ending::Exited { code: 0 }.is_success() && !Ending::Signalled { signal: 9 }.is_success());
    assert_snapshot!(Ending::TimedOut { limit_ms: 100 }, @"timed out after 100 ms");
    let error = SandboxError::unavailable("Landlock", "the kernel is old", "use a newer one");
    assert_eq!((error.kind(), error.hint()), (ErrorKind::Unavailable, Some("use a newer one")));
    assert_snapshot!(error, @"no sandbox: Landlock is not available (the kernel is old); use a newer one");
    let layer = Report::new("test").layer("files", Status::Partial, "names are seen").layers()[0].to_string();
    assert_snapshot!(layer, @"files partial: names are seen");
}

#[test]
fn a_scratch_directory_is_its_owners_alone_and_vanishes() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = Scratch::new(parent.path()).unwrap();
    let path = scratch.path().to_owned();
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o700);
    std::fs::create_dir(path.join("below")).unwrap();
    drop(scratch);
    assert!(!path.exists());
    assert!(Scratch::new(&path).is_err());
}

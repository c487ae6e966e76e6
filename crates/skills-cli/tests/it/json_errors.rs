//! With `--json`, a command that fails prints one JSON document with the error.

use serde_json::Value;

use crate::fixture::Fixture;

/// A skill that asks for an approval, a draft, and an empty audit log.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("drafts/draft", "draft")
        .file("audit.jsonl", "")
        .file("project/.git/HEAD", "")
        .file(
            "skills/one/SKILL.md",
            "---\nname: one\ndescription: d\nallowed-tools: Bash(expr:*)\n---\n",
        )
        .file("skills/one/scripts/main.sh", "expr 1 + 1\n");
    fixture
}

/// Returns the exit code and the error of a command that fails.
fn error_of(fixture: &Fixture, directory: &str, arguments: &[&str]) -> (i32, Value) {
    let mut all = vec!["--json"];
    all.extend(arguments);
    let done = fixture.run(directory, &all);
    let document = done.json();
    assert!(document["error"].is_object(), "{}", done.page());
    (done.code, document["error"].clone())
}

#[track_caller]
fn check(arguments: &[&str], expected: (i32, &str)) {
    let fixture = fixture();
    let (exit, error) = error_of(&fixture, "project", arguments);
    assert_eq!(
        (exit, error["code"].as_str().unwrap()),
        expected,
        "{arguments:?}: {error}"
    );
}

#[test]
fn a_draft_that_is_not_accepted_is_an_error() {
    let accept = ["accept", "--drafts", "../drafts", "--to", "../skills"];
    check(&[&accept[..], &["absent"]].concat(), (1, "not-found"));
    check(
        &[&accept[..], &["draft"]].concat(),
        (3, "confirmation-required"),
    );
    let fixture = fixture();
    let (_, error) = error_of(&fixture, "project", &[&accept[..], &["absent"]].concat());
    assert_eq!(error["candidates"], serde_json::json!(["draft"]));
}

#[test]
fn an_audit_record_that_is_not_found_is_an_error() {
    let log = ["audit", "--log", "../audit.jsonl"];
    check(&[&log[..], &["show", "9"]].concat(), (1, "not-found"));
}

#[test]
fn trust_that_is_not_confirmed_is_an_error() {
    check(&["trust", "--project"], (3, "confirmation-required"));
    if !skills_test_support::skip_without_sandbox() {
        let trust = ["trust", "one", "--root", "../skills"];
        check(&trust, (3, "confirmation-required"));
    }
}

#[track_caller]
fn check_usage(arguments: &[&str], message: &str, candidates: &[&str]) {
    let (exit, error) = error_of(&fixture(), "", arguments);
    assert_eq!((exit, error["code"].as_str()), (2, Some("usage")));
    assert_eq!(error["message"], message);
    assert_eq!(error["candidates"], serde_json::json!(candidates));
}

#[test]
fn usage_errors_name_missing_arguments_and_possible_values() {
    check_usage(
        &["config", "set"],
        "the following required arguments were not provided: <KEY>, <VALUE>...",
        &[],
    );
    check_usage(
        &["validate", ".", "--format", "githb"],
        "invalid value 'githb' for '--format <FORMAT>'",
        &["github"],
    );
    check_usage(
        &["validate", ".", "--format", "pdf"],
        "invalid value 'pdf' for '--format <FORMAT>'",
        &["text", "json", "github", "sarif"],
    );
    check_usage(
        &["list", "--lng"],
        "unexpected argument '--lng' found",
        &["--long"],
    );
    check_usage(
        &["valdate"],
        "unrecognized subcommand 'valdate'",
        &["validate"],
    );
    check_usage(
        &["audit"],
        "a subcommand is required; `--help` lists them",
        &[],
    );
}

/// No command prints this error itself.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_is_an_error() {
    use skills_test_support::{skip, skip_without_sandbox};

    if skip_without_sandbox() {
        return;
    }
    if !std::path::Path::new("/bin/kill").exists() {
        return skip("no /bin/kill (package procps or util-linux)");
    }
    if crate::signals::is_ignored(2) {
        return skip("the process that started the tests ignores SIGINT");
    }
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.sh", "while :; do :; done\n");
    let (root, state) = (fixture.path().join("skills"), fixture.path().join("state"));
    let run = ["run", "one", "--json", "--root", root.to_str().unwrap()];
    let scratch = tempfile::tempdir().unwrap();
    let child = crate::skills::command_with_state(&run, scratch.path(), &state)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The start is recorded before the program starts, and signals are handled by then.
    let log = state.join("skills/audit.jsonl");
    while std::fs::metadata(&log).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = ["-INT", &child.id().to_string()];
    let killed = std::process::Command::new("/bin/kill").args(kill).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "interrupted");
}

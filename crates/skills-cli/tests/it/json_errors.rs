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

//! Tests of approval requests as text.

use insta::assert_snapshot;
use skills_runtime::policy::{Effect, Question, Rule, RuleSource};
use skills_runtime::{
    ExecutionOptions, HostCommand, Policy, RunTarget, format_question, format_question_in_full,
};

use crate::fixture::Fixture;

fn question(fixture: &Fixture, words: &[&str]) -> Question {
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::User, "network:api.example.com").unwrap());
    let runtime = fixture.recording().policy(rules).build();
    let options = ExecutionOptions {
        target: RunTarget::Command(HostCommand::Program("git".to_owned())),
        args: words.iter().map(|word| (*word).to_owned()).collect(),
        hosts: vec!["api.example.com".parse().unwrap()],
        ..ExecutionOptions::default()
    };
    runtime
        .executor()
        .preview("deploy", &options)
        .unwrap()
        .question
        .unwrap()
}

fn redact(fixture: &Fixture, request: &Question, text: &str) -> String {
    let text = text.replace(request.digest.as_deref().unwrap(), "DIGEST");
    text.replace(&fixture.path("").display().to_string(), "HERE/")
}

#[test]
fn an_approval_request_cannot_be_forged_by_a_skill() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let request = question(
        &fixture,
        &["push\n  wants    nothing", "\u{1b}[2K\u{202e}x"],
    );
    let text = format_question_in_full(&request).unwrap();
    assert_eq!(text, format_question(&request));
    assert_snapshot!(redact(&fixture, &request, &text), @r"
    Allow skill `deploy` to run git $'push\n  wants    nothing' $'\u001b[2K\u202ex'?
      skill    HERE/deploy
      content  DIGEST
      limits   30 s, 256 MiB memory
      granted  connect to `api.example.com` (requested by the caller)
      status   never approved before
      requests to run with the permissions above; this content has not been approved
      requests spawn `git` (requested by the caller)
    ");
}

#[test]
fn an_unreadable_request_is_rejected() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    // Invisible characters count in their escaped form.
    for long in ["x".repeat(2_000), "\u{200b}".repeat(334), "'".repeat(500)] {
        let request = question(&fixture, &[&long]);
        let error = format_question_in_full(&request).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot show the approval request: too long: git ")
                && error.ends_with('…'),
            "{error}"
        );
        assert!(
            format_question(&request)
                .lines()
                .next()
                .unwrap()
                .ends_with("…?")
        );
    }
}

#[test]
fn a_command_is_quoted_as_in_bash() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let check = |words: &[&str], expected: &str| {
        let text = format_question_in_full(&question(&fixture, words)).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            format!("Allow skill `deploy` to run git {expected}?")
        );
    };
    check(&["a", "b"], "a b");
    check(&["a b"], "'a b'");
    check(&["", "it's"], r"'' 'it'\''s'");
    check(
        &["ls # list, then\nrm -rf data"],
        r"$'ls # list, then\nrm -rf data'",
    );
    check(
        &[r"ls # list, then\nrm -rf data"],
        r"$'ls # list, then\\nrm -rf data'",
    );
    check(
        &["two  spaces\tand it's a tab", "two  spaces and it's none"],
        r"$'two  spaces\tand it\'s a tab' 'two  spaces and it'\''s none'",
    );
    check(
        &["\r\n", "\u{a0}", "r\u{200d}m", "\u{e0041}"],
        r"$'\r\n' $'\u00a0' $'r\u200dm' $'\U000e0041'",
    );
    check(
        &["a b", "a\u{fe0f} b", "a \u{301}b", "é 說明", "e\u{301}"],
        r"'a b' $'a\ufe0f b' $'a \u0301b' 'é 說明' $'e\u0301'",
    );
    // Characters that resemble quotes or metacharacters, or are invisible.
    for lookalike in [
        "a78c", "02bc", "2019", "2212", "2013", "a789", "01c3", "144a", "2215", "2026",
    ] {
        let c = char::from_u32(u32::from_str_radix(lookalike, 16).unwrap()).unwrap();
        check(&[&format!("x{c} y")], &format!(r"$'x\u{lookalike} y'"));
    }
    check(
        &["a\u{1d159}", "b\u{13441}"],
        r"$'a\U0001d159' $'b\U00013441'",
    );
    check(
        &["\u{212a}", "\u{ff41}", "\u{5d0} 1"],
        r"$'\u212a' $'\uff41' $'\u05d0 1'",
    );
    let tail = format!("{}; touch PWNED", "\u{200b}".repeat(38));
    check(
        &[&tail],
        &format!("$'{}; touch PWNED'", r"\u200b".repeat(38)),
    );
}

/// Files that a host command refers to can change; a session approval stays valid.
#[tokio::test]
async fn an_approval_request_for_a_command_explains_its_digest() {
    use std::sync::{Arc, Mutex};
    let fixture = Fixture::new();
    fixture.file("work/x.py", "");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let approver = move |request: &Question| {
        noted.lock().unwrap().push(format_question(request));
        skills_runtime::Answer::Deny
    };
    let runtime = fixture.recording().approver(Arc::new(approver)).build();
    let mut options = ExecutionOptions::default();
    let command = HostCommand::Program("python3".to_owned());
    options.args = vec!["x.py".to_owned()];
    let _ = runtime
        .executor()
        .execute_command(&fixture.path("work"), command, options)
        .await
        .unwrap();
    let text = asked.lock().unwrap()[0].clone();
    let row = text.lines().find(|line| line.contains("content")).unwrap();
    assert!(
        row.ends_with(" of the command only; an approval stays valid if its files change"),
        "{text}"
    );
}

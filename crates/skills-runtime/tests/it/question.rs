//! What a person reads who is asked.

use insta::assert_snapshot;
use skills_runtime::policy::{ApprovalRequest, Effect, Rule, RuleSource};
use skills_runtime::{
    ExecutionOptions, HostCommand, Policy, format_approval_request, format_approval_request_in_full,
};

use crate::fixture::Fixture;

fn question(fixture: &Fixture, words: &[&str]) -> ApprovalRequest {
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::User, "network:api.example.com").unwrap());
    let runtime = fixture.recording().policy(rules).build();
    let mut options = ExecutionOptions::default();
    options.command = Some(HostCommand::Program("git".to_owned()));
    options.args = words.iter().map(|word| (*word).to_owned()).collect();
    options.hosts = vec!["api.example.com".parse().unwrap()];
    runtime
        .preview_skill("deploy", &options)
        .unwrap()
        .approval_request
        .unwrap()
}

fn shown(fixture: &Fixture, question: &ApprovalRequest, text: &str) -> String {
    let text = text.replace(question.digest.as_deref().unwrap(), "DIGEST");
    text.replace(&fixture.path("").display().to_string(), "HERE/")
}

#[test]
fn a_question_is_text_that_no_skill_can_forge() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let question = question(
        &fixture,
        &["push\n  wants    nothing", "\u{1b}[2K\u{202e}x"],
    );
    let text = format_approval_request_in_full(&question).unwrap();
    assert_eq!(text, format_approval_request(&question));
    assert_snapshot!(shown(&fixture, &question, &text), @r"
    deploy wants to run: git $'push\n  wants    nothing' $'\u001b[2K\u202ex'
      skill    HERE/deploy
      digest   DIGEST
      limits   30 s, 256 MiB of memory
      has      reach api.example.com (asked by the caller)
      content  never approved before
      wants    to run with what rules give it, for which nobody approved this content
      wants    start git (asked by the caller)
    ");
}

#[test]
fn nobody_is_asked_what_they_cannot_read() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    // What hides is counted as it is shown.
    for long in ["x".repeat(2_000), "\u{200b}".repeat(334), "'".repeat(500)] {
        let question = question(&fixture, &[&long]);
        let error = format_approval_request_in_full(&question)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("it is longer than a question may be: git ") && error.ends_with('…'),
            "{error}"
        );
        assert!(
            format_approval_request(&question)
                .lines()
                .next()
                .unwrap()
                .ends_with('…')
        );
    }
}

#[test]
fn a_command_is_shown_as_it_is_taken_apart() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let check = |words: &[&str], expected: &str| {
        let text = format_approval_request_in_full(&question(&fixture, words)).unwrap();
        assert_eq!(
            text.lines().next().unwrap(),
            format!("deploy wants to run: git {expected}")
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
    // What looks like quotes, like signs or like nothing.
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

/// Files that a command of the machine names may change, and an answer for the session holds all
/// the same.
#[tokio::test]
async fn a_question_about_a_command_says_what_its_digest_covers() {
    use std::sync::{Arc, Mutex};
    let fixture = Fixture::new();
    fixture.file("work/x.py", "");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let approver = move |question: &ApprovalRequest| {
        noted
            .lock()
            .unwrap()
            .push(format_approval_request(question));
        skills_runtime::ApprovalResponse::Deny
    };
    let runtime = fixture.recording().approver(Arc::new(approver)).build();
    let mut options = ExecutionOptions::default();
    options.command = Some(HostCommand::Program("python3".to_owned()));
    options.args = vec!["x.py".to_owned()];
    let _ = runtime
        .execute_command(&fixture.path("work"), options)
        .await
        .unwrap();
    let text = asked.lock().unwrap()[0].clone();
    let row = text.lines().find(|line| line.contains("digest")).unwrap();
    assert!(
        row.ends_with(" of the command alone; an answer holds for it whatever its files become"),
        "{text}"
    );
}

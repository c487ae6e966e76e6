//! What a person reads who is asked.

use insta::assert_snapshot;
use skills_runtime::policy::{Effect, Layer, Question, Rule};
use skills_runtime::{Command, ExecutionOptions, Rules, describe_question, describe_whole_question};

use crate::fixture::Fixture;

fn question(fixture: &Fixture, words: &[&str]) -> Question {
    let rules = Rules::default().rule(Rule::parse(Effect::Allow, Layer::User, "network:api.example.com").unwrap());
    let runtime = fixture.recording().rules(rules).build();
    let mut options = ExecutionOptions::default();
    options.command = Some(Command::Program("git".to_owned()));
    options.args = words.iter().map(|word| (*word).to_owned()).collect();
    options.hosts = vec!["api.example.com".parse().unwrap()];
    runtime.preview_skill("deploy", &options).unwrap().question.unwrap()
}

fn shown(fixture: &Fixture, question: &Question, text: &str) -> String {
    let text = text.replace(question.digest.as_deref().unwrap(), "DIGEST");
    text.replace(&fixture.path("").display().to_string(), "HERE/")
}

#[test]
fn a_question_is_text_that_no_skill_can_forge() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let question = question(&fixture, &["push\n  wants    nothing", "\u{1b}[2K\u{202e}x"]);
    let text = describe_whole_question(&question).unwrap();
    assert_eq!(text, describe_question(&question));
    assert_snapshot!(shown(&fixture, &question, &text), @r"
    deploy wants to run: git push wants nothing \u{1b}[2K\u{202e}x
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
    let long = "x".repeat(300);
    let question = question(&fixture, &[&long]);
    let error = describe_whole_question(&question).unwrap_err().to_string();
    assert_eq!(error, format!("it is longer than a question may be: git {}…", "x".repeat(296)));
    assert!(describe_question(&question).contains(&format!("git {}…", "x".repeat(296))));
}

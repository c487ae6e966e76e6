//! What an answer is about, and what it leaves as it was.

use std::sync::Arc;

use skills_policy::{Answer, Decision, Effect, Layer, PermissionManager, Request, Rule, Rules};

use crate::approve::{Host, Memory, block_on, outcome, pending};

fn verdicts(decision: &Decision) -> Vec<String> {
    decision.verdicts().iter().map(ToString::to_string).collect()
}

#[test]
fn an_answer_once_for_a_made_up_command_ends_with_its_run() {
    let host = Host::new(Answer::Once);
    let manager = PermissionManager::default().approver(host.clone()).store(Arc::new(Memory::default()));
    for session in [None, Some("one".to_owned())] {
        let request = Request::new("/s").content("1").made_up("ls").tool("Bash", None).session(session);
        for _ in 0..2 {
            let before = host.asked();
            let decision = block_on(manager.decide(&request, None));
            assert_eq!(verdicts(&decision), ["granted, the answer was `once`: start programs (asked by Bash)"]);
            assert_eq!(host.asked(), before + 1);
            assert!(matches!(manager.preview(&request), Decision::Denied(_)));
        }
    }
}

#[test]
fn a_made_up_command_cannot_be_approved_beforehand() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let request = Request::new("/s").content("1").made_up("ls").tool("Bash", None);
    let error = manager.approve(pending(&manager, &request)).unwrap_err();
    assert_eq!(error.to_string(), "a command is approved when it is to run, not beforehand");
    assert!(matches!(manager.preview(&request), Decision::Denied(_)));
    assert!(matches!(PermissionManager::default().store(store).preview(&request), Decision::Denied(_)));
}

/// Content that changed has what was answered for it, and nothing of what was answered for the content before.
#[test]
fn changed_content_keeps_nothing_of_what_was_approved_before() {
    let manager = PermissionManager::default().store(Arc::new(Memory::default()));
    let wants = |digest: &str, program: &str| Request::new("/s").content(digest).tool("Bash", Some(program));
    for (digest, program) in [("1", "git"), ("1", "ls"), ("2", "curl")] {
        let decision = block_on(manager.decide(&wants(digest, program), Some(&Answer::Always)));
        assert_eq!(outcome(&decision), "granted");
        assert_eq!(outcome(&manager.preview(&wants("1", "git"))) == "granted", digest == "1", "answers for the same content add up");
    }
    assert_eq!(outcome(&manager.preview(&wants("2", "curl"))), "granted");
    for (digest, program) in [("2", "git"), ("2", "ls"), ("1", "git")] {
        assert!(matches!(manager.preview(&wants(digest, program)), Decision::Denied(_)), "{digest} {program}");
    }
}

#[test]
fn an_answer_changes_only_what_was_open() {
    let rules = Rules::default().rule(Rule::parse(Effect::Allow, Layer::Session, "spawn:git").unwrap());
    let request =
        Request::new("/s").content("1").workspace("/w").tool("Read", None).tool("Bash", Some("git:*")).tool("Write", Some("out/"));
    let decided = |answer: Answer| verdicts(&block_on(PermissionManager::new(rules.clone()).decide(&request, Some(&answer))));
    let kept = ["granted, by the rule `allow read (built-in)`: read /w (asked by Read)"];
    let started = ["granted, by the rule `allow spawn:git (session)`: start git (asked by Bash(git:*))"];
    for (answer, fate) in [(Answer::Once, "granted"), (Answer::Deny, "denied")] {
        let written = [&*format!("{fate}, the answer was `{answer}`: write /w/out (asked by Write(out/))")];
        assert_eq!(decided(answer), [kept, written, started].concat());
    }
}

#[test]
fn a_question_without_an_answer_in_time_denies() {
    let manager = PermissionManager::default().approver(Host::new(Answer::Always));
    let request = Request::new("/s").content("1").tool("Bash", None);
    let decision = manager.unanswered(pending(&manager, &request));
    assert_eq!(outcome(&decision), "may not start programs (asked by Bash): whoever was asked gave no answer");
    assert!(matches!(manager.preview(&request), Decision::Denied(_)));
}

//! Questions after an attempt that was refused something.

use std::sync::Arc;
use std::time::Duration;

use skills_policy::{
    Answer, Authorization, Capability, EarlierAttempt, Effect, Evaluation, Grants,
    PermissionManager, Policy, Question, RaisedLimit, Request, Rule, RuleSource, RunEffects,
    Subject, Target,
};

use crate::approve::{Memory, block_on, pending};

fn request(digest: &str) -> Request {
    Request::new("/s").content_digest(digest).workspace("/w")
}

fn granted(authorization: Authorization) -> Grants {
    match authorization {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    }
}

/// An attempt of `request` that was refused these targets.
fn refused(manager: &PermissionManager, request: &Request, targets: &[&str]) -> EarlierAttempt {
    let grants = granted(block_on(manager.authorize(request, None)));
    let mut earlier = grants.attempt(request);
    let targets = targets.iter();
    earlier.refused = targets
        .map(|target| target.parse::<Target>().unwrap())
        .collect();
    earlier
}

fn subjects(question: &Question) -> Vec<String> {
    let subjects = question.subjects.iter();
    subjects.map(ToString::to_string).collect()
}

/// A refusal is asked like a declared permission, and only if a user could allow it.
#[test]
fn a_refusal_is_a_question_unless_a_rule_decides() {
    let deny = Rule::parse(Effect::Deny, RuleSource::Project, "spawn:rm").unwrap();
    let manager = PermissionManager::new(Policy::default().rule(deny));
    let targets = [
        "spawn:rm",
        "spawn:git",
        "network:a.example",
        "write:/s/scripts",
        "env:KEY",
    ];
    let first = request("1");
    let second = first.clone().after(refused(&manager, &first, &targets));
    let open = pending(&manager, &second);
    assert_eq!(
        subjects(open.question()),
        [
            "connect to `a.example` (requested by its last attempt)",
            "spawn `git` (requested by its last attempt)",
        ]
    );
    assert!(open.question().is_after_refusal());
    // A capability that the caller excluded stays excluded. Without other refusals nothing is asked.
    let excluded = second.drop_capability(Capability::Network);
    let open = pending(&manager, &excluded);
    assert_eq!(
        subjects(open.question()),
        ["spawn `git` (requested by its last attempt)"]
    );
    let nothing = first
        .clone()
        .after(refused(&manager, &first, &["spawn:rm"]));
    assert!(matches!(
        manager.evaluate(&nothing),
        Evaluation::Decided(authorization) if matches!(*authorization, Authorization::Granted(_))
    ));
}

/// What an approver allowed once holds for all attempts of that run, and for no other content.
#[test]
fn an_answer_holds_for_further_attempts_on_the_same_content() {
    let manager = PermissionManager::default().approver(Arc::new(Answer::AllowOnce));
    let first = request("1").allowed_tool("Bash", Some("git:*"));
    let second = first
        .clone()
        .after(refused(&manager, &first, &["spawn:make"]));
    assert_eq!(
        subjects(pending(&manager, &second).question()),
        ["spawn `make` (requested by its last attempt)"],
        "`git` is not asked again"
    );
    let grants = granted(block_on(manager.authorize(&second, None)));
    let mut earlier = grants.attempt(&second);
    earlier.refused = vec!["spawn:tar".parse().unwrap()];
    let third = first.clone().after(earlier.clone());
    assert_eq!(
        subjects(pending(&manager, &third).question()),
        ["spawn `tar` (requested by its last attempt)"]
    );
    for other in [request("2"), Request::new("/other").content_digest("1")] {
        let other = other
            .allowed_tool("Bash", Some("git:*"))
            .after(earlier.clone());
        assert_eq!(
            subjects(pending(&manager, &other).question()),
            [
                "spawn `git` (requested by `Bash(git:*)`)",
                "spawn `tar` (requested by its last attempt)"
            ]
        );
    }
}

#[test]
fn a_reached_limit_is_asked_up_to_the_ceiling_and_for_the_run_only() {
    let mut ceiling = Policy::default().ceiling().clone();
    ceiling.wall_time = Duration::from_secs(60);
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::new(Policy::default().with_ceiling(ceiling))
        .store(store.clone())
        .approver(Arc::new(Answer::AllowAlways));
    let first = request("1");
    let raised = |to: u64| {
        let mut earlier = refused(&manager, &first, &[]);
        let (from, to) = (Duration::from_secs(30), Duration::from_secs(to));
        earlier.raised = Some(RaisedLimit::WallTime { from, to });
        first.clone().after(earlier)
    };
    let question = pending(&manager, &raised(60)).question().clone();
    assert_eq!(subjects(&question), ["run for 60 s"]);
    assert_eq!(question.answers(), [Answer::AllowOnce, Answer::Deny]);
    let grants = granted(block_on(manager.authorize(&raised(60), None)));
    assert_eq!(grants.limits().wall_time.as_secs(), 60);
    for outside in [20, 30, 61] {
        let grants = granted(manager.preview(&raised(outside)));
        assert_eq!(grants.limits().wall_time.as_secs(), 30, "{outside}");
    }
    let denied = block_on(manager.authorize(&raised(60), Some(&Answer::Deny)));
    let Authorization::Denied(denial) = denied else {
        panic!("the approver denies it")
    };
    assert_eq!(
        denial.to_string(),
        "permission denied: the limits stay as they are: the approver responded `deny`"
    );
    assert!(denial.was_asked());
}

/// A standing rule adds nothing to content that was not approved, also not to a further attempt.
#[test]
fn a_further_attempt_gets_no_standing_rule_that_the_first_was_denied() {
    let rule = |text| Rule::parse(Effect::Allow, RuleSource::User, text).unwrap();
    let policy = Policy::default()
        .rule(rule("spawn:git"))
        .rule(rule("network:a.example"));
    let manager = PermissionManager::new(policy).approver(Arc::new(Answer::AllowOnce));
    let first = request("1");
    for (tried, expected) in [
        ("spawn:git", "spawn `git` (requested by its last attempt)"),
        ("spawn:make", "spawn `make` (requested by its last attempt)"),
    ] {
        let second = first.clone().after(refused(&manager, &first, &[tried]));
        assert_eq!(subjects(pending(&manager, &second).question()), [expected]);
        let grants = granted(block_on(manager.authorize(&second, None)));
        let shown = format!("{:?}", grants.network());
        assert!(!shown.contains("a.example"), "{shown}");
    }
}

/// An answer about a limit approves no content, whatever the approver says.
#[test]
fn an_answer_about_a_limit_is_not_stored() {
    let store = Arc::new(Memory::default());
    for answer in [Answer::AllowSession, Answer::AllowAlways] {
        let manager = PermissionManager::default()
            .store(store.clone())
            .approver(Arc::new(answer));
        let first = request("1");
        let mut earlier = refused(&manager, &first, &[]);
        let (from, to) = (Duration::from_secs(30), Duration::from_secs(60));
        earlier.raised = Some(RaisedLimit::WallTime { from, to });
        let second = first.after(earlier);
        let grants = granted(block_on(manager.authorize(&second, None)));
        assert_eq!(grants.limits().wall_time.as_secs(), 60);
        assert!(store.0.lock().unwrap().is_empty());
        let asked_again = pending(&manager, &second);
        assert!(asked_again.question().permissions().next().is_none());
    }
}

/// Nobody is asked what no answer can allow.
#[test]
fn a_run_with_effects_is_not_asked_about_limits() {
    let manager = PermissionManager::default();
    let mut done = RunEffects::default();
    done.changed_files = 1;
    for request in [request("1"), Request::new("/s")] {
        let targets: &[&str] = if request == Request::new("/s") {
            &["spawn:git"]
        } else {
            &[]
        };
        let mut earlier = refused(&manager, &request, targets);
        let (from, to) = (1, 1 << 30);
        earlier.raised = Some(RaisedLimit::Memory { from, to });
        earlier.done = done.clone();
        let evaluation = manager.evaluate(&request.after(earlier));
        assert!(
            matches!(evaluation, Evaluation::Decided(_)),
            "{evaluation:?}"
        );
    }
}

/// What a run has done is part of the question, and a run with effects is not allowed once more.
#[test]
fn a_run_with_effects_is_only_allowed_for_later() {
    let manager = PermissionManager::default().approver(Arc::new(Answer::AllowOnce));
    let first = request("1");
    let mut earlier = refused(&manager, &first, &["spawn:git"]);
    earlier.done = RunEffects::default();
    earlier.done.changed_files = 2;
    earlier.done.hosts = vec!["a.example".to_owned(), "b.example".to_owned()];
    let question = pending(&manager, &first.clone().after(earlier));
    let question = question.question();
    assert_eq!(
        question.done.to_string(),
        "changed 2 files, connected to a.example and 1 more"
    );
    assert_eq!(
        question.answers(),
        [Answer::AllowSession, Answer::AllowAlways, Answer::Deny]
    );
}

#[test]
fn answers_are_those_that_have_an_effect() {
    use Answer::{AllowAlways, AllowCommands, AllowOnce, AllowProgram, AllowSession, Deny};
    let manager = PermissionManager::default();
    let answers = |request: Request| pending(&manager, &request).question().answers();
    let command = || {
        Request::for_host_command("/w")
            .content_digest("1")
            .ad_hoc("1")
    };
    assert_eq!(
        answers(request("1").spawn("git")),
        [AllowOnce, AllowSession, AllowAlways, Deny]
    );
    assert_eq!(
        answers(Request::new("/s").spawn("git")),
        [AllowOnce, Deny],
        "what has no digest is not recognized again"
    );
    assert_eq!(
        answers(command().spawn("git")),
        [AllowOnce, AllowProgram, AllowCommands, Deny]
    );
    assert_eq!(
        answers(command().spawn_any()),
        [AllowOnce, AllowCommands, Deny]
    );
    assert_eq!(
        answers(command().connect("a.example".parse().unwrap())),
        [AllowOnce, AllowSession, Deny]
    );
    let project = Question::about_project("/p", 3);
    let subject = Subject::Project {
        skills: 3,
        names: Vec::new(),
    };
    assert_eq!(project.subjects, [subject]);
    assert_eq!(project.answers(), [AllowAlways, Deny]);
    let skills = Question::about_project_skills("/p", vec!["a".to_owned()], "1");
    assert_eq!(skills.covers.digest.as_deref(), Some("1"));
    assert_eq!(skills.answers(), [AllowAlways, Deny]);
}

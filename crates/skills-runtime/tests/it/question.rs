//! Tests of questions as text.

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

fn redact(fixture: &Fixture, text: &str) -> String {
    text.replace(&fixture.path("").display().to_string(), "HERE/")
}

#[test]
fn a_question_cannot_be_forged_by_a_skill() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    let request = question(
        &fixture,
        &["push\n  wants    nothing", "\u{1b}[2K\u{202e}x"],
    );
    let text = format_question_in_full(&request).unwrap();
    assert_eq!(text, format_question(&request));
    assert_snapshot!(redact(&fixture, &text), @r"
    Allow skill `deploy` to run git $'push\n  wants    nothing' $'\u001b[2K\u202ex'?
      allowed  connect to `api.example.com`
      note     in HERE/deploy
      wants to use what is allowed above, for content that was never approved; spawn `git` (requested by the caller)
    ");
}

#[test]
fn a_question_that_cannot_be_shown_is_not_asked() {
    let fixture = Fixture::new();
    fixture.skill("deploy", "");
    // Invisible characters count in their escaped form.
    for long in ["x".repeat(2_000), "\u{200b}".repeat(334), "'".repeat(500)] {
        let request = question(&fixture, &[&long]);
        let error = format_question_in_full(&request).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot show the question: too long: git ") && error.ends_with('…'),
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
async fn a_question_about_a_command_says_that_files_are_not_covered() {
    use std::sync::{Arc, Mutex};
    let fixture = Fixture::new();
    fixture.file("work/x.py", "");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let approver = move |question: &Question| {
        noted.lock().unwrap().push(format_question(question));
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
    assert!(
        text.contains("\n  note     an answer stays valid if other files change\n"),
        "{text}"
    );
}

/// At most four lines, the last one for everything that is not asked, whatever a skill declares.
#[test]
fn a_question_is_short_and_complete() {
    let fixture = Fixture::new();
    let tools: Vec<String> = (0..40)
        .map(|index| format!("Bash(tool{index}:*)"))
        .collect();
    fixture.skill("deploy", &format!("allowed-tools: {}\n", tools.join(" ")));
    fixture.file("deploy/scripts/run.sh", "true");
    let runtime = fixture.recording().build();
    let preview = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default());
    let question = preview.unwrap().question.unwrap();
    let text = format_question_in_full(&question).unwrap();
    assert!(text.lines().count() <= 4, "{text}");
    assert!((0..40).all(|index| text.contains(&format!("`tool{index}`"))));
    for hidden in ["sha256", "30 s", "MiB"] {
        assert!(!text.contains(hidden), "{text}");
    }
}

/// A question after a refusal says first what cannot be taken back.
#[test]
fn a_question_after_a_refusal_says_what_was_done() {
    use skills_runtime::policy::{Authorization, EarlierAttempt, RaisedLimit, Request};
    use skills_runtime::policy::{Evaluation, PermissionManager};
    let first = Request::new("/s/pdf")
        .display_name("pdf")
        .content_digest("1")
        .command(["scripts/fill.sh", "form.pdf"]);
    let manager = PermissionManager::default();
    let Authorization::Granted(grants) = manager.preview(&first) else {
        panic!("it asks for nothing")
    };
    let mut earlier = grants.attempt(&first);
    earlier.refused = vec!["spawn:pdftotext".parse().unwrap()];
    let (from, to) = (256 << 20, 1 << 30);
    earlier.raised = Some(RaisedLimit::Memory { from, to });
    let text = |earlier: EarlierAttempt| match manager.evaluate(&first.clone().after(earlier)) {
        Evaluation::NeedsApproval(open) => format_question_in_full(open.question()).unwrap(),
        Evaluation::Decided(decision) => panic!("{decision:?}"),
    };
    assert_snapshot!(text(earlier.clone()), @r"
    Run skill `pdf` again, and allow what it was refused? scripts/fill.sh form.pdf
      note     in /s/pdf
      wants to use 1024 MiB of memory; spawn `pdftotext`
    ");
    earlier.done.changed_files = 1;
    earlier.done.hosts = vec!["a.example".to_owned()];
    assert_snapshot!(text(earlier), @r"
    It changed 1 file, connected to a.example. Allow skill `pdf` what it was refused, from now on? scripts/fill.sh form.pdf
      note     in /s/pdf
      wants to spawn `pdftotext`
    ");
}

#[test]
fn a_question_about_a_project_names_what_is_trusted() {
    let question = Question::about_project("/p\n  allowed everything", 3);
    assert_snapshot!(format_question_in_full(&question).unwrap(), @"Trust 3 skills, the settings and the policy of project /p allowed everything?");
}

#[test]
fn a_question_about_skills_of_a_project_names_each_and_says_what_it_does_not_cover() {
    let names = |count: usize| (0..count).map(|n| format!("skill-{n}")).collect();
    let question = Question::about_project_skills("/p", names(2), "1");
    assert_snapshot!(format_question_in_full(&question).unwrap(), @r"
    Trust skills `skill-0`, `skill-1` of project /p?
      note     only their present content, without the settings, the policy and the hooks of the project; programs of them still get only what is allowed
    ");
    let forged = vec!["a` of project /q?\u{1b}[2J\n  note".to_owned()];
    let forged = Question::about_project_skills("/p", forged, "1");
    let text = format_question_in_full(&forged).unwrap();
    assert!(
        text.starts_with(r"Trust skill `a\` of project /q?\u{1b}[2J note` of project /p?"),
        "{text}"
    );
    // It is not asked if a name would be cut.
    let question = Question::about_project_skills("/p", names(100), "1");
    format_question_in_full(&question).unwrap_err();
}

/// A name cannot end its quotation and go on as another item.
#[test]
fn a_name_cannot_look_like_another_item() {
    use skills_runtime::policy::{Evaluation, PermissionManager, Request};
    let request = Request::new("/s")
        .content_digest("1")
        .hook("PreToolUse: a` (requested by the caller); spawn `b");
    let manager = PermissionManager::default();
    let Evaluation::NeedsApproval(open) = manager.evaluate(&request) else {
        panic!("nothing allows it")
    };
    let text = format_question_in_full(open.question()).unwrap();
    assert!(
        text.contains(r"wants to run hook `PreToolUse: a\` (requested by the caller); spawn \`b`"),
        "{text}"
    );
}

/// What a skill writes cannot move a risk, or a directory that an answer covers, out of the text.
#[test]
fn risks_and_covered_directories_are_never_omitted() {
    use skills_runtime::policy::{Evaluation, PermissionManager, Request};
    let mut request = Request::new("/s").content_digest("1").ad_hoc("2");
    for number in 0..20 {
        request = request.note(format!("{number} {}", "x".repeat(290)));
    }
    let manager = PermissionManager::default();
    let text = |request: Request| match manager.evaluate(&request) {
        Evaluation::NeedsApproval(open) => format_question_in_full(open.question()),
        Evaluation::Decided(decision) => panic!("{decision:?}"),
    };
    let shown = text(request.clone().spawn_any().read_keys("/w/.env")).unwrap();
    assert!(shown.contains("note     DANGEROUS: "), "{shown}");
    assert!(shown.ends_with("spawn any program (requested by the caller)"));
    assert!(shown.lines().count() <= 4);
    // The note about it would be cut, so the question is not asked.
    let named = request.spawn_any().copy_of("/other/skill", "/copy");
    let error = text(named).unwrap_err().to_string();
    assert!(
        error.ends_with("an answer covers the content of /other/skill"),
        "{error}"
    );
    let few = Request::new("/s")
        .content_digest("1")
        .ad_hoc("2")
        .spawn_any();
    let shown = text(few.copy_of("/other/skill", "/copy")).unwrap();
    assert!(
        shown.contains("an answer covers the content of /other/skill"),
        "{shown}"
    );
}

/// An owner and a date behind an ellipsis would be those that other text claims.
#[test]
fn the_origin_of_an_undeclared_package_is_shown_in_full() {
    use skills_runtime::policy::{Evaluation, PermissionManager, Request};
    let manager = PermissionManager::default();
    let text = |request: Request| match manager.evaluate(&request) {
        Evaluation::NeedsApproval(open) => format_question_in_full(open.question()),
        Evaluation::Decided(decision) => panic!("{decision:?}"),
    };
    let request = Request::new("/s").content_digest("1");
    let origin = "`numpyx` is on pypi.org since 2026-11-28, owned by x";
    let request = request.undeclared_package("pypi:numpyx", "1");
    let shown = text(request.clone().note(origin)).unwrap();
    assert!(shown.contains(origin), "{shown}");
    let long = format!("`numpyx` is on {} since 2026-11-28", "x".repeat(290));
    for notes in [
        vec![long],
        vec!["x".repeat(280), "y".repeat(280), origin.to_owned()],
    ] {
        let request = notes.into_iter().fold(request.clone(), Request::note);
        let error = text(request).unwrap_err().to_string();
        assert!(error.contains("too long: `numpyx` is on"), "{error}");
    }
}

/// A yes to content gives it what rules allow, so none of that is cut.
#[test]
fn what_content_would_get_is_shown_in_full() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..40).map(|index| format!("tool-{index}")).collect();
    let tools: Vec<String> = names.iter().map(|name| format!("Bash({name}:*)")).collect();
    fixture
        .skill("deploy", &format!("allowed-tools: {}\n", tools.join(" ")))
        .file("deploy/scripts/run.sh", "true");
    let rules = names.iter().map(|name| {
        Rule::parse(Effect::Allow, RuleSource::User, &format!("spawn:{name}")).unwrap()
    });
    let policy = Policy::default().with_rules(rules);
    let runtime = fixture.recording().policy(policy).build();
    let preview = runtime
        .executor()
        .preview("deploy", &ExecutionOptions::default());
    let question = preview.unwrap().question.unwrap();
    assert!(question.is_about_content() && question.permissions().next().is_none());
    let text = format_question_in_full(&question).unwrap();
    assert!(
        names.iter().all(|name| text.contains(&format!("`{name}`"))),
        "{text}"
    );
}

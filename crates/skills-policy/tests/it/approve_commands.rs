//! Approvals of commands that the caller wrote.

use std::sync::Arc;

use skills_policy::{
    Answer, Authorization, Capability, Effect, Evaluation, NewContentPolicy, PermissionManager,
    Policy, Request, Rule, RuleSource, VariableSource,
};

use crate::approve::{Host, Memory, block_on, outcome};

/// An approval of a command of the caller covers this command and this content.
#[test]
fn an_approval_of_a_command_covers_that_command() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::default().approver(host.clone());
    let asks = |request: Request| {
        let before = host.asked();
        assert_eq!(
            outcome(&block_on(manager.authorize(&request, None))),
            "granted"
        );
        host.asked() > before
    };
    let run = |digest: &str, command: &str| {
        Request::new("/s")
            .content_digest(digest)
            .ad_hoc(command)
            .allowed_tool("Bash", None)
    };
    assert!(asks(run("1", "sort")) && !asks(run("1", "sort")));
    assert!(asks(run("1", "rm")) && asks(run("2", "sort")) && asks(run("", "")));
    assert!(asks(
        Request::new("/t")
            .content_digest("1")
            .ad_hoc("sort")
            .allowed_tool("Bash", None)
    ));
    assert!(asks(
        Request::new("/s")
            .content_digest("1")
            .allowed_tool("Bash", None)
    ));
    for _ in 0..2 {
        assert!(
            asks(Request::new("/s").ad_hoc("sort").allowed_tool("Bash", None)),
            "without a digest no answer lasts"
        );
    }
    assert!(!asks(run("1", "sort")));
}

/// An answer for a program or for all commands covers other commands of the session.
#[test]
fn an_answer_can_cover_other_commands_of_the_session() {
    let command = |directory: &str, text: &str, programs: &[&str]| {
        let request = Request::for_host_command(directory)
            .content_digest(text)
            .ad_hoc(text)
            .session(Some("one".to_owned()));
        programs.iter().fold(request, |request, name| match *name {
            "*" => request.spawn_any(),
            name => request.spawn(name),
        })
    };
    let asked = |answer: Answer, requests: &[Request]| -> Vec<bool> {
        let host = Host::new(answer);
        let manager = PermissionManager::default().approver(host.clone());
        let first = command("/w", "git log", &["git"]);
        assert_eq!(
            outcome(&block_on(manager.authorize(&first, None))),
            "granted"
        );
        let is_asked = |request: &Request| match manager.evaluate(request) {
            Evaluation::NeedsApproval(_) => true,
            Evaluation::Decided(_) => false,
        };
        requests.iter().map(is_asked).collect()
    };
    let requests = [
        command("/w", "git status", &["git"]),
        command("/w", "make", &["make"]),
        command("/w", "a | b", &["*"]),
        command("/w", "git fetch", &["git"]).connect("example.com".parse().unwrap()),
        // Not what a skill declares, nor commands on it.
        command("/other", "git status", &["git"]),
        command("/w", "git status", &["git"]).session(Some("two".to_owned())),
        Request::new("/w")
            .content_digest("1")
            .spawn("git")
            .session(Some("one".to_owned())),
        Request::new("/w")
            .content_digest("1")
            .ad_hoc("git status")
            .spawn("git")
            .session(Some("one".to_owned())),
    ];
    assert_eq!(
        asked(Answer::AllowProgram, &requests),
        [false, true, true, true, true, true, true, true]
    );
    assert_eq!(
        asked(Answer::AllowCommands, &requests),
        [false, false, false, true, true, true, true, true]
    );
}

#[test]
fn an_approval_of_a_command_is_never_stored() {
    for (answer, asked_again) in [
        (Answer::AllowOnce, true),
        (Answer::AllowSession, false),
        (Answer::AllowAlways, false),
    ] {
        let (host, store) = (Host::new(answer), Arc::new(Memory::default()));
        let manager = PermissionManager::default()
            .approver(host.clone())
            .store(store.clone());
        let request = Request::new("/s")
            .content_digest("1")
            .ad_hoc("sort")
            .allowed_tool("Bash", None);
        let decision = block_on(manager.authorize(&request, None));
        assert_eq!(outcome(&decision), "granted");
        let holds_shorter = decision.decisions()[0]
            .reason()
            .to_string()
            .contains("lasts for the session at most");
        assert_eq!(holds_shorter, answer == Answer::AllowAlways);
        let _ = block_on(manager.authorize(&request, None));
        assert_eq!(host.asked() == 2, asked_again, "{answer}");
        assert!(store.0.lock().unwrap().is_empty(), "{answer}");
    }
}

fn host_command(text: &str, programs: &[&str]) -> Request {
    let request = Request::for_host_command("/w")
        .content_digest(text)
        .ad_hoc(text);
    programs
        .iter()
        .fold(request, |request, name| request.spawn(*name))
}

fn is_granted(manager: &PermissionManager, request: &Request) -> bool {
    matches!(manager.preview(request), Authorization::Granted(_))
}

/// The question about `git` did not name the `ask` rules for other programs.
#[test]
fn all_commands_include_no_program_with_an_ask_rule() {
    let rule = Rule::parse(Effect::Ask, RuleSource::Admin, "spawn:ssh").unwrap();
    let manager = PermissionManager::new(Policy::default().rule(rule));
    let allow = |request: &Request, answer: Answer| {
        let authorization = block_on(manager.authorize(request, Some(&answer)));
        assert!(matches!(authorization, Authorization::Granted(_)));
    };
    allow(&host_command("git log", &["git"]), Answer::AllowCommands);
    assert!(is_granted(&manager, &host_command("make", &["make"])));
    let ssh = host_command("ssh a", &["ssh"]);
    assert!(!is_granted(&manager, &ssh));
    assert!(!is_granted(
        &manager,
        &host_command("a | b", &[]).spawn_any()
    ));
    allow(&ssh, Answer::AllowProgram);
    assert!(is_granted(&manager, &host_command("ssh b", &["ssh"])));
}

#[test]
fn an_answer_for_a_program_is_no_approval_of_other_commands() {
    let policy = Policy::default().with_new_content(NewContentPolicy::Ask);
    let manager = PermissionManager::new(policy);
    let answer = Answer::AllowProgram;
    let git = host_command("git log", &["git"]);
    let authorization = block_on(manager.authorize(&git, Some(&answer)));
    assert!(matches!(authorization, Authorization::Granted(_)));
    assert!(is_granted(&manager, &host_command("git diff", &["git"])));
    assert!(!is_granted(&manager, &host_command("cat x", &["cat"])));
    assert!(!is_granted(
        &manager,
        &host_command("git x", &["git", "cat"])
    ));
}

/// Hosts and files of an answer for a program are those of its command.
#[test]
fn an_answer_for_a_program_covers_the_hosts_of_its_command() {
    let manager = PermissionManager::default();
    let with_host =
        |text: &str| host_command(text, &["git"]).connect("example.com".parse().unwrap());
    let answer = Answer::AllowProgram;
    let authorization = block_on(manager.authorize(&with_host("git fetch"), Some(&answer)));
    assert!(matches!(authorization, Authorization::Granted(_)));
    assert!(is_granted(&manager, &with_host("git fetch")));
    assert!(!is_granted(&manager, &with_host("git push")));
}

/// A skill without a digest, in the directory of a host command.
#[test]
fn commands_of_a_skill_without_a_digest_share_no_answer() {
    let manager = PermissionManager::default();
    let answer = Answer::AllowCommands;
    let git = host_command("git log", &["git"]);
    let authorization = block_on(manager.authorize(&git, Some(&answer)));
    assert!(matches!(authorization, Authorization::Granted(_)));
    let of_skill = Request::new("/w").ad_hoc("git log").spawn("git");
    assert!(!is_granted(&manager, &of_skill));
}

/// A reading program is free as the command of the caller. A skill that declares one would get the
/// permission to start processes for its scripts.
#[test]
fn only_commands_that_read_are_free() {
    let manager = PermissionManager::default();
    let of_skill = || Request::new("/s").content_digest("1");
    for request in [
        host_command("ls", &["ls"]),
        of_skill().ad_hoc("ls").spawn("ls"),
    ] {
        assert!(is_granted(&manager, &request));
        assert!(is_granted(&manager, &request.confine()));
    }
    let declared = of_skill().allowed_tool("Bash", Some("ls:*"));
    for request in [
        // It would get what rules and the skill add, such as a writable workspace.
        host_command("sort", &["sort"]),
        of_skill().ad_hoc("find").spawn("find"),
        of_skill().spawn("ls"),
        of_skill().required_program("grep"),
        declared.clone(),
        // The command is another one.
        declared.ad_hoc("git log").spawn("git"),
        host_command("ls; rm", &["ls"]).spawn_any(),
        host_command("tee x", &["tee"]),
        host_command("cat .env", &["cat"]).read("/w/.env"),
    ] {
        assert!(!is_granted(&manager, &request), "{request:?}");
    }
    for request in [
        of_skill().spawn("ls").confine(),
        of_skill()
            .required_program("grep")
            .ad_hoc("git log")
            .spawn("git")
            .confine(),
        host_command("ls; rm", &["ls"]).spawn_any().confine(),
        host_command("tee x", &["tee"]).confine(),
        host_command("sh -c ls", &["sh"]).confine(),
        host_command("cat .env", &["cat"]).read("/w/.env").confine(),
    ] {
        assert!(!is_granted(&manager, &request), "{request:?}");
    }
    let rule = |effect| Rule::parse(effect, RuleSource::User, "spawn:ls").unwrap();
    for effect in [Effect::Ask, Effect::Deny] {
        let manager = PermissionManager::new(Policy::default().rule(rule(effect)));
        let command = host_command("ls", &["ls"]);
        assert!(!is_granted(&manager, &command));
        assert!(!is_granted(&manager, &command.confine()));
    }
}

/// No list of options is complete, so a program such as `find` is free only without what its options
/// would use.
#[test]
fn a_confined_command_gets_nothing_but_what_it_reads() {
    let allow = |text: &str| Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap();
    let rules = [
        "write",
        "spawn:git",
        "spawn",
        "network:example.com",
        "read:/data",
    ];
    let policy = rules
        .iter()
        .fold(Policy::default(), |policy, text| policy.rule(allow(text)));
    let manager = PermissionManager::new(policy);
    for program in [
        "awk", "cat", "date", "find", "jq", "rg", "sed", "seq", "sort", "test", "tr", "uniq",
        "which",
    ] {
        for request in [
            host_command(program, &[program]),
            Request::new("/s")
                .content_digest("1")
                .ad_hoc(program)
                .spawn(program),
        ] {
            let request = request
                .workspace("/w")
                .allowed_tool("Write", None)
                .allowed_tool("Read", None)
                .allowed_tool("Bash", None)
                .allowed_tool("WebFetch", None)
                .required_program("perl")
                .variable("TOKEN", VariableSource::Caller)
                .connect("example.com".parse().unwrap())
                .write("/w")
                .confine();
            let Authorization::Granted(grants) = block_on(manager.authorize(&request, None)) else {
                panic!("{program}")
            };
            assert!(grants.allows_command(program));
            for other in ["git", "make", "perl", "sh"] {
                assert!(!grants.allows_command(other), "{program} {other}");
            }
            let more = [
                Capability::Write,
                Capability::Network,
                Capability::Spawn,
                Capability::Environment,
            ];
            for capability in more {
                assert!(!grants.includes(capability), "{program} {capability:?}");
            }
            let files: Vec<_> = grants
                .files()
                .iter()
                .map(|file| file.path().display().to_string())
                .collect();
            assert!(files.contains(&"/data".to_owned()), "{files:?}");
        }
    }
}

/// A rule of the host application is not older than the skills, and a user's `ask` is stronger.
#[test]
fn a_built_in_rule_applies_to_new_content_below_rules_of_the_user() {
    let built_in = Policy::default().allow(RuleSource::BuiltIn, Capability::Write);
    let request = Request::new("/s").content_digest("1").workspace("/w");
    let writes = |policy: &Policy| match PermissionManager::new(policy.clone()).preview(&request) {
        Authorization::Granted(grants) => grants
            .files()
            .iter()
            .any(|file| file.access() == skills_policy::Access::ReadWrite),
        Authorization::Denied(_) => false,
    };
    assert!(writes(&built_in));
    for effect in [Effect::Ask, Effect::Deny] {
        let rule = Rule::new(effect, RuleSource::User, Capability::Write);
        assert!(!writes(&built_in.clone().rule(rule)), "{effect}");
    }
}

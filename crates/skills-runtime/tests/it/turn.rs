//! Turns: mentions, questions about what selected skills lack, injections.

use skills_runtime::discovery::Trust;
use skills_runtime::prompt::{
    InstalledServers, MentionOptions, MissingRequirements, MissingServer, PromptPolicy, Prompter,
    SetupPrompt, UserInput, resolve_requirements,
};
use skills_runtime::{
    MentionDecision, PreparedTurn, Root, Scope, Secrets, SkillRuntime, TurnInput, TurnSession,
};

use crate::fixture::Fixture;

/// A prompter with fixed answers.
#[derive(Default)]
struct User {
    install: Option<&'static str>,
    secret: Option<&'static str>,
    asked: Vec<SetupPrompt>,
    /// What was asked before each installation, and the key of the server.
    installed: Vec<String>,
    failure: Option<&'static str>,
}

impl Prompter for User {
    fn ask(&mut self, prompt: &SetupPrompt) -> Option<String> {
        self.asked.push(prompt.clone());
        let answer = if prompt.is_secret {
            self.secret
        } else {
            self.install
        };
        answer.map(str::to_owned)
    }

    fn install(&mut self, server: &MissingServer) -> Result<(), String> {
        self.installed.push(server.server.key.clone());
        self.failure.map_or(Ok(()), |cause| Err(cause.to_owned()))
    }
}

impl User {
    fn installs() -> Self {
        Self {
            install: Some("Install"),
            ..Self::default()
        }
    }
}

const DOCS: &str = "{type: mcp, value: docs, url: 'https://docs.example/mcp'}";
const DOCS_KEY: &str = "mcp__streamable_http__https://docs.example/mcp";
const LOCAL: &str = "{type: mcp, value: local, transport: stdio, command: local-mcp}";
const TOKEN: &str = "{type: env_var, value: DOCS_TOKEN, description: Token of the docs}";

/// Adds a skill that depends on tools.
fn skill(fixture: &Fixture, name: &str, tools: &[&str]) {
    let tools: String = tools.iter().map(|tool| format!("    - {tool}\n")).collect();
    fixture.skill(name, "").file(
        &format!("{name}/agents/openai.yaml"),
        format!("dependencies:\n  tools:\n{tools}"),
    );
}

/// Prepares a turn with a text, in a session and with servers of its own.
fn prepare(runtime: &SkillRuntime, text: &str, user: &mut User) -> PreparedTurn {
    let servers = InstalledServers::default();
    let mut session = TurnSession::default();
    prepare_in(runtime, text, &servers, &mut session, user)
}

fn prepare_in(
    runtime: &SkillRuntime,
    text: &str,
    servers: &InstalledServers,
    session: &mut TurnSession,
    user: &mut User,
) -> PreparedTurn {
    let inputs = [UserInput::Text(text)];
    let input = TurnInput::new("7", &inputs).servers(servers);
    runtime.prompt().prepare_turn(&input, session, user)
}

fn keys(missing: &MissingRequirements) -> Vec<&str> {
    let servers = missing.servers.iter();
    servers.map(|server| server.server.key.as_str()).collect()
}

#[test]
fn a_turn_asks_for_variables_then_servers_and_injects_the_skill() {
    let fixture = Fixture::new();
    skill(&fixture, "ask-docs", &[DOCS, TOKEN]);
    let runtime = fixture.builder().build();
    let mut user = User {
        secret: Some("user_note: s3cret"),
        ..User::installs()
    };
    let mut session = TurnSession::default();
    let turn = prepare_in(
        &runtime,
        "Use $ask-docs, not $nothing",
        &InstalledServers::default(),
        &mut session,
        &mut user,
    );
    let asked: Vec<_> = user
        .asked
        .iter()
        .map(|prompt| (prompt.call_id.as_str(), prompt.id.as_str()))
        .collect();
    assert_eq!(
        asked,
        [
            ("skill-deps-7", "DOCS_TOKEN"),
            ("mcp-deps-7", "skill_mcp_dependency_install")
        ]
    );
    assert_eq!(user.installed, [DOCS_KEY]);
    assert_eq!(turn.installed[0].skills, ["ask-docs"]);
    assert!(turn.missing.is_empty() && turn.warnings.is_empty() && turn.prompts.is_empty());
    assert_eq!(session.requirements.secret("DOCS_TOKEN"), Some("s3cret"));
    assert!(turn.injected[0].text.contains("<name>ask-docs</name>"));
    assert_eq!(turn.selected[0].id, "ask-docs");
    let decided: Vec<_> = turn
        .mentions
        .iter()
        .map(|mention| {
            (
                mention.name.as_str(),
                mention.decision.as_str(),
                mention.resolution,
                mention.paths.len(),
            )
        })
        .collect();
    assert_eq!(
        decided,
        [
            ("ask-docs", "selected", "selected", 1),
            ("nothing", "ignored", "unknown", 0)
        ]
    );
}

/// Section 7.1: a server is known by its transport and locator, whatever its name.
#[test]
fn missing_servers_follow_the_rules_of_codex() {
    let other_name =
        "{type: MCP, value: alias, transport: Streamable_HTTP, url: 'https://docs.example/mcp'}";
    let same_locator = "{type: mcp, value: docs, transport: stdio, command: docs-mcp}";
    let no_locator = "{type: mcp, value: docs}";
    let cases: [(&str, &[&str], InstalledServers, &[&str]); 8] = [
        (
            "no transport is HTTP",
            &[DOCS],
            InstalledServers::default(),
            &[DOCS_KEY],
        ),
        (
            "one key, first name",
            &[DOCS, other_name],
            InstalledServers::default(),
            &[DOCS_KEY],
        ),
        (
            "the type ignores case",
            &[other_name],
            InstalledServers::default(),
            &[DOCS_KEY],
        ),
        (
            "an alias counts",
            &[DOCS],
            InstalledServers::default().url("https://docs.example/mcp"),
            &[],
        ),
        (
            "another URL does not",
            &[DOCS],
            InstalledServers::default().url("https://docs.example/mcp/"),
            &[DOCS_KEY],
        ),
        (
            "another transport does not",
            &[same_locator],
            InstalledServers::default().url("docs-mcp"),
            &["mcp__stdio__docs-mcp"],
        ),
        (
            "a command counts",
            &[same_locator],
            InstalledServers::default().command("docs-mcp"),
            &[],
        ),
        (
            "no locator is skipped",
            &[no_locator],
            InstalledServers::default(),
            &[],
        ),
    ];
    for (rule, tools, servers, expected) in cases {
        let fixture = Fixture::new();
        skill(&fixture, "one", tools);
        let runtime = fixture.builder().build();
        let mut user = User::default();
        let turn = prepare_in(
            &runtime,
            "$one",
            &servers,
            &mut TurnSession::default(),
            &mut user,
        );
        assert_eq!(keys(&turn.missing), expected, "{rule}");
        assert_eq!(
            user.asked.len(),
            usize::from(!expected.is_empty()),
            "{rule}"
        );
        let names = turn
            .missing
            .servers
            .iter()
            .map(|server| &server.server.name);
        let is_first = names
            .zip(tools)
            .all(|(name, tool)| tool.contains(&format!("value: {name}")));
        assert!(is_first, "{rule}");
    }
}

#[test]
fn an_unusable_requirement_is_a_warning_and_the_turn_goes_on() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &["{type: mcp, value: docs}", DOCS]);
    let runtime = fixture.builder().build();
    let mut user = User {
        failure: Some("the file is read-only"),
        ..User::installs()
    };
    let turn = prepare(&runtime, "$one", &mut user);
    assert_eq!(
        turn.warnings,
        [
            "skill `one` has an invalid requirement: missing `url` of MCP server `docs`",
            "cannot install MCP server `docs`: the file is read-only"
        ]
    );
    assert_eq!(
        (keys(&turn.missing), turn.injected.len()),
        (vec![DOCS_KEY], 1)
    );
    assert!(turn.installed.is_empty());
}

#[test]
fn removed_characters_are_a_warning() {
    let fixture = Fixture::new();
    fixture.file(
        "one/SKILL.md",
        "---\nname: one\ndescription: d\n---\nDo\u{200b}this\n",
    );
    let runtime = fixture.builder().build();
    let turn = prepare(&runtime, "$one", &mut User::default());
    assert_eq!(
        turn.warnings,
        ["invisible characters were removed from the text of a skill, the first is U+200B"]
    );
}

#[test]
fn a_declined_server_is_asked_for_once_per_session() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[DOCS, TOKEN]);
    skill(&fixture, "two", &[DOCS, LOCAL]);
    let runtime = fixture.builder().build();
    for answer in [None, Some("Continue anyway"), Some("install")] {
        let mut session = TurnSession::default();
        let mut user = User {
            install: answer,
            ..User::default()
        };
        let servers = InstalledServers::default();
        for text in ["$one", "$one", "$two", "$two and $one"] {
            prepare_in(&runtime, text, &servers, &mut session, &mut user);
        }
        let asked: Vec<_> = user
            .asked
            .iter()
            .map(|prompt| prompt.text.as_str())
            .collect();
        assert_eq!(asked.len(), 3, "{asked:?}");
        assert!(
            asked[1].contains(" docs.") && asked[2].contains(" local."),
            "{asked:?}"
        );
        assert!(user.installed.is_empty());
    }
}

#[test]
fn several_servers_are_one_question_with_sorted_names() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[LOCAL, DOCS]);
    let runtime = fixture.builder().build();
    let mut user = User::installs();
    prepare(&runtime, "$one", &mut user);
    let [prompt] = &user.asked[..] else {
        panic!("{:?}", user.asked)
    };
    assert!(prompt.text.contains(": docs, local. "), "{}", prompt.text);
    assert_eq!(prompt.options, ["Install", "Continue anyway"]);
    assert_eq!(user.installed, ["mcp__stdio__local-mcp", DOCS_KEY]);
}

#[test]
fn with_full_access_only_commands_are_asked_for() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[LOCAL, DOCS]);
    let runtime = fixture.builder().build();
    let mut user = User::default();
    let inputs = [UserInput::Text("$one")];
    let input = TurnInput::new("1", &inputs).policy(PromptPolicy::AssumeYes);
    let turn = runtime
        .prompt()
        .prepare_turn(&input, &mut TurnSession::default(), &mut user);
    assert_eq!(user.installed, [DOCS_KEY]);
    assert_eq!(keys(&turn.missing), ["mcp__stdio__local-mcp"]);
    let details = &user.asked[0].details;
    assert_eq!(details.len(), 1);
    assert!(details[0].contains("local-mcp, a program that the client starts outside"));
}

/// A cloned repository must not reach the configuration of the user.
#[test]
fn a_skill_of_an_untrusted_root_causes_no_question() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[LOCAL, DOCS, TOKEN]);
    let root = Root::new(fixture.path(""), Scope::Repo);
    let trusted = SkillRuntime::builder().root(root.clone()).build();
    let runtime = SkillRuntime::builder()
        .root(root.trust(Trust::Untrusted))
        .build();
    let mut user = User::installs();
    let path = fixture.path("one/SKILL.md");
    let path = path.to_str().unwrap();
    let inputs = [
        UserInput::Text("use the one skill, $one"),
        UserInput::Skill { name: "one", path },
    ];
    let input = TurnInput::new("1", &inputs).policy(PromptPolicy::AssumeYes);
    let mut session = TurnSession::default();
    let turn = runtime
        .prompt()
        .prepare_turn(&input, &mut session, &mut user);
    assert!(user.asked.is_empty() && user.installed.is_empty());
    assert!(turn.injected.is_empty() && turn.missing.is_empty());
    let decided: Vec<_> = turn
        .mentions
        .iter()
        .map(|mention| (mention.decision, mention.resolution))
        .collect();
    let ignored = MentionDecision::Ignored;
    assert_eq!(
        decided,
        [
            (ignored, "untrusted"),
            (ignored, "superseded"),
            (ignored, "untrusted")
        ]
    );

    // An entry from elsewhere does not help.
    let catalog = trusted.library().catalog();
    let servers = InstalledServers::default();
    let missing = runtime
        .prompt()
        .servers_missing_for(catalog.entries(), &servers, &mut session);
    assert!(missing.is_empty());
}

#[test]
fn a_suggested_skill_causes_no_question() {
    let fixture = Fixture::new();
    skill(&fixture, "ask-docs", &[DOCS]);
    let runtime = fixture.builder().build();
    let mut user = User::installs();
    let turn = prepare(&runtime, "Don't use the ask-docs skill.", &mut user);
    assert_eq!(turn.mentions[0].decision.as_str(), "suggested");
    assert!(user.asked.is_empty() && turn.injected.is_empty());
}

#[test]
fn variables_that_the_host_has_are_not_asked_for() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[TOKEN, "{type: env_var, value: SECRET}"]);
    let secrets = Secrets::from_env_text("SECRET=1\n").0;
    let runtime = fixture.builder().secrets(secrets).build();
    let mut user = User {
        secret: Some("x"),
        ..User::default()
    };
    let inputs = [UserInput::Text("$one")];
    let input = TurnInput::new("1", &inputs).variables(["DOCS_TOKEN"]);
    let mut session = TurnSession::default();
    let turn = runtime
        .prompt()
        .prepare_turn(&input, &mut session, &mut user);
    assert!(user.asked.is_empty() && turn.missing.is_empty());
    // A value of the session counts from then on.
    for _ in 0..2 {
        let input = TurnInput::new("2", &inputs);
        let turn = runtime
            .prompt()
            .prepare_turn(&input, &mut session, &mut user);
        assert!(turn.missing.is_empty());
    }
    assert_eq!(user.asked.len(), 1);
}

#[test]
fn a_plan_contains_the_questions_and_asks_nothing() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[DOCS]);
    let runtime = fixture.builder().build();
    let inputs = [UserInput::Text("use the one skill")];
    let mut session = TurnSession::default();
    let input = TurnInput::new("1", &inputs).mentions(MentionOptions::default());
    let turn = runtime.prompt().plan_turn(&input, &mut session);
    assert_eq!(turn.prompts.len(), 1);
    assert_eq!(
        (keys(&turn.missing), turn.injected.len()),
        (vec![DOCS_KEY], 1)
    );
    let again = runtime.prompt().plan_turn(&input, &mut session);
    assert!(again.prompts.is_empty());
    assert_eq!(
        (keys(&again.missing), again.already_active),
        (vec![DOCS_KEY], vec!["one".to_owned()])
    );
}

#[test]
fn servers_of_implicitly_used_skills_are_reported_once() {
    let fixture = Fixture::new();
    skill(&fixture, "one", &[DOCS, TOKEN]);
    skill(&fixture, "two", &[DOCS, LOCAL]);
    let runtime = fixture.builder().build();
    let servers = InstalledServers::default();
    let mut session = TurnSession::default();
    let index = runtime.prompt().implicit_index();
    let used = |command: &str, session: &mut TurnSession| {
        let command = skills_runtime::prompt::CommandLine::Shell(command);
        let uses = index.detect(command, &fixture.path(""));
        let entries = uses.iter().map(|found| found.entry);
        runtime
            .prompt()
            .servers_missing_for(entries, &servers, session)
    };
    let first = used("cat one/SKILL.md", &mut session);
    assert_eq!(keys(&first), [DOCS_KEY]);
    assert!(first.variables.is_empty(), "a run reports variables");
    assert!(used("cat one/SKILL.md", &mut session).is_empty());
    assert_eq!(
        keys(&used("cat two/SKILL.md", &mut session)),
        ["mcp__stdio__local-mcp"]
    );

    // A report is not a question: it can be asked later, and a mention asks.
    let mut user = User::default();
    let policy = PromptPolicy::Ask;
    resolve_requirements(&mut session.requirements, &first, "1", policy, &mut user);
    prepare_in(&runtime, "$two", &servers, &mut session, &mut user);
    let asked: Vec<_> = user
        .asked
        .iter()
        .map(|prompt| prompt.details.len())
        .collect();
    assert_eq!(asked, [1, 1]);

    // What was asked for is not reported.
    let mut session = TurnSession::default();
    prepare_in(&runtime, "$one", &servers, &mut session, &mut user);
    assert!(used("cat one/SKILL.md", &mut session).is_empty());
}

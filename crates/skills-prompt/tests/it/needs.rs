//! Dependencies: Codex's conformance cases D1 and D2, and OpenClaw's requirements.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use skills_prompt::{
    HostProbe, MissingRequirements, MissingServer, PromptPolicy, PromptResponse, Prompter,
    RequirementSession, SetupPrompt, resolve_requirements,
};

use crate::tree::Tree;

#[derive(Default)]
struct Here {
    servers: BTreeSet<&'static str>,
    variables: BTreeSet<&'static str>,
    programs: BTreeSet<&'static str>,
}

impl HostProbe for Here {
    fn has_server(&self, key: &str) -> bool {
        self.servers.contains(key)
    }
    fn may_set_variable(&self, name: &str) -> bool {
        !matches!(name, "LD_PRELOAD" | "HTTPS_PROXY")
    }
    fn has_variable(&self, name: &str) -> bool {
        self.variables.contains(name)
    }
    fn has_program(&self, name: &str) -> bool {
        self.programs.contains(name)
    }
    fn platform(&self) -> &str {
        "linux"
    }
}

fn needs(files: &[(&str, &str)], here: &Here) -> MissingRequirements {
    let tree = Tree::new();
    for (name, text) in files {
        if text.starts_with("dependencies") {
            tree.skill(&format!("repo/{name}"), name)
                .file(&format!("repo/{name}/agents/openai.yaml"), text);
        } else {
            tree.file(
                &format!("repo/{name}/SKILL.md"),
                &format!("---\nname: {name}\ndescription: d\n{text}\n---\n"),
            );
        }
    }
    MissingRequirements::collect(tree.catalog().entries(), here)
}

fn tools(tools: &str) -> String {
    format!("dependencies:\n  tools:\n{tools}")
}

const DOCS: &str = "    - type: MCP\n      value: docs\n      url: https://docs.example/mcp\n";

#[test]
fn a_server_is_known_by_where_it_is() {
    let one = tools(&format!(
        "{DOCS}    - {{type: mcp, value: other, transport: streamable_http, url: 'https://docs.example/mcp'}}\n"
    ));
    let two = tools("    - {type: mcp, value: local, transport: stdio, command: local-mcp}\n");
    let found = needs(
        &[("a", &one), ("b", &two), ("c", &tools(DOCS))],
        &Here::default(),
    );
    let shown: Vec<String> = found
        .servers
        .iter()
        .map(|server| {
            format!(
                "{} {} {:?}",
                server.server.name, server.server.key, server.skills
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "docs mcp__streamable_http__https://docs.example/mcp [\"a\", \"c\"]",
            "local mcp__stdio__local-mcp [\"b\"]",
        ]
    );
    let here = Here {
        servers: BTreeSet::from(["mcp__streamable_http__https://docs.example/mcp"]),
        ..Here::default()
    };
    assert!(
        needs(&[("a", &tools(DOCS))], &here).is_empty(),
        "installed under whatever name"
    );
    assert!(!needs(&[("a", &tools(DOCS))], &Here::default()).is_empty());
}

#[test]
fn what_is_not_said_well_enough_is_told() {
    let text = tools(
        "    - {type: mcp, value: nowhere}\n    - {type: mcp, value: odd, transport: pigeon}\n    - {type: magic, value: x}\n    - {type: env_var, value: LD_PRELOAD}\n    - {type: env_var, value: 'A B'}\n    - {type: env_var, value: HTTPS_PROXY}\n    - {type: mcp, value: 'docs, github', url: 'https://x'}\n    - {type: mcp, value: sh, transport: stdio, command: 'bash -c evil'}\n    - {type: mcp, value: file, url: 'file:///etc'}\n",
    );
    let found = needs(&[("a", &text)], &Here::default());
    assert_snapshot!(found.invalid.iter().map(|unusable| format!("{}: {}", unusable.skill, unusable.reason)).collect::<Vec<_>>().join("\n"), @r#"
    a: the variable LD_PRELOAD changes how programs run and is never set
    a: the variable HTTPS_PROXY changes how programs run and is never set
    a: the MCP server "nowhere" needs a `url`
    a: the MCP server "odd" has the unknown transport "pigeon"
    a: unknown tool type "magic"
    a: "A B" is not a variable name
    a: "docs, github" is not a server name
    a: the MCP server "sh" has an invalid `command`: "bash -c evil"
    a: the MCP server "file" has an invalid `url`: "file:///etc"
    "#);
    assert!(found.servers.is_empty() && found.variables.is_empty());
}

#[test]
fn openclaw() {
    let text = "metadata:\n  openclaw:\n    os: [linux, darwin]\n    primaryEnv: TOKEN\n    envVars:\n      - {name: EXTRA, required: false, description: more}\n    \
                requires:\n      bins: [jq, git]\n      anyBins: [chrome, chromium]\n      env: [TOKEN]\n      config: [browser.enabled]\n    \
                install:\n      - {kind: brew, formula: jq, bins: [jq]}\n      - {kind: go, module: x, bins: [jq], os: [darwin]}";
    let here = Here {
        programs: BTreeSet::from(["git"]),
        ..Here::default()
    };
    let found = needs(&[("a", text)], &here);
    let programs: Vec<String> = found
        .programs
        .iter()
        .map(|program| {
            format!(
                "{} ({} ways)",
                program.any_of.join("|"),
                program.installs.len()
            )
        })
        .collect();
    assert_eq!(programs, ["jq (1 ways)", "chrome|chromium (0 ways)"]);
    let variables: Vec<(&str, bool)> = found
        .variables
        .iter()
        .map(|variable| (variable.name.as_str(), variable.is_required))
        .collect();
    assert_eq!(variables, [("EXTRA", false), ("TOKEN", true)]);
    assert_eq!(
        found.settings,
        [("a".to_owned(), "browser.enabled".to_owned())]
    );
    assert_eq!(found.invalid, [], "it is for this system too");
    let asked: Vec<String> = RequirementSession::default()
        .prompts(&found, "1")
        .into_iter()
        .map(|question| question.id)
        .collect();
    assert_eq!(asked, ["TOKEN"], "what is not required is not asked for");
    let other = needs(
        &[(
            "a",
            "metadata:\n  openclaw: {os: [darwin], always: true, requires: {bins: [jq]}}",
        )],
        &here,
    );
    assert_eq!(other.programs, []);
    assert_eq!(other.to_lines(), ["operating system darwin"]);
}

/// Whichever skill comes first: a variable is required when one of them requires it, and ways to
/// install are named once.
#[test]
fn needs_of_several_skills_are_joined() {
    let skill = |required: bool, install: &str| {
        format!(
            "metadata:\n  openclaw:\n    envVars:\n      - {{name: TOKEN, required: {required}}}\n    requires: {{bins: [jq]}}\n    \
             install:\n      - {{kind: brew, formula: jq, bins: [jq]}}\n      - {{kind: go, module: {install}, bins: [jq]}}"
        )
    };
    for (first, second) in [(true, false), (false, true)] {
        let found = needs(
            &[("a", &skill(first, "x")), ("b", &skill(second, "y"))],
            &Here::default(),
        );
        let variables: Vec<_> = found
            .variables
            .iter()
            .map(|variable| (variable.is_required, variable.skills.join(" ")))
            .collect();
        assert_eq!(variables, [(true, "a b".to_owned())]);
        let programs: Vec<_> = found
            .programs
            .iter()
            .map(|program| (program.installs.len(), program.skills.join(" ")))
            .collect();
        assert_eq!(programs, [(3, "a b".to_owned())]);
    }
    let found = needs(
        &[("a", &skill(false, "x")), ("b", &skill(false, "x"))],
        &Here::default(),
    );
    assert_eq!(
        (
            found.variables[0].is_required,
            found.programs[0].installs.len()
        ),
        (false, 2)
    );
}

/// A name that a question shows has no room for other words.
#[test]
fn names_of_variables_and_servers_are_bounded() {
    let variable = |name: &str| tools(&format!("    - {{type: env_var, value: '{name}'}}\n"));
    for (name, is_one) in [
        ("A_1", true),
        ("_a", true),
        ("1A", false),
        ("A-B", false),
        ("é", false),
    ] {
        let found = needs(&[("a", &variable(name))], &Here::default());
        assert_eq!(
            (found.variables.len() == 1, found.invalid.is_empty()),
            (is_one, is_one),
            "{name}"
        );
    }
    let server = |name: &str| {
        tools(&format!(
            "    - {{type: mcp, value: '{name}', url: 'https://x'}}\n"
        ))
    };
    for (length, is_one) in [(1, true), (64, true), (65, false)] {
        let found = needs(&[("a", &server(&"é".repeat(length)))], &Here::default());
        assert_eq!(
            (found.servers.len() == 1, found.invalid.is_empty()),
            (is_one, is_one),
            "{length}"
        );
    }
}

/// A user who answers everything the same way.
struct User {
    answer: Option<&'static str>,
    asked: Vec<SetupPrompt>,
    installed: Vec<String>,
}

impl Prompter for User {
    fn ask(&mut self, question: &SetupPrompt) -> Option<String> {
        self.asked.push(question.clone());
        self.answer.map(str::to_owned)
    }
    fn install(&mut self, server: &MissingServer) -> Result<(), String> {
        self.installed.push(server.server.name.clone());
        if server.server.name == "local" {
            Err("it is not there".to_owned())
        } else {
            Ok(())
        }
    }
}

fn user(answer: Option<&'static str>) -> User {
    User {
        answer,
        asked: Vec::new(),
        installed: Vec::new(),
    }
}

fn both() -> MissingRequirements {
    let text = format!(
        "{DOCS}    - {{type: mcp, value: local, transport: stdio, command: local-mcp}}\n    - {{type: env_var, value: GITHUB_TOKEN, description: GitHub API token}}\n"
    );
    needs(&[("a", &tools(&text))], &Here::default())
}

#[test]
fn questions_in_the_words_of_codex() {
    let questions = RequirementSession::default().prompts(&both(), "7");
    let shown = questions.iter().map(|question| {
        let SetupPrompt {
            call_id: call,
            id,
            header,
            text,
            details,
            options,
            is_secret,
            ..
        } = question;
        format!("{call} {id} secret={is_secret}\n{header}\n{text}\n{details:?} {options:?}\n")
    });
    assert_snapshot!(shown.collect::<String>());
}

#[test]
fn each_thing_is_asked_once_in_a_session() {
    let mut session = RequirementSession::default();
    let mut asked = user(None);
    resolve_requirements(&mut session, &both(), "1", PromptPolicy::Ask, &mut asked);
    resolve_requirements(&mut session, &both(), "2", PromptPolicy::Ask, &mut asked);
    assert_eq!(
        (asked.asked.len(), asked.installed.len()),
        (2, 0),
        "no answer is a no, and is not asked again"
    );
}

#[test]
fn what_the_user_agrees_to_is_installed_and_failures_are_told() {
    let mut agrees = user(Some("Install"));
    let failures = resolve_requirements(
        &mut RequirementSession::default(),
        &both(),
        "1",
        PromptPolicy::Ask,
        &mut agrees,
    );
    assert_eq!(agrees.installed, ["docs", "local"]);
    assert_eq!(
        failures,
        ["the MCP server local is not installed: it is not there"]
    );
    let mut goes_on = user(Some("Continue anyway"));
    resolve_requirements(
        &mut RequirementSession::default(),
        &both(),
        "1",
        PromptPolicy::Ask,
        &mut goes_on,
    );
    assert_eq!(goes_on.installed, Vec::<String>::new());
    let mut trusts = user(Some("user_note: abc"));
    resolve_requirements(
        &mut RequirementSession::default(),
        &both(),
        "1",
        PromptPolicy::AssumeYes,
        &mut trusts,
    );
    assert_eq!(
        (trusts.installed.len(), trusts.asked.len()),
        (2, 1),
        "secrets are asked for all the same"
    );
}

#[test]
fn secrets_stay_in_the_session_and_out_of_sight() {
    let (mut session, needs) = (RequirementSession::default(), both());
    let question = session.prompts(&needs, "1").remove(0);
    assert_eq!(
        session.record_response(&question, &needs, Some("user_note:  ")),
        PromptResponse::Declined
    );
    assert_eq!(
        session.record_response(&question, &needs, Some("  ")),
        PromptResponse::Declined
    );
    assert_eq!(
        session.record_response(&question, &needs, Some("user_note: s3cret ")),
        PromptResponse::Stored
    );
    assert_eq!(
        session.secret("GITHUB_TOKEN").unwrap().expose_secret(),
        "s3cret"
    );
    assert_eq!(session.variables().collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
    assert!(!format!("{session:?}").contains("s3cret"));
}

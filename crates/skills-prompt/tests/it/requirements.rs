//! Requirements: the conformance cases D1 and D2 of Codex, and the OpenClaw block.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use skills_prompt::{
    HostProbe, MissingRequirements, MissingServer, PromptPolicy, PromptResponse, Prompter,
    RequirementSession, SetupPrompt, resolve_requirements,
};

use crate::skill_tree::SkillTree;

#[derive(Default)]
struct FakeHost {
    servers: BTreeSet<&'static str>,
    variables: BTreeSet<&'static str>,
    programs: BTreeSet<&'static str>,
}

impl HostProbe for FakeHost {
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

fn collect(files: &[(&str, &str)], host: &FakeHost) -> MissingRequirements {
    let tree = SkillTree::new();
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
    MissingRequirements::collect(tree.catalog().entries(), host)
}

fn tools(tools: &str) -> String {
    format!("dependencies:\n  tools:\n{tools}")
}

const DOCS: &str = "    - type: MCP\n      value: docs\n      url: https://docs.example/mcp\n";

#[test]
fn a_server_is_identified_by_transport_and_locator() {
    let one = tools(&format!(
        "{DOCS}    - {{type: mcp, value: other, transport: streamable_http, url: 'https://docs.example/mcp'}}\n"
    ));
    let two = tools("    - {type: mcp, value: local, transport: stdio, command: local-mcp}\n");
    let missing = collect(
        &[("a", &one), ("b", &two), ("c", &tools(DOCS))],
        &FakeHost::default(),
    );
    let shown: Vec<String> = missing
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
    let host = FakeHost {
        servers: BTreeSet::from(["mcp__streamable_http__https://docs.example/mcp"]),
        ..FakeHost::default()
    };
    assert!(
        collect(&[("a", &tools(DOCS))], &host).is_empty(),
        "installed under another name"
    );
    assert!(!collect(&[("a", &tools(DOCS))], &FakeHost::default()).is_empty());
}

#[test]
fn invalid_requirements_are_reported() {
    let text = tools(
        "    - {type: mcp, value: nowhere}\n    - {type: mcp, value: odd, transport: pigeon}\n    - {type: magic, value: x}\n    - {type: env_var, value: LD_PRELOAD}\n    - {type: env_var, value: 'A B'}\n    - {type: env_var, value: HTTPS_PROXY}\n    - {type: mcp, value: 'docs, github', url: 'https://x'}\n    - {type: mcp, value: sh, transport: stdio, command: 'bash -c evil'}\n    - {type: mcp, value: file, url: 'file:///etc'}\n",
    );
    let missing = collect(&[("a", &text)], &FakeHost::default());
    assert_snapshot!(missing.invalid.iter().map(|invalid| format!("{}: {}", invalid.skill, invalid.reason)).collect::<Vec<_>>().join("\n"), @"
    a: variable `LD_PRELOAD` cannot be set for a skill
    a: variable `HTTPS_PROXY` cannot be set for a skill
    a: missing `url` of MCP server `nowhere`
    a: unsupported MCP transport `pigeon` of server `odd`
    a: unknown dependency type `magic`
    a: invalid variable name `A B`
    a: invalid MCP server name `docs, github`
    a: invalid `command` of MCP server `sh`: `bash -c evil`
    a: invalid `url` of MCP server `file`: `file:///etc`
    ");
    assert!(missing.servers.is_empty() && missing.variables.is_empty());
}

#[test]
fn openclaw_requirements_are_collected() {
    let text = "metadata:\n  openclaw:\n    os: [linux, darwin]\n    primaryEnv: TOKEN\n    envVars:\n      - {name: EXTRA, required: false, description: more}\n    \
                requires:\n      bins: [jq, git]\n      anyBins: [chrome, chromium]\n      env: [TOKEN]\n      config: [browser.enabled]\n    \
                install:\n      - {kind: brew, formula: jq, bins: [jq]}\n      - {kind: go, module: x, bins: [jq], os: [darwin]}";
    let host = FakeHost {
        programs: BTreeSet::from(["git"]),
        ..FakeHost::default()
    };
    let missing = collect(&[("a", text)], &host);
    let programs: Vec<String> = missing
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
    let variables: Vec<(&str, bool)> = missing
        .variables
        .iter()
        .map(|variable| (variable.name.as_str(), variable.is_required))
        .collect();
    assert_eq!(variables, [("EXTRA", false), ("TOKEN", true)]);
    assert_eq!(
        missing.settings,
        [("a".to_owned(), "browser.enabled".to_owned())]
    );
    assert_eq!(missing.invalid, [], "the skill supports this system");
    let asked: Vec<String> = RequirementSession::default()
        .prompts(&missing, "1")
        .into_iter()
        .map(|prompt| prompt.id)
        .collect();
    assert_eq!(asked, ["TOKEN"], "optional variables are not asked for");
    let other = collect(
        &[(
            "a",
            "metadata:\n  openclaw: {os: [darwin], always: true, requires: {bins: [jq]}}",
        )],
        &host,
    );
    assert_eq!(other.programs, []);
    assert_eq!(other.to_lines(), ["operating system darwin"]);
}

/// Independent of their order: a variable is required if one skill requires it, and each way to
/// install is listed once.
#[test]
fn requirements_of_several_skills_are_merged() {
    let skill = |required: bool, install: &str| {
        format!(
            "metadata:\n  openclaw:\n    envVars:\n      - {{name: TOKEN, required: {required}}}\n    requires: {{bins: [jq]}}\n    \
             install:\n      - {{kind: brew, formula: jq, bins: [jq]}}\n      - {{kind: go, module: {install}, bins: [jq]}}"
        )
    };
    for (first, second) in [(true, false), (false, true)] {
        let missing = collect(
            &[("a", &skill(first, "x")), ("b", &skill(second, "y"))],
            &FakeHost::default(),
        );
        let variables: Vec<_> = missing
            .variables
            .iter()
            .map(|variable| (variable.is_required, variable.skills.join(" ")))
            .collect();
        assert_eq!(variables, [(true, "a b".to_owned())]);
        let programs: Vec<_> = missing
            .programs
            .iter()
            .map(|program| (program.installs.len(), program.skills.join(" ")))
            .collect();
        assert_eq!(programs, [(3, "a b".to_owned())]);
    }
    let missing = collect(
        &[("a", &skill(false, "x")), ("b", &skill(false, "x"))],
        &FakeHost::default(),
    );
    assert_eq!(
        (
            missing.variables[0].is_required,
            missing.programs[0].installs.len()
        ),
        (false, 2)
    );
}

/// A name in a question cannot contain other words.
#[test]
fn names_of_variables_and_servers_are_bounded() {
    let variable = |name: &str| tools(&format!("    - {{type: env_var, value: '{name}'}}\n"));
    for (name, is_valid) in [
        ("A_1", true),
        ("_a", true),
        ("1A", false),
        ("A-B", false),
        ("é", false),
    ] {
        let missing = collect(&[("a", &variable(name))], &FakeHost::default());
        assert_eq!(
            (missing.variables.len() == 1, missing.invalid.is_empty()),
            (is_valid, is_valid),
            "{name}"
        );
    }
    let server = |name: &str| {
        tools(&format!(
            "    - {{type: mcp, value: '{name}', url: 'https://x'}}\n"
        ))
    };
    for (length, is_valid) in [(1, true), (64, true), (65, false)] {
        let missing = collect(&[("a", &server(&"é".repeat(length)))], &FakeHost::default());
        assert_eq!(
            (missing.servers.len() == 1, missing.invalid.is_empty()),
            (is_valid, is_valid),
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
    fn ask(&mut self, prompt: &SetupPrompt) -> Option<String> {
        self.asked.push(prompt.clone());
        self.answer.map(str::to_owned)
    }
    fn install(&mut self, server: &MissingServer) -> Result<(), String> {
        self.installed.push(server.server.name.clone());
        if server.server.name == "local" {
            Err("command not found".to_owned())
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
    collect(&[("a", &tools(&text))], &FakeHost::default())
}

#[test]
fn prompts_are_worded_like_those_of_codex() {
    let prompts = RequirementSession::default().prompts(&both(), "7");
    let shown = prompts.iter().map(|prompt| {
        let SetupPrompt {
            call_id,
            id,
            header,
            text,
            details,
            options,
            is_secret,
            ..
        } = prompt;
        format!("{call_id} {id} secret={is_secret}\n{header}\n{text}\n{details:?} {options:?}\n")
    });
    assert_snapshot!(shown.collect::<String>());
}

#[test]
fn each_requirement_is_asked_for_once_per_session() {
    let mut session = RequirementSession::default();
    let mut asked = user(None);
    resolve_requirements(&mut session, &both(), "1", PromptPolicy::Ask, &mut asked);
    resolve_requirements(&mut session, &both(), "2", PromptPolicy::Ask, &mut asked);
    assert_eq!(
        (asked.asked.len(), asked.installed.len()),
        (2, 0),
        "no answer declines and is not asked for again"
    );
}

#[test]
fn accepted_servers_are_installed_and_failures_are_reported() {
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
        ["cannot install MCP server `local`: command not found"]
    );
    let mut declines = user(Some("Continue anyway"));
    resolve_requirements(
        &mut RequirementSession::default(),
        &both(),
        "1",
        PromptPolicy::Ask,
        &mut declines,
    );
    assert_eq!(declines.installed, Vec::<String>::new());
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
        "secrets are asked for nevertheless"
    );
}

#[test]
fn secrets_stay_in_the_session_and_out_of_debug_output() {
    let mut session = RequirementSession::default();
    let missing = both();
    let prompt = session.prompts(&missing, "1").remove(0);
    assert_eq!(
        session.record_response(&prompt, &missing, Some("user_note:  ")),
        PromptResponse::Declined
    );
    assert_eq!(
        session.record_response(&prompt, &missing, Some("  ")),
        PromptResponse::Declined
    );
    assert_eq!(
        session.record_response(&prompt, &missing, Some("user_note: s3cret ")),
        PromptResponse::Stored
    );
    assert_eq!(session.secret("GITHUB_TOKEN").unwrap(), "s3cret");
    assert_eq!(session.variables().collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
    assert!(!format!("{session:?}").contains("s3cret"));
}

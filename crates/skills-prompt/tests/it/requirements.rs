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
    a: invalid `command` of MCP server `sh`: `bash -c evil` is not one program without arguments
    a: invalid `url` of MCP server `file`: `file:///etc` does not start with `https://`
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
    let resolved = resolve_requirements(
        &mut RequirementSession::default(),
        &both(),
        "1",
        PromptPolicy::Ask,
        &mut agrees,
    );
    assert_eq!(agrees.installed, ["docs", "local"]);
    assert_eq!(resolved.installed, both().servers[..1]);
    assert_eq!(
        resolved.failures,
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
}

/// An agreement in advance covers servers with a URL: a command runs outside of any sandbox.
#[test]
fn a_command_of_a_server_is_asked_for_with_every_policy() {
    let mut session = RequirementSession::default();
    let mut trusts = user(None);
    let mut resolve = |turn: &str| {
        resolve_requirements(
            &mut session,
            &both(),
            turn,
            PromptPolicy::AssumeYes,
            &mut trusts,
        )
    };
    assert_eq!(resolve("1").installed, both().servers[..1]);
    assert_eq!(resolve("2").installed, [], "once per session");
    assert_eq!(trusts.installed, ["docs"]);
    let asked: Vec<&[String]> = trusts
        .asked
        .iter()
        .map(|prompt| &prompt.details[..])
        .collect();
    assert_eq!(
        asked,
        [
            &[] as &[String],
            &[
                "local: stdio local-mcp, a program that the client starts outside of any sandbox"
                    .to_owned()
            ]
        ],
        "a secret, then the command"
    );
}

#[test]
fn servers_that_could_mislead_a_user_are_rejected() {
    let problem = |transport: &str, field: &str, locator: &str| {
        let text = tools(&format!(
            "    - {{type: mcp, value: x, transport: {transport}, {field}: '{locator}'}}\n"
        ));
        let missing = collect(&[("a", &text)], &FakeHost::default());
        let reason = missing.invalid.into_iter().next().map(|one| one.reason);
        let start = format!("invalid `{field}` of MCP server `x`: `{locator}` ");
        reason.map(|reason| reason.replacen(&start, "", 1))
    };
    for url in [
        "https://docs.example/mcp",
        "http://localhost:1/mcp",
        "http://127.0.0.1:8640/mcp",
        "http://[::1]:8640/mcp?a=b",
        "https://docs.example/@scope",
    ] {
        assert_eq!(problem("streamable_http", "url", url), None, "{url}");
    }
    let urls = [
        "http://docs.example/mcp",
        "http://127.0.0.1.evil.example/mcp",
        "http://localhost.evil.example/",
        "http://10.0.0.1/mcp",
        "https://docs.example@evil.example/mcp",
        "https:///mcp",
        "https://d\u{43e}cs.example/mcp",
        "https://docs.example\\@evil.example",
        "HTTP://docs.example",
        "ftp://docs.example",
    ];
    let shown = urls.map(|url| {
        let reason = problem("streamable_http", "url", url);
        let url = url.replace('\u{43e}', r"\u{43e}");
        format!("{url} {}", reason.unwrap_or_default())
    });
    assert_snapshot!(shown.join("\n"), @r"
    http://docs.example/mcp is not encrypted
    http://127.0.0.1.evil.example/mcp is not encrypted
    http://localhost.evil.example/ is not encrypted
    http://10.0.0.1/mcp is not encrypted
    https://docs.example@evil.example/mcp has a user name or password
    https:///mcp has no host
    https://d\u{43e}cs.example/mcp has characters that are not allowed in a URL
    https://docs.example\@evil.example has characters that are not allowed in a URL
    HTTP://docs.example does not start with `https://`
    ftp://docs.example does not start with `https://`
    ");
    for command in [
        "local-mcp",
        "/usr/bin/local-mcp",
        "C:\\bin\\mcp.exe",
        "C:/mcp",
    ] {
        assert_eq!(problem("stdio", "command", command), None, "{command}");
    }
    let commands = [
        "./server",
        "scripts/server",
        "..\\server",
        "~/server",
        "C:server/x",
        "sh -c x",
    ];
    let shown = commands.map(|command| {
        let reason = problem("stdio", "command", command);
        format!("{command} {}", reason.unwrap_or_default())
    });
    assert_snapshot!(shown.join("\n"), @r#"
    ./server is a relative path
    scripts/server is a relative path
    ..\server is a path with `..`
    ~/server is not one program without arguments
    C:server/x is a relative path
    sh -c x is not one program without arguments
    "#);
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

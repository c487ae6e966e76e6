//! Tests of `mcp add-servers`.

use insta::assert_snapshot;
use serde_json::Value;

use super::{Fixture, done};
use crate::skills::Done;

const DOCS: &str = "{type: mcp, value: openai docs, url: 'https://docs.example/mcp'}";
const GITHUB: &str = "{type: mcp, value: io.github/mcp, url: 'https://api.example/mcp'}";
const LOCAL: &str = "{type: mcp, value: local, transport: stdio, command: local-mcp}";

impl Fixture {
    /// Adds a skill that requires servers.
    fn requires(&self, name: &str, tools: &[&str]) -> &Self {
        let tools: String = tools.iter().map(|tool| format!("    - {tool}\n")).collect();
        self.write(
            &format!("skills/{name}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: About {name}.\n---\nBody\n"),
        );
        self.write(
            &format!("skills/{name}/agents/openai.yaml"),
            &format!("dependencies:\n  tools:\n{tools}"),
        );
        self
    }

    fn add_command(&self, arguments: &[&str]) -> std::process::Command {
        let root = self.path("skills").display().to_string();
        self.mcp_command(&[&["add-servers"], arguments, &["--root", &root]].concat())
    }

    fn add(&self, arguments: &[&str]) -> Done {
        done(self.add_command(arguments))
    }

    fn add_page(&self, arguments: &[&str]) -> String {
        self.redacted_page(self.add_command(arguments))
    }
}

fn docs() -> String {
    DOCS.replace("openai docs", "docs")
}

#[test]
fn servers_of_a_skill_are_shown_and_written() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs(), GITHUB]);
    let before = "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    fixture.write("home/.codex/config.toml", before);
    assert_snapshot!(fixture.add_page(&["--client", "codex", "ask"]), @r#"
    exit 3
    -- stderr
    HERE/home/.codex/config.toml (MCP servers of Codex)
    @@ -3,2 +3,8 @@
     [mcp_servers.other]
     command = "x"
    +
    +[mcp_servers.docs]
    +url = "https://docs.example/mcp"
    +
    +[mcp_servers.io-github-mcp]
    +url = "https://api.example/mcp"
    `docs`, required by ask: Codex will connect to https://docs.example/mcp
    `io.github/mcp`, required by ask: Codex will connect to https://api.example/mcp
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    "#);
    assert_eq!(fixture.read("home/.codex/config.toml"), before);
    assert_snapshot!(fixture.add_page(&["--client", "codex", "ask", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/home/.codex/config.toml (MCP servers of Codex)
    @@ -3,2 +3,8 @@
     [mcp_servers.other]
     command = "x"
    +
    +[mcp_servers.docs]
    +url = "https://docs.example/mcp"
    +
    +[mcp_servers.io-github-mcp]
    +url = "https://api.example/mcp"
    `docs`, required by ask: Codex will connect to https://docs.example/mcp
    `io.github/mcp`, required by ask: Codex will connect to https://api.example/mcp
    wrote HERE/home/.codex/config.toml; restart Codex; `/mcp` lists it; log in there if a server requires it
    "#);
    assert_snapshot!(fixture.read("home/.codex/config.toml"), @r#"
    model = "m" # mine

    [mcp_servers.other]
    command = "x"

    [mcp_servers.docs]
    url = "https://docs.example/mcp"

    [mcp_servers.io-github-mcp]
    url = "https://api.example/mcp"
    "#);
    assert_snapshot!(fixture.add_page(&["--client", "codex", "ask", "--yes"]), @"
    exit 0
    -- stderr
    Codex has the server `docs` already
    Codex has the server `io.github/mcp` already
    ");
}

/// A script must not let a skill choose a program that the client starts.
#[test]
fn a_command_of_a_skill_needs_a_person() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs(), LOCAL]);
    assert_snapshot!(fixture.add_page(&["--client", "claude", "ask", "--yes"]), @r#"
    exit 3
    -- stderr
    HERE/home/.claude.json (MCP servers of Claude Code)
    @@ -0,0 +1,13 @@
    +{
    +  "mcpServers": {
    +    "docs": {
    +      "type": "http",
    +      "url": "https://docs.example/mcp"
    +    },
    +    "local": {
    +      "type": "stdio",
    +      "command": "local-mcp",
    +      "args": []
    +    }
    +  }
    +}
    `docs`, required by ask: Claude Code will connect to https://docs.example/mcp
    `local`, required by ask: Claude Code will start: "local-mcp", outside of any sandbox
    error: a person must agree to the command of `local` at a terminal; `--yes` is not enough
    help: run this at a terminal, or select other servers with `--server`
    "#);
    assert!(fixture.files("home").is_empty());
    assert_eq!(
        fixture
            .add(&["--client", "claude", "ask", "--yes", "--server", "docs"])
            .code,
        0
    );
    let text = fixture.read("home/.claude.json");
    assert!(
        text.contains("docs.example") && !text.contains("local-mcp"),
        "{text}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_agrees_to_a_command_at_the_terminal() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[LOCAL]);
    for (answer, code, written) in [("n", 3, false), ("y", 0, true)] {
        let command = fixture.add_command(&["--client", "claude", "ask", "--yes"]);
        let (actual, shown) =
            crate::terminal::answered(command, "Install them now?", answer, || {});
        assert_eq!(actual, code, "{shown}");
        assert!(
            shown.contains(
                "`local`, required by ask: Claude Code will start: \"local-mcp\", outside of any sandbox"
            ),
            "{shown}"
        );
        assert_eq!(
            fixture.files("home").contains(&".claude.json".to_owned()),
            written
        );
    }
    assert_snapshot!(fixture.read("home/.claude.json"), @r#"
    {
      "mcpServers": {
        "local": {
          "type": "stdio",
          "command": "local-mcp",
          "args": []
        }
      }
    }
    "#);
}

#[test]
fn existing_servers_and_names_are_kept() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs(), GITHUB]);
    let before = "{\n  \"mcpServers\": {\n    \"alias\": {\"type\": \"http\", \"url\": \"https://docs.example/mcp\"},\n    \"io-github-mcp\": {\"command\": \"x\"}\n  }\n}\n";
    fixture.write("home/.claude.json", before);
    assert_snapshot!(fixture.add_page(&["--client", "claude", "ask", "--yes"]), @"
    exit 1
    -- stderr
    Claude Code has the server `docs` already
    `io.github/mcp` was not added: HERE/home/.claude.json has another server named `io-github-mcp`
    ");
    assert_eq!(fixture.read("home/.claude.json"), before);
}

/// The client has the servers of its user in each project.
#[test]
fn a_project_needs_no_server_of_the_user() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs(), GITHUB]);
    let user = "[mcp_servers.a]\nurl = \"https://docs.example/mcp\"\n";
    fixture.write("home/.codex/config.toml", user);
    let done = fixture.add(&["--client", "codex", "ask", "--yes", "--project"]);
    assert_eq!(done.code, 0, "{}", done.page());
    assert_snapshot!(fixture.read("project/.codex/config.toml"), @r#"
    [mcp_servers.io-github-mcp]
    url = "https://api.example/mcp"
    "#);
    assert_eq!(fixture.read("home/.codex/config.toml"), user);
}

#[test]
fn each_client_that_connects_gets_an_entry_in_its_own_form() {
    let mut page = String::new();
    let clients = [
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("opencode", ".config/opencode/opencode.json"),
        ("copilot", ".copilot/mcp-config.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
        ("goose", ".config/goose/config.yaml"),
    ];
    for (client, file) in clients {
        let fixture = Fixture::new();
        let odd_name = docs().replace("docs,", "my_docs,");
        fixture.requires("ask", &[&odd_name]);
        let arguments = ["--client", client, "ask", "--yes"];
        let done = fixture.add(&arguments);
        assert_eq!(done.code, 0, "{}", done.page());
        let text = fixture.read(&format!("home/{file}"));
        page += &format!("{client}\n{text}");
        let again = fixture.add(&arguments);
        assert!(
            again.code == 0 && again.stderr.contains("has the server `my_docs` already"),
            "{}",
            again.page()
        );
        assert_eq!(fixture.read(&format!("home/{file}")), text);
    }
    assert_snapshot!(page, @r#"
    cursor
    {
      "mcpServers": {
        "my_docs": {
          "url": "https://docs.example/mcp"
        }
      }
    }
    gemini
    {
      "mcpServers": {
        "my-docs": {
          "httpUrl": "https://docs.example/mcp"
        }
      }
    }
    opencode
    {
      "mcp": {
        "my_docs": {
          "type": "remote",
          "url": "https://docs.example/mcp",
          "enabled": true
        }
      }
    }
    copilot
    {
      "mcpServers": {
        "my_docs": {
          "type": "http",
          "url": "https://docs.example/mcp",
          "tools": ["*"]
        }
      }
    }
    windsurf
    {
      "mcpServers": {
        "my_docs": {
          "serverUrl": "https://docs.example/mcp"
        }
      }
    }
    goose
    extensions:
      my_docs:
        enabled: true
        type: streamable_http
        name: my_docs
        description: Required by a skill
        uri: "https://docs.example/mcp"
    "#);
}

#[test]
fn a_server_that_the_client_cannot_have_is_reported() {
    let fixture = Fixture::new();
    fixture.requires(
        "ask",
        &[
            &docs(),
            "{type: mcp, value: env, url: 'https://x.example/${TOKEN}'}",
        ],
    );
    assert_snapshot!(fixture.add_page(&["--client", "claude-desktop", "ask", "--yes"]), @"
    exit 1
    -- stderr
    `docs` was not added: Claude Desktop has no known entry for a URL; add https://docs.example/mcp there
    `env` was not added: Claude Desktop has no known entry for a URL; add https://x.example/${TOKEN} there
    ");
    let done = fixture.add(&["--client", "claude", "ask", "--yes"]);
    assert_eq!(done.code, 1);
    assert!(
        done.stderr
            .contains("`env` was not added: Claude Code expands variables"),
        "{}",
        done.page()
    );
    assert!(!fixture.read("home/.claude.json").contains("TOKEN"));
}

#[test]
fn declarations_that_cannot_be_used_are_warnings() {
    let fixture = Fixture::new();
    fixture
        .requires(
            "plain",
            &[
                "{type: mcp, value: http, url: 'http://docs.example/mcp'}",
                DOCS,
            ],
        )
        .requires("none", &["{type: cli, value: git}"]);
    assert_snapshot!(fixture.add_page(&["--client", "codex", "plain"]), @"
    exit 0
    -- stderr
    warning: skill `plain`: invalid `url` of MCP server `http`: `http://docs.example/mcp` is not encrypted
    warning: skill `plain`: invalid MCP server name `openai docs`
    the skills require no MCP server
    ");
    assert_snapshot!(fixture.add_page(&["--client", "codex", "plain", "--server", "x"]), @"
    exit 2
    -- stderr
    warning: skill `plain`: invalid `url` of MCP server `http`: `http://docs.example/mcp` is not encrypted
    warning: skill `plain`: invalid MCP server name `openai docs`
    error: no skill requires a server `x`
    ");
    assert_snapshot!(fixture.add_page(&["--client", "codex", "gone"]), @"
    exit 1
    -- stderr
    error: skill `gone` not found
    help: did you mean `none`?
    ");
    assert!(fixture.files("home").is_empty());
}

#[test]
fn an_untrusted_skill_adds_no_server() {
    let fixture = Fixture::new();
    let tools = format!("dependencies:\n  tools:\n    - {}\n", docs());
    let skill = "project/.agents/skills/ask";
    fixture.write(
        &format!("{skill}/SKILL.md"),
        "---\nname: ask\ndescription: d\n---\n",
    );
    fixture.write(&format!("{skill}/agents/openai.yaml"), &tools);
    let arguments = ["add-servers", "--client", "codex", "ask", "--yes"];
    let done = done(fixture.mcp_command(&arguments));
    assert!(
        done.code != 0 && done.stderr.contains("its root is not trusted"),
        "{}",
        done.page()
    );
    assert!(fixture.files("home").is_empty());
}

#[test]
fn a_layout_that_cannot_be_edited_is_kept_and_the_entry_shown() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs()]);
    let text = "extensions: {a: {type: stdio, cmd: x}}\n";
    fixture.write("home/.config/goose/config.yaml", text);
    let done = fixture.add(&["--client", "goose", "ask", "--yes"]);
    assert!(
        done.code == 2 && done.stderr.contains("uri: \"https://docs.example/mcp\""),
        "{}",
        done.page()
    );
    assert_eq!(fixture.read("home/.config/goose/config.yaml"), text);
}

#[test]
fn the_result_is_one_json_document() {
    let fixture = Fixture::new();
    fixture.requires("ask", &[&docs(), LOCAL]);
    let planned = fixture
        .add(&["--client", "codex", "ask", "--dry-run", "--json"])
        .json();
    let row = |server: &Value| {
        let field = |name: &str| server[name].as_str().unwrap_or_default().to_owned();
        [
            field("name"),
            field("key"),
            field("change"),
            server["skills"][0].to_string(),
        ]
    };
    let rows: Vec<_> = planned["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(row)
        .collect();
    assert_eq!(
        rows,
        [
            [
                "docs",
                "mcp__streamable_http__https://docs.example/mcp",
                "added",
                "\"ask\""
            ],
            ["local", "mcp__stdio__local-mcp", "added", "\"ask\""]
        ]
    );
    assert_eq!(
        (planned["status"].as_str(), planned["client"].as_str()),
        (Some("planned"), Some("codex"))
    );
    assert!(
        planned["diff"]
            .as_str()
            .unwrap()
            .contains("+[mcp_servers.docs]")
    );
    let unanswered = fixture.add(&["--client", "codex", "ask", "--json"]);
    assert_eq!(
        (unanswered.code, unanswered.json()["status"].as_str()),
        (3, Some("unanswered"))
    );
    assert!(fixture.files("home").is_empty());
}

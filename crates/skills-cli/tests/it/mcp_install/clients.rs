//! The files of each client, and entries over HTTP.

use insta::assert_snapshot;

use super::Fixture;
#[cfg(unix)]
use super::mode;

/// Clients with their user files, and their project files if they have some.
const CLIENTS: [(&str, &str, Option<&str>); 16] = [
    ("claude", ".claude.json", Some(".mcp.json")),
    ("codex", ".codex/config.toml", Some(".codex/config.toml")),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json")),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        Some(".vscode/mcp.json"),
    ),
    (
        "gemini",
        ".gemini/settings.json",
        Some(".gemini/settings.json"),
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        Some("opencode.json"),
    ),
    (
        "copilot",
        ".copilot/mcp-config.json",
        Some(".github/mcp.json"),
    ),
    ("qwen", ".qwen/settings.json", Some(".qwen/settings.json")),
    (
        "antigravity",
        ".gemini/config/mcp_config.json",
        Some(".agents/mcp_config.json"),
    ),
    (
        "kiro",
        ".kiro/settings/mcp.json",
        Some(".kiro/settings/mcp.json"),
    ),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        None,
    ),
    (
        "zed",
        ".config/zed/settings.json",
        Some(".zed/settings.json"),
    ),
    ("goose", ".config/goose/config.yaml", None),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        None,
    ),
    ("kilo", ".config/kilo/kilo.jsonc", Some(".kilo/kilo.jsonc")),
];

#[test]
fn each_client_has_its_own_configuration_file_written_once() {
    for (client, file, _) in CLIENTS {
        if ["vscode", "claude-desktop"].contains(&client) && !cfg!(target_os = "linux") {
            continue;
        }
        let fixture = Fixture::new();
        let first = fixture.call(&["--client", client, "--yes", "--", "--root", "/skills"]);
        assert_eq!(first.code, 0, "{}", first.page());
        assert_eq!(fixture.files("home"), [file]);
        let text = fixture.read(&format!("home/{file}"));
        let words = text.replace('"', "");
        assert!(
            words.contains("mcp, --root, /skills]") && text.contains("/bin/skills"),
            "{text}"
        );
        #[cfg(unix)]
        assert_eq!(mode(&fixture.path("home").join(file)), 0o600);
        let second = fixture.call(&["--client", client, "--", "--root", "/skills"]);
        assert!(
            second.code == 0 && second.stderr.starts_with("unchanged: "),
            "{}",
            second.page()
        );
        assert_eq!(fixture.read(&format!("home/{file}")), text);
    }
}

#[test]
fn each_client_with_a_project_file_has_it_at_the_root() {
    for (client, _, file) in CLIENTS {
        let fixture = Fixture::new();
        let done = fixture.call(&["--client", client, "--project", "--yes"]);
        let Some(file) = file else {
            assert_eq!(done.code, 2, "{client}");
            assert!(done.stderr.contains("no configuration of projects"));
            continue;
        };
        assert_eq!(done.code, 0, "{}", done.page());
        assert_eq!(fixture.files("project"), [file]);
        assert!(fixture.files("home").is_empty());
    }
}

#[test]
fn a_file_of_another_name_that_the_client_reads_is_edited() {
    let fixture = Fixture::new();
    fixture.write("home/.config/opencode/opencode.jsonc", "{ /* mine */ }\n");
    fixture.write("project/kilo.json", "{}\n");
    assert_eq!(fixture.call(&["--client", "opencode", "--yes"]).code, 0);
    assert_eq!(
        fixture
            .call(&["--client", "kilo", "--project", "--yes"])
            .code,
        0
    );
    assert_eq!(fixture.files("home"), [".config/opencode/opencode.jsonc"]);
    assert_eq!(fixture.files("project"), ["kilo.json"]);
    let text = fixture.read("home/.config/opencode/opencode.jsonc");
    assert!(text.contains("/* mine */"), "{text}");
}

#[test]
fn a_file_that_cannot_be_edited_is_kept_and_the_entry_is_shown() {
    let fixture = Fixture::new();
    let before = "extensions: {x: {type: builtin}} # mine\n";
    fixture.write("home/.config/goose/config.yaml", before);
    assert_snapshot!(fixture.page(&["--client", "goose", "--yes"]), @r#"
    exit 2
    -- stderr
    extensions:
      skills:
        enabled: true
        type: stdio
        name: skills
        description: Agent skills
        cmd: /bin/skills
        args: [mcp]
        timeout: 600
    error: HERE/home/.config/goose/config.yaml: cannot add the server: unsupported layout
    help: nothing was written; add the entry in your editor
    "#);
    assert_eq!(fixture.read("home/.config/goose/config.yaml"), before);
}

#[test]
fn entries_over_http_have_no_token() {
    let fixture = Fixture::new();
    assert_snapshot!(fixture.page(&["--client", "opencode", "--project", "--yes", "--http"]), @r#"
    exit 0
    -- stderr
    HERE/project/opencode.json (MCP servers of opencode)
    @@ -0,0 +1,13 @@
    +{
    +  "mcp": {
    +    "skills": {
    +      "type": "remote",
    +      "url": "http://127.0.0.1:8640/mcp",
    +      "enabled": true,
    +      "headers": {
    +        "Authorization": "Bearer {env:SKILLS_MCP_TOKEN}"
    +      },
    +      "timeout": 600000
    +    }
    +  }
    +}
    opencode will connect to http://127.0.0.1:8640/mcp with the token in `SKILLS_MCP_TOKEN`
    wrote HERE/project/opencode.json; restart opencode in the project; `opencode mcp list` shows it
    set `SKILLS_MCP_TOKEN` to the token of the server in the environment of opencode; `skills mcp token --show` prints it
    "#);
    let codex = ["--client", "codex", "--http", "https://tools.example/mcp"];
    let named = [&codex[..], &["--token-variable", "TEAM_TOKEN", "--json"]].concat();
    assert_snapshot!(fixture.page(&[&named[..], &["--dry-run"]].concat()), @r#"
    exit 0
    -- stdout
    {
      "client": "codex",
      "file": "HERE/home/.codex/config.toml",
      "leads_to": null,
      "server": {
        "name": "skills",
        "url": "https://tools.example/mcp",
        "token_variable": "TEAM_TOKEN"
      },
      "change": "added",
      "diff": "@@ -0,0 +1,4 @@\n+[mcp_servers.skills]\n+url = \"https://tools.example/mcp\"\n+bearer_token_env_var = \"TEAM_TOKEN\"\n+tool_timeout_sec = 600\n",
      "status": "planned"
    }
    "#);
    assert_eq!(fixture.call(&[&codex[..], &["--yes"]].concat()).code, 0);
    assert!(fixture.call(&codex).stderr.starts_with("unchanged: "));
    for client in ["antigravity", "claude-desktop", "zed", "cline"] {
        let done = fixture.call(&["--client", client, "--yes", "--http"]);
        assert!(
            done.code == 2 && done.stderr.contains("replaces no variable in headers"),
            "{}",
            done.page()
        );
    }
    for wrong in [
        ["--http", "http://user:secret@a/mcp"].as_slice(),
        &["--http", "http://a/${TOKEN}"],
        &["--http", "http://a/mcp", "--workspace", "."],
        &["--http", "http://a/mcp", "--", "--root", "/x"],
        &["--token-variable", "A"],
        &["--http", "http://a/mcp", "--token-variable", "A-B"],
    ] {
        let done = fixture.call(&[&["--client", "claude", "--yes"], wrong].concat());
        assert_eq!(done.code, 2, "{wrong:?}");
    }
    assert_eq!(fixture.files("home"), [".codex/config.toml"]);
}

//! Tests of `mcp install` on a terminal.

use std::process::Command;

use super::Fixture;
use crate::terminal;

/// Answers the question before a file is changed.
fn answered(command: Command, answer: &str, meanwhile: impl FnOnce()) -> (i32, String) {
    terminal::answered(command, "Apply this change?", answer, meanwhile)
}

#[test]
fn the_user_confirms_at_the_terminal() {
    let fixture = Fixture::new();
    let (code, shown) = answered(fixture.command(&["--client", "codex"]), "n", || {});
    assert!(
        code == 3 && shown.contains("+[mcp_servers.skills]") && shown.contains("was not changed"),
        "{code}\n{shown}"
    );
    assert!(fixture.files("home").is_empty());
    let (code, shown) = answered(fixture.command(&["--client", "codex"]), "y", || {});
    assert!(
        code == 0 && shown.contains("config.toml; restart Codex"),
        "{code}\n{shown}"
    );
    assert_eq!(fixture.files("home"), [".codex/config.toml"]);
}

/// Clients also write their files, and must not lose changes.
#[test]
fn changes_during_the_prompt_are_kept() {
    let fixture = Fixture::new();
    fixture.write("home/.claude.json", "{}");
    let others = "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";
    let (code, shown) = answered(fixture.command(&["--client", "claude"]), "y", || {
        drop(fixture.write("home/.claude.json", others))
    });
    assert!(
        code == 0 && shown.contains(".claude.json; restart"),
        "{code}\n{shown}"
    );
    let text = fixture.read("home/.claude.json");
    assert!(
        text.contains("\"other\": {\"command\": \"x\"},\n    \"skills\": {"),
        "{text}"
    );
    assert_eq!(fixture.files("home"), [".claude.json"]);
}

/// A confirmation to replace one server does not cover another one.
#[test]
fn an_entry_that_changes_during_the_prompt_is_not_replaced() {
    let fixture = Fixture::new();
    let server =
        |command: &str| format!("model = \"m\"\n[mcp_servers.skills]\ncommand = \"{command}\"\n");
    let config = |command: &str| fixture.write("home/.codex/config.toml", &server(command));
    for (before, meanwhile) in [(Some("/bin/one"), "/bin/other"), (None, "/bin/other")] {
        match before {
            Some(before) => drop(config(before)),
            None => std::fs::remove_file(fixture.path("home/.codex/config.toml")).unwrap(),
        }
        let (code, shown) = answered(fixture.command(&["--client", "codex"]), "y", || {
            drop(config(meanwhile))
        });
        assert!(
            code == 1 && shown.contains("server `skills` in it changed during the prompt"),
            "{code}\n{shown}"
        );
        assert_eq!(
            (
                fixture.read("home/.codex/config.toml"),
                fixture.files("home").len()
            ),
            (server(meanwhile), 1)
        );
    }
}

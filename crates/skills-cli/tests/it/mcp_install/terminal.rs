//! Tests of `mcp install` on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::Fixture;

/// Ends what a terminal shows.
const END: &str = "<end>";

/// Answers the question at a terminal of its own, after `meanwhile`; returns the exit code and what
/// the terminal showed.
fn answered(mut command: Command, answer: &str, meanwhile: impl FnOnce()) -> (i32, String) {
    let pty = nix::pty::openpty(None, None).unwrap();
    // Held until all was read: when the last holder closes a terminal, output can be lost.
    let mut held = File::from(pty.slave.try_clone().unwrap());
    command
        .stdin(pty.slave.try_clone().unwrap())
        .stderr(pty.slave)
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut terminal = File::from(pty.master);
    let mut screen = terminal.try_clone().unwrap();
    let (asked, was_asked) = channel();
    let reader = std::thread::spawn(move || {
        let (mut shown, mut part) = (String::new(), [0; 1024]);
        // The echo of typed input can follow the end.
        while !shown.contains(END) {
            let count = screen.read(&mut part).unwrap();
            shown.push_str(&String::from_utf8_lossy(&part[..count]));
            if shown.contains("Apply this change?") {
                let _ = asked.send(());
            }
        }
        shown.replace("\r\n", "\n")
    });
    let mut is_asked = false;
    while !is_asked && child.try_wait().unwrap().is_none() {
        is_asked = was_asked.recv_timeout(Duration::from_millis(100)).is_ok();
    }
    meanwhile();
    // Input that was typed before the prompt reads it is discarded, so it is typed until it is
    // read.
    while is_asked && child.try_wait().unwrap().is_none() {
        let _ = terminal.write_all(format!("{answer}\n").as_bytes());
        let _ = was_asked.recv_timeout(Duration::from_millis(100));
    }
    let code = child.wait().unwrap().code().unwrap();
    held.write_all(END.as_bytes()).unwrap();
    (code, reader.join().unwrap())
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

//! `mcp install` with somebody at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::Place;

/// Answers the question at a terminal of its own, when something was done; returns the exit code
/// and what the terminal showed.
fn answered(mut command: Command, answer: &str, meanwhile: impl FnOnce()) -> (i32, String) {
    let pty = nix::pty::openpty(None, None).unwrap();
    command
        .stdin(pty.slave.try_clone().unwrap())
        .stderr(pty.slave)
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The other end is closed when nobody but the child holds it.
    drop(command);
    let mut terminal = File::from(pty.master);
    let mut screen = terminal.try_clone().unwrap();
    let (asked, was_asked) = channel();
    let reader = std::thread::spawn(move || {
        let (mut shown, mut part) = (Vec::new(), [0; 1024]);
        while let Ok(count @ 1..) = screen.read(&mut part) {
            shown.extend_from_slice(&part[..count]);
            if String::from_utf8_lossy(&shown).contains("Write this?") {
                let _ = asked.send(());
            }
        }
        String::from_utf8_lossy(&shown).replace("\r\n", "\n")
    });
    let mut next = was_asked.recv().is_ok();
    meanwhile();
    // What is typed before the question is read counts for nothing, so it is typed until it is
    // heard.
    while next && child.try_wait().unwrap().is_none() {
        let _ = terminal.write_all(format!("{answer}\n").as_bytes());
        next = was_asked.recv_timeout(Duration::from_millis(100))
            != Err(RecvTimeoutError::Disconnected);
    }
    (
        child.wait().unwrap().code().unwrap(),
        reader.join().unwrap(),
    )
}

#[test]
fn whoever_sits_at_the_terminal_decides() {
    let place = Place::new();
    let (code, shown) = answered(place.command(&["--client", "codex"]), "n", || {});
    assert!(
        code == 3 && shown.contains("+ [mcp_servers.skills]") && shown.contains("stays as it is"),
        "{code}\n{shown}"
    );
    assert!(place.files("home").is_empty());
    let (code, shown) = answered(place.command(&["--client", "codex"]), "y", || {});
    assert!(
        code == 0 && shown.contains("config.toml is written; start Codex anew"),
        "{code}\n{shown}"
    );
    assert_eq!(place.files("home"), [".codex/config.toml"]);
}

/// Clients write their files as well, and would lose what they wrote.
#[test]
fn what_others_write_during_the_question_stays() {
    let place = Place::new();
    place.write("home/.claude.json", "{}");
    let others = "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";
    let (code, shown) = answered(place.command(&["--client", "claude"]), "y", || {
        drop(place.write("home/.claude.json", others))
    });
    assert!(
        code == 0 && shown.contains(".claude.json is written"),
        "{code}\n{shown}"
    );
    let text = place.read("home/.claude.json");
    assert!(
        text.contains("\"other\": {\"command\": \"x\"},\n    \"skills\": {"),
        "{text}"
    );
    assert_eq!(place.files("home"), [".claude.json"]);
}

/// Who agreed to replace one server did not agree to replace another.
#[test]
fn an_entry_that_changes_during_the_question_is_left_alone() {
    let place = Place::new();
    let server =
        |command: &str| format!("model = \"m\"\n[mcp_servers.skills]\ncommand = \"{command}\"\n");
    let config = |command: &str| place.write("home/.codex/config.toml", &server(command));
    for (before, meanwhile) in [(Some("/bin/one"), "/bin/other"), (None, "/bin/other")] {
        match before {
            Some(before) => drop(config(before)),
            None => std::fs::remove_file(place.path("home/.codex/config.toml")).unwrap(),
        }
        let (code, shown) = answered(place.command(&["--client", "codex"]), "y", || {
            drop(config(meanwhile))
        });
        assert!(
            code == 1 && shown.contains("the server \"skills\" in it changed while you were asked"),
            "{code}\n{shown}"
        );
        assert_eq!(
            (
                place.read("home/.codex/config.toml"),
                place.files("home").len()
            ),
            (server(meanwhile), 1)
        );
    }
}

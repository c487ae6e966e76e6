//! The workspace of `skills mcp` if no option names one: a root of the client, else the working
//! directory.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use skills_test_support::{skip_without_sandbox, source_tree};

use crate::mcp::Server;
use crate::skills::command_with_state;

/// Directories of a user: a home with two projects, scratch space, and state.
struct User {
    top: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self {
            top: tempfile::tempdir().unwrap(),
        };
        for (directory, text) in [
            ("home/one", "first"),
            ("home/two", "second"),
            ("home", "home"),
        ] {
            let directory = user.path(directory);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("note.txt"), text).unwrap();
        }
        for directory in ["scratch/inner", "state"] {
            std::fs::create_dir_all(user.path(directory)).unwrap();
        }
        user
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.top.path().canonicalize().unwrap().join(below)
    }

    /// Starts a server in a directory, for a client with these roots.
    fn serve(&self, current_dir: &str, arguments: &[&str], roots: &[&Path]) -> Server {
        let command = self.command(current_dir, arguments);
        let roots: Vec<Value> = roots
            .iter()
            .map(|path| json!({"uri": format!("file://{}", path.display())}))
            .collect();
        Server::connect_with_roots(command, json!(roots))
    }

    fn command(&self, current_dir: &str, arguments: &[&str]) -> Command {
        let skills = source_tree()
            .canonicalize()
            .unwrap()
            .join("examples/skills");
        let base = ["mcp", "--log", "off", "--root", skills.to_str().unwrap()];
        let arguments = [&base, arguments].concat();
        let mut command =
            command_with_state(&arguments, &self.path("scratch"), &self.path("state"));
        command
            .current_dir(self.path(current_dir))
            .env("HOME", self.path("home"));
        command
    }
}

/// Reads the note of the workspace: its text, or the code of the error.
fn note(server: &mut Server) -> String {
    let result = server.call("skills_read", &json!({"path": "note.txt"}));
    let code = &result["_meta"]["skills/report"]["error"]["code"];
    let text = &result["content"][0]["text"];
    let text = code.as_str().unwrap_or_else(|| text.as_str().unwrap());
    text.to_owned()
}

#[test]
fn a_root_of_the_client_replaces_the_working_directory() {
    let user = User::new();
    let [one, two, home] = ["home/one", "home/two", "home"].map(|path| user.path(path));
    for (current_dir, roots, expected) in [
        ("home/one", vec![], "first"),
        ("home/one", vec![&one], "first"),
        ("home/one", vec![&two], "second"),
        ("home", vec![&two], "second"),
        ("home/one", vec![&two, &one], "second"),
        ("home", vec![&home, &one], "first"),
    ] {
        let roots: Vec<&Path> = roots.into_iter().map(AsRef::as_ref).collect();
        let mut server = user.serve(current_dir, &[], &roots);
        let found = note(&mut server);
        assert!(
            found.contains(expected),
            "{current_dir}, {roots:?}: {found}"
        );
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn roots_are_refused_like_working_directories() {
    let user = User::new();
    let missing = user.path("home/missing");
    for refused in [
        Path::new("/"),
        &user.path("home"),
        &user.path(""),
        &user.path("scratch"),
        &missing,
        &user.path("home/one/note.txt"),
    ] {
        let mut server = user.serve("home/one", &[], &[refused]);
        let found = note(&mut server);
        assert!(found.contains("first"), "{}: {found}", refused.display());
        let mut server = user.serve("home", &[], &[refused]);
        let found = note(&mut server);
        assert_eq!(found, "path_outside_mounts", "{}", refused.display());
    }
}

#[test]
fn an_option_for_the_workspace_takes_precedence_over_roots() {
    let user = User::new();
    let (one, two) = (user.path("home/one"), user.path("home/two"));
    let one = one.to_str().unwrap();
    let mut server = user.serve("home", &["--workspace", one], &[&two]);
    assert!(note(&mut server).contains("first"));
    assert_eq!(server.requests(), [""; 0], "the client is not asked");
    let mut server = user.serve("home/one", &["--no-workspace"], &[&two]);
    assert_eq!(note(&mut server), "path_outside_mounts");
    assert_eq!(server.requests(), [""; 0], "the client is not asked");
}

/// The workspace of the client is the only one that programs can write.
#[test]
fn programs_write_the_root_and_not_the_working_directory() {
    if skip_without_sandbox() {
        return;
    }
    let user = User::new();
    let mut server = user.serve("home/one", &["--allow", "spawn"], &[&user.path("home/two")]);
    let command = format!(
        "sh -c 'echo x > made.txt; echo x > {}/made.txt'",
        user.path("home/one").display()
    );
    let result = server.call("skills_bash", &json!({"command": command}));
    assert!(user.path("home/two/made.txt").exists(), "{result}");
    assert!(!user.path("home/one/made.txt").exists(), "{result}");
}

/// As a model writes them, with a path that `load_skill` printed.
#[test]
fn commands_in_the_workspace_reach_the_skills_that_they_name() {
    if skip_without_sandbox() {
        return;
    }
    let user = User::new();
    let mut server = user.serve("home/one", &[], &[]);
    let mut text = |command: &str| {
        let result = server.call("skills_bash", &json!({"command": command}));
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let printed = text("python3 /skills/gcd-calculator/scripts/gcd.py 12 18");
    assert!(printed.contains('6'), "{printed}");
    let printed = text("head -n 2 /skills/gcd-calculator/SKILL.md note.txt");
    assert!(
        printed.contains("name: gcd-calculator") && printed.contains("first"),
        "{printed}"
    );
    let printed = text("cat /skills/gcd/SKILL.md");
    assert!(
        printed.contains("the command does not see `/skills/gcd`: skill `gcd` not found"),
        "{printed}"
    );
}

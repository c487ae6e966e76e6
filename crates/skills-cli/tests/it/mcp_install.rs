//! `mcp install`: the files of clients, as their owners keep them.

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod concurrent;
#[cfg(target_os = "linux")]
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::skills::{Done, command, skills};

/// A home, and a project with a directory in it.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for below in ["home", "project/.git", "project/inner"] {
            fs::create_dir_all(place.path(below)).unwrap();
        }
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, below: &str) -> String {
        redacted(&fs::read_to_string(self.path(below)).unwrap())
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = command(
            &[&["mcp", "install"], arguments].concat(),
            &self.path("home"),
        );
        command.current_dir(self.path("project/inner"));
        command
    }

    fn call(&self, arguments: &[&str]) -> Done {
        done(self.command(arguments))
    }

    /// Calls it, and hides the place of the program and of this test.
    fn page(&self, arguments: &[&str]) -> String {
        let hidden =
            |text: &str| redacted(text).replace(&self.path("").display().to_string(), "HERE/");
        let done = self.call(arguments);
        Done {
            stdout: hidden(&done.stdout),
            stderr: hidden(&done.stderr),
            ..done
        }
        .page()
    }

    /// Everything that lies below a directory, but the marks of the project.
    fn files(&self, below: &str) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.path(below), &self.path(below), &mut found);
        found.sort();
        found
    }
}

fn collect(top: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            collect(top, &path, found);
        } else {
            found.push(path.strip_prefix(top).unwrap().display().to_string());
        }
    }
}

fn done(mut command: std::process::Command) -> Done {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Writes `/bin/skills` for the program that is tested.
fn redacted(text: &str) -> String {
    let binary = std::env::var_os("SKILLS_TEST_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_skills").into(), PathBuf::from);
    text.replace(
        &binary.canonicalize().unwrap().display().to_string(),
        "/bin/skills",
    )
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn help_says_what_is_written() {
    assert_snapshot!(
        skills(&["mcp", "install", "--help"])
            .page()
            .split("Options of every command")
            .next()
            .unwrap()
    );
}

#[test]
fn each_client_gets_a_file_once() {
    for (client, file) in [
        ("claude", ".claude.json"),
        ("codex", ".codex/config.toml"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        if client == "vscode" && !cfg!(target_os = "linux") {
            continue;
        }
        let place = Place::new();
        let first = place.call(&["--client", client, "--yes", "--", "--root", "/skills"]);
        assert_eq!(first.code, 0, "{}", first.page());
        assert_eq!(place.files("home"), [file]);
        let text = place.read(&format!("home/{file}"));
        assert!(
            text.contains("[\"mcp\", \"--root\", \"/skills\"]") && text.contains("/bin/skills"),
            "{text}"
        );
        #[cfg(unix)]
        assert_eq!(mode(&place.path("home").join(file)), 0o600);
        let second = place.call(&["--client", client, "--", "--root", "/skills"]);
        assert!(
            second.code == 0 && second.stderr.starts_with("nothing to do: "),
            "{}",
            second.page()
        );
        assert_eq!(place.read(&format!("home/{file}")), text);
    }
}

#[test]
fn a_change_is_shown_first() {
    let place = Place::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";
    place.write("home/.claude.json", before);
    assert_snapshot!(place.page(&["--client", "claude"]), @r#"
    exit 3
    -- stderr
    HERE/home/.claude.json (servers of Claude Code)
        // mine
        "mcpServers": {
    -     "other": {"command": "x"}
    +     "other": {"command": "x"},
    +     "skills": {
    +       "type": "stdio",
    +       "command": "/bin/skills",
    +       "args": ["mcp"]
    +     }
        }
      }
    Claude Code will start: "/bin/skills" "mcp"
    error: there is no terminal to ask on; --yes writes it
    "#);
    assert_snapshot!(place.page(&["--client", "claude", "--dry-run"]), @r#"
    exit 0
    -- stdout
    HERE/home/.claude.json (servers of Claude Code)
        // mine
        "mcpServers": {
    -     "other": {"command": "x"}
    +     "other": {"command": "x"},
    +     "skills": {
    +       "type": "stdio",
    +       "command": "/bin/skills",
    +       "args": ["mcp"]
    +     }
        }
      }
    Claude Code will start: "/bin/skills" "mcp"
    "#);
    assert_eq!(place.read("home/.claude.json"), before);
    assert_snapshot!(place.page(&["--client", "claude", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/home/.claude.json (servers of Claude Code)
        // mine
        "mcpServers": {
    -     "other": {"command": "x"}
    +     "other": {"command": "x"},
    +     "skills": {
    +       "type": "stdio",
    +       "command": "/bin/skills",
    +       "args": ["mcp"]
    +     }
        }
      }
    Claude Code will start: "/bin/skills" "mcp"
    HERE/home/.claude.json is written; start Claude Code anew; `/mcp` lists it
    "#);
    assert_snapshot!(place.read("home/.claude.json"), @r#"
    {
      // mine
      "mcpServers": {
        "other": {"command": "x"},
        "skills": {
          "type": "stdio",
          "command": "/bin/skills",
          "args": ["mcp"]
        }
      }
    }
    "#);
    let nothing = Place::new();
    assert_eq!(nothing.call(&["--client", "codex", "--dry-run"]).code, 0);
    assert_eq!(fs::read_dir(nothing.path("home")).unwrap().count(), 0);
}

#[test]
fn a_server_of_that_name_goes_only_when_that_was_seen() {
    let place = Place::new();
    let before = "model = \"m\"\n[mcp_servers.skills]\ncommand = \"/bin/other\"\n";
    place.write("home/.codex/config.toml", before);
    assert_snapshot!(place.page(&["--client", "codex"]), @r#"
    exit 3
    -- stderr
    HERE/home/.codex/config.toml (servers of Codex)
      model = "m"
      [mcp_servers.skills]
    - command = "/bin/other"
    + command = "/bin/skills"
    + args = ["mcp"]
    another server is called "skills", and goes; --name gives this one another name
    Codex will start: "/bin/skills" "mcp"
    error: there is no terminal to ask on; --yes writes it
    "#);
    assert_eq!(place.read("home/.codex/config.toml"), before);
    assert_eq!(
        place
            .call(&["--client", "codex", "--yes", "--name", "mine"])
            .code,
        0
    );
    assert_snapshot!(place.read("home/.codex/config.toml"), @r#"
    model = "m"
    [mcp_servers.skills]
    command = "/bin/other"

    [mcp_servers.mine]
    command = "/bin/skills"
    args = ["mcp"]
    "#);
    assert_eq!(place.call(&["--client", "codex", "--yes"]).code, 0);
    assert!(!place.read("home/.codex/config.toml").contains("/bin/other"));
}

#[test]
fn a_document_says_it_all() {
    let place = Place::new();
    let document = |arguments: &[&str]| {
        let done = place.call(&[&["--client", "cursor", "--json"], arguments].concat());
        let text = redacted(&done.json().to_string())
            .replace(&place.path("").display().to_string(), "HERE/");
        (
            done.code,
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        )
    };
    let (code, mut planned) = document(&["--dry-run"]);
    let diff = planned["diff"].take();
    assert!(
        code == 0
            && diff
                .as_str()
                .unwrap()
                .starts_with("+ {\n+   \"mcpServers\": {\n"),
        "{diff}"
    );
    insta::assert_json_snapshot!(planned, @r#"
    {
      "client": "cursor",
      "file": "HERE/home/.cursor/mcp.json",
      "leads_to": null,
      "server": {
        "name": "skills",
        "command": "/bin/skills",
        "args": [
          "mcp"
        ]
      },
      "change": "added",
      "diff": null,
      "status": "planned"
    }
    "#);
    let status = |(code, document): (i32, serde_json::Value)| {
        (code, document["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(status(document(&[])), (3, "unanswered".to_owned()));
    assert_eq!(status(document(&["--yes"])), (0, "written".to_owned()));
    assert_eq!(status(document(&[])), (0, "unchanged".to_owned()));
    place.write("home/.cursor/mcp.json", "{");
    let (code, broken) = document(&["--yes"]);
    assert_eq!((code, broken["error"]["code"].as_str()), (2, Some("input")));
}

#[test]
fn a_project_has_its_own_file_at_its_root() {
    let place = Place::new();
    assert_snapshot!(place.page(&["--client", "claude", "--project", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/project/.mcp.json (servers of Claude Code)
    + {
    +   "mcpServers": {
    +     "skills": {
    +       "type": "stdio",
    +       "command": "/bin/skills",
    +       "args": ["mcp"]
    +     }
    +   }
    + }
    Claude Code will start: "/bin/skills" "mcp"
    HERE/project/.mcp.json is written; start Claude Code anew in the project, and agree to the server when it asks
    "#);
    assert_eq!(
        (place.files("project"), place.files("home")),
        (vec![".mcp.json".to_owned()], Vec::new())
    );
    #[cfg(unix)]
    assert_eq!(
        mode(&place.path("project/.mcp.json")),
        mode(&place.write("project/plain", "")),
        "others may share it"
    );
    for (client, file) in [
        ("codex", ".codex/config.toml"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        assert_eq!(
            place.call(&["--client", client, "--project", "--yes"]).code,
            0
        );
        assert!(
            place.files("project").contains(&file.to_owned()),
            "{client}"
        );
    }
}

#[test]
fn variables_of_clients_move_their_files() {
    let place = Place::new();
    let mut command = place.command(&["--client", "codex", "--yes"]);
    command.env("CODEX_HOME", place.path("elsewhere"));
    assert_eq!(done(command).code, 0);
    assert!(
        place
            .read("elsewhere/config.toml")
            .contains("[mcp_servers.skills]")
    );
    let mut command = place.command(&["--client", "codex", "--yes"]);
    command.env("CODEX_HOME", "relative");
    assert_eq!(done(command).code, 0);
    assert_eq!(
        place.files("home"),
        [".codex/config.toml"],
        "a relative path is a mistake"
    );
}

#[test]
fn files_that_cannot_be_read_are_left_alone() {
    let place = Place::new();
    let broken = "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n";
    place.write("home/.claude.json", broken);
    assert_snapshot!(place.page(&["--client", "claude", "--yes"]), @"
    exit 2
    -- stderr
    error: HERE/home/.claude.json:3: it is not JSON: Expected comma; nothing was written, mend the file or move it away
    ");
    assert_eq!(place.read("home/.claude.json"), broken);
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(4 << 20));
    place.write("home/.claude.json", &large);
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 2);
    fs::write(place.path("home/.claude.json"), b"{\"a\": \"\xff\"}").unwrap();
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 2);
    fs::remove_file(place.path("home/.claude.json")).unwrap();
    fs::create_dir(place.path("home/.claude.json")).unwrap();
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 2);
    assert!(place.files("home").is_empty());
}

#[test]
fn wrong_usage_writes_nothing() {
    let place = Place::new();
    assert_snapshot!(place.page(&["--client", "claude", "--yes", "--root", "."]), @"
    exit 2
    -- stderr
    error: options of the server stand behind `--`: skills mcp install --client claude -- --root DIR
    ");
    assert_snapshot!(place.page(&["--client", "gemini", "--yes", "--name", "my_skills"]), @"
    exit 2
    -- stderr
    error: --name my_skills: Gemini CLI wants names without `_`; write `-`
    ");
    assert_snapshot!(place.page(&["--client", "codex", "--yes", "--", "--workspce", "/work"]), @"
    exit 2
    -- stderr
    error: `skills mcp --workspce /work` cannot be started: unexpected argument '--workspce' found
    ");
    assert_snapshot!(place.page(&["--client", "codex", "--yes", "--", "--http"]), @"
    exit 2
    -- stderr
    error: `skills mcp --http` cannot be started: a client talks to it over standard input and output
    ");
    for wrong in [
        ["--client", "emacs"].as_slice(),
        &[],
        &["--client", "codex", "--name", "a.b"],
        &["--client", "codex", "--yes", "--dry-run"],
    ] {
        assert_eq!(place.call(wrong).code, 2, "{wrong:?}");
    }
    assert!(place.files("home").is_empty());
}

/// Managers of dotfiles keep the files elsewhere, and links to them in the home directory.
#[cfg(unix)]
#[test]
fn links_stay_and_what_they_lead_to_is_written() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let real = place.write("dotfiles/settings.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(place.path("home/.gemini")).unwrap();
    symlink(
        "../../dotfiles/settings.json",
        place.path("home/.gemini/settings.json"),
    )
    .unwrap();
    assert_snapshot!(place.page(&["--client", "gemini", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/home/.gemini/settings.json (servers of Gemini CLI, a link to HERE/dotfiles/settings.json)
    - {}
    + {
    +   "mcpServers": {
    +     "skills": {
    +       "command": "/bin/skills",
    +       "args": ["mcp"]
    +     }
    +   }
    + }
    Gemini CLI will start: "/bin/skills" "mcp"
    HERE/home/.gemini/settings.json is written; start Gemini CLI anew; `/mcp` lists it
    "#);
    assert!(place.read("dotfiles/settings.json").contains("mcpServers"));
    assert_eq!(mode(&real), 0o640);
    symlink(
        place.path("dotfiles/new.json"),
        place.path("home/.claude.json"),
    )
    .unwrap();
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 0);
    assert_eq!(place.files("dotfiles"), ["new.json", "settings.json"]);
    for link in ["home/.gemini/settings.json", "home/.claude.json"] {
        assert!(
            place.path(link).symlink_metadata().unwrap().is_symlink(),
            "{link}"
        );
    }
    symlink("mcp.json", place.path("home/mcp.json")).unwrap();
    fs::create_dir(place.path("home/.cursor")).unwrap();
    symlink("../mcp.json", place.path("home/.cursor/mcp.json")).unwrap();
    assert_eq!(
        place.call(&["--client", "cursor", "--yes"]).code,
        2,
        "a circle"
    );
}

/// Somebody else's project must not write the files of whoever works in it.
#[cfg(unix)]
#[test]
fn a_project_leads_nowhere_else() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.write("home/.claude.json", "{}");
    symlink("../home/.claude.json", place.path("project/.mcp.json")).unwrap();
    assert_snapshot!(place.page(&["--client", "claude", "--project", "--yes"]), @"
    exit 2
    -- stderr
    error: HERE/project/.mcp.json leads out of the project, to HERE/home/.claude.json: change that file by hand
    ");
    symlink("../home", place.path("project/.cursor")).unwrap();
    assert_eq!(
        place
            .call(&["--client", "cursor", "--project", "--yes"])
            .code,
        2
    );
    fs::create_dir(place.path("project/.vscode")).unwrap();
    symlink(
        "../missing/../../home/new.json",
        place.path("project/.vscode/mcp.json"),
    )
    .unwrap();
    assert_eq!(
        place
            .call(&["--client", "vscode", "--project", "--yes"])
            .code,
        2
    );
    assert_eq!(
        (
            place.read("home/.claude.json").as_str(),
            place.files("home")
        ),
        ("{}", vec![".claude.json".to_owned()])
    );
    fs::remove_file(place.path("project/.mcp.json")).unwrap();
    symlink("inner/shared.json", place.path("project/.mcp.json")).unwrap();
    assert_eq!(
        place
            .call(&["--client", "claude", "--project", "--yes"])
            .code,
        0
    );
    assert!(
        place
            .read("project/inner/shared.json")
            .contains("mcpServers")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let place = Place::new();
    nix::unistd::mkfifo(
        &place.path("home/.claude.json"),
        nix::sys::stat::Mode::S_IRUSR,
    )
    .unwrap();
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 2);
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt, chown};
    if !nix::unistd::Uid::effective().is_root() {
        return skills_test_support::skip("only root gives files away");
    }
    let place = Place::new();
    let file = place.write("home/.claude.json", "{}");
    chown(&file, Some(4_242), Some(4_243)).unwrap();
    assert_eq!(place.call(&["--client", "claude", "--yes"]).code, 0);
    let metadata = file.metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (4_242, 4_243));
    assert!(place.read("home/.claude.json").contains("mcpServers"));
}

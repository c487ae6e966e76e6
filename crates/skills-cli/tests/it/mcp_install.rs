//! Tests of `mcp install` and the configuration files of clients.

mod add_servers;
mod clients;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod concurrent;
#[cfg(target_os = "linux")]
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::skills::{Done, binary, command, skills};

/// A home directory, and a project with a subdirectory.
struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for below in ["home", "project/.git", "project/inner"] {
            fs::create_dir_all(fixture.path(below)).unwrap();
        }
        fixture
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
        self.mcp_command(&[&["install"], arguments].concat())
    }

    fn mcp_command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = command(&[&["mcp"], arguments].concat(), &self.path("home"));
        command.current_dir(self.path("project/inner"));
        command
    }

    fn call(&self, arguments: &[&str]) -> Done {
        done(self.command(arguments))
    }

    /// Runs the command, and replaces the paths of the program and of this test.
    fn page(&self, arguments: &[&str]) -> String {
        self.redacted_page(self.command(arguments))
    }

    fn redacted_page(&self, command: std::process::Command) -> String {
        let hidden =
            |text: &str| redacted(text).replace(&self.path("").display().to_string(), "HERE/");
        let done = done(command);
        Done {
            stdout: hidden(&done.stdout),
            stderr: hidden(&done.stderr),
            ..done
        }
        .page()
    }

    /// Returns all files below a directory.
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

/// Replaces the path of the tested program with `/bin/skills`.
fn redacted(text: &str) -> String {
    text.replace(
        &binary().canonicalize().unwrap().display().to_string(),
        "/bin/skills",
    )
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn help_describes_the_written_files() {
    assert_snapshot!(
        skills(&["mcp", "install", "--help"])
            .page()
            .split("Options of every command")
            .next()
            .unwrap()
    );
}

#[test]
fn a_change_is_shown_before_it_is_written() {
    let fixture = Fixture::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";
    fixture.write("home/.claude.json", before);
    assert_snapshot!(fixture.page(&["--client", "claude"]), @r#"
    exit 3
    -- stderr
    HERE/home/.claude.json (MCP servers of Claude Code)
    @@ -2,5 +2,10 @@
       // mine
       "mcpServers": {
    -    "other": {"command": "x"}
    +    "other": {"command": "x"},
    +    "skills": {
    +      "type": "stdio",
    +      "command": "/bin/skills",
    +      "args": ["mcp"]
    +    }
       }
     }
    Claude Code will start: "/bin/skills" "mcp"
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    "#);
    assert_snapshot!(fixture.page(&["--client", "claude", "--dry-run"]), @r#"
    exit 0
    -- stdout
    HERE/home/.claude.json (MCP servers of Claude Code)
    @@ -2,5 +2,10 @@
       // mine
       "mcpServers": {
    -    "other": {"command": "x"}
    +    "other": {"command": "x"},
    +    "skills": {
    +      "type": "stdio",
    +      "command": "/bin/skills",
    +      "args": ["mcp"]
    +    }
       }
     }
    Claude Code will start: "/bin/skills" "mcp"
    "#);
    assert_eq!(fixture.read("home/.claude.json"), before);
    assert_snapshot!(fixture.page(&["--client", "claude", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/home/.claude.json (MCP servers of Claude Code)
    @@ -2,5 +2,10 @@
       // mine
       "mcpServers": {
    -    "other": {"command": "x"}
    +    "other": {"command": "x"},
    +    "skills": {
    +      "type": "stdio",
    +      "command": "/bin/skills",
    +      "args": ["mcp"]
    +    }
       }
     }
    Claude Code will start: "/bin/skills" "mcp"
    wrote HERE/home/.claude.json; restart Claude Code; `/mcp` lists it
    "#);
    assert_snapshot!(fixture.read("home/.claude.json"), @r#"
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
    let nothing = Fixture::new();
    assert_eq!(nothing.call(&["--client", "codex", "--dry-run"]).code, 0);
    assert_eq!(fs::read_dir(nothing.path("home")).unwrap().count(), 0);
}

#[test]
fn a_server_of_that_name_is_replaced_only_after_confirmation() {
    let fixture = Fixture::new();
    let before = "model = \"m\"\n[mcp_servers.skills]\ncommand = \"/bin/other\"\n";
    fixture.write("home/.codex/config.toml", before);
    assert_snapshot!(fixture.page(&["--client", "codex"]), @r#"
    exit 3
    -- stderr
    HERE/home/.codex/config.toml (MCP servers of Codex)
    @@ -1,3 +1,6 @@
     model = "m"
     [mcp_servers.skills]
    -command = "/bin/other"
    +command = "/bin/skills"
    +args = ["mcp"]
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
    this replaces another server named `skills`; pass `--name` to keep both
    Codex will start: "/bin/skills" "mcp"
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    "#);
    assert_eq!(fixture.read("home/.codex/config.toml"), before);
    assert_eq!(
        fixture
            .call(&["--client", "codex", "--yes", "--name", "mine"])
            .code,
        0
    );
    assert_snapshot!(fixture.read("home/.codex/config.toml"), @r#"
    model = "m"
    [mcp_servers.skills]
    command = "/bin/other"

    [mcp_servers.mine]
    command = "/bin/skills"
    args = ["mcp"]
    tool_timeout_sec = 600
    default_tools_approval_mode = "approve"
    "#);
    assert_eq!(fixture.call(&["--client", "codex", "--yes"]).code, 0);
    assert!(
        !fixture
            .read("home/.codex/config.toml")
            .contains("/bin/other")
    );
}

#[test]
fn json_output_describes_the_change() {
    let fixture = Fixture::new();
    let document = |arguments: &[&str]| {
        let done = fixture.call(&[&["--client", "cursor", "--json"], arguments].concat());
        let text = redacted(&done.json().to_string())
            .replace(&fixture.path("").display().to_string(), "HERE/");
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
                .starts_with("@@ -0,0 +1,9 @@\n+{\n+  \"mcpServers\": {\n"),
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
    fixture.write("home/.cursor/mcp.json", "{");
    let (code, broken) = document(&["--yes"]);
    assert_eq!((code, broken["error"]["code"].as_str()), (2, Some("input")));
}

#[test]
fn a_project_has_its_own_file_at_its_root() {
    let fixture = Fixture::new();
    assert_snapshot!(fixture.page(&["--client", "claude", "--project", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/project/.mcp.json (MCP servers of Claude Code)
    @@ -0,0 +1,9 @@
    +{
    +  "mcpServers": {
    +    "skills": {
    +      "type": "stdio",
    +      "command": "/bin/skills",
    +      "args": ["mcp"]
    +    }
    +  }
    +}
    Claude Code will start: "/bin/skills" "mcp"
    wrote HERE/project/.mcp.json; restart Claude Code in the project, and approve the server when asked
    "#);
    assert_eq!(
        (fixture.files("project"), fixture.files("home")),
        (vec![".mcp.json".to_owned()], Vec::new())
    );
    #[cfg(unix)]
    assert_eq!(
        mode(&fixture.path("project/.mcp.json")),
        mode(&fixture.write("project/plain", "")),
        "a project file is shared"
    );
    for (client, file) in [
        ("codex", ".codex/config.toml"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        assert_eq!(
            fixture
                .call(&["--client", client, "--project", "--yes"])
                .code,
            0
        );
        assert!(
            fixture.files("project").contains(&file.to_owned()),
            "{client}"
        );
    }
}

/// The file is shared: it must not approve the calls of other users.
#[test]
fn a_project_approves_no_tool_call() {
    let fixture = Fixture::new();
    let done = fixture.call(&["--client", "codex", "--project", "--yes"]);
    assert_eq!(done.code, 0);
    assert_snapshot!(fixture.read("project/.codex/config.toml"), @r#"
    [mcp_servers.skills]
    command = "/bin/skills"
    args = ["mcp"]
    tool_timeout_sec = 600
    "#);
}

#[test]
fn client_variables_change_the_path() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["--client", "codex", "--yes"]);
    command.env("CODEX_HOME", fixture.path("elsewhere"));
    assert_eq!(done(command).code, 0);
    assert!(
        fixture
            .read("elsewhere/config.toml")
            .contains("[mcp_servers.skills]")
    );
    let mut command = fixture.command(&["--client", "codex", "--yes"]);
    command.env("CODEX_HOME", "relative");
    assert_eq!(done(command).code, 0);
    assert_eq!(
        fixture.files("home"),
        [".codex/config.toml"],
        "a relative path is ignored"
    );
}

#[test]
fn invalid_configuration_files_are_not_changed() {
    let fixture = Fixture::new();
    let broken = "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n";
    fixture.write("home/.claude.json", broken);
    assert_snapshot!(fixture.page(&["--client", "claude", "--yes"]), @"
    exit 2
    -- stderr
    error: HERE/home/.claude.json:3: invalid JSON: Expected comma
    help: nothing was written; fix the file or move it away
    ");
    assert_eq!(fixture.read("home/.claude.json"), broken);
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(4 << 20));
    fixture.write("home/.claude.json", &large);
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 2);
    fs::write(fixture.path("home/.claude.json"), b"{\"a\": \"\xff\"}").unwrap();
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 2);
    fs::remove_file(fixture.path("home/.claude.json")).unwrap();
    fs::create_dir(fixture.path("home/.claude.json")).unwrap();
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 2);
    assert!(fixture.files("home").is_empty());
}

#[test]
fn invalid_usage_writes_nothing() {
    let fixture = Fixture::new();
    assert_snapshot!(fixture.page(&["--client", "claude", "--yes", "--root", "."]), @"
    exit 2
    -- stderr
    error: options of the server go after `--`: `skills mcp install --client claude -- --root DIR`
    ");
    assert_snapshot!(fixture.page(&["--client", "gemini", "--yes", "--name", "my_skills"]), @"
    exit 2
    -- stderr
    error: invalid server name `my_skills`: Gemini CLI does not support `_`; use `-`
    ");
    assert_snapshot!(fixture.page(&["--client", "codex", "--yes", "--", "--workspce", "/work"]), @"
    exit 2
    -- stderr
    error: cannot start `skills mcp --workspce /work`: unexpected argument '--workspce' found
    ");
    assert_snapshot!(fixture.page(&["--client", "codex", "--yes", "--", "--http"]), @"
    exit 2
    -- stderr
    error: cannot start `skills mcp --http`: clients need a server over standard input and output
    ");
    for wrong in [
        ["--client", "emacs"].as_slice(),
        &[],
        &["--client", "codex", "--name", "a.b"],
        &["--client", "codex", "--yes", "--dry-run"],
    ] {
        assert_eq!(fixture.call(wrong).code, 2, "{wrong:?}");
    }
    assert!(fixture.files("home").is_empty());
}

/// Dotfile managers keep files elsewhere, with symlinks in the home directory.
#[cfg(unix)]
#[test]
fn symlinks_are_kept_and_their_targets_written() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = Fixture::new();
    let real = fixture.write("dotfiles/settings.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(fixture.path("home/.gemini")).unwrap();
    symlink(
        "../../dotfiles/settings.json",
        fixture.path("home/.gemini/settings.json"),
    )
    .unwrap();
    assert_snapshot!(fixture.page(&["--client", "gemini", "--yes"]), @r#"
    exit 0
    -- stderr
    HERE/home/.gemini/settings.json (MCP servers of Gemini CLI, symlink to HERE/dotfiles/settings.json)
    @@ -1 +1,9 @@
    -{}
    +{
    +  "mcpServers": {
    +    "skills": {
    +      "command": "/bin/skills",
    +      "args": ["mcp"],
    +      "timeout": 600000
    +    }
    +  }
    +}
    Gemini CLI will start: "/bin/skills" "mcp"
    wrote HERE/home/.gemini/settings.json; restart Gemini CLI; `/mcp` lists it
    "#);
    assert!(
        fixture
            .read("dotfiles/settings.json")
            .contains("mcpServers")
    );
    assert_eq!(mode(&real), 0o640);
    symlink(
        fixture.path("dotfiles/new.json"),
        fixture.path("home/.claude.json"),
    )
    .unwrap();
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 0);
    assert_eq!(fixture.files("dotfiles"), ["new.json", "settings.json"]);
    for link in ["home/.gemini/settings.json", "home/.claude.json"] {
        assert!(
            fixture.path(link).symlink_metadata().unwrap().is_symlink(),
            "{link}"
        );
    }
    symlink("mcp.json", fixture.path("home/mcp.json")).unwrap();
    fs::create_dir(fixture.path("home/.cursor")).unwrap();
    symlink("../mcp.json", fixture.path("home/.cursor/mcp.json")).unwrap();
    assert_eq!(
        fixture.call(&["--client", "cursor", "--yes"]).code,
        2,
        "a symlink loop"
    );
}

/// An untrusted project must not redirect the change to the user's own files.
#[cfg(unix)]
#[test]
fn symlinks_that_leave_the_project_are_rejected() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new();
    fixture.write("home/.claude.json", "{}");
    symlink("../home/.claude.json", fixture.path("project/.mcp.json")).unwrap();
    assert_snapshot!(fixture.page(&["--client", "claude", "--project", "--yes"]), @"
    exit 2
    -- stderr
    error: symlink `HERE/project/.mcp.json` leaves the project, to `HERE/home/.claude.json`; edit that file manually
    ");
    symlink("../home", fixture.path("project/.cursor")).unwrap();
    assert_eq!(
        fixture
            .call(&["--client", "cursor", "--project", "--yes"])
            .code,
        2
    );
    fs::create_dir(fixture.path("project/.vscode")).unwrap();
    symlink(
        "../missing/../../home/new.json",
        fixture.path("project/.vscode/mcp.json"),
    )
    .unwrap();
    assert_eq!(
        fixture
            .call(&["--client", "vscode", "--project", "--yes"])
            .code,
        2
    );
    assert_eq!(
        (
            fixture.read("home/.claude.json").as_str(),
            fixture.files("home")
        ),
        ("{}", vec![".claude.json".to_owned()])
    );
    fs::remove_file(fixture.path("project/.mcp.json")).unwrap();
    symlink("inner/shared.json", fixture.path("project/.mcp.json")).unwrap();
    assert_eq!(
        fixture
            .call(&["--client", "claude", "--project", "--yes"])
            .code,
        0
    );
    assert!(
        fixture
            .read("project/inner/shared.json")
            .contains("mcpServers")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_block() {
    let fixture = Fixture::new();
    nix::unistd::mkfifo(
        &fixture.path("home/.claude.json"),
        nix::sys::stat::Mode::S_IRUSR,
    )
    .unwrap();
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 2);
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt, chown};
    if !nix::unistd::Uid::effective().is_root() {
        return skills_test_support::skip("only root gives files away");
    }
    let fixture = Fixture::new();
    let file = fixture.write("home/.claude.json", "{}");
    chown(&file, Some(4_242), Some(4_243)).unwrap();
    assert_eq!(fixture.call(&["--client", "claude", "--yes"]).code, 0);
    let metadata = file.metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (4_242, 4_243));
    assert!(fixture.read("home/.claude.json").contains("mcpServers"));
}

/// A file of a project is shared, so it does not name the directory of one user.
#[test]
fn a_project_is_the_workspace_of_its_server() {
    let fixture = Fixture::new();
    let started = |arguments: &[&str]| {
        let page = fixture.page(&[&["--dry-run"], arguments].concat());
        let line = page.lines().find(|line| line.contains(" will start: "));
        line.unwrap_or(&page).to_owned()
    };
    let of_clients = ["claude", "codex", "cursor", "vscode", "gemini"]
        .map(|client| started(&["--client", client, "--project"]));
    assert_snapshot!(of_clients.join("\n"), @r#"
    Claude Code will start: "/bin/skills" "mcp"
    Codex will start: "/bin/skills" "mcp"
    Cursor will start: "/bin/skills" "mcp" "--workspace" "${workspaceFolder}"
    VS Code will start: "/bin/skills" "mcp" "--workspace" "${workspaceFolder}"
    Gemini CLI will start: "/bin/skills" "mcp"
    "#);
    let claude = ["--client", "claude"];
    let variants: [&[&str]; 5] = [
        &[],
        &["--workspace", "."],
        &["--project", "--workspace", ".."],
        &["--project", "--no-workspace"],
        &["--project", "--", "--workspace", "/srv"],
    ];
    let variants = variants.map(|options| started(&[&claude[..], options].concat()));
    assert_snapshot!(variants.join("\n"), @r#"
    Claude Code will start: "/bin/skills" "mcp"
    Claude Code will start: "/bin/skills" "mcp" "--workspace" "HERE/project/inner"
    Claude Code will start: "/bin/skills" "mcp" "--workspace" "HERE/project"
    Claude Code will start: "/bin/skills" "mcp" "--no-workspace"
    Claude Code will start: "/bin/skills" "mcp" "--workspace" "/srv"
    "#);
    assert_snapshot!(started(&["--client", "claude", "--workspace", "absent"]), @"
    exit 2
    -- stderr
    error: cannot open directory `absent`: not found
    ");
}

//! Tests of what users see at the first try: hints that work as they are written, and results that
//! say what a run did.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;
use crate::mcp::Server;
use crate::skills::command_with_state;

/// Start of a skill file.
const START: &str = "---\nname: one\ndescription: d\n";

/// A skill with this frontmatter and these scripts.
fn fixture(fields: &str, scripts: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new();
    let text = format!("{START}{fields}---\n");
    fixture
        .file("skills/one/SKILL.md", &text)
        .file("work/keep", "");
    for (name, text) in scripts {
        fixture.file(&format!("skills/one/scripts/{name}"), text);
    }
    fixture
}

/// Prepares a server with state that later commands share.
fn server_command(fixture: &Fixture, arguments: &[&str]) -> Command {
    let arguments = [&["mcp"], arguments].concat();
    for directory in ["scratch", "state", "home"] {
        std::fs::create_dir_all(fixture.path().join(directory)).unwrap();
    }
    let (scratch, state) = (fixture.path().join("scratch"), fixture.path().join("state"));
    let mut command = command_with_state(&arguments, &scratch, &state);
    command
        .current_dir(fixture.path())
        .env("HOME", fixture.path().join("home"))
        .stderr(Stdio::null());
    command
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The approval that the hint of a server names is given by the command as it is written, also for a
/// skill with several scripts in a root of the server.
#[test]
fn the_hint_of_a_server_approves_its_next_call() {
    if skip_without_sandbox() {
        return;
    }
    let fields = "allowed-tools: Bash\n";
    let fixture = fixture(
        fields,
        &[("a.py", "print('a')\n"), ("b.py", "print('b')\n")],
    );
    fixture.file("config/skills/policy.toml", "new-content = \"ask\"\n");
    let start = || {
        let arguments = ["--root", "skills", "--workspace", "work"];
        let mut command = server_command(&fixture, &arguments);
        command.env("XDG_CONFIG_HOME", fixture.path().join("config"));
        Server::connect(command, Vec::new())
    };
    let refused = text(&start().call("skill__one__a", &json!({})));
    let command = refused.split("run `skills ").nth(1).unwrap();
    let command = command.split('`').next().unwrap();
    let root = fixture.path().join("skills");
    assert_eq!(
        command,
        format!("trust one --root {} --script scripts/a.py", root.display())
    );
    let words: Vec<&str> = command.split(' ').chain(["--yes"]).collect();
    let trusted = fixture.run_with_state("home", &words, &fixture.path().join("state"));
    assert_eq!(trusted.code, 0, "{}", trusted.page());
    assert_eq!(
        text(&start().call("skill__one__a", &json!({}))).trim(),
        "Program output:\na"
    );
}

#[test]
fn a_server_starts_without_its_roots_and_finds_them_later() {
    let fixture = fixture("", &[]);
    let arguments = ["--root", "later", "--add-root", "never", "--log", "off"];
    let mut server = Server::connect(server_command(&fixture, &arguments), Vec::new());
    let listed = text(&server.call("skills_ls", &json!({"path": "/skills"})));
    assert_eq!(listed, "No skills found");
    fixture.skill("later/two", "two");
    // The system reports the new directory to another thread of the server.
    let is_found = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        text(&server.call("skills_ls", &json!({"path": "/skills"}))).contains("two/")
    });
    assert!(is_found);
    let run = fixture.run("", &["list", "--root", "skills", "--add-root", "never"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, "warning: root `never` does not exist\n")
    );
    let file = fixture.run("", &["list", "--add-root", "work/keep"]);
    assert_eq!(file.code, 2, "{}", file.page());
}

/// A variable that a skill requires and does not get is said in each way.
#[test]
fn missing_variables_are_said_by_command_and_server() {
    if skip_without_sandbox() {
        return;
    }
    let fields = "requires: {env: [ONE_KEY]}\n";
    let fixture = fixture(fields, &[("main.py", "print('done')\n")]);
    let called = fixture.run("", &["call", "skill__one__main", "--root", "skills"]);
    assert_eq!((called.code, called.stdout.trim()), (0, "done"));
    assert!(
        called.stderr.starts_with("note: missing requirement: ")
            && called.stderr.contains("ONE_KEY"),
        "{}",
        called.page()
    );
    let log = fixture.path().join("log");
    let mut command = server_command(&fixture, &["--root", "skills", "--log", "info"]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut server = Server::connect(command, Vec::new());
    assert_eq!(
        text(&server.call("skill__one__main", &json!({}))).trim(),
        "Program output:\ndone"
    );
    drop(server);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("missing requirement: ") && log.contains("skill__one__main"),
        "{log}"
    );
}

#[test]
fn a_call_lists_the_files_that_it_created() {
    if skip_without_sandbox() {
        return;
    }
    let script = "open('out.txt', 'w').write('text')\nopen('keep', 'a').write('more')\n";
    let fixture = fixture("", &[("main.py", script)]);
    let arguments = ["call", "skill__one__main", "--root", "skills"];
    let options = ["--workspace", "work", "--yes"];
    let called = fixture.run("", &[&arguments[..], &options].concat());
    assert_eq!(called.code, 0, "{}", called.page());
    let lines: Vec<&str> = called.stderr.lines().collect();
    assert_eq!(
        lines,
        ["changed keep (4 bytes)", "created out.txt (4 bytes)"]
    );
}

#[test]
fn a_skill_is_found_by_the_name_of_its_directory() {
    let fixture = Fixture::new();
    fixture
        .skill("skills/plugin-settings", "Plugin Settings")
        .skill("skills/a/same", "First One")
        .skill("skills/b/same", "Second One");
    let show = |name| fixture.run("", &["show", name, "--root", "skills"]);
    assert!(show("plugin-settings").stdout.contains("Plugin Settings"));
    // Neither is chosen.
    assert_eq!(show("same").code, 1, "{}", show("same").page());
}

/// Options can join their value, and the same file has several paths.
#[test]
fn arguments_in_other_spellings_name_files_of_the_private_workspace() {
    if skip_without_sandbox() {
        return;
    }
    let script = "import sys\nout = sys.argv[1].split('=')[-1]\nopen(out, 'w').write(open(sys.argv[2]).read().upper())\n";
    let fixture = fixture("", &[("main.py", script)]);
    fixture.file("work/in.txt", "text");
    let absolute = fixture.path().join("work/in.txt").display().to_string();
    for (output, out, input) in [
        ("out1", "--out=out1/result.txt", "./work/in.txt"),
        ("out2", "--out=./out2/result.txt", absolute.as_str()),
        ("out3", "./out3/result.txt", "work/../work/in.txt"),
    ] {
        let arguments = ["run", "one", "--root", "skills", "--file", "work/in.txt"];
        let more = ["--output", output, "--", out, input];
        let done = fixture.run("", &[&arguments[..], &more].concat());
        assert_eq!(done.code, 0, "{}", done.page());
        let result = fixture.path().join(output).join("result.txt");
        assert_eq!(std::fs::read_to_string(result).unwrap(), "TEXT", "{output}");
    }
}

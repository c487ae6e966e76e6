//! Interpreters that users name, and where others come from.

#[cfg(target_os = "linux")]
use std::path::Path;

use insta::assert_snapshot;
#[cfg(target_os = "linux")]
use skills_test_support::{skip, skip_without_sandbox};

#[cfg(target_os = "linux")]
use crate::skills::command;
use crate::skills::examples;

/// Calls the command in a directory of its own, with a `PATH`; returns the exit code and both
/// outputs.
#[cfg(target_os = "linux")]
fn run_in(directory: &Path, path: &str, arguments: &[&str]) -> (i32, String, String) {
    let scratch = directory.join("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    let mut command = command(
        &[&["run", "one", "--root", "skills"], arguments].concat(),
        &scratch,
    );
    let output = command
        .current_dir(directory)
        .env("PATH", path)
        .output()
        .unwrap();
    let text = |bytes| {
        String::from_utf8(bytes)
            .unwrap()
            .replace(&directory.display().to_string(), "TOP")
    };
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Makes a directory with a skill of one script.
#[cfg(target_os = "linux")]
fn skill_in(directory: &Path, name: &str, text: &str) {
    let skill = directory.join("skills/one");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: one\ndescription: d\n---\n",
    )
    .unwrap();
    std::fs::write(skill.join("scripts").join(name), text).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn scripts_run_by_the_interpreter_that_is_named() {
    if skip_without_sandbox() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    skill_in(&top, "main.py", "import sys\nprint(sys.prefix)\n");
    std::fs::create_dir_all(top.join(".venv/bin")).unwrap();
    std::fs::write(top.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    std::os::unix::fs::symlink("/usr/bin/python3", top.join(".venv/bin/python3")).unwrap();
    let named = run_in(
        &top,
        "",
        &[
            "--interpreter",
            "python=.venv/bin/python3",
            "--interpreter",
            "ruby=/nowhere/ruby",
        ],
    );
    assert_eq!(named, (0, "TOP/.venv\n".to_owned(), String::new()));
    assert_eq!(run_in(&top, "", &[]).1, "/usr\n");
    let (code, _, message) = run_in(&top, "", &["--interpreter", "python=.venv/bin/gone"]);
    assert_eq!(code, 3);
    assert_snapshot!(message, @"error: cannot run in a sandbox: interpreter is unavailable: no program at TOP/.venv/bin/gone; install Python 3 from the system's packages");
}

#[cfg(target_os = "linux")]
#[test]
fn the_path_serves_interpreters_that_are_nowhere_else() {
    if skip_without_sandbox() {
        return;
    }
    let is_nowhere = |name: &&&str| {
        ["/usr/bin", "/bin", "/usr/local/bin"]
            .iter()
            .all(|place| !Path::new(place).join(name).exists())
    };
    let Some(name) = ["ruby", "deno", "perl"].iter().find(is_nowhere) else {
        return skip("this host has every interpreter");
    };
    let ending = [("ruby", "rb"), ("deno", "ts"), ("perl", "pl")]
        .iter()
        .find(|(known, _)| known == name)
        .unwrap()
        .1;
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    let project = top.join("project");
    skill_in(&project, &format!("main.{ending}"), "echo \"$PATH\"\n");
    // A shell that is called like one; what is a script itself is no interpreter. Deno's own
    // arguments are nothing to it.
    let put = |directory: &Path| {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::copy("/bin/sh", directory.join(name)).unwrap();
        directory.display().to_string()
    };
    let (ours, projects, anybodys) = (
        put(&top.join("tools")),
        put(&project.join("tools")),
        put(&top.join("open")),
    );
    std::fs::set_permissions(
        &anybodys,
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let (code, _, message) = run_in(&project, &format!("tools::{projects}:{anybodys}"), &[]);
    assert_eq!(code, 3, "{message}");
    assert!(
        message.contains("interpreter is not available"),
        "{message}"
    );
    if *name == "ruby" {
        let found = run_in(&project, &format!("relative:/nowhere:{ours}"), &[]);
        assert_eq!(
            found,
            (
                0,
                "/usr/bin:/bin:/usr/local/bin\n".to_owned(),
                String::new()
            )
        );
    }
}

#[test]
fn an_interpreter_of_an_unknown_kind_is_wrong_usage() {
    assert_snapshot!(examples(&["run", "weather", "--interpreter", "pyhton3=/usr/bin/python3"]).page(), @r#"
    exit 2
    -- stderr
    error: invalid value 'pyhton3=/usr/bin/python3' for '--interpreter <KIND=PATH>': no kind of script is named "pyhton3"; did you mean `python`?

    For more information, try '--help'.
    "#);
    assert_snapshot!(examples(&["run", "weather", "--interpreter", "python", "--json"]).page(), @r#"
    exit 2
    -- stdout
    {
      "error": {
        "code": "usage",
        "message": "invalid value 'python' for '--interpreter <KIND=PATH>': not of the form KIND=PATH",
        "candidates": [],
        "hint": null
      }
    }
    "#);
}

//! Interpreters of this machine, called as a backend would call them; what is not there is skipped,
//! loudly.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the interpreters that were found are called, to see whether they start"
)]

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use skills_sandbox::ScriptKind;
use skills_sandbox::interpreter::{Interpreter, Interpreters};

/// Runs a script by an interpreter and returns what it prints.
fn run(found: &Interpreter, script: &str) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(script.as_bytes()).unwrap();
    let mut command = Command::new(&found.executable);
    command
        .arg0(&found.name)
        .args(&found.arguments)
        .arg(file.path())
        .env_clear()
        .envs(found.environment.clone())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{found:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Says what is not tried here, and why. Written past the capture of tests.
fn skip(what: &str, why: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "skipped {what}: {why}");
}

fn or_skip(search: &Interpreters, kind: ScriptKind) -> Option<Interpreter> {
    search
        .find(kind)
        .inspect_err(|error| skip(&format!("{kind:?}"), error))
        .ok()
}

#[test]
fn interpreters_of_the_system() {
    let search = Interpreters::default();
    for (kind, script, expected) in [
        (ScriptKind::Shell, "echo $((6 * 7))", "42"),
        (
            ScriptKind::Python,
            "import json, ssl, sqlite3; print(6 * 7)",
            "42",
        ),
        (ScriptKind::Perl, "use strict; print 6 * 7;", "42"),
        (ScriptKind::Ruby, "require 'json'; puts 6 * 7", "42"),
    ] {
        let Some(found) = or_skip(&search, kind) else {
            continue;
        };
        assert_eq!(run(&found, script), expected);
        assert!(
            !cfg!(target_os = "linux")
                || !found.executable.starts_with("/usr")
                || found.readable.is_empty(),
            "{found:?}"
        );
    }
    let Some(mut node) = or_skip(&search, ScriptKind::Node) else {
        return;
    };
    node.arguments.extend(node.heap_argument(64 << 20));
    assert_eq!(run(&node, "require('crypto'); console.log(6 * 7)"), "42");
}

#[test]
fn a_virtual_environment_of_the_systems_python() {
    let Some(system) = or_skip(&Interpreters::default(), ScriptKind::Python) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap().join("venv");
    let made = Command::new(&system.name)
        .args(["-m", "venv", "--without-pip"])
        .arg(&place)
        .output()
        .unwrap();
    if !made.status.success() {
        return skip(
            "a virtual environment",
            &String::from_utf8_lossy(&made.stderr),
        );
    }
    let mut found = Interpreters::in_directories([place.join("bin")])
        .find(ScriptKind::Python)
        .unwrap();
    assert_eq!(
        (&found.name, &found.executable),
        (&place.join("bin/python3"), &system.executable)
    );
    assert!(
        found.readable.contains(&place) && !found.readable.contains(&directory.path().to_owned()),
        "{found:?}"
    );
    assert_eq!(
        run(&found, "import sys; print(sys.prefix)"),
        place.to_str().unwrap()
    );
    // Called by its real path it would not know of its environment.
    found.name.clone_from(&found.executable);
    assert_ne!(
        run(&found, "import sys; print(sys.prefix)"),
        place.to_str().unwrap()
    );
}

#[test]
fn shims_of_pyenv() {
    let places = ["/root/.pyenv", "/opt/pyenv"].map(Path::new);
    let Some(root) = places
        .into_iter()
        .find(|root| root.join("shims/python3").exists())
    else {
        return skip("pyenv", &format!("there is none in {places:?}"));
    };
    let found = Interpreters::in_directories([root.join("shims")])
        .find(ScriptKind::Python)
        .unwrap();
    let prefix = &found.readable[0];
    assert!(
        found.readable.len() == 1
            && prefix.starts_with(root.join("versions"))
            && prefix != &root.join("versions"),
        "{found:?}"
    );
    assert_eq!(
        run(&found, "import json, ssl, sqlite3, sys; print(sys.prefix)"),
        prefix.to_str().unwrap()
    );
}

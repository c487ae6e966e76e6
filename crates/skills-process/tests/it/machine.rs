//! Interpreters of this host, called as a backend would call them; missing ones are skipped.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "calls the interpreters that were found"
)]

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use skills_process::{ProgramFinder, ResolvedProgram};
use skills_sandbox::ScriptType;
use skills_test_support::{host, skip, skip_part};

/// Runs a script with an interpreter and returns its output.
fn run(found: &ResolvedProgram, script: &str) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(script.as_bytes()).unwrap();
    let mut command = Command::new(&found.executable);
    command
        .arg0(&found.argv0)
        .args(&found.leading_args)
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

/// Finds an interpreter, which must exist if this host has its program; otherwise records a skip.
#[track_caller]
fn or_skip(search: &ProgramFinder, kind: ScriptType, program: &str) -> Option<ResolvedProgram> {
    match host::program(program) {
        Ok(_) => Some(search.find_interpreter(kind).unwrap()),
        Err(reason) => {
            skip_part(format!("{kind:?}"), reason);
            None
        }
    }
}

#[test]
fn interpreters_of_the_system() {
    let search = ProgramFinder::default();
    for (kind, program, script, expected) in [
        (ScriptType::Shell, "sh", "echo $((6 * 7))", "42"),
        (
            ScriptType::Python,
            "python3",
            "import json, ssl, sqlite3; print(6 * 7)",
            "42",
        ),
        (ScriptType::Perl, "perl", "use strict; print 6 * 7;", "42"),
        (ScriptType::Ruby, "ruby", "require 'json'; puts 6 * 7", "42"),
    ] {
        let Some(found) = or_skip(&search, kind, program) else {
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
    let Some(mut node) = or_skip(&search, ScriptType::Node, "node") else {
        return;
    };
    node.leading_args.extend(node.heap_argument(64 << 20));
    assert_eq!(run(&node, "require('crypto'); console.log(6 * 7)"), "42");
}

#[test]
fn a_virtual_environment_of_the_systems_python() {
    let Some(system) = or_skip(&ProgramFinder::default(), ScriptType::Python, "python3") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap().join("venv");
    let made = Command::new(&system.argv0)
        .args(["-m", "venv", "--without-pip"])
        .arg(&place)
        .output()
        .unwrap();
    if !made.status.success() {
        return skip(format!(
            "no virtual environment: {}",
            String::from_utf8_lossy(&made.stderr)
        ));
    }
    let mut found = ProgramFinder::with_search_path([place.join("bin")])
        .find_interpreter(ScriptType::Python)
        .unwrap();
    assert_eq!(
        (&found.argv0, &found.executable),
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
    // Called by its real path it would not find its environment.
    found.argv0.clone_from(&found.executable);
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
        return skip("no pyenv in /root or /opt");
    };
    let found = ProgramFinder::with_search_path([root.join("shims")])
        .find_interpreter(ScriptType::Python)
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

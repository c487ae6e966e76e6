//! `skills_run` and `skills_bash`: program selection and results.

mod constructs;
mod cwd;
mod forged;
mod keys;
mod lines;
mod named;
mod own_commands;
mod refused;
mod stop;
mod texts;
mod words;
mod workspace;

use serde_json::{Value, json};
use skills_tools::ToolOutput;

use crate::fixture::{Host, Tools};

/// Prints its arguments as JSON.
pub(crate) const SHOW: &str = "import json, sys\nprint(json.dumps(sys.argv[1:]))\n";

/// A host with the skill `kit`, which has these scripts.
pub(crate) fn kit(scripts: &[(&str, &str)]) -> Host {
    let host = Host::new();
    host.skill("kit", "");
    for (file, source) in scripts {
        host.script("kit", file, source);
    }
    host
}

/// Runs a command of the skill `kit`.
pub(crate) async fn run(tools: &Tools, command: &str) -> ToolOutput {
    tools
        .call("skills_run", json!({"name": "kit", "command": command}))
        .await
}

/// Runs a command in a directory.
pub(crate) async fn bash(tools: &Tools, command: &str, cwd: &str) -> ToolOutput {
    tools
        .call("skills_bash", json!({"command": command, "cwd": cwd}))
        .await
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the output of a program, parsed as JSON.
pub(crate) fn printed(outcome: &ToolOutput) -> Value {
    let stdout = outcome.structured["stdout"].as_str().unwrap_or_default();
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.text()))
}

/// Returns whether programs have a file tree of their own here, where virtual paths lead somewhere;
/// records a skip when they do not.
#[track_caller]
pub(crate) fn sees_virtual_paths() -> bool {
    #[cfg(target_os = "linux")]
    let file_tree = skills_test_support::host::namespaces();
    #[cfg(not(target_os = "linux"))]
    let file_tree = Err("this system has none".to_owned());
    let reason = |error: String| {
        skills_test_support::skip_part(
            "virtual paths",
            format!("no file tree of its own for a program: {error}"),
        )
    };
    file_tree.map_err(reason).is_ok()
}

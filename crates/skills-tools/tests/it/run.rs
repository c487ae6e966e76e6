//! `skills_run` and `skills_bash`: what they start, and what they say of it.

mod cwd;
mod refused;
mod stop;
mod texts;
mod words;
mod workspace;

use serde_json::{Value, json};
use skills_runtime::SkillRuntime;
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

/// What a program wrote, as JSON.
pub(crate) fn printed(outcome: &ToolOutput) -> Value {
    let stdout = outcome.structured["stdout"].as_str().unwrap_or_default();
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.text))
}

/// Whether programs see a file tree of their own here, where virtual paths lead somewhere; says so
/// when they do not.
pub(crate) fn sees_virtual_paths() -> bool {
    let [(_, scripts), _] = SkillRuntime::builder().build().probe_backends();
    let is_there = scripts.is_ok_and(|report| {
        report
            .restrictions()
            .iter()
            .any(|layer| layer.name() == "signals" && layer.detail().contains("do not exist"))
    });
    if !is_there {
        eprintln!(
            "skipped virtual paths in {}: no file tree of their own for programs",
            std::thread::current().name().unwrap_or("a test")
        );
    }
    is_there
}

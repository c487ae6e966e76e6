//! Installs the agents, and finds installed ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::runners::{AGENTS, Agent, NODE};
use super::tokens;
use crate::command::{output, run};

/// The variable with the directory in which the agents are installed.
pub(crate) const VARIABLE: &str = "SKILLS_TEST_AGENTS";
/// Packages whose install scripts put a program into place.
const PACKAGES_WITH_SCRIPTS: [&str; 5] = [
    "node",
    "@anthropic-ai/claude-code",
    "opencode-ai",
    "cline",
    "@kilocode/cli",
];

/// Installs the tested versions of all agents, and what the tests need, into `directory`.
pub(crate) fn install(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    let scripts = PACKAGES_WITH_SCRIPTS.map(|name| (name.to_owned(), json!(true)));
    let dependencies = AGENTS
        .iter()
        .map(|agent| (agent.package, agent.version))
        .chain([NODE, tokens::PACKAGE])
        .map(|(name, version)| (name.to_owned(), json!(version)));
    let package = json!({
        "private": true,
        "dependencies": dependencies.collect::<serde_json::Map<_, _>>(),
        // Newer versions of npm run no other scripts.
        "allowScripts": scripts.into_iter().collect::<serde_json::Map<_, _>>(),
    });
    fs::write(
        directory.join("package.json"),
        serde_json::to_string_pretty(&package)?,
    )?;
    run(Command::new("npm")
        .current_dir(directory)
        .args(["install", "--no-audit", "--no-fund"]))?;
    println!("run the agents with {VARIABLE}={}", directory.display());
    Ok(())
}

/// Returns the `node_modules` with the agents, or why there are none.
pub(crate) fn node_modules() -> Result<PathBuf, String> {
    let directory = std::env::var_os(VARIABLE).ok_or_else(|| {
        format!("{VARIABLE} is not set (`cargo xtask clients --install-agents DIR` installs them)")
    })?;
    let node_modules = Path::new(&directory).join("node_modules");
    let node_modules = node_modules
        .canonicalize()
        .map_err(|error| format!("{}: {error}", node_modules.display()))?;
    let node = node_modules.join(".bin/node");
    output(Command::new(&node).arg("--version"))
        .map_err(|_| format!("`{}` is not Node (package `{}`)", node.display(), NODE.0))?;
    Ok(node_modules)
}

/// Returns the installed version of an agent.
///
/// # Errors
/// If it is not installed.
pub(crate) fn version(node_modules: &Path, agent: &Agent) -> Result<String> {
    let path = node_modules.join(agent.package).join("package.json");
    let text = fs::read_to_string(path)
        .with_context(|| format!("package `{}` is not installed", agent.package))?;
    let package: Value = serde_json::from_str(&text)?;
    package["version"]
        .as_str()
        .map(str::to_owned)
        .with_context(|| format!("package `{}` has no version", agent.package))
}

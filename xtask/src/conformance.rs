//! Holds the server against the official conformance suite and the Inspector of the Model Context
//! Protocol.

mod inspector;
mod suite;
mod test_server;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::{build_executable, output, workspace_dir};
use crate::skills_command::SkillsCommand;
use inspector::inspect;
use suite::Suite;
use test_server::TestServer;

/// The revisions whose requirements hold.
const PROTOCOL_VERSIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
/// What the command itself is held against: all that needs no fixtures.
const SCENARIOS: [&str; 13] = [
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
    "sep-2640-skills-directory",
    "dns-rebinding-protection",
    "http-header-validation",
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "prompts-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "caching",
];
/// The directory of skills that are served.
const SKILLS_DIR: &str = "examples/skills";
/// What lies in the temporary directory: a home for all programs, and what servers work in.
const HOME_DIR: &str = "home";
const WORKSPACE_DIR: &str = "workspace";
const SCRATCH_DIR: &str = "scratch";
/// The suite and the Inspector that this project was held against last.
const SUITE_PACKAGE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const INSPECTOR_PACKAGE: &str = "@modelcontextprotocol/inspector@2.12.0";

pub(crate) fn conformance() -> Result<()> {
    if !has_node() {
        eprintln!("skipped the conformance suite: no Node 22 (npm install --global node@22)");
        return Ok(());
    }
    let (suite, inspector) = (
        program_version("conformance", &["--version"]),
        program_version("mcp-inspector", &["--cli", "--version"]),
    );
    if suite.is_none() {
        eprintln!(
            "skipped the conformance suite: no `conformance` (npm install --global {SUITE_PACKAGE})"
        );
    }
    if inspector.is_none() {
        eprintln!(
            "skipped the Inspector: no `mcp-inspector` (npm install --global {INSPECTOR_PACKAGE})"
        );
    }
    if suite.is_none() && inspector.is_none() {
        return Ok(());
    }
    let skills = SkillsCommand::build()?;
    let place = tempfile::Builder::new()
        .prefix("skills-conformance-")
        .tempdir()?;
    for directory in [HOME_DIR, WORKSPACE_DIR, SCRATCH_DIR] {
        std::fs::create_dir(place.path().join(directory))?;
    }
    if let Some(version) = suite {
        println!("The server with fixtures, and the command, by the conformance suite {version}:");
        run_suite(&skills, place.path())?;
    }
    if let Some(version) = inspector {
        println!("The command, by the Inspector {version}:");
        inspect(&skills, place.path())?;
    }
    Ok(())
}

/// The suite needs Node 22, and fails in strange ways with an older one.
fn has_node() -> bool {
    let major = |version: &str| {
        version
            .trim()
            .strip_prefix('v')?
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()
    };
    program_version("node", &["--version"])
        .is_some_and(|version| major(&version).is_some_and(|major| major >= 22))
}

fn program_version(program: &str, arguments: &[&str]) -> Option<String> {
    Some(
        output(Command::new(program).args(arguments))
            .ok()?
            .trim()
            .to_owned(),
    )
}

fn run_suite(skills: &SkillsCommand, place: &Path) -> Result<()> {
    let suite = Suite::new(place);
    let example = build_executable(&["--package", "skills-mcp", "--example", "conformance"])?;
    let with_fixtures = TestServer::spawn(
        Command::new(example)
            .arg(workspace_dir().join(SKILLS_DIR))
            .arg(place.join(SCRATCH_DIR)),
    )?;
    for revision in PROTOCOL_VERSIONS {
        suite.check_requirements(with_fixtures.url(), revision)?;
    }
    drop(with_fixtures);
    let command = test_server::serve_command(skills, place)?;
    SCENARIOS
        .into_iter()
        .try_for_each(|scenario| suite.check_scenario(command.url(), scenario))
}

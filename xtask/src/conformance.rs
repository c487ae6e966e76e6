//! Runs the official conformance suite and the Inspector of the Model Context Protocol against the
//! server.

mod inspector;
mod known_failures;
mod problem;
mod suite;
mod test_server;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::{build_executable, output, workspace_dir};
use crate::skills_command::SkillsCommand;
use inspector::inspect;
use known_failures::KnownFailures;
use suite::Suite;
use test_server::TestServer;

/// The protocol versions whose requirements are checked.
const PROTOCOL_VERSIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
/// The scenarios of the Skills extension, which no protocol version requires.
const EXTENSION_SCENARIOS: [&str; 3] = [
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
    "sep-2640-skills-directory",
];
/// The directory of the skills that are served.
const SKILLS_DIR: &str = "examples/skills";
/// Directories in the temporary directory: the home of all programs, and what servers use.
const HOME_DIR: &str = "home";
const WORKSPACE_DIR: &str = "workspace";
const SCRATCH_DIR: &str = "scratch";
/// The versions of suite and Inspector that were used last.
const SUITE_PACKAGE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const INSPECTOR_PACKAGE: &str = "@modelcontextprotocol/inspector@2.12.0";

pub(crate) fn conformance() -> Result<()> {
    if !has_node() {
        eprintln!(
            "skipped the conformance suite: Node 22 is not installed (npm install --global node@22)"
        );
        return Ok(());
    }
    let suite = program_version("conformance", &["--version"]);
    let inspector = program_version("mcp-inspector", &["--cli", "--version"]);
    if suite.is_none() {
        eprintln!(
            "skipped the conformance suite: `conformance` is not installed (npm install --global {SUITE_PACKAGE})"
        );
    }
    if inspector.is_none() {
        eprintln!(
            "skipped the Inspector: `mcp-inspector` is not installed (npm install --global {INSPECTOR_PACKAGE})"
        );
    }
    // Building the command takes long, so it is not built for nothing.
    if suite.is_none() && inspector.is_none() {
        return Ok(());
    }
    let skills = SkillsCommand::build()?;
    let temp_dir = tempfile::Builder::new()
        .prefix("skills-conformance-")
        .tempdir()?;
    // Programs under test get directories of their own and leave the user's alone.
    for directory in [HOME_DIR, WORKSPACE_DIR, SCRATCH_DIR] {
        std::fs::create_dir(temp_dir.path().join(directory))?;
    }
    if let Some(version) = suite {
        println!("Checked by the conformance suite {version}:");
        run_suite(&skills, temp_dir.path())?;
    }
    if let Some(version) = inspector {
        println!("`skills mcp`, checked by the Inspector {version}:");
        inspect(&skills, temp_dir.path())?;
    }
    Ok(())
}

/// Returns whether Node 22 is installed, which the suite needs.
fn has_node() -> bool {
    let major = |version: &str| {
        version
            .trim()
            // Node prints its version as `v22.0.0`.
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

fn run_suite(skills: &SkillsCommand, temp_dir: &Path) -> Result<()> {
    let suite = Suite::new(temp_dir);
    let example = build_executable(&["--package", "skills-mcp", "--example", "conformance"])?;
    let with_fixtures = TestServer::spawn(
        Command::new(example)
            .arg(workspace_dir().join(SKILLS_DIR))
            .arg(temp_dir.join(SCRATCH_DIR)),
    )?;
    println!(" the server with fixtures:");
    for version in PROTOCOL_VERSIONS {
        suite.check_requirements(with_fixtures.url(), version, &KnownFailures::default())?;
    }
    // The process ends before the next server starts.
    drop(with_fixtures);
    println!(" `skills mcp --http`:");
    let command = test_server::serve_command(skills, temp_dir)?;
    for version in PROTOCOL_VERSIONS {
        let known = KnownFailures::read(version)?;
        suite.check_requirements(command.url(), version, &known)?;
    }
    EXTENSION_SCENARIOS
        .into_iter()
        .try_for_each(|scenario| suite.check_scenario(command.url(), scenario))
}

//! Holds the server against the official conformance suite and the Inspector of the Model Context Protocol.

mod inspector;
mod serving;
mod suite;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::{built, output, workspace};
use crate::skills::Skills;
use inspector::inspect;
use serving::Serving;
use suite::Suite;

/// The revisions whose requirements hold.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
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
const SKILLS: &str = "examples/skills";
/// What lies in the temporary directory: a home for all programs, and what servers work in.
const HOME: &str = "home";
const WORKSPACE: &str = "workspace";
const SCRATCH: &str = "scratch";
/// The suite and the Inspector that this project was held against last.
const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";

pub(crate) fn conformance() -> Result<()> {
    if !has_node() {
        eprintln!("skipped the conformance suite: no Node 22 (npm install --global node@22)");
        return Ok(());
    }
    let (suite, inspector) = (version("conformance", &["--version"]), version("mcp-inspector", &["--cli", "--version"]));
    if suite.is_none() {
        eprintln!("skipped the conformance suite: no `conformance` (npm install --global {SUITE})");
    }
    if inspector.is_none() {
        eprintln!("skipped the Inspector: no `mcp-inspector` (npm install --global {INSPECTOR})");
    }
    if suite.is_none() && inspector.is_none() {
        return Ok(());
    }
    let skills = Skills::build()?;
    let place = tempfile::Builder::new().prefix("skills-conformance-").tempdir()?;
    for directory in [HOME, WORKSPACE, SCRATCH] {
        std::fs::create_dir(place.path().join(directory))?;
    }
    if let Some(version) = suite {
        println!("The server with fixtures, and the command, by the conformance suite {version}:");
        held_against_suite(&skills, place.path())?;
    }
    if let Some(version) = inspector {
        println!("The command, by the Inspector {version}:");
        inspect(&skills, place.path())?;
    }
    Ok(())
}

/// The suite needs Node 22, and fails in strange ways with an older one.
fn has_node() -> bool {
    let major = |version: &str| version.trim().strip_prefix('v')?.split('.').next()?.parse::<u32>().ok();
    version("node", &["--version"]).is_some_and(|version| major(&version).is_some_and(|major| major >= 22))
}

fn version(program: &str, arguments: &[&str]) -> Option<String> {
    Some(output(Command::new(program).args(arguments)).ok()?.trim().to_owned())
}

fn held_against_suite(skills: &Skills, place: &Path) -> Result<()> {
    let suite = Suite::new(place);
    let example = built(&["--package", "skills-mcp", "--example", "conformance"])?;
    let with_fixtures = Serving::start(Command::new(example).arg(workspace().join(SKILLS)).arg(place.join(SCRATCH)))?;
    for revision in REVISIONS {
        suite.requirements(with_fixtures.url(), revision)?;
    }
    drop(with_fixtures);
    let command = serving::command(skills, place)?;
    SCENARIOS.into_iter().try_for_each(|scenario| suite.scenario(command.url(), scenario))
}

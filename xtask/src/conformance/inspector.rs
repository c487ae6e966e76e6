//! The command line of the Inspector, against the command that users have.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::serving::{at_home, command};
use super::{HOME, SKILLS, WORKSPACE};
use crate::command::workspace;
use crate::skills::Skills;

/// What is asked: schemas that all clients can read, skills that are what they say, and a directory of one.
const QUESTIONS: [&[&str]; 3] = [
    &["tools/list", "--strict"],
    &["skills/list", "--verify", "--require-digests"],
    &["resources/directory/read", "--uri", "skill://csv-check"],
];
const ERAS: [&str; 2] = ["modern", "legacy"];

/// Asks in both eras of the protocol, over standard input and output and over HTTP.
pub(super) fn inspect(skills: &Skills, place: &Path) -> Result<()> {
    let config = place.join("servers.json");
    fs::write(&config, servers(skills, place)?)?;
    let config = config.to_str().context("a temporary directory in Unicode")?;
    let serving = command(skills, place)?;
    for (transport, target) in [("stdio", &["--config", config, "--server", "skills"][..]), ("HTTP", &[serving.url()])] {
        for era in ERAS {
            for question in QUESTIONS {
                ask(transport, target, era, question, place)?;
            }
        }
    }
    Ok(())
}

/// Describes the command as a server over standard input and output.
fn servers(skills: &Skills, place: &Path) -> Result<String> {
    let (root, files) = (workspace().join(SKILLS), place.join(WORKSPACE));
    let arguments = [Path::new("mcp"), Path::new("--root"), &root, Path::new("--workspace"), &files];
    let server = json!({"command": skills.path(), "args": arguments, "env": {"HOME": place.join(HOME)}});
    Ok(serde_json::to_string(&json!({"mcpServers": {"skills": server}}))?)
}

fn ask(transport: &str, target: &[&str], era: &str, question: &[&str], place: &Path) -> Result<()> {
    let mut command = Command::new("mcp-inspector");
    command.arg("--cli").args(target).args(["--protocol-era", era, "--format", "json", "--quiet", "--method"]).args(question);
    let output = at_home(&mut command, place).output().context("the Inspector")?;
    let asked = format!("{} ({era}, {transport})", question.join(" "));
    let said = || [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).join("\n");
    ensure!(output.status.success(), "{asked}: the Inspector ended with {}\n{}", output.status, said());
    ensure!(!output.stdout.is_empty(), "{asked}: the Inspector got no answer");
    println!("  {asked}: passed");
    Ok(())
}

//! The command line of the Inspector, against the command that users have.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::test_server::{serve_command, with_temp_home};
use super::{HOME_DIR, SKILLS_DIR, WORKSPACE_DIR};
use crate::command::workspace_dir;
use crate::skills_command::SkillsCommand;

/// What is asked: schemas that all clients can read, skills that are what they say, and a directory
/// of one.
const REQUESTS: [&[&str]; 3] = [
    &["tools/list", "--strict"],
    &["skills/list", "--verify", "--require-digests"],
    &["resources/directory/read", "--uri", "skill://csv-check"],
];
const PROTOCOL_ERAS: [&str; 2] = ["modern", "legacy"];

/// Asks in both eras of the protocol, over standard input and output and over HTTP.
pub(super) fn inspect(skills: &SkillsCommand, place: &Path) -> Result<()> {
    let config = place.join("servers.json");
    fs::write(&config, server_config(skills, place)?)?;
    let config = config
        .to_str()
        .context("a temporary directory in Unicode")?;
    let serving = serve_command(skills, place)?;
    for (transport, target) in [
        ("stdio", &["--config", config, "--server", "skills"][..]),
        ("HTTP", &[serving.url()]),
    ] {
        for era in PROTOCOL_ERAS {
            for question in REQUESTS {
                request(transport, target, era, question, place)?;
            }
        }
    }
    Ok(())
}

/// Describes the command as a server over standard input and output.
fn server_config(skills: &SkillsCommand, place: &Path) -> Result<String> {
    let (root, files) = (workspace_dir().join(SKILLS_DIR), place.join(WORKSPACE_DIR));
    let arguments = [
        Path::new("mcp"),
        Path::new("--root"),
        &root,
        Path::new("--workspace"),
        &files,
    ];
    let server =
        json!({"command": skills.path(), "args": arguments, "env": {"HOME": place.join(HOME_DIR)}});
    Ok(serde_json::to_string(
        &json!({"mcpServers": {"skills": server}}),
    )?)
}

fn request(
    transport: &str,
    target: &[&str],
    era: &str,
    question: &[&str],
    place: &Path,
) -> Result<()> {
    let mut command = Command::new("mcp-inspector");
    command
        .arg("--cli")
        .args(target)
        .args([
            "--protocol-era",
            era,
            "--format",
            "json",
            "--quiet",
            "--method",
        ])
        .args(question);
    let output = with_temp_home(&mut command, place)
        .output()
        .context("the Inspector")?;
    let asked = format!("{} ({era}, {transport})", question.join(" "));
    let said = || {
        [&output.stdout, &output.stderr]
            .map(|said| String::from_utf8_lossy(said).into_owned())
            .join("\n")
    };
    ensure!(
        output.status.success(),
        "{asked}: the Inspector ended with {}\n{}",
        output.status,
        said()
    );
    ensure!(
        !output.stdout.is_empty(),
        "{asked}: the Inspector got no answer"
    );
    println!("  {asked}: passed");
    Ok(())
}

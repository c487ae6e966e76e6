//! Runs the command line of the Inspector against `skills mcp`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::test_server::{serve_command, with_temp_home};
use super::{HOME_DIR, SKILLS_DIR, WORKSPACE_DIR};
use crate::command::workspace_dir;
use crate::skills_command::SkillsCommand;

/// The requests: schemas that all clients can parse, verified digests of skills, and the directory
/// of a skill.
const REQUESTS: [&[&str]; 3] = [
    &["tools/list", "--strict"],
    &["skills/list", "--verify", "--require-digests"],
    &["resources/directory/read", "--uri", "skill://csv-check"],
];
const LIFECYCLES: [&str; 2] = ["modern", "legacy"];

/// Sends the requests in both lifecycles of the protocol, over standard input and output and over
/// HTTP.
pub(super) fn inspect(skills: &SkillsCommand, temp_dir: &Path) -> Result<()> {
    let config = temp_dir.join("servers.json");
    fs::write(&config, server_config(skills, temp_dir)?)?;
    let config = config
        .to_str()
        .context("the temporary directory is not UTF-8")?;
    let server = serve_command(skills, temp_dir)?;
    for (transport, target) in [
        ("stdio", &["--config", config, "--server", "skills"][..]),
        ("HTTP", &[server.url()]),
    ] {
        for lifecycle in LIFECYCLES {
            for arguments in REQUESTS {
                request(transport, target, lifecycle, arguments, temp_dir)?;
            }
        }
    }
    Ok(())
}

/// Returns a configuration with the command as a server over standard input and output.
fn server_config(skills: &SkillsCommand, temp_dir: &Path) -> Result<String> {
    let root = workspace_dir().join(SKILLS_DIR);
    let files = temp_dir.join(WORKSPACE_DIR);
    let arguments = [
        Path::new("mcp"),
        Path::new("--root"),
        &root,
        Path::new("--workspace"),
        &files,
    ];
    let server = json!({"command": skills.path(), "args": arguments, "env": {"HOME": temp_dir.join(HOME_DIR)}});
    Ok(serde_json::to_string(
        &json!({"mcpServers": {"skills": server}}),
    )?)
}

fn request(
    transport: &str,
    target: &[&str],
    lifecycle: &str,
    arguments: &[&str],
    temp_dir: &Path,
) -> Result<()> {
    let mut command = Command::new("mcp-inspector");
    command
        .arg("--cli")
        .args(target)
        .args([
            "--protocol-era",
            lifecycle,
            "--format",
            "json",
            "--quiet",
            "--method",
        ])
        .args(arguments);
    let output = with_temp_home(&mut command, temp_dir)
        .output()
        .context("cannot run the Inspector")?;
    let description = format!("{} ({lifecycle}, {transport})", arguments.join(" "));
    let streams = || {
        [&output.stdout, &output.stderr]
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .join("\n")
    };
    ensure!(
        output.status.success(),
        "{description}: the Inspector ended with {}\n{}",
        output.status,
        streams()
    );
    ensure!(
        // A success without a response would have checked nothing.
        !output.stdout.is_empty(),
        "{description}: the Inspector got no response"
    );
    println!("  {description}: passed");
    Ok(())
}

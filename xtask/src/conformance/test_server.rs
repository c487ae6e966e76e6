//! A server process under test; killed on drop.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{HOME_DIR, SKILLS_DIR, WORKSPACE_DIR};
use crate::skills_command::SkillsCommand;

/// The timeout for the start of a server.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server process, killed on drop.
pub(super) struct TestServer {
    child: Child,
    url: String,
}

/// Starts `skills mcp` over HTTP, on a free port.
pub(super) fn serve_command(skills: &SkillsCommand, temp_dir: &Path) -> Result<TestServer> {
    let arguments = [
        "mcp",
        "--log",
        "off",
        "--http",
        "127.0.0.1:0",
        "--no-token",
        "--root",
        SKILLS_DIR,
        "--workspace",
    ];
    TestServer::spawn(with_temp_home(
        skills.command(&arguments).arg(temp_dir.join(WORKSPACE_DIR)),
        temp_dir,
    ))
}

/// Sets a temporary home for a program, so that it neither reads nor writes files of the user.
pub(super) fn with_temp_home<'a>(command: &'a mut Command, temp_dir: &Path) -> &'a mut Command {
    let variables = [
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ];
    variables.iter().fold(
        command.env("HOME", temp_dir.join(HOME_DIR)),
        // These variables take precedence over `HOME`.
        |command, name| command.env_remove(name),
    )
}

impl TestServer {
    /// Starts a server that prints its URL to standard error.
    pub(super) fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let stderr = child.stderr.take();
        // From here on the process is killed if it does not start properly.
        let mut server = Self {
            child,
            url: String::new(),
        };
        let (sender, receiver) = channel();
        thread::spawn(move || forward_stderr(stderr, &sender));
        server.url = receiver
            .recv_timeout(START_TIMEOUT)
            .context("the server printed no URL")?;
        Ok(server)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads standard error of a server until it ends, so that the server never blocks. Sends the URL
/// and prints all other lines.
fn forward_stderr(stderr: Option<ChildStderr>, sender: &Sender<String>) {
    for line in stderr
        .into_iter()
        .flat_map(|stderr| BufReader::new(stderr).lines())
        .map_while(Result::ok)
    {
        match line.strip_prefix("serving at ") {
            Some(url) => drop(sender.send(url.to_owned())),
            None => eprintln!("{line}"),
        }
    }
}

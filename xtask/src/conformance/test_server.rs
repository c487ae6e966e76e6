//! A server that runs while it is looked at.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{HOME_DIR, SKILLS_DIR, WORKSPACE_DIR};
use crate::skills_command::SkillsCommand;

/// How long a server may take until it serves.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server, which ends when this is dropped.
pub(super) struct TestServer {
    child: Child,
    url: String,
}

/// Starts the command over HTTP, at a port that is free.
pub(super) fn serve_command(skills: &SkillsCommand, place: &Path) -> Result<TestServer> {
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
        skills.command(&arguments).arg(place.join(WORKSPACE_DIR)),
        place,
    ))
}

/// Gives a program a home of its own, so that it neither reads nor writes what is the user's.
pub(super) fn with_temp_home<'a>(command: &'a mut Command, place: &Path) -> &'a mut Command {
    let others = [
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ];
    others.iter().fold(
        command.env("HOME", place.join(HOME_DIR)),
        |command, name| command.env_remove(name),
    )
}

impl TestServer {
    /// Starts a server that says on standard error where it serves.
    pub(super) fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("a server")?;
        let stderr = child.stderr.take();
        let mut serving = Self {
            child,
            url: String::new(),
        };
        let (sender, receiver) = channel();
        thread::spawn(move || forward_stderr(stderr, &sender));
        serving.url = receiver
            .recv_timeout(START_TIMEOUT)
            .context("the server does not say where it serves")?;
        Ok(serving)
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

/// Reads what a server says until its end, so that it is never held up: where it serves, and what a
/// person should see.
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

//! A server that runs while it is looked at.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{HOME, SKILLS, WORKSPACE};
use crate::skills::Skills;

/// How long a server may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, which ends when this is dropped.
pub(super) struct Serving {
    child: Child,
    url: String,
}

/// Starts the command over HTTP, at a port that is free.
pub(super) fn command(skills: &Skills, place: &Path) -> Result<Serving> {
    let arguments = ["mcp", "--log", "off", "--http", "127.0.0.1:0", "--no-token", "--root", SKILLS, "--workspace"];
    Serving::start(at_home(skills.command(&arguments).arg(place.join(WORKSPACE)), place))
}

/// Gives a program a home of its own, so that it neither reads nor writes what is the user's.
pub(super) fn at_home<'a>(command: &'a mut Command, place: &Path) -> &'a mut Command {
    let others = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
    others.iter().fold(command.env("HOME", place.join(HOME)), |command, name| command.env_remove(name))
}

impl Serving {
    /// Starts a server that says on standard error where it serves.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("a server")?;
        let stderr = child.stderr.take();
        let mut serving = Self { child, url: String::new() };
        let (sender, receiver) = channel();
        thread::spawn(move || pass_on(stderr, &sender));
        serving.url = receiver.recv_timeout(PATIENCE).context("the server does not say where it serves")?;
        Ok(serving)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what a server says until its end, so that it is never held up: where it serves, and what a person should see.
fn pass_on(stderr: Option<ChildStderr>, sender: &Sender<String>) {
    for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok) {
        match line.strip_prefix("serving at ") {
            Some(url) => drop(sender.send(url.to_owned())),
            None => eprintln!("{line}"),
        }
    }
}

//! Starts the user's git, in a way in which nothing of a repository can start anything else.
#![expect(
    clippy::disallowed_methods,
    reason = "the user's git has the credentials and proxies that a library would not find"
)]

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::FetchLimits;
use crate::error::{InstallError, Repr};
use crate::progress::Progress;

/// The time between two checks of a running command.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum length of a message of git in an error, in bytes.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Variables that point git to another repository, or add configuration of a caller.
const REMOVED_VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
];
/// Configuration that turns off everything that starts a program, except for credentials, proxies
/// and SSH, which the user has configured.
const CONFIG: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=",
    "core.askPass=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.version=2",
    "advice.detachedHead=false",
];

/// How git is started.
#[derive(Debug, Clone)]
pub struct GitOptions {
    program: PathBuf,
    allowed_protocols: Vec<&'static str>,
    progress: Progress,
}

impl GitOptions {
    /// Uses a program, by its path. Only HTTPS and SSH are allowed.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            allowed_protocols: vec!["https", "ssh"],
            progress: Progress::default(),
        }
    }

    /// Also allows plain HTTP and the git protocol, which authenticate no server.
    #[must_use]
    pub fn allow_insecure(mut self) -> Self {
        self.allowed_protocols.extend(["http", "git"]);
        self
    }

    /// Replaces where progress is reported.
    pub(crate) fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Also allows repositories on disk.
    pub(crate) fn allow_files(mut self) -> Self {
        self.allowed_protocols.push("file");
        self
    }
}

/// A bare repository of this program, with one remote.
pub(super) struct GitRepository {
    options: GitOptions,
    directory: PathBuf,
    url: String,
}

impl GitRepository {
    /// Creates the repository in an empty directory.
    pub(super) fn create(
        options: &GitOptions,
        directory: &Path,
        url: &str,
    ) -> Result<Self, InstallError> {
        let repository = Self {
            options: options.clone(),
            directory: directory.to_owned(),
            url: url.to_owned(),
        };
        let init = ["init", "--bare", "--quiet", "--template=", "."];
        repository.output(&init)?;
        repository.output(&["config", "remote.origin.url", url])?;
        Ok(repository)
    }

    /// Runs git until it ends, with limits of time and of the size of the repository.
    pub(super) fn run_limited(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
        limits: &FetchLimits,
    ) -> Result<(), InstallError> {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.start_error(error))?;
        let stdin = child.stdin.take();
        let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let stderr = child.stderr.take();
        let reader = thread::spawn(move || read_message(stderr));
        let end = self.wait(&mut child, limits);
        if end.is_err() {
            // It may have ended in the meantime.
            let _ = child.kill();
            let _ = child.wait();
        }
        let message = reader.join().unwrap_or_default();
        // A program that ends early does not read its input.
        let _ = writer.join();
        if end? {
            Ok(())
        } else {
            Err(self.failure(&message))
        }
    }

    fn wait(&self, child: &mut Child, limits: &FetchLimits) -> Result<bool, InstallError> {
        let deadline = Instant::now() + limits.timeout;
        loop {
            let status = child.try_wait();
            let status = status
                .map_err(|error| InstallError::io("wait for", &self.options.program, error))?;
            if let Some(status) = status {
                return Ok(status.success());
            }
            if Instant::now() >= deadline {
                return Err(Repr::Limit {
                    what: "seconds of a download",
                    limit: limits.timeout.as_secs(),
                }
                .into());
            }
            let received = pack_bytes(&self.directory);
            self.options.progress.received(&self.url, received);
            if received > limits.max_archive_bytes {
                return Err(Repr::Limit {
                    what: "bytes in its repository",
                    limit: limits.max_archive_bytes,
                }
                .into());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Runs git and returns its output.
    pub(super) fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, InstallError> {
        let output = self
            .command(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| self.start_error(error))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(self.failure(&String::from_utf8_lossy(&output.stderr)))
    }

    /// Starts git with a pipe to it and from it. It fetches no missing objects.
    pub(super) fn start_local(&self, arguments: &[&str]) -> Result<Child, InstallError> {
        self.command(arguments)
            // One by one it would take a round trip for each.
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| self.start_error(error))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.options.program);
        for variable in REMOVED_VARIABLES {
            command.env_remove(variable);
        }
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(&self.directory);
        command
            .current_dir(&self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            // Goes before all configuration, also of `protocol.ext.allow`.
            .env(
                "GIT_ALLOW_PROTOCOL",
                self.options.allowed_protocols.join(":"),
            )
            .env("LC_ALL", "C")
            .arg(git_dir)
            .args(CONFIG.iter().flat_map(|config| ["-c", config]))
            .args(arguments);
        command
    }

    fn start_error(&self, error: io::Error) -> InstallError {
        Repr::Fetch {
            from: self.url.clone(),
            cause: format!("cannot start `{}`: {error}", self.options.program.display()),
            help: Some("install git"),
        }
        .into()
    }

    fn failure(&self, message: &str) -> InstallError {
        let message = message.trim();
        let help = if message.contains("not allowed") && message.contains("transport") {
            Some("use `https:` or `ssh:`; plain HTTP and the git protocol authenticate no server")
        } else if message.contains("couldn't find remote ref") {
            Some("check the branch or tag after `#`")
        } else if message.contains("could not read Username")
            || message.contains("terminal prompts disabled")
        {
            Some("store credentials for it in git, or use an SSH address")
        } else {
            None
        };
        Repr::Fetch {
            from: self.url.clone(),
            cause: message.to_owned(),
            help,
        }
        .into()
    }
}

/// Returns the end of what git wrote, which says what failed.
fn read_message(stderr: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // Read to the end: a full pipe would stop git.
    let mut chunk = [0; 4_096];
    if let Some(mut stderr) = stderr {
        while let Ok(read @ 1..) = stderr.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..read]);
            let excess = bytes.len().saturating_sub(MAX_MESSAGE_BYTES);
            bytes.drain(..excess);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the size of the received objects.
fn pack_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory.join("objects/pack")) else {
        return 0;
    };
    let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    sizes.sum()
}

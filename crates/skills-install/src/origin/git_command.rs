//! Starts the user's git, in a way in which nothing of a repository can start anything else.
#![expect(
    clippy::disallowed_methods,
    reason = "the user's git has the credentials and proxies that a library would not find"
)]

mod credentials;

use std::ffi::OsString;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use skills_store::PrivateDir;
use skills_threads::ThreadError;

pub(crate) use self::credentials::{Credential, GitCredentials};
use crate::FetchLimits;
use crate::error::{InstallError, Repr};
use crate::progress::Progress;
use crate::temporary_dir::temporary_dir;

/// The time between two checks of a running command: at first, and at most.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait for the end of a message, after git has ended.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum length of a message of git in an error, in bytes.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Maximum length of a short output, in bytes.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Size of the parts in which output is read, and the number of those that wait to be used.
const CHUNK_BYTES: usize = 1 << 16;
const MAX_CHUNKS: usize = 4;
/// Variables that point git to another repository, or add configuration of a caller.
const REMOVED_VARIABLES: [&str; 14] = [
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
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
];
/// Configuration that turns off everything that starts a program, except for credentials, proxies
/// and SSH, which the user has configured.
const CONFIG: [&str; 18] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=",
    "core.askPass=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    // Everything that is received goes into packs, whose size is watched.
    "fetch.unpackLimit=1",
    // The repository is removed before this process ends.
    "core.fsync=none",
    "gc.auto=0",
    // The process that receives outlives a git that is stopped, until its server sends nothing.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "maintenance.auto=false",
    "protocol.version=2",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
    "init.defaultObjectFormat=sha1",
    "init.defaultRefFormat=files",
];

/// How git is started.
#[derive(Debug, Clone)]
pub struct GitOptions {
    program: PathBuf,
    allowed_protocols: Vec<&'static str>,
    progress: Progress,
    temp_dir: PathBuf,
}

impl GitOptions {
    /// Uses a program, by its path. Only HTTPS and SSH are allowed.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            allowed_protocols: vec!["https", "ssh"],
            progress: Progress::default(),
            temp_dir: std::env::temp_dir(),
        }
    }

    /// Keeps repositories in a directory, instead of with the temporary files of the system.
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = directory.into();
        self
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

/// The directory of a bare repository of this program, with one remote.
///
/// It is in a private directory: who can write its configuration can name programs that git starts.
pub(super) struct GitRepository {
    options: GitOptions,
    directory: PrivateDir,
    url: String,
    limits: FetchLimits,
}

impl GitRepository {
    /// Creates the directory, which is no repository before [`init`](Self::init).
    pub(super) fn create(
        options: &GitOptions,
        url: &str,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        Ok(Self {
            options: options.clone(),
            directory: temporary_dir(&options.temp_dir)?,
            url: url.to_owned(),
            limits: limits.clone(),
        })
    }

    /// Makes it an empty repository.
    pub(super) fn init(&self) -> Result<(), InstallError> {
        self.run(&["init", "--quiet", "--bare", "--template="], Vec::new())
    }

    /// Returns true if the last fetch got a tag.
    pub(super) fn has_fetched_tag(&self) -> bool {
        let path = self.directory.path().join("FETCH_HEAD");
        // `COMMIT\t\ttag 'NAME' of URL`
        std::fs::read_to_string(path).is_ok_and(|text| {
            text.split('\t')
                .nth(2)
                .is_some_and(|what| what.starts_with("tag '"))
        })
    }

    /// Runs git until it ends, with limits of time and of the size of the repository. It writes no
    /// output.
    pub(super) fn run(&self, arguments: &[&str], input: Vec<u8>) -> Result<(), InstallError> {
        self.start_command(self.command(arguments), input)?.finish()
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus, InstallError> {
        let deadline = Instant::now() + self.limits.timeout;
        let mut interval = FIRST_POLL_INTERVAL;
        loop {
            let status = child.try_wait();
            let status = status
                .map_err(|error| InstallError::io("wait for", &self.options.program, error))?;
            if let Some(status) = status {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(self.timed_out());
            }
            let received = pack_bytes(self.directory.path());
            self.options.progress.received(&self.url, received);
            if received > self.limits.max_archive_bytes {
                return Err(self.too_large());
            }
            std::thread::sleep(interval);
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    fn too_large(&self) -> InstallError {
        InstallError::limit("bytes in its repository", self.limits.max_archive_bytes)
    }

    /// Runs git and returns its output, which is short.
    pub(super) fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, InstallError> {
        let mut running = self.start(arguments, Vec::new())?;
        let mut output = Vec::new();
        let read = running
            .by_ref()
            .take(MAX_OUTPUT_BYTES)
            .read_to_end(&mut output);
        read.map_err(|error| self.read_error(error))?;
        if output.len() as u64 == MAX_OUTPUT_BYTES {
            return Err(InstallError::fetch(
                &self.url,
                "git writes more than expected",
            ));
        }
        running.finish()?;
        Ok(output)
    }

    /// Starts git with an input, to read its output as it comes. It fetches no missing objects.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<Running<'_>, InstallError> {
        let mut command = self.command(arguments);
        // One by one it would take a round trip for each.
        command.env("GIT_NO_LAZY_FETCH", "1");
        self.start_command(command, input)
    }

    fn start_command(
        &self,
        mut command: Command,
        input: Vec<u8>,
    ) -> Result<Running<'_>, InstallError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.start_error(error))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Each pipe has a thread: none may fill up.
        let (sender, chunks) = mpsc::sync_channel(MAX_CHUNKS);
        let started = start_writing(stdin, input)
            .and_then(|()| {
                skills_threads::spawn("git-output", move || send_chunks(stdout, &sender))
            })
            .and_then(|_| start_reading(stderr));
        let message = started.map_err(|error| self.without_thread(&mut child, error))?;
        Ok(Running {
            repository: self,
            child,
            chunks,
            chunk: Cursor::default(),
            message,
            deadline: Instant::now() + self.limits.timeout,
        })
    }

    /// Ends git if no thread reads its pipes.
    fn without_thread(&self, child: &mut Child, error: ThreadError) -> InstallError {
        let _ = child.kill();
        let _ = child.wait();
        InstallError::io("run", &self.options.program, error.into())
    }

    /// Converts an error of reading what git writes.
    pub(super) fn read_error(&self, error: io::Error) -> InstallError {
        if error.kind() == io::ErrorKind::TimedOut {
            self.timed_out()
        } else {
            InstallError::fetch(&self.url, error.to_string())
        }
    }

    fn timed_out(&self) -> InstallError {
        InstallError::limit("seconds of a download", self.limits.timeout.as_secs())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.options.program);
        for variable in REMOVED_VARIABLES {
            command.env_remove(variable);
        }
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(self.directory.path());
        let remote = format!("remote.origin.url={}", self.url);
        command
            .current_dir(self.directory.path())
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
            .args(["-c", &remote])
            .args(arguments);
        command
    }

    fn start_error(&self, error: io::Error) -> InstallError {
        // The limit of processes, which says nothing about git.
        if error.kind() == io::ErrorKind::WouldBlock {
            return InstallError::io("start", &self.options.program, error);
        }
        let cause = format!("cannot start `{}`: {error}", self.options.program.display());
        InstallError::fetch_with_help(&self.url, cause, "install git")
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

/// What a command writes to standard error, which a thread reads.
struct Message(Receiver<String>);

impl Message {
    /// Returns the message of a command that has ended. A process that it left behind, such as a
    /// credential helper or one that waits for a server, can keep the pipe open.
    fn text(&self) -> String {
        self.0.recv_timeout(MESSAGE_TIMEOUT).unwrap_or_default()
    }
}

/// A command that runs, whose output is read with a deadline. Dropping it kills it.
pub(super) struct Running<'a> {
    repository: &'a GitRepository,
    child: Child,
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    message: Message,
    deadline: Instant,
}

impl Running<'_> {
    /// Waits for the end, after all output was read.
    pub(super) fn finish(mut self) -> Result<(), InstallError> {
        if self.repository.wait(&mut self.child)?.success() {
            Ok(())
        } else {
            Err(self.repository.failure(&self.message.text()))
        }
    }
}

impl Read for Running<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => self.chunk = Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It has ended, or waits for more input or for its output to be read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends what a program writes, until nothing is received any more.
fn send_chunks(stdout: Option<impl Read>, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let Some(mut stdout) = stdout else {
        return;
    };
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match stdout.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => {
                chunk.truncate(read);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_error = read.is_err();
        if chunks.send(read).is_err() || is_error {
            return;
        }
    }
}

/// Writes the input of git on a thread.
fn start_writing(
    stdin: Option<impl Write + Send + 'static>,
    input: Vec<u8>,
) -> Result<(), ThreadError> {
    let write = move || {
        // A program that has ended reads nothing.
        let _ = stdin.map(|mut stdin| stdin.write_all(&input));
    };
    skills_threads::spawn("git-input", write).map(drop)
}

/// Returns the end of what git wrote, which says what failed.
fn start_reading(stderr: Option<impl Read + Send + 'static>) -> Result<Message, ThreadError> {
    let (sender, receiver) = mpsc::channel();
    skills_threads::spawn("git-message", move || sender.send(read_message(stderr)))?;
    Ok(Message(receiver))
}

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

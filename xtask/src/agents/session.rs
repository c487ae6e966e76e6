//! Runs one agent once, in directories of its own, and collects what it did.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::endpoint::{Endpoint, ModelRequest};
use super::person::{self, Answer, Person, Reaction};
use super::plan::Plan;
use super::runners::{Agent, Launch};
use super::terminal::Terminal;
use super::traffic::{self, Traffic};
use crate::command::output;

/// The agents need between 3 and 20 seconds.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The programs that a session uses.
pub(crate) struct Programs<'a> {
    /// The `node_modules` with the agents.
    pub(crate) node_modules: &'a Path,
    /// The `skills` command.
    pub(crate) skills: &'a Path,
}

/// What a session is given.
pub(crate) struct Setup<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) plan: Plan,
    /// Options of `skills mcp`.
    pub(crate) server_options: Vec<String>,
    /// Files of the project by their paths.
    pub(crate) project_files: Vec<(&'static str, Vec<u8>)>,
    /// Files of the home directory by their paths.
    pub(crate) home_files: Vec<(&'static str, Vec<u8>)>,
    /// Lines that the user types in the project before the agent starts.
    pub(crate) commands: Vec<String>,
}

/// What happened in a session.
pub(crate) struct Session {
    /// The requests to the model that offered tools of the server.
    pub(crate) requests: Vec<ModelRequest>,
    /// Whether there were requests without tools of the server.
    pub(crate) has_other_requests: bool,
    /// The messages between agent and server.
    pub(crate) traffic: Traffic,
    /// How the agent ended; `None` if it was killed.
    pub(crate) status: Option<ExitStatus>,
    /// What a person at a terminal answered.
    pub(crate) answers: Vec<Answer>,
    /// All requests to the model, as texts.
    pub(crate) paid: Vec<String>,
    pub(crate) directories: Directories,
}

impl Session {
    /// Returns whether the model saw the instructions of the server.
    pub(crate) fn shows_instructions(&self) -> bool {
        let Some(instructions) = self.traffic.instructions() else {
            return false;
        };
        // The start is enough: agents cut long ones, and JSON escapes some characters.
        let start = instructions.split('.').next().unwrap_or_default();
        self.requests
            .iter()
            .any(|request| request.body.to_string().contains(start))
    }
}

/// The directories of one session.
pub(crate) struct Directories {
    /// Stays after the session: requests, messages and output.
    pub(crate) records: PathBuf,
    /// Outside of this project, since agents look for a repository above their directory.
    pub(crate) temp: TempDir,
}

impl Directories {
    /// Creates empty directories; `records` is emptied.
    fn create(records: &Path) -> Result<Self> {
        if records.exists() {
            fs::remove_dir_all(records)?;
        }
        let directories = Self {
            records: records.to_owned(),
            temp: tempfile::Builder::new().prefix("skills-agent-").tempdir()?,
        };
        for directory in [
            directories.home(),
            directories.project(),
            directories.temp_files(),
            directories.server(),
        ] {
            fs::create_dir_all(directory)?;
        }
        Ok(directories)
    }

    /// The home directory of the agent.
    fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// The directory in which the agent works.
    pub(crate) fn project(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    fn temp_files(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }

    /// The recorder and the messages between agent and server.
    fn server(&self) -> PathBuf {
        self.records.join("server")
    }
}

/// Runs `agent` in directories of its own, and keeps records in `records`.
///
/// # Errors
/// If the agent cannot be configured or started. An agent that fails is a result.
pub(crate) fn run(
    agent: &Agent,
    programs: &Programs<'_>,
    setup: &Setup<'_>,
    records: &Path,
) -> Result<Session> {
    let directories = Directories::create(records)?;
    write_files(&directories.project(), &setup.project_files)?;
    write_files(&directories.home(), &setup.home_files)?;
    let endpoint = Endpoint::start(
        setup.plan.clone(),
        agent.tool_prefix,
        setup.launch.searches_tools,
    )?;
    register(agent, programs, &directories, setup, endpoint.url())?;
    for line in &setup.commands {
        type_command(line, programs, &directories)?;
    }
    let command = agent_command(agent, setup.launch, programs, &directories, endpoint.url());
    let (status, answers) = match setup.launch.person {
        Some(person) => (
            None,
            run_at_terminal(&command, &person, &endpoint, &directories)?,
        ),
        None => (run_headless(command, agent, &directories)?, Vec::new()),
    };
    let requests = endpoint.requests();
    save_requests(&directories, &requests)?;
    let paid = requests.iter().map(|request| request.body.to_string());
    let paid = paid.collect();
    let (requests, other_requests): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|request| request.is_part);
    Ok(Session {
        requests,
        has_other_requests: !other_requests.is_empty(),
        traffic: Traffic::read(&directories.server())?,
        status,
        answers,
        paid,
        directories,
    })
}

fn write_files(directory: &Path, files: &[(&str, Vec<u8>)]) -> Result<()> {
    for (path, content) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Writes the configuration of the agent, with the server in it.
fn register(
    agent: &Agent,
    programs: &Programs<'_>,
    directories: &Directories,
    setup: &Setup<'_>,
    url: &str,
) -> Result<()> {
    for (path, template) in setup.launch.files {
        let path = directories.home().join(path);
        fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        let project = directories.project().display().to_string();
        let text = template
            .replace("{url}", url)
            .replace("{project}", &project);
        fs::write(path, text)?;
    }
    let server = directories.server().join("skills");
    // The entry has the path of the program that wrote it, where the agent finds the recorder.
    link_or_copy(programs.skills, &server)?;
    let mut install = Command::new(&server);
    isolate(&mut install, programs, directories);
    install
        .args(["mcp", "install", "--yes", "--client", agent.client, "--"])
        .args(&setup.server_options);
    output(&mut install)?;
    fs::remove_file(&server)?;
    traffic::write_recorder(&server, programs.skills)
}

fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    // A link is impossible between file systems.
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
    }
    Ok(())
}

/// Gives a command the project as its directory and an environment without the user's.
fn isolate(command: &mut Command, programs: &Programs<'_>, directories: &Directories) {
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        programs.node_modules.join(".bin").display()
    );
    command
        .current_dir(directories.project())
        .env_clear()
        .env("PATH", path)
        .env("HOME", directories.home())
        .env("TMPDIR", directories.temp_files())
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null());
}

fn agent_command(
    agent: &Agent,
    launch: &Launch,
    programs: &Programs<'_>,
    directories: &Directories,
    url: &str,
) -> Command {
    let mut command = Command::new(programs.node_modules.join(".bin").join(agent.program));
    isolate(&mut command, programs, directories);
    command.args(launch.arguments);
    for (name, value) in launch.environment {
        command.env(name, value.replace("{url}", url));
    }
    command
}

fn run_headless(
    mut command: Command,
    agent: &Agent,
    directories: &Directories,
) -> Result<Option<ExitStatus>> {
    command
        .stdout(fs::File::create(directories.records.join("stdout.txt"))?)
        .stderr(fs::File::create(directories.records.join("stderr.txt"))?);
    in_own_group(&mut command);
    let mut child = command.spawn().with_context(|| agent.name.to_owned())?;
    let status = wait(&mut child)?;
    // Agents leave helpers, and a server may still run.
    kill_all(child.id(), &directories.home());
    child.wait()?;
    Ok(status)
}

/// Runs an agent with a person at its terminal, until its model has made all calls.
fn run_at_terminal(
    command: &Command,
    person: &Person,
    endpoint: &Endpoint,
    directories: &Directories,
) -> Result<Vec<Answer>> {
    let mut terminal = Terminal::start(command)?;
    let deadline = Instant::now() + TIMEOUT;
    let is_finished = || endpoint.is_complete();
    let mut answers = Vec::new();
    if let Some(prompt) = person.prompt {
        // A user who types it earlier gets an answer without the tools.
        let is_ready = || traffic::has_listed_tools(&directories.server());
        let setup = person::attend(&mut terminal, person.reactions, deadline, is_ready);
        answers.extend(setup);
        person::type_prompt(&mut terminal, prompt, deadline, || {
            !endpoint.requests().is_empty()
        });
    }
    let further = person::attend(&mut terminal, person.reactions, deadline, is_finished);
    answers.extend(further);
    fs::write(directories.records.join("screen.txt"), terminal.text())?;
    kill_all(terminal.leader(), &directories.home());
    terminal.close()?;
    for (index, answer) in answers.iter().enumerate() {
        let path = directories.records.join(format!("answer-{index:02}.txt"));
        fs::write(path, format!("{:?}\n{}\n", answer.asker, answer.screen))?;
    }
    Ok(answers)
}

/// Types a line into a shell in the project, and agrees to what it asks.
fn type_command(line: &str, programs: &Programs<'_>, directories: &Directories) -> Result<()> {
    const REACTIONS: [Reaction; 1] = [Reaction {
        asker: person::Asker::Server,
        shows: &["/N]"],
        keys: "y\n",
    }];
    let mut command = Command::new("sh");
    isolate(&mut command, programs, directories);
    let directory = programs.skills.parent().unwrap_or(programs.skills);
    command
        .env("PATH", format!("{}:/usr/bin:/bin", directory.display()))
        .args(["-c", line]);
    let mut terminal = Terminal::start(&command)?;
    let deadline = Instant::now() + TIMEOUT;
    person::attend(&mut terminal, &REACTIONS, deadline, || false);
    let mut shown = fs::File::options()
        .create(true)
        .append(true)
        .open(directories.records.join("commands.txt"))?;
    writeln!(shown, "$ {line}\n{}", terminal.text())?;
    kill_all(terminal.leader(), &directories.home());
    terminal.close()
}

fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(unix)]
fn in_own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn in_own_group(_command: &mut Command) {}

/// Kills the agent, and what it left in other process groups: helpers, daemons and servers.
///
/// They are recognized by their home directory, which no other process has.
#[cfg(unix)]
fn kill_all(leader: u32, home: &Path) {
    use nix::sys::signal::{Signal, kill, killpg};
    use nix::unistd::Pid;

    let group = i32::try_from(leader).map(Pid::from_raw);
    // An empty group is an error.
    let _ = group.map(|group| killpg(group, Signal::SIGKILL));
    let variable = format!("HOME={}", home.display());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in processes {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|text| text == variable.as_bytes()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

#[cfg(not(unix))]
fn kill_all(_leader: u32, _home: &Path) {}

/// Writes all requests next to the other records of the session, for a person to read.
fn save_requests(directories: &Directories, requests: &[ModelRequest]) -> Result<()> {
    for (index, request) in requests.iter().enumerate() {
        let name = format!("request-{index:02}.json");
        let text = serde_json::to_string_pretty(&request.body)?;
        fs::write(directories.records.join(name), text)?;
    }
    Ok(())
}

//! Tests the packages of skills with the public registries: PyPI and npm.
//!
//! Everything is as for a user: the `skills` command, a new home directory, the package managers of
//! the host, and the indexes over the network. A case whose registry cannot be reached is skipped
//! with a reason.

mod client;
mod fixtures;

use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use skills_test_support::host;
use tempfile::TempDir;

use crate::image::Engine;
use crate::skills_command::SkillsCommand;
use client::Client;

/// How long a registry may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The variables that would replace the public registries.
const INDEX_VARIABLES: [&str; 5] = [
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "PIP_INDEX_URL",
    "npm_config_registry",
    "NPM_CONFIG_REGISTRY",
];

/// A public registry, with the programs that install its packages.
struct Registry {
    host: &'static str,
    programs: &'static [&'static str],
}

const PYPI: Registry = Registry {
    host: "pypi.org",
    programs: &["python3"],
};
const NPM: Registry = Registry {
    host: "registry.npmjs.org",
    programs: &["node", "npm"],
};

/// A backend for scripts.
struct Backend {
    name: &'static str,
    /// The options of `skills` that select it.
    options: &'static [&'static str],
    /// Settings that it needs.
    settings: Vec<(&'static str, String)>,
    /// Why it has no packages for Node.
    lacks_node: Option<&'static str>,
}

/// One use of packages.
struct Case {
    name: &'static str,
    registries: &'static [Registry],
    run: fn(&User) -> Result<()>,
}

const CASES: [Case; 5] = [
    Case {
        name: "a Python skill over MCP, with one question",
        registries: &[PYPI],
        run: python_over_mcp,
    },
    Case {
        name: "a Python skill by `skills run`",
        registries: &[PYPI],
        run: python_by_run,
    },
    Case {
        name: "a Node skill by `skills run`",
        registries: &[NPM],
        run: node_by_run,
    },
    Case {
        name: "a skill with both, installed by `skills deps install`",
        registries: &[PYPI, NPM],
        run: both_installed,
    },
    Case {
        name: "packages that only the instructions name",
        registries: &[PYPI],
        run: mentioned,
    },
];

/// Runs all cases.
///
/// # Errors
/// If a case fails.
pub(crate) fn registries(skills: Option<&Path>) -> Result<()> {
    if let Err(reason) = host::sandbox() {
        eprintln!("skipped the registries: {reason}");
        return Ok(());
    }
    let skills = match skills {
        Some(path) => path.canonicalize()?,
        None => SkillsCommand::build()?.path().to_owned(),
    };
    let mut failures = Vec::new();
    let engine = Engine::start()
        .inspect_err(|reason| eprintln!("skipped containers: {reason:#}"))
        .ok();
    for backend in backends(engine.as_ref()) {
        for case in &CASES {
            let label = format!("{}: {}", backend.name, case.name);
            if let Some(reason) = backend.skip_reason(case) {
                eprintln!("skipped {label}: {reason}");
                continue;
            }
            let user = User::new(&skills, &backend)?;
            let started = Instant::now();
            match (case.run)(&user) {
                Ok(()) => println!("ok      {label} ({:.1} s)", started.elapsed().as_secs_f64()),
                Err(error) => {
                    println!("FAILED  {label}: {error:#}");
                    failures.push(label);
                }
            }
        }
    }
    if !failures.is_empty() {
        bail!("registries: {}", failures.join(", "));
    }
    Ok(())
}

/// Returns the backends with which each case runs.
fn backends(engine: Option<&Engine>) -> Vec<Backend> {
    let native = Backend {
        name: "native",
        options: &[],
        settings: Vec::new(),
        lacks_node: None,
    };
    let container = engine.map(|engine| Backend {
        name: "container",
        options: &["--sandbox", "container"],
        settings: vec![
            ("container-socket", engine.socket().display().to_string()),
            ("container-image", engine.image().to_owned()),
        ],
        lacks_node: Some("the image has no Node"),
    });
    [native].into_iter().chain(container).collect()
}

impl Backend {
    fn skip_reason(&self, case: &Case) -> Option<String> {
        let needs_node = case
            .registries
            .iter()
            .any(|registry| registry.host == NPM.host);
        let lacks_node = self.lacks_node.filter(|_| needs_node);
        lacks_node
            .map(str::to_owned)
            .or_else(|| case.registries.iter().find_map(Registry::skip_reason))
    }
}

impl Registry {
    /// Returns why its packages cannot be installed on this host.
    fn skip_reason(&self) -> Option<String> {
        let missing = self
            .programs
            .iter()
            .find_map(|program| host::program(program).err());
        missing.or_else(|| {
            let error = self.connect().err()?;
            Some(format!("cannot reach {}: {error:#}", self.host))
        })
    }

    fn connect(&self) -> Result<()> {
        let addresses = (self.host, 443).to_socket_addrs()?;
        let mut failure = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(_) => return Ok(()),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.context("no address")?.into())
    }
}

/// A user with a new home directory, the skills and a workspace.
struct User {
    directory: TempDir,
    skills: PathBuf,
    options: &'static [&'static str],
}

impl User {
    fn new(skills: &Path, backend: &Backend) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        fixtures::write(directory.path())?;
        let user = Self {
            directory,
            skills: skills.to_owned(),
            options: backend.options,
        };
        for (key, value) in &backend.settings {
            text(&user.command("config", &["set", key, value]).output()?)?;
        }
        Ok(user)
    }

    /// Returns a command of `skills`. `arguments` that select a backend follow the subcommand.
    fn command(&self, subcommand: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.skills);
        command
            .current_dir(self.workspace())
            .args(["--root", "../skills", subcommand])
            .args(arguments)
            .env("HOME", self.directory.path().join(fixtures::HOME_DIR));
        for name in INDEX_VARIABLES
            .iter()
            .chain(&["XDG_DATA_HOME", "XDG_CONFIG_HOME"])
        {
            command.env_remove(name);
        }
        command
    }

    fn workspace(&self) -> PathBuf {
        self.directory.path().join(fixtures::WORKSPACE_DIR)
    }

    /// Runs a script of a skill and returns what it printed.
    fn run(&self, skill: &str, options: &[&str], arguments: &[&str]) -> Result<String> {
        let all = [
            &[skill],
            self.options,
            options,
            &["--workspace", ".", "--"],
            arguments,
        ]
        .concat();
        text(&self.command("run", &all).output()?)
    }
}

/// Returns the standard output of a program that succeeded.
fn text(output: &Output) -> Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{}\n{stdout}{stderr}",
        output.status
    );
    Ok(stdout.into_owned())
}

fn check_text(actual: &str, expected: &str) -> Result<()> {
    ensure!(
        actual.trim() == expected,
        "expected `{expected}`, printed `{actual}`"
    );
    Ok(())
}

fn python_over_mcp(user: &User) -> Result<()> {
    let options = [user.options, &["--workspace", "."]].concat();
    let mut client = Client::start(user.command("mcp", &options))?;
    let command = "python scripts/convert.py in.pdf";
    let converted = client.call_skills_run("pdf", command)?;
    check_text(&converted.text, fixtures::PDF_TEXT)?;
    ensure!(
        converted.questions.len() == 1,
        "questions: {:?}",
        converted.questions
    );
    let question = &converted.questions[0];
    ensure!(
        question.contains("install package `pypi:pypdf`"),
        "question: {question}"
    );
    let again = client.call_skills_run("pdf", command)?;
    check_text(&again.text, fixtures::PDF_TEXT)?;
    ensure!(
        again.questions.is_empty(),
        "questions: {:?}",
        again.questions
    );
    Ok(())
}

fn python_by_run(user: &User) -> Result<()> {
    let allow = ["--allow", "packages:pypi:pypdf"];
    check_text(&user.run("pdf", &allow, &["in.pdf"])?, fixtures::PDF_TEXT)?;
    check_text(&user.run("pdf", &[], &["in.pdf"])?, fixtures::PDF_TEXT)
}

fn node_by_run(user: &User) -> Result<()> {
    let allow = ["--allow", "packages:npm:left-pad"];
    check_text(&user.run("pad", &allow, &["7"])?, "007")?;
    check_text(&user.run("pad", &[], &["8"])?, "008")
}

fn both_installed(user: &User) -> Result<()> {
    text(
        &user
            .command("deps", &["install", "both", "--yes"])
            .output()?,
    )?;
    let converted = user.run("both", &["--script", "convert"], &["in.pdf"])?;
    check_text(&converted, fixtures::PDF_TEXT)?;
    check_text(&user.run("both", &["--script", "pad"], &["7"])?, "007")
}

fn mentioned(user: &User) -> Result<()> {
    let plan = text(
        &user
            .command("deps", &["plan", "noted", "--json"])
            .output()?,
    )?;
    let plan: Value = serde_json::from_str(&plan)?;
    ensure!(
        plan["mentioned"] == serde_json::json!(["pypdf>=4"]),
        "plan: {plan}"
    );
    let accept = ["set", "skills.noted.packages", "pypdf>=4"];
    text(&user.command("config", &accept).output()?)?;
    let converted = user.run("noted", &["--allow", "packages"], &["in.pdf"])?;
    check_text(&converted, fixtures::PDF_TEXT)
}

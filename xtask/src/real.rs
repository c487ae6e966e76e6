//! Runs jobs of real programs in a plain shell and by `skills run`, and compares them.
//!
//! Each job is a script of the skill `xtask/real/skill`, with its own copy of `xtask/real/work` as
//! workspace and a new home directory. Compared are the exit code, standard output and the names of
//! the created files, at both isolation levels. Programs come from the host; a job without its
//! programs is skipped with their names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::command::workspace_dir;
use crate::skills_command::SkillsCommand;

/// Where programs are searched.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The committed table.
const STATUS: &str = "docs/status.md";
/// The markers around the table.
const MARKERS: [&str; 2] = ["<!-- real: begin -->\n", "<!-- real: end -->"];
/// A command line that denies user namespaces to the program after it.
const WITHOUT_NAMESPACES: [&str; 6] = [
    "unshare",
    "--user",
    "--map-current-user",
    "--keep-caps",
    "sh",
    "-c",
];
const DENY_NAMESPACES: &str = r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#;

/// A script of the skill, and what it needs.
struct Job {
    script: &'static str,
    /// What it does, for the table.
    purpose: &'static str,
    /// Programs of the host.
    programs: &'static [&'static str],
    /// Modules of Python.
    modules: &'static [&'static str],
    /// Whether it needs Playwright, which `SKILLS_TEST_PLAYWRIGHT` names.
    needs_playwright: bool,
    /// Part of an explanation, if it fails at the Landlock level for a known reason. An empty one,
    /// if the program hides the reason.
    without_namespaces: Option<&'static str>,
    /// Part of an explanation, if it fails at both levels.
    everywhere: Option<&'static str>,
}

/// Returns a job without modules that is the same at both levels.
const fn job(
    script: &'static str,
    purpose: &'static str,
    programs: &'static [&'static str],
) -> Job {
    Job {
        script,
        purpose,
        programs,
        modules: &[],
        needs_playwright: false,
        without_namespaces: None,
        everywhere: None,
    }
}

impl Job {
    const fn modules(mut self, modules: &'static [&'static str]) -> Self {
        self.modules = modules;
        self
    }

    const fn with_playwright(mut self) -> Self {
        self.needs_playwright = true;
        self
    }

    const fn refused_everywhere(mut self, explanation: &'static str) -> Self {
        self.everywhere = Some(explanation);
        self
    }

    const fn differs_without_namespaces(mut self, explanation: &'static str) -> Self {
        self.without_namespaces = Some(explanation);
        self
    }
}

const SOCKETS: &str = "refused: open a local socket";

const JOBS: [Job; 17] = [
    job(
        "office_pdf.sh",
        "LibreOffice: a letter as PDF",
        &["soffice", "pdftotext"],
    )
    .differs_without_namespaces(""),
    job(
        "office_slides.sh",
        "LibreOffice: slides as pictures",
        &["soffice", "pdftoppm"],
    )
    .differs_without_namespaces(""),
    job(
        "office_recalculate.py",
        "LibreOffice: values of formulas",
        &["soffice"],
    )
    .modules(&["openpyxl"])
    .differs_without_namespaces(""),
    job(
        "browser_screenshot.py",
        "Chromium: screenshot of its own server",
        &["chromium"],
    )
    .differs_without_namespaces(""),
    job("browser_text.sh", "Chromium: text of a page", &["chromium"])
        .differs_without_namespaces(""),
    job(
        "browser_playwright.js",
        "Playwright with Chromium",
        &["chromium", "node"],
    )
    .with_playwright()
    .differs_without_namespaces(""),
    job(
        "process_pool.py",
        "Python: locks and pools of processes",
        &[],
    )
    .differs_without_namespaces("refused: create a semaphore"),
    job(
        "process_manager.py",
        "Python: managers and start methods",
        &[],
    )
    .differs_without_namespaces(SOCKETS),
    job("shared_memory.py", "Python: shared memory", &[]).differs_without_namespaces("refused: "),
    job(
        "node_sockets.js",
        "Node: servers on a path and on loopback",
        &["node"],
    )
    .differs_without_namespaces(SOCKETS),
    job("git_history.sh", "git: commit and clone", &["git"]),
    job("gpg_encrypt.sh", "GnuPG: encrypt with its agent", &["gpg"]).differs_without_namespaces(""),
    job(
        "ssh_agent.sh",
        "OpenSSH: an agent of the run",
        &["ssh-agent", "ssh-keygen"],
    )
    .differs_without_namespaces(""),
    job("terminal.py", "pexpect: a program in a terminal", &[])
        .modules(&["pexpect"])
        .differs_without_namespaces("refused: "),
    job("compile.sh", "gcc: compile and start", &["gcc"])
        .refused_everywhere("refused: start a file"),
    job("database.py", "SQLite with a write-ahead log", &[]),
    job(
        "text_tools.sh",
        "tar, sort, xargs, awk, find, sed",
        &["tar", "awk"],
    ),
];

/// How a job is started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Shell,
    Namespaces,
    Landlock,
}

/// What is compared.
#[derive(PartialEq, Eq)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    files: BTreeSet<String>,
}

/// Runs all jobs, or those with `only` in the name of their script, and prints the table.
///
/// # Errors
/// If a job differs from a plain shell and the reason is not known, or is not explained.
pub(crate) fn real(only: Option<&str>, skills: Option<&Path>, update: bool) -> Result<()> {
    if let Err(reason) = skills_test_support::host::sandbox() {
        eprintln!("skipped the real programs: {reason}");
        return Ok(());
    }
    let skills = match skills {
        Some(path) => path.canonicalize()?,
        None => SkillsCommand::build()?.path().to_owned(),
    };
    let mut rows = String::new();
    let mut failed = Vec::new();
    let selected = JOBS
        .iter()
        .filter(|job| only.is_none_or(|text| job.script.contains(text)));
    for job in selected {
        if let Some(missing) = job.missing() {
            eprintln!("skipped {}: {missing} not found", job.script);
            writeln!(rows, "| {} | skipped: no {missing} | |", job.purpose)?;
            continue;
        }
        let results = job.compare(&skills)?;
        failed.extend(
            results
                .iter()
                .filter(|result| !result.is_expected)
                .map(|result| format!("{}: {}", job.script, result.text)),
        );
        let cells = results.map(|result| result.cell());
        println!("{}: {}", job.script, cells.join(", "));
        writeln!(rows, "| {} | {} |", job.purpose, cells.join(" | "))?;
    }
    let table = format!("| job | namespaces | Landlock only |\n|---|---|---|\n{rows}");
    println!("\n{table}");
    ensure!(
        failed.is_empty(),
        "differs from a plain shell:\n{}",
        failed.join("\n")
    );
    if update {
        write_table(&table)?;
    }
    Ok(())
}

/// Replaces the table between the markers.
fn write_table(table: &str) -> Result<()> {
    let path = workspace_dir().join(STATUS);
    let text = fs::read_to_string(&path)?;
    let [begin, end] = MARKERS;
    let (before, rest) = text
        .split_once(begin)
        .context("no table in docs/status.md")?;
    let (_, after) = rest
        .split_once(end)
        .context("no end of the table in docs/status.md")?;
    Ok(fs::write(
        path,
        format!("{before}{begin}{table}{end}{after}"),
    )?)
}

/// How a run of a job compares with the plain shell.
struct Comparison {
    text: String,
    is_equal: bool,
    is_named: bool,
    is_expected: bool,
}

impl Comparison {
    fn cell(&self) -> String {
        let text = match (self.is_equal, self.is_expected, self.is_named) {
            (true, ..) => "equal",
            (_, true, true) => "refused, named",
            (_, true, false) => "fails",
            _ => "**differs**",
        };
        text.to_owned()
    }
}

impl Job {
    /// Returns the first program or module that the host lacks.
    fn missing(&self) -> Option<&'static str> {
        let directories = || PATH.split(':').map(Path::new);
        let has_program = |name: &str| directories().any(|bin| bin.join(name).is_file());
        let has_module = |name: &&&str| {
            let import = Command::new("/usr/bin/python3")
                .args(["-c", &format!("import {name}")])
                .stderr(Stdio::null())
                .status();
            import.is_ok_and(|status| status.success())
        };
        let program = self.programs.iter().find(|name| !has_program(name));
        let module = self.modules.iter().find(|name| !has_module(name));
        let node_module = (self.needs_playwright && playwright().is_none())
            .then_some(&"library of Playwright (`SKILLS_TEST_PLAYWRIGHT`, its directory)");
        program.or(module).or(node_module).copied()
    }

    fn compare(&self, skills: &Path) -> Result<[Comparison; 2]> {
        let (plain, _) = self.run(Carrier::Shell, skills)?;
        ensure!(
            plain.code == Some(0),
            "{} fails in a plain shell",
            self.script
        );
        Ok([
            self.compare_at(Carrier::Namespaces, &plain, skills)?,
            self.compare_at(Carrier::Landlock, &plain, skills)?,
        ])
    }

    fn compare_at(&self, level: Carrier, plain: &Outcome, skills: &Path) -> Result<Comparison> {
        let (outcome, stderr) = self.run(level, skills)?;
        let is_equal = outcome == *plain;
        let known = self
            .without_namespaces
            .filter(|_| level == Carrier::Landlock);
        let explanation = self.everywhere.or(known);
        Ok(Comparison {
            is_expected: is_equal || explanation.is_some_and(|text| stderr.contains(text)),
            is_equal,
            is_named: explanation.is_some_and(|text| !text.is_empty()),
            text: format!("{:?} {:?}\n{stderr}", outcome.code, outcome.stdout),
        })
    }

    /// Runs the job, and returns what is compared, and standard error.
    fn run(&self, carrier: Carrier, skills: &Path) -> Result<(Outcome, String)> {
        let directory = TempDir::new()?;
        let [home, work] = ["home", "work"].map(|name| directory.path().join(name));
        fs::create_dir(&home)?;
        fs::create_dir(&work)?;
        for file in fs::read_dir(real_dir().join("work"))? {
            let file = file?;
            fs::copy(file.path(), work.join(file.file_name()))?;
        }
        let mut command = self.command(carrier, skills);
        command
            .current_dir(&work)
            .env_clear()
            .envs([("PATH", PATH), ("LANG", "C.UTF-8")])
            .env("HOME", &home)
            .stdin(Stdio::null());
        let Output {
            status,
            stdout,
            stderr,
        } = command.output()?;
        let outcome = Outcome {
            code: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            files: files_below(&work)?,
        };
        Ok((outcome, String::from_utf8_lossy(&stderr).into_owned()))
    }

    fn playwright(&self) -> Option<PathBuf> {
        self.needs_playwright.then(playwright)?
    }

    fn command(&self, carrier: Carrier, skills: &Path) -> Command {
        let script = real_dir().join("skill/scripts").join(self.script);
        let interpreter = match script.extension().and_then(|extension| extension.to_str()) {
            Some("py") => "python3",
            Some("js") => "node",
            _ => "bash",
        };
        let root = real_dir();
        let mut words: Vec<&OsStr> = match carrier {
            Carrier::Shell => vec![interpreter.as_ref(), script.as_ref()],
            Carrier::Namespaces => vec![skills.as_ref()],
            Carrier::Landlock => {
                let deny = WITHOUT_NAMESPACES.map(AsRef::as_ref);
                [
                    &deny[..],
                    &[DENY_NAMESPACES.as_ref(), "sh".as_ref(), skills.as_ref()],
                ]
                .concat()
            }
        };
        let options = [
            "run",
            "real-programs",
            "--script",
            self.script,
            "--workspace",
            ".",
            "--allow",
            "spawn",
            "--root",
        ];
        if carrier != Carrier::Shell {
            words.extend(options.map(OsStr::new));
            words.push(root.as_ref());
        }
        let library = self.playwright();
        if let Some(library) = &library {
            if carrier != Carrier::Shell {
                words.extend([OsStr::new("--read"), library.as_ref(), OsStr::new("--")]);
            }
            words.push(library.as_ref());
        }
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
    }
}

fn real_dir() -> PathBuf {
    workspace_dir().join("xtask/real")
}

/// Returns the directory of the library Playwright.
fn playwright() -> Option<PathBuf> {
    let library = PathBuf::from(std::env::var_os("SKILLS_TEST_PLAYWRIGHT")?);
    library.join("package.json").is_file().then_some(library)
}

/// Returns the names of all files below a directory, relative to it. Objects of git have names that
/// depend on the time.
fn files_below(directory: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                pending.push(path);
            } else if !path.components().any(|part| part.as_os_str() == "objects") {
                names.insert(path.strip_prefix(directory)?.display().to_string());
            }
        }
    }
    Ok(names)
}

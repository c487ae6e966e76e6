//! Builds the WebAssembly guests with `skills build`. The small `.wasm` files of guests in Rust and
//! C are committed, like those of real skills.
//!
//! Next to each guest is `artifact.lock`, which records what it was built from. Without `--check` a
//! guest is built only if its source changed, and its tools must be installed. With `--check` every
//! guest is built, and the bytes must equal the committed ones. A check needs cargo and the
//! WebAssembly target of Rust; guests in other languages whose tools are not installed are only
//! compared with their locks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::{output, target_dir, workspace_dir};
use crate::skills_command::SkillsCommand;

/// The maximum size of a committed artifact in bytes.
const MAX_BYTES: u64 = 200_000;
/// The directory with guests of tests: its directories that start with `guest`.
const TEST_GUESTS_DIR: &str = "crates/skills-sandbox-wasm/tests";
const EXAMPLE_GUESTS_DIR: &str = "examples/skills";

/// What to do with committed artifacts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum GuestMode {
    /// Build guests that changed and replace their artifacts.
    Update,
    /// Build all guests and compare the artifacts.
    Check,
}

/// A guest to build. Paths are relative to the workspace.
struct Guest {
    name: String,
    directory: PathBuf,
    artifact: PathBuf,
}

pub(crate) fn guests(mode: GuestMode) -> Result<()> {
    eprintln!("building the `skills` command; the first time this takes some minutes");
    let skills = SkillsCommand::build()?;
    // One for all guests, so that their dependencies are compiled once.
    let target = target_dir()?.join("guests");
    for guest in find_guests()? {
        // An artifact that is not committed differs between hosts, so there is nothing to compare.
        if mode == GuestMode::Check && !guest.is_committed()? {
            eprintln!("skipped {}: its artifact is not committed", guest.name);
            continue;
        }
        guest.build(&skills, mode, &target)?;
    }
    Ok(())
}

/// Returns the guests of the example skills and of the tests.
fn find_guests() -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for skill in directory_names(EXAMPLE_GUESTS_DIR)? {
        let directory = Path::new(EXAMPLE_GUESTS_DIR).join(&skill).join("guest");
        if workspace_dir().join(&directory).is_dir() {
            guests.push(Guest {
                name: skill.clone(),
                directory,
                artifact: Path::new(EXAMPLE_GUESTS_DIR)
                    .join(skill)
                    .join("wasm/skill.wasm"),
            });
        }
    }
    for name in directory_names(TEST_GUESTS_DIR)? {
        let directory = Path::new(TEST_GUESTS_DIR).join(&name);
        if let Some(package) = package_name(&directory).filter(|_| name.starts_with("guest")) {
            guests.push(Guest {
                artifact: directory.join(format!("{package}.wasm")),
                name: package,
                directory,
            });
        }
    }
    Ok(guests)
}

fn directory_names(directory: &str) -> Result<Vec<String>> {
    let entries = fs::read_dir(workspace_dir().join(directory))?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    // The order of a directory listing differs between hosts.
    names.sort();
    Ok(names)
}

/// Returns the name of the package in a directory, or `None` without a package.
fn package_name(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(workspace_dir().join(directory).join("Cargo.toml")).ok()?;
    text.lines().find_map(|line| {
        Some(
            line.strip_prefix("name = \"")?
                .trim_end_matches('"')
                .to_owned(),
        )
    })
}

impl Guest {
    fn build(&self, skills: &SkillsCommand, mode: GuestMode, target: &Path) -> Result<()> {
        let document = self.run_build(skills, mode, target)?;
        self.report(&document, mode)?;
        if self.is_committed()? {
            let bytes = fs::metadata(workspace_dir().join(&self.artifact))?.len();
            // A large file stays in the history of the repository forever.
            ensure!(
                bytes <= MAX_BYTES,
                "{} has {bytes} bytes, but at most {MAX_BYTES} may be committed",
                self.name
            );
        }
        Ok(())
    }

    /// Runs `skills build` and returns its JSON document.
    fn run_build(&self, skills: &SkillsCommand, mode: GuestMode, target: &Path) -> Result<Value> {
        let mut command = skills.command(&["build", "--json"]);
        command
            .arg(&self.directory)
            .arg("--output")
            .arg(&self.artifact)
            .env("CARGO_TARGET_DIR", target)
            .stderr(Stdio::inherit());
        if self.is_rust() {
            // The target is part of the toolchain. Other tools are not installed automatically.
            command.arg("--install");
        }
        if mode == GuestMode::Check {
            command.arg("--check");
        }
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).with_context(|| {
            format!(
                "cannot parse the output of `skills build` for {}",
                self.name
            )
        })
    }

    /// Prints what was built or skipped.
    ///
    /// # Errors
    /// If the build failed, or a check found a difference.
    fn report(&self, document: &Value, mode: GuestMode) -> Result<()> {
        let message = document["error"]["message"].as_str().unwrap_or_default();
        match (
            document["status"].as_str(),
            document["error"]["code"].as_str(),
        ) {
            (Some("fresh"), _) => {}
            (Some(verdict), _) => eprintln!(
                "{}: {}, {} bytes",
                self.name,
                verdict.replace('-', " "),
                document["bytes"]
            ),
            // A check gets to the missing tool only if the source matches the lock.
            (None, Some("missing-tool")) if mode == GuestMode::Check && !self.is_rust() => {
                eprintln!("compared the source of {} only: {message}", self.name)
            }
            // A guest that was never built on this host is not out of date.
            (None, Some("missing-tool")) if mode == GuestMode::Update && !self.is_built() => {
                eprintln!("skipped {}: {message}", self.name)
            }
            (None, Some("missing-tool")) => bail!("cannot build {}: {message}", self.name),
            _ => bail!(
                "{}: {message}; run `cargo xtask skills` and commit",
                self.name
            ),
        }
        Ok(())
    }

    fn is_rust(&self) -> bool {
        workspace_dir()
            .join(&self.directory)
            .join("Cargo.toml")
            .is_file()
    }

    fn is_built(&self) -> bool {
        workspace_dir().join(&self.artifact).is_file()
    }

    fn is_committed(&self) -> Result<bool> {
        // The file alone does not tell: ignored artifacts exist after a build, too.
        let mut command = Command::new("git");
        Ok(!output(
            command
                .current_dir(workspace_dir())
                .args(["ls-files", "--"])
                .arg(&self.artifact),
        )?
        .is_empty())
    }
}

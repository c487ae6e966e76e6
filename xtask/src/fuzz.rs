//! Runs the fuzzers of `fuzz/`, each for a bounded time and under limits of memory and time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, output, run, target_dir, workspace_dir};

/// How long each fuzzer runs by default, in seconds; all seeds are run however long they take.
pub(crate) const DEFAULT_SECONDS: u32 = 10;
/// The longest input that is made up, in bytes. Seeds may be longer.
const MAX_INPUT_BYTES: u32 = 4096;
/// The most memory that a fuzzer may have in use, in MiB; an input that takes more is a finding.
const MAX_RESIDENT_MIB: u32 = 512;
/// The most address space of a fuzzer, in KiB. libFuzzer compares the memory in use once a second,
/// within which an input could take all of the machine's; an allocation beyond this bound fails at
/// once. (`-malloc_limit_mb` needs the hooks of a sanitizer.)
const MAX_ADDRESS_SPACE_KIB: u32 = 4 << 20;
/// The longest that one input may take, in seconds.
const MAX_INPUT_SECONDS: u32 = 10;
/// The coverage that libFuzzer steers by, without a sanitizer: all of it is there in stable
/// compilers.
const COVERAGE_FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The fuzzer that is built only when it is named, with the feature of this name.
const SLOW_FUZZER: &str = "mcp";
/// Where an input that broke something is kept.
const FINDINGS_DIR: &str = "fuzz-findings";

/// Which inputs are made up.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum InputMode {
    /// The same ones each time, as far as the speed of the machine allows: a failure is about what
    /// was changed.
    Deterministic,
    /// Other ones each time.
    Random,
}

/// Builds and runs one fuzzer, or all whose crates compile in little time.
pub(crate) fn fuzz(only: Option<&str>, seconds: u32, inputs: InputMode) -> Result<()> {
    if let Some(reason) = missing_requirement() {
        eprintln!("skipped the fuzzers: {reason}");
        return Ok(());
    }
    let choice = match only {
        None => vec!["--bins"],
        Some(SLOW_FUZZER) => vec!["--bin", SLOW_FUZZER, "--features", SLOW_FUZZER],
        Some(name) => vec!["--bin", name],
    };
    build_fuzzers(&choice)?
        .iter()
        .try_for_each(|fuzzer| fuzzer.run(seconds, inputs))
}

/// Returns what a fuzzer needs that is not here.
fn missing_requirement() -> Option<String> {
    if !cfg!(any(target_os = "linux", target_os = "macos")) {
        return Some("they are built on Linux and macOS".to_owned());
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let is_there = output(Command::new(&compiler).arg("--version")).is_ok();
    (!is_there)
        .then(|| format!("no C++ compiler `{compiler}` (package g++), which compiles libFuzzer"))
}

struct Fuzzer {
    name: String,
    program: PathBuf,
}

fn build_fuzzers(choice: &[&str]) -> Result<Vec<Fuzzer>> {
    // With a target named, the flags are not those of build scripts and macros, which would not
    // link with them.
    let version = output(
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .arg("-vV")
            .current_dir(workspace_dir()),
    )?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc names its host")?;
    let mut build = cargo(&[
        "build",
        "--locked",
        "--quiet",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target",
        host,
    ]);
    build
        .args(choice)
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE_FLAGS.join("\u{1f}"))
        .env("CARGO_TARGET_DIR", target_dir()?);
    run(&mut build)?;
    let messages = output(build.arg("--message-format=json"))?;
    let fuzzer = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let program = message["executable"].as_str()?.into();
        Some(Fuzzer {
            name: message["target"]["name"].as_str()?.to_owned(),
            program,
        })
    };
    let mut fuzzers: Vec<Fuzzer> = messages.lines().filter_map(fuzzer).collect();
    fuzzers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(fuzzers)
}

impl Fuzzer {
    /// Runs all seeds, and then what is made from them.
    fn run(&self, seconds: u32, inputs: InputMode) -> Result<()> {
        let seeds = workspace_dir().join("fuzz/corpus").join(&self.name);
        let seed_count = fs::read_dir(&seeds)
            .with_context(|| format!("no seeds in {}", seeds.display()))?
            .count();
        let findings = target_dir()?.join(FINDINGS_DIR).join(&self.name);
        fs::create_dir_all(&findings)?;
        let made_up = tempfile::tempdir()?;
        let output = self
            .limited_command(made_up.path(), &seeds, &findings, seconds, inputs)
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let runs = text.lines().rev().find_map(|line| {
            line.strip_prefix("Done ")?
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        });
        match runs.filter(|runs| output.status.success() && *runs >= seed_count) {
            Some(runs) => eprintln!(
                "fuzz {}: {runs} inputs, {seed_count} of them seeds, no finding",
                self.name
            ),
            None => bail!(self.describe_failure(&output, &findings)),
        }
        Ok(())
    }

    /// Prepares a run with a bounded address space, which only a shell can set without code of the
    /// system.
    fn limited_command(
        &self,
        made_up: &Path,
        seeds: &Path,
        findings: &Path,
        seconds: u32,
        inputs: InputMode,
    ) -> Command {
        let mut command = Command::new("sh");
        let bound = if cfg!(target_os = "linux") {
            format!("ulimit -v {MAX_ADDRESS_SPACE_KIB}; ")
        } else {
            String::new()
        };
        command
            .arg("-c")
            .arg(format!("{bound}exec \"$@\""))
            .arg("sh")
            .arg(&self.program)
            .arg(made_up)
            .arg(seeds);
        command
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg(format!("-max_total_time={seconds}"));
        command
            .arg(format!("-rss_limit_mb={MAX_RESIDENT_MIB}"))
            .arg(format!("-timeout={MAX_INPUT_SECONDS}"));
        command.arg(format!("-max_len={MAX_INPUT_BYTES}"));
        // The end of the output is shown, and holds the message of a panic only without a
        // backtrace.
        command.env("RUST_BACKTRACE", "0");
        if inputs == InputMode::Deterministic {
            command.arg("-seed=1");
        }
        command
    }

    /// Says how it ended, with the end of what it printed, and how the input is tried again.
    fn describe_failure(&self, output: &Output, findings: &Path) -> String {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let told = lines[lines.len().saturating_sub(40)..].join("\n");
        let Self { name, program } = self;
        format!(
            "the fuzzer `{name}` ended with {}\n{told}\n\ninputs that were found: {}\nhelp: `{} FILE` runs one again; add it to `fuzz/corpus/{name}` with the fix",
            output.status,
            findings.display(),
            program.display(),
        )
    }
}

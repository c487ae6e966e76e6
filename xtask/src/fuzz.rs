//! Runs the fuzzers of `fuzz/`, each with limits of memory and time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, output, run, target_dir, workspace_dir};

/// The default duration of each fuzzer in seconds. All seeds run, however long they take.
pub(crate) const DEFAULT_SECONDS: u32 = 10;
/// The maximum length of generated inputs in bytes. Seeds can be longer.
const MAX_INPUT_BYTES: u32 = 4096;
/// The maximum resident memory of a fuzzer in MiB; an input that needs more is a finding.
const MAX_RESIDENT_MIB: u32 = 512;
/// The maximum address space of a fuzzer in KiB. libFuzzer measures resident memory once a second,
/// which is too late for an input that allocates all memory of the host; an allocation beyond this
/// limit fails at once. (`-malloc_limit_mb` needs the hooks of a sanitizer.)
const MAX_ADDRESS_SPACE_KIB: u32 = 4 << 20;
/// The maximum time of one input in seconds.
const MAX_INPUT_SECONDS: u32 = 10;
/// The coverage instrumentation of libFuzzer without a sanitizer; stable compilers support all of
/// it.
const COVERAGE_FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The fuzzer that is built only if it is named, with the feature of this name.
const SLOW_FUZZER: &str = "mcp";
/// The directory for inputs with findings.
const FINDINGS_DIR: &str = "fuzz-findings";

/// How inputs are generated.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum InputMode {
    /// The same inputs each time, as far as the speed of the host allows, so that a failure is
    /// caused by a change.
    Deterministic,
    /// Other inputs each time.
    Random,
}

/// Builds and runs one fuzzer, or all that compile quickly.
pub(crate) fn fuzz(only: Option<&str>, seconds: u32, inputs: InputMode) -> Result<()> {
    if let Some(reason) = missing_requirement() {
        eprintln!("skipped the fuzzers: {reason}");
        return Ok(());
    }
    let selection = match only {
        None => vec!["--bins"],
        Some(SLOW_FUZZER) => vec!["--bin", SLOW_FUZZER, "--features", SLOW_FUZZER],
        Some(name) => vec!["--bin", name],
    };
    build_fuzzers(&selection)?
        .iter()
        .try_for_each(|fuzzer| fuzzer.run(seconds, inputs))
}

/// Returns the reason why the fuzzers cannot be built, if any.
fn missing_requirement() -> Option<String> {
    if !cfg!(any(target_os = "linux", target_os = "macos")) {
        return Some("they can be built on Linux and macOS only".to_owned());
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let is_installed = output(Command::new(&compiler).arg("--version")).is_ok();
    (!is_installed).then(|| {
        format!("C++ compiler `{compiler}` not found (package g++); it compiles libFuzzer")
    })
}

struct Fuzzer {
    name: String,
    program: PathBuf,
}

fn build_fuzzers(selection: &[&str]) -> Result<Vec<Fuzzer>> {
    // With an explicit target the flags do not apply to build scripts and macros, which would not
    // link with them.
    let version = output(
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .arg("-vV")
            .current_dir(workspace_dir()),
    )?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc printed no host")?;
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
        .args(selection)
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE_FLAGS.join("\u{1f}"))
        // The fuzzers are another workspace, which would have a target directory of its own.
        .env("CARGO_TARGET_DIR", target_dir()?);
    run(&mut build)?;
    // The first call shows errors of the compiler, and this one lists what was built.
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
    // cargo lists them in the order in which they were finished.
    fuzzers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(fuzzers)
}

impl Fuzzer {
    /// Runs all seeds, and then inputs generated from them.
    fn run(&self, seconds: u32, inputs: InputMode) -> Result<()> {
        let seeds = workspace_dir().join("fuzz/corpus").join(&self.name);
        let seed_count = fs::read_dir(&seeds)
            .with_context(|| format!("no seeds in {}", seeds.display()))?
            .count();
        let findings = target_dir()?.join(FINDINGS_DIR).join(&self.name);
        // libFuzzer does not create it.
        fs::create_dir_all(&findings)?;
        let generated = tempfile::tempdir()?;
        let output = self
            .limited_command(generated.path(), &seeds, &findings, seconds, inputs)
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let runs = text.lines().rev().find_map(|line| {
            line.strip_prefix("Done ")?
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        });
        // Fewer inputs than seeds: it stopped before it had run all of them.
        match runs.filter(|runs| output.status.success() && *runs >= seed_count) {
            Some(runs) => eprintln!(
                "fuzz {}: {runs} inputs, {seed_count} of them seeds, no findings",
                self.name
            ),
            None => bail!(self.describe_failure(&output, &findings)),
        }
        Ok(())
    }

    /// Returns a command with limited address space. A shell sets the limit, since this crate has
    /// no unsafe code.
    fn limited_command(
        &self,
        generated: &Path,
        seeds: &Path,
        findings: &Path,
        seconds: u32,
        inputs: InputMode,
    ) -> Command {
        let mut command = Command::new("sh");
        // Other systems do not enforce this limit.
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
            // libFuzzer writes new inputs into the first directory, so the seeds stay as they are.
            .arg(generated)
            .arg(seeds);
        command
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg(format!("-max_total_time={seconds}"));
        command
            .arg(format!("-rss_limit_mb={MAX_RESIDENT_MIB}"))
            .arg(format!("-timeout={MAX_INPUT_SECONDS}"));
        command.arg(format!("-max_len={MAX_INPUT_BYTES}"));
        // Only the end of the output is shown. With a backtrace it would not contain the panic
        // message.
        command.env("RUST_BACKTRACE", "0");
        if inputs == InputMode::Deterministic {
            command.arg("-seed=1");
        }
        command
    }

    /// Describes a failure: the exit status, the end of the output, and how to repeat it.
    fn describe_failure(&self, output: &Output, findings: &Path) -> String {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(40)..].join("\n");
        let Self { name, program } = self;
        format!(
            "fuzzer `{name}` failed with {}\n{tail}\n\nfindings: {}\nhelp: `{} FILE` runs one again; add it to `fuzz/corpus/{name}` with the fix",
            output.status,
            findings.display(),
            program.display(),
        )
    }
}

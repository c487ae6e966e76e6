//! Small runs of the command, as whole processes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{COMMAND_PACKAGE, Row, compare_starts, start, time_start, write_skill};
use crate::command::build_executable;

const LISTED_SKILLS: usize = 1_000;
/// Skills of which one has a WebAssembly module.
const EXAMPLES: &str = "examples/skills";
const MODULE: &str = "csv-check";
const MODULE_INPUT: &str = r#"{"csv": "a,b\n1,2\n"}"#;

/// Measures the processor time of the release command, each time beside a plain program that does the
/// part of the work that cannot be avoided, or that is as small.
pub(super) fn measure() -> Result<Vec<Row>> {
    let skills = build_executable(&["--release", "--package", COMMAND_PACKAGE])?;
    let directory = tempfile::tempdir()?;
    let home = directory.path().join("home");
    let single = directory.path().join("single");
    let many = directory.path().join("many");
    fs::create_dir(&home)?;
    let script = write_skill(&single, "hello")?.join("scripts/main.py");
    fs::create_dir(script.parent().context("a script has a directory")?)?;
    fs::write(&script, "print('hello')\n")?;
    let mut manifests = Vec::new();
    for index in 0..LISTED_SKILLS {
        manifests.push(write_skill(&many, &format!("skill-{index}"))?.join("SKILL.md"));
    }
    // In an empty home directory, so that neither settings nor skills of the user count.
    let start = |program: &Path, arguments: &[&str]| {
        let mut command = start(program, &home);
        command.args(arguments).env("HOME", &home);
        command
    };
    let examples = fs::canonicalize(EXAMPLES)?;
    let mut python = start(Path::new("python3"), &[]);
    let mut cat = start(Path::new("cat"), &[]);
    python.arg(&script);
    cat.args(manifests);
    let mut list = start(&skills, &["list", "--root"]);
    let mut run_script = start(&skills, &["run", "hello", "--root"]);
    let mut run_component = start(&skills, &["run", MODULE, "--input", MODULE_INPUT, "--root"]);
    list.arg(&many);
    run_script.arg(&single);
    run_component.arg(&examples);
    let bash = || start(Path::new("bash"), &["--version"]);
    let mut version = start(&skills, &["--version"]);
    let time = processor_time;
    Ok(vec![
        compare_starts("--version, beside `bash`", &mut version, &mut bash(), time)?,
        compare_starts("run, beside `python3`", &mut run_script, &mut python, time)?,
        compare_starts(
            "run of WebAssembly, beside `bash`",
            &mut run_component,
            &mut bash(),
            time,
        )?,
        compare_starts("list of 1000, beside `cat`", &mut list, &mut cat, time)?,
    ])
}

/// Runs a command and returns its processor time, with that of the processes that it waited for. Other
/// processes of a shared machine change it less than the time that passes.
fn processor_time(command: &mut Command) -> Result<Duration> {
    let before = children_time()?;
    let elapsed = time_start(command)?;
    let after = children_time()?;
    Ok(match (before, after) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => elapsed,
    })
}

/// Returns the processor time of all processes that this one waited for; `None` if the system does not
/// tell.
#[cfg(unix)]
fn children_time() -> Result<Option<Duration>> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let used = usage.user_time() + usage.system_time();
    let used = u64::try_from(used.num_microseconds())?;
    Ok(Some(Duration::from_micros(used)))
}

#[cfg(not(unix))]
fn children_time() -> Result<Option<Duration>> {
    Ok(None)
}

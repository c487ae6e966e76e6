//! Runs all tests; as root, repeats the system tests as an unprivileged user. Then lists skipped
//! tests, or the failed ones.

mod failures;
mod unprivileged;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use skills_test_support::RECORD;

use crate::command::{cargo, output, run, target_dir};
use crate::guests::{GuestMode, guests};
use crate::image::Engine;
use crate::skips::{self, Skips, Strictness, User};
use failures::{FailedTest, TestOutput};

pub(crate) use unprivileged::test_package as test_unprivileged_package;

/// Runs the tests; fails on unexpected skips if strict, and always in CI.
pub(crate) fn test(strictness: Strictness) -> Result<()> {
    let is_ci = std::env::var_os("CI").is_some();
    // In CI artifacts are not updated, so a changed guest must have been committed with its
    // artifact.
    guests(if is_ci {
        GuestMode::Check
    } else {
        GuestMode::Update
    })?;
    let directory = target_dir()?.join("test-skips");
    if directory.exists() {
        // Tests append to the files in it.
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let user = if is_root() {
        User::Root
    } else {
        User::Unprivileged
    };
    let file = directory.join(format!("{user}.txt"));
    let mut failed = run_all(&file)?;
    let mut runs = vec![Skips::read(user, &file)?];
    if user == User::Root {
        if unprivileged::is_available() {
            let file = directory.join(format!("{}.txt", User::Unprivileged));
            failed.extend(unprivileged::test_all(&file)?);
            runs.push(Skips::read(User::Unprivileged, &file)?);
        } else {
            runs[0].add("xtask unprivileged: `setpriv` is not installed (package util-linux)");
        }
    }
    failures::report(&failed)?;
    skips::report(&runs, if is_ci { Strictness::Fail } else { strictness })
}

/// Runs the tests of all crates, with a container engine if this host can have one, and returns those
/// that failed.
fn run_all(skips: &Path) -> Result<Vec<FailedTest>> {
    let arguments = ["test", "--workspace", "--locked"];
    // The output of the tests is read, which would hide the progress of the compiler.
    run(cargo(&arguments).arg("--no-run"))?;
    let mut tests = cargo(&arguments);
    // A snapshot that differs must fail and not be replaced.
    tests
        .arg("--no-fail-fast")
        .env("INSTA_UPDATE", "no")
        .env(RECORD, skips);
    let engine = Engine::start()
        .inspect_err(|reason| eprintln!("no container engine for tests: {reason:#}"))
        .ok();
    tests.envs(engine.iter().flat_map(Engine::variables));
    let output = TestOutput::of(&mut tests)?;
    let failed = output.failed_in_cargo();
    if failed.is_empty() && !output.status.success() {
        bail!("cannot run the tests: cargo ended with {}", output.status);
    }
    Ok(failed)
}

fn is_root() -> bool {
    // By a program, since the system call needs unsafe code, which this crate does not have.
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

//! Runs all tests; as root, repeats the system tests as an unprivileged user. Then lists skipped
//! tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use skills_test_support::RECORD;

use crate::command::{cargo, output, run, target_dir, workspace_dir};
use crate::guests::{GuestMode, guests};
use crate::image::Engine;
use crate::skips::{self, Skips, Strictness, User};

/// The crates whose behavior depends on the user.
const SYSTEM_TEST_CRATES: [&str; 9] = [
    "skills-audit",
    "skills-discovery",
    "skills-process",
    "skills-sandbox-linux",
    "skills-sandbox-wasm",
    "skills-runtime",
    "skills-tools",
    "skills-mcp",
    "skills-cli",
];
const UNPRIVILEGED_UID: u32 = 65_534;

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
    run_all(&file)?;
    let mut runs = vec![Skips::read(user, &file)?];
    if user == User::Root {
        if output(Command::new("setpriv").arg("--version")).is_ok() {
            let file = directory.join(format!("{}.txt", User::Unprivileged));
            test_unprivileged(&file)?;
            runs.push(Skips::read(User::Unprivileged, &file)?);
        } else {
            runs[0].add("xtask unprivileged: `setpriv` is not installed (package util-linux)");
        }
    }
    skips::report(&runs, if is_ci { Strictness::Fail } else { strictness })
}

/// Runs the tests of all crates, with a container engine if this host can have one.
fn run_all(skips: &Path) -> Result<()> {
    let mut tests = cargo(&["test", "--workspace", "--locked"]);
    // A snapshot that differs must fail and not be replaced.
    tests.env("INSTA_UPDATE", "no").env(RECORD, skips);
    let engine = Engine::start()
        .inspect_err(|reason| eprintln!("no container engine for tests: {reason:#}"))
        .ok();
    tests.envs(engine.iter().flat_map(Engine::variables));
    run(&mut tests)
}

fn is_root() -> bool {
    // By a program, since the system call needs unsafe code, which this crate does not have.
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Runs the system tests again as an unprivileged user: copies the test programs to a directory
/// that this user can read, and writes skips to a file.
fn test_unprivileged(skips: &Path) -> Result<()> {
    let stage = tempfile::Builder::new()
        .prefix("skills-test-")
        // The temporary directory of root may be inaccessible to other users.
        .tempdir_in("/tmp")?;
    let tree = stage.path().join("tree");
    let home = stage.path().join("home");
    // Only its owner can enter a new temporary directory.
    run(Command::new("chmod").arg("0755").arg(stage.path()))?;
    copy_tree(&tree)?;
    fs::create_dir(&home)?;
    run(Command::new("chown")
        .arg(format!("{UNPRIVILEGED_UID}:{UNPRIVILEGED_UID}"))
        .arg(&home))?;
    let binary = stage.path().join("skills");
    let record = home.join("skips");
    let (commands, tests): (Vec<PathBuf>, Vec<PathBuf>) = test_executables()?
        .into_iter()
        .partition(|path| path.ends_with("skills"));
    ensure!(
        // A program that cargo did not list would be a test that never runs.
        commands.len() == 1 && tests.len() == SYSTEM_TEST_CRATES.len(),
        "cargo built {commands:?} and {tests:?}"
    );
    fs::copy(&commands[0], &binary)?;
    for (index, artifact) in tests.into_iter().enumerate() {
        let copy = stage.path().join(format!("test-{index}"));
        fs::copy(&artifact, &copy)?;
        let ids = [
            format!("--reuid={UNPRIVILEGED_UID}"),
            format!("--regid={UNPRIVILEGED_UID}"),
        ];
        // Neither groups nor capabilities of root remain.
        let mut command = Command::new("setpriv");
        command
            .args(ids)
            .args(["--clear-groups", "--inh-caps=-all", "--"])
            .arg(&copy);
        command
            .current_dir(&tree)
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .env("INSTA_UPDATE", "no");
        command.env(RECORD, &record);
        command
            .env("INSTA_WORKSPACE_ROOT", &tree)
            .env("SKILLS_TEST_TREE", &tree)
            .env("SKILLS_TEST_BINARY", &binary);
        run(&mut command)?;
    }
    if record.exists() {
        // The unprivileged user can write to its home only.
        fs::copy(&record, skips)?;
    }
    Ok(())
}

/// Copies the files of the project that are under version control or could be.
fn copy_tree(to: &Path) -> Result<()> {
    let files = output(Command::new("git").current_dir(workspace_dir()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in files.split_terminator('\0') {
        let from = workspace_dir().join(file);
        let to = to.join(file);
        // A deleted file is listed until the deletion is staged.
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file has a directory")?)?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Returns the integration tests and the `skills` command, which were built before.
fn test_executables() -> Result<Vec<PathBuf>> {
    let mut command = cargo(&[
        "test",
        "--locked",
        "--no-run",
        "--test",
        "it",
        "--bin",
        "skills",
        "--message-format=json",
        "--quiet",
    ]);
    for name in SYSTEM_TEST_CRATES {
        command.args(["--package", name]);
    }
    let mut paths = Vec::new();
    for line in output(&mut command)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let kind = message["target"]["kind"][0].as_str();
        let is_selected =
            kind == Some("test") || (kind == Some("bin") && message["profile"]["test"] == false);
        if let (true, Some(path)) = (is_selected, message["executable"].as_str()) {
            paths.push(PathBuf::from(path));
        }
    }
    Ok(paths)
}

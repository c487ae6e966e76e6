//! Runs all tests; as root, those that touch the system once more as nobody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::{cargo, output, run, workspace};
use crate::guests::{Mode, guests};

/// The crates whose behaviour depends on who the user is.
const TOUCH_THE_SYSTEM: [&str; 9] = [
    "skills-audit",
    "skills-discovery",
    "skills-sandbox",
    "skills-sandbox-linux",
    "skills-sandbox-wasm",
    "skills-runtime",
    "skills-tools",
    "skills-mcp",
    "skills-cli",
];
const NOBODY: u32 = 65_534;

pub(crate) fn test() -> Result<()> {
    // In CI a guest whose sources changed must have come with its artifact, so nothing is put in place there.
    guests(if std::env::var_os("CI").is_some() { Mode::Check } else { Mode::Update })?;
    run(cargo(&["test", "--workspace", "--locked"]).env("INSTA_UPDATE", "no"))?;
    if is_root() { unprivileged() } else { Ok(()) }
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Users are not root: copies the test programs to where nobody can read them and runs them there as nobody.
fn unprivileged() -> Result<()> {
    if output(Command::new("setpriv").arg("--version")).is_err() {
        eprintln!("skipped the tests as an unprivileged user: no `setpriv` (package util-linux)");
        return Ok(());
    }
    let stage = tempfile::Builder::new().prefix("skills-test-").tempdir_in("/tmp")?;
    let (tree, home) = (stage.path().join("tree"), stage.path().join("home"));
    run(Command::new("chmod").arg("0755").arg(stage.path()))?;
    copy_tree(&tree)?;
    fs::create_dir(&home)?;
    run(Command::new("chown").arg(format!("{NOBODY}:{NOBODY}")).arg(&home))?;
    let binary = stage.path().join("skills");
    let (commands, tests): (Vec<PathBuf>, Vec<PathBuf>) = artifacts()?.into_iter().partition(|path| path.ends_with("skills"));
    ensure!(commands.len() == 1 && tests.len() == TOUCH_THE_SYSTEM.len(), "cargo built {commands:?} and {tests:?}");
    fs::copy(&commands[0], &binary)?;
    for (index, artifact) in tests.into_iter().enumerate() {
        let copy = stage.path().join(format!("test-{index}"));
        fs::copy(&artifact, &copy)?;
        let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        let mut command = Command::new("setpriv");
        command.args(ids).args(["--clear-groups", "--inh-caps=-all", "--"]).arg(&copy);
        command.current_dir(&tree).env("HOME", &home).env("TMPDIR", &home).env("INSTA_UPDATE", "no");
        command.env("INSTA_WORKSPACE_ROOT", &tree).env("SKILLS_TEST_TREE", &tree).env("SKILLS_TEST_BINARY", &binary);
        run(&mut command)?;
    }
    Ok(())
}

/// Copies the files of the project, as the version control knows them.
fn copy_tree(to: &Path) -> Result<()> {
    let files =
        output(Command::new("git").current_dir(workspace()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    for file in files.split_terminator('\0') {
        let (from, to) = (workspace().join(file), to.join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file has a directory")?)?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Lists the integration tests and the `skills` command, which were built before.
fn artifacts() -> Result<Vec<PathBuf>> {
    let mut command = cargo(&["test", "--locked", "--no-run", "--test", "it", "--bin", "skills", "--message-format=json", "--quiet"]);
    for name in TOUCH_THE_SYSTEM {
        command.args(["--package", name]);
    }
    let mut paths = Vec::new();
    for line in output(&mut command)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let kind = message["target"]["kind"][0].as_str();
        let is_wanted = kind == Some("test") || (kind == Some("bin") && message["profile"]["test"] == false);
        if let (true, Some(path)) = (is_wanted, message["executable"].as_str()) {
            paths.push(PathBuf::from(path));
        }
    }
    Ok(paths)
}

//! Runs tests as an unprivileged user, who may not be able to enter the directory of the clone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use skills_test_support::{RECORD, SOURCE_TREE};
use tempfile::TempDir;

use super::failures::{self, FailedTest, TestOutput, TestProgram};
use crate::command::{cargo, output, run, versioned_files, workspace_dir};

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

/// Returns whether the program that changes the user is installed.
pub(super) fn is_available() -> bool {
    output(Command::new("setpriv").arg("--version")).is_ok()
}

/// Runs the system tests, writes skips to a file, and returns the tests that failed.
pub(super) fn test_all(skips: &Path) -> Result<Vec<FailedTest>> {
    let stage = Stage::create(&workspace_dir())?;
    let failed = run_packages(&stage, &SYSTEM_TEST_CRATES, &[])?;
    let record = stage.record();
    if record.exists() {
        // The unprivileged user can write to its home only.
        fs::copy(&record, skips)?;
    }
    Ok(failed)
}

/// Runs the system tests of one package, with arguments of the test program, such as names of tests.
pub(crate) fn test_package(package: &str, arguments: &[String]) -> Result<()> {
    ensure!(
        SYSTEM_TEST_CRATES.contains(&package),
        "cannot run the tests of `{package}` as an unprivileged user: only those of {}",
        SYSTEM_TEST_CRATES.join(", ")
    );
    let stage = Stage::create(&workspace_dir())?;
    failures::report(&run_packages(&stage, &[package], arguments)?)
}

fn run_packages(stage: &Stage, packages: &[&str], arguments: &[String]) -> Result<Vec<FailedTest>> {
    let Executables { command, tests } = build(packages)?;
    fs::copy(command, stage.skills_command())?;
    let mut failed = Vec::new();
    for (package, program) in tests {
        let mut command = stage.command(&package, &program)?;
        let output = TestOutput::of(command.args(arguments))?;
        failed.extend(output.failed_in(&TestProgram::Unprivileged(package)));
    }
    Ok(failed)
}

/// A directory that an unprivileged user can read: copies of the source tree and of programs, and a
/// home directory. Tests get everything from it.
struct Stage {
    directory: TempDir,
}

impl Stage {
    /// Copies the files of a clone.
    fn create(clone: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("skills-test-")
            // The temporary directory of root may be inaccessible to other users.
            .tempdir_in("/tmp")?;
        let stage = Self { directory };
        // Whatever the file mode creation mask of root is.
        run(Command::new("chmod").arg("0755").arg(stage.path()))?;
        copy_tree(clone, &stage.tree())?;
        fs::create_dir(stage.home())?;
        run(Command::new("chown")
            .arg(format!("{UNPRIVILEGED_UID}:{UNPRIVILEGED_UID}"))
            .arg(stage.home()))?;
        Ok(stage)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn tree(&self) -> PathBuf {
        self.path().join("tree")
    }

    fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    fn skills_command(&self) -> PathBuf {
        self.path().join("skills")
    }

    /// Returns the file with the skips.
    fn record(&self) -> PathBuf {
        self.home().join("skips")
    }

    /// Copies a test program and returns the command that runs it as the unprivileged user.
    fn command(&self, name: &str, program: &Path) -> Result<Command> {
        let copy = self.path().join(format!("test-{name}"));
        fs::copy(program, &copy)?;
        let ids = [
            format!("--reuid={UNPRIVILEGED_UID}"),
            format!("--regid={UNPRIVILEGED_UID}"),
        ];
        let mut command = Command::new("setpriv");
        // Neither groups nor capabilities of root remain.
        command
            .args(ids)
            .args(["--clear-groups", "--inh-caps=-all", "--"])
            .arg(copy);
        // Cargo described the clone to this program.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("CARGO") {
                command.env_remove(variable);
            }
        }
        command
            .current_dir(self.tree())
            .env("HOME", self.home())
            .env("TMPDIR", self.home())
            .env("INSTA_UPDATE", "no")
            .env("INSTA_WORKSPACE_ROOT", self.tree())
            .env(RECORD, self.record())
            .env(SOURCE_TREE, self.tree())
            .env("SKILLS_TEST_BINARY", self.skills_command());
        Ok(command)
    }
}

/// Copies the files of a clone that are under version control or could be.
fn copy_tree(clone: &Path, to: &Path) -> Result<()> {
    let files = versioned_files(clone)?;
    for file in files.split_terminator('\0') {
        let from = clone.join(file);
        let to = to.join(file);
        // A deleted file is listed until the deletion is staged.
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file has a directory")?)?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// The `skills` command, and the integration tests with the names of their packages.
struct Executables {
    command: PathBuf,
    tests: Vec<(String, PathBuf)>,
}

/// Builds the integration tests of packages, and the `skills` command.
fn build(packages: &[&str]) -> Result<Executables> {
    let mut cargo = cargo(&[
        "test",
        "--locked",
        "--no-run",
        "--test",
        "it",
        "--bin",
        "skills",
        "--message-format=json",
        "--quiet",
        "--package",
        "skills-cli",
    ]);
    for name in packages {
        cargo.args(["--package", name]);
    }
    let mut command = None;
    let mut tests = Vec::new();
    for line in output(&mut cargo)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let Some(path) = message["executable"].as_str().map(PathBuf::from) else {
            continue;
        };
        let package = package_name(&message)?;
        match message["target"]["kind"][0].as_str() {
            Some("bin") if message["profile"]["test"] == false => command = Some(path),
            Some("test") if packages.contains(&package.as_str()) => tests.push((package, path)),
            _ => {}
        }
    }
    ensure!(
        // A program that cargo did not list would be a test that never runs.
        tests.len() == packages.len(),
        "cargo built {tests:?} for {packages:?}"
    );
    Ok(Executables {
        command: command.context("cargo built no `skills` command")?,
        tests,
    })
}

/// Returns the name of the package in a message of cargo, which names the file of its manifest.
fn package_name(message: &serde_json::Value) -> Result<String> {
    let manifest = message["manifest_path"].as_str().map(Path::new);
    manifest
        .and_then(Path::parent)
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned())
        .context("cargo named no manifest")
}

#[cfg(test)]
mod tests {
    use skills_test_support::{host_process, skip, source_tree};

    use super::*;

    const TEST: &str = "test::unprivileged::tests::tests_read_a_clone_that_their_user_cannot_enter";
    const DATA: &str = "crates/a/tests/certificate.pem";

    #[test]
    fn tests_read_a_clone_that_their_user_cannot_enter() {
        if let Some(clone) = host_process::task() {
            return as_unprivileged_user(Path::new(&clone));
        }
        if !super::super::is_root() || !is_available() {
            return skip("only root starts tests as another user, with `setpriv`");
        }
        // Like the home directory of root.
        let private = tempfile::tempdir().unwrap();
        output(Command::new("chmod").arg("0700").arg(private.path())).unwrap();
        let clone = private.path().join("clone");
        fs::create_dir_all(clone.join(DATA).parent().unwrap()).unwrap();
        fs::write(clone.join(DATA), "certificate").unwrap();
        output(Command::new("git").arg("init").arg(&clone)).unwrap();

        let stage = Stage::create(&clone).unwrap();
        let mut command = stage
            .command("xtask", &std::env::current_exe().unwrap())
            .unwrap();
        let task = host_process::command(TEST, clone.to_str().unwrap());
        command.args(task.get_args());
        command.envs(
            task.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let output = TestOutput::of(&mut command).unwrap();
        assert_eq!(
            output.failed_in(&TestProgram::Unprivileged("xtask".to_owned())),
            []
        );
        assert_eq!(fs::read_to_string(stage.record()).unwrap(), "read\n");
    }

    fn as_unprivileged_user(clone: &Path) {
        let error = fs::read(clone.join(DATA)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        let found = fs::read_to_string(source_tree().join(DATA)).unwrap();
        assert_eq!(found, "certificate");
        assert_eq!(std::env::var_os("CARGO_MANIFEST_DIR"), None);
        // Shows that this ran.
        fs::write(std::env::var_os(RECORD).unwrap(), "read\n").unwrap();
    }

    #[test]
    fn a_package_without_system_tests_is_rejected() {
        let error = test_package("skills-lint", &[]).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "cannot run the tests of `skills-lint` as an unprivileged user: only those of \
                 skills-audit, "
            ),
            "{error}"
        );
    }
}

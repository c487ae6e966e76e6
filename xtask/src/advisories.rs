//! Checks the dependencies against a local copy of the RustSec advisory database.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{output, run, workspace_dir};

/// The database of `deny.toml`.
const DATABASE_URL: &str = "https://github.com/RustSec/advisory-db";
/// The branch that cargo-deny reads.
const DATABASE_BRANCH: &str = "main";

/// Checks each lock file of the project against `database`, a git repository with or without a work
/// tree. Prints the date of its newest commit, and uses no network.
pub(crate) fn advisories(database: &Path) -> Result<()> {
    let check = Check {
        program: "cargo-deny".into(),
        root: workspace_dir(),
        database: std::path::absolute(database)?,
    };
    if let Some(reason) = check.missing_requirement() {
        eprintln!("skipped the advisories: {reason}");
        return Ok(());
    }
    println!(
        "newest commit of the advisory database: {}",
        check.newest_commit()?
    );
    check.run()
}

struct Check {
    /// The cargo-deny program.
    program: PathBuf,
    /// A git repository with lock files, and the configuration at its root.
    root: PathBuf,
    /// The absolute path of a copy of the database.
    database: PathBuf,
}

impl Check {
    /// Returns the reason why nothing can be checked, if any.
    fn missing_requirement(&self) -> Option<String> {
        if !self.database.is_dir() {
            let database = self.database.display();
            return Some(format!(
                "no directory `{database}` (git clone {DATABASE_URL} {database})"
            ));
        }
        let is_installed = output(Command::new(&self.program).arg("--version")).is_ok();
        (!is_installed)
            .then(|| "cargo-deny not installed (cargo install cargo-deny --locked)".to_owned())
    }

    /// Returns the date of the newest commit of the database: `2025-02-24`.
    fn newest_commit(&self) -> Result<String> {
        let show = ["show", "--no-patch", "--format=%cs", DATABASE_BRANCH, "--"];
        let date = output(Command::new("git").arg("-C").arg(&self.database).args(show));
        Ok(date
            .with_context(|| {
                format!(
                    "cannot read the advisory database `{}`\nhelp: git clone {DATABASE_URL} DIR",
                    self.database.display()
                )
            })?
            .trim()
            .to_owned())
    }

    /// Checks all lock files, so that one run shows all advisories.
    fn run(&self) -> Result<()> {
        // cargo-deny chooses the names below this directory and writes to it.
        let copies = tempfile::tempdir()?;
        run(self
            .cargo_deny(copies.path())
            .args(["fetch", "db"])
            // cargo-deny takes no directory, so git replaces the address.
            .env("GIT_CONFIG_COUNT", "1")
            .env(
                "GIT_CONFIG_KEY_0",
                format!("url.{}.insteadOf", self.database.display()),
            )
            .env("GIT_CONFIG_VALUE_0", DATABASE_URL)
            .env("GIT_ALLOW_PROTOCOL", "file"))?;
        let mut failed = Vec::new();
        for manifest in self.manifests()? {
            let checked = run(self.cargo_deny(copies.path()).args([
                "--manifest-path",
                &manifest,
                "check",
                "advisories",
            ]));
            if checked.is_err() {
                failed.push(manifest);
            }
        }
        if !failed.is_empty() {
            bail!(
                "advisories, or crates that were never downloaded: {}\nhelp: download the crates \
                 with `cargo fetch --locked --manifest-path MANIFEST`",
                failed.join(", ")
            );
        }
        Ok(())
    }

    fn cargo_deny(&self, copies: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.root)
            .args(["--offline", "--locked", "--config", "deny.toml"])
            // Named by `deny.toml`.
            .env("ADVISORY_DBS", copies);
        command
    }

    /// Returns the manifest beside each lock file: guests and fuzzers are workspaces of their own.
    fn manifests(&self) -> Result<Vec<String>> {
        let list = ["ls-files", "-z", "--", ":(glob)**/Cargo.lock"];
        let files = output(Command::new("git").current_dir(&self.root).args(list))?;
        Ok(files
            .split_terminator('\0')
            .filter_map(|file| file.strip_suffix(".lock"))
            .map(|file| format!("{file}.toml"))
            .collect())
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Fetches as cargo-deny does, and finds an advisory in the fuzzers.
    const CARGO_DENY: &str = r#"#!/bin/sh
echo "$*" >>"$0.log"
case "$*" in
*"fetch db") exec git clone --quiet --depth=1 --branch main \
    https://github.com/RustSec/advisory-db "$ADVISORY_DBS/advisory-db" ;;
*fuzz/*) exit 1 ;;
*" check "*) test -f "$ADVISORY_DBS/advisory-db/advisory.md" ;;
esac
"#;

    fn git(directory: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(directory)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_COMMITTER_DATE", "2020-02-29T12:00:00Z");
        output(&mut command).unwrap();
    }

    fn repository(directory: &Path, files: &[&str]) {
        fs::create_dir(directory).unwrap();
        git(directory, &["init", "--quiet", "--initial-branch=main"]);
        for file in files {
            let path = directory.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        git(directory, &["add", "."]);
        git(directory, &["commit", "--quiet", "--message=a"]);
    }

    #[test]
    fn every_lock_file_is_checked_against_the_local_copy() {
        let directory = tempfile::tempdir().unwrap();
        let check = Check {
            program: directory.path().join("cargo-deny"),
            root: directory.path().join("project"),
            database: directory.path().join("a copy"),
        };
        let reason = check.missing_requirement().unwrap();
        assert!(reason.starts_with("no directory `"), "{reason}");
        assert!(reason.contains("/a copy`"), "{reason}");

        fs::create_dir(&check.database).unwrap();
        let reason = check.missing_requirement().unwrap();
        assert!(reason.starts_with("cargo-deny not installed"), "{reason}");
        let error = check.newest_commit().unwrap_err().to_string();
        assert!(error.contains("\nhelp: git clone "), "{error}");
        fs::remove_dir(&check.database).unwrap();

        fs::write(&check.program, CARGO_DENY).unwrap();
        fs::set_permissions(&check.program, fs::Permissions::from_mode(0o755)).unwrap();
        repository(&check.database, &["advisory.md"]);
        repository(
            &check.root,
            &["Cargo.lock", "a/guest/Cargo.lock", "fuzz/Cargo.lock"],
        );
        assert_eq!(check.missing_requirement(), None);
        assert_eq!(check.newest_commit().unwrap(), "2020-02-29");

        let error = check.run().unwrap_err().to_string();
        assert!(
            error
                .starts_with("advisories, or crates that were never downloaded: fuzz/Cargo.toml\n"),
            "{error}"
        );
        let log = fs::read_to_string(directory.path().join("cargo-deny.log")).unwrap();
        assert_eq!(
            log.replace("--offline --locked --config deny.toml ", ""),
            "--version\n\
             fetch db\n\
             --manifest-path Cargo.toml check advisories\n\
             --manifest-path a/guest/Cargo.toml check advisories\n\
             --manifest-path fuzz/Cargo.toml check advisories\n"
        );
    }
}

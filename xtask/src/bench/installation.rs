//! The commands that install skills, as whole processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{COMMAND_PACKAGE, Row, compare_starts, time_start, write_skill};
use crate::command::build_executable;

const SKILLS: usize = 1_000;
/// Measured installations, each beside a fetch.
const ROUNDS: usize = 9;
/// The files of a skill.
const FILES: [&str; 3] = ["SKILL.md", "scripts/main.py", "references/guide.md"];
/// Sizes of the files of a skill, in bytes.
const SKILL_FILE_BYTES: usize = 4 << 10;
const SCRIPT_BYTES: usize = 2 << 10;
const REFERENCE_BYTES: usize = 10 << 10;
/// A line of each file, after words that only this file has.
const LINE: &str = "Each page of the report has a table, and each table has a caption below it.\n";

/// Measures `verify` beside `sha256sum` of the same files, and `add` beside `git fetch` of the same
/// commit.
pub(super) fn measure() -> Result<Vec<Row>> {
    // The command that is measured needs no WebAssembly, whose compiler takes most of the build.
    let skills = build_executable(&[
        "--profile",
        "bench",
        "--package",
        COMMAND_PACKAGE,
        "--no-default-features",
        "--features",
        "install",
    ])?;
    let directory = tempfile::tempdir()?;
    let place = Place::new(&skills, directory.path())?;
    Ok(vec![place.measure_add()?, place.measure_verify()?])
}

/// A repository with skills, and a home directory.
struct Place {
    skills: PathBuf,
    home: PathBuf,
    repository: PathBuf,
    installed: PathBuf,
    fetched: PathBuf,
}

impl Place {
    fn new(skills: &Path, directory: &Path) -> Result<Self> {
        let place = Self {
            skills: skills.to_owned(),
            home: directory.join("home"),
            repository: directory.join("repository"),
            installed: directory.join("installed"),
            fetched: directory.join("fetched"),
        };
        fs::create_dir(&place.home)?;
        for index in 0..SKILLS {
            write_content(
                &write_skill(&place.repository, &format!("skill-{index}"))?,
                index,
            )?;
        }
        let repository = &place.repository;
        for arguments in [
            &["init", "--quiet"][..],
            // As the servers of repositories are configured.
            &["config", "uploadpack.allowFilter", "true"],
            &["config", "uploadpack.allowAnySHA1InWant", "true"],
            &["add", "--all"],
            &[
                "-c",
                "user.name=n",
                "-c",
                "user.email=e@x.example",
                "commit",
                "--quiet",
                "-m",
                "skills",
            ],
        ] {
            let status = place.git(repository, arguments).status()?;
            ensure!(status.success(), "git {arguments:?} ended with {status}");
        }
        Ok(place)
    }

    /// Measures each round in new directories: a file system can spend seconds on names that were just
    /// removed. The last round leaves the skills that are verified.
    fn measure_add(&self) -> Result<Row> {
        let repository = self.repository.display();
        let (mut added, mut fetched) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let directory = self.fetched.join(round.to_string());
            fs::create_dir_all(&directory)?;
            let init = self
                .git(&directory, &["init", "--bare", "--quiet"])
                .status()?;
            ensure!(init.success(), "git init ended with {init}");
            let url = format!("file://{repository}");
            let fetch = ["fetch", "--quiet", "--depth=1", &url, "HEAD"];
            let floor = time_start(&mut self.git(&directory, &fetch))?;
            let mut add = self.start(&self.skills, &self.home);
            add.args(["add", &format!("git+{repository}"), "--yes", "--to"]);
            let time = time_start(add.arg(self.installed(round)))?;
            // The first round fills the caches of the system.
            if round > 0 {
                fetched.push(floor);
                added.push(time);
            }
        }
        Ok(Row::new("add of 1000, beside `git fetch`", added, fetched))
    }

    fn measure_verify(&self) -> Result<Row> {
        let installed = self.installed(ROUNDS);
        let mut digests = self.start(Path::new("sha256sum"), &self.home);
        for index in 0..SKILLS {
            let skill = installed.join(format!("skill-{index}"));
            digests.args(FILES.map(|file| skill.join(file)));
        }
        let mut verify = self.start(&self.skills, &self.home);
        verify.args(["verify", "--in"]).arg(&installed);
        compare_starts(
            "verify of 1000, beside `sha256sum`",
            &mut verify,
            &mut digests,
            time_start,
        )
    }

    fn installed(&self, round: usize) -> PathBuf {
        self.installed.join(round.to_string())
    }

    fn git(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.start(Path::new("git"), directory);
        command.args(arguments);
        command
    }

    fn start(&self, program: &Path, directory: &Path) -> Command {
        let mut command = super::start(program, directory);
        command.env("HOME", &self.home);
        command.stderr(std::process::Stdio::null());
        command
    }
}

/// Adds files of about the size that skills have.
fn write_content(skill: &Path, index: usize) -> Result<()> {
    let text = |bytes: usize, what: &str| {
        let line = format!("{what} {index}: {LINE}");
        line.repeat(bytes / line.len())
    };
    let body = fs::read_to_string(skill.join("SKILL.md"))?;
    let body = format!("{body}{}", text(SKILL_FILE_BYTES, ""));
    fs::write(skill.join("SKILL.md"), body)?;
    let [_, script, reference] = FILES;
    for (path, content) in [
        (script, text(SCRIPT_BYTES, "#")),
        (reference, text(REFERENCE_BYTES, "-")),
    ] {
        let path = skill.join(path);
        fs::create_dir(path.parent().context("a file has a directory")?)?;
        fs::write(path, content)?;
    }
    Ok(())
}

//! The command is killed while it installs skills: the next one finds the old or the new state.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use skills_test_support::copy_directory;

use crate::fixture::Fixture;
use crate::skills::command_with_state;
use crate::traced;

/// Skills of the repository.
const SKILLS: usize = 3;
/// Points at which the command is killed, evenly over all changes of files.
const POINTS: usize = 54;

/// A repository, and a directory with an installed skill of another source.
struct Place(Fixture);

/// What is copied for each point: installed skills, and the state of the user.
const COPIED: [&str; 2] = ["skills", "state"];

impl Place {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.skill("kept/kept", "kept");
        fixture.skill("next/next", "next");
        let place = Self(fixture);
        place.write("old");
        place.git(&["init", "--quiet", "."]);
        place.commit();
        place.succeed("work", &["add", "../kept", "--yes", "--to", "./skills"]);
        place
    }

    fn write(&self, text: &str) {
        for index in 0..SKILLS {
            let directory = format!("repository/s{index}");
            self.0.skill(&directory, &format!("s{index}"));
            self.0
                .file(&format!("{directory}/references/notes.md"), text);
        }
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "change"]);
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@a.example"])
            .args(arguments)
            .current_dir(self.0.path().join("repository"))
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    /// Prepares a command in a directory, which has the skills and the state.
    fn command(&self, directory: &str, arguments: &[&str]) -> Command {
        let directory = self.0.path().join(directory);
        let [scratch, state] = ["temporary", "state"].map(|name| directory.join(name));
        fs::create_dir_all(&scratch).unwrap();
        let mut command = command_with_state(arguments, &scratch, &state);
        command
            .current_dir(&directory)
            .env("HOME", &directory)
            .env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    fn succeed(&self, directory: &str, arguments: &[&str]) {
        let output = self.command(directory, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
    }

    /// Copies the installed skills and the state to a directory.
    fn copy_to(&self, directory: &str) {
        let [from, to] = ["work", directory].map(|name| self.0.path().join(name));
        for name in COPIED {
            copy_directory(&from.join(name), &to.join(name));
        }
    }

    /// Kills a command at each point, and checks what the next commands find. `old` is the text of
    /// each skill before the command.
    fn check(&self, arguments: &[&str], old: &str) {
        self.copy_to("whole");
        let whole = traced::run(&self.command("whole", arguments), None);
        let total = match whole {
            Ok(whole) => {
                assert_eq!(whole.code, Some(0));
                whole.changes
            }
            Err(reason) => return skills_test_support::skip(reason),
        };
        assert_eq!(self.texts("whole"), BTreeSet::from(["new".to_owned()]));
        assert!(total > POINTS, "{total}");
        let mut found = BTreeSet::new();
        let mut killed = 0;
        for point in 0..POINTS {
            let change = point * total / POINTS;
            let directory = format!("point-{point}");
            self.copy_to(&directory);
            let command = self.command(&directory, arguments);
            let ended = traced::run(&command, Some(change)).unwrap();
            killed += usize::from(ended.code.is_none());
            // Completes the change or drops it.
            self.succeed(&directory, &["add", "../next", "--yes", "--to", "./skills"]);
            self.succeed(&directory, &["verify", "--in", "./skills"]);
            let work = self.0.path().join(&directory);
            assert!(!work.join("skills/.skills-install/change").exists());
            assert!(work.join("skills/kept/SKILL.md").exists());
            let texts = self.texts(&directory);
            assert_eq!(texts.len(), 1, "change {change} of {total}: {texts:?}");
            self.check_lock_file(&directory, texts.contains(""));
            found.extend(texts);
            fs::remove_dir_all(work).unwrap();
        }
        assert_eq!(found, BTreeSet::from([old.to_owned(), "new".to_owned()]));
        assert!(killed >= 50, "{killed}");
    }

    /// Returns the texts of the installed skills, each once; an empty one if a skill is missing.
    fn texts(&self, directory: &str) -> BTreeSet<String> {
        let skills = self.0.path().join(directory).join("skills");
        let text = |index| {
            let notes = skills.join(format!("s{index}/references/notes.md"));
            fs::read_to_string(notes).unwrap_or_default()
        };
        (0..SKILLS).map(text).collect()
    }

    /// The lock file lists all skills of the repository or none, and all others.
    fn check_lock_file(&self, directory: &str, is_missing: bool) {
        let path = self.0.path().join(directory).join("skills/skills.lock");
        let lock_file: toml::Value = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let skills = lock_file["skill"].as_array().unwrap().len();
        assert_eq!(skills, if is_missing { 2 } else { 2 + SKILLS });
    }
}

fn has_git() -> bool {
    match skills_test_support::host::program("git") {
        Ok(_) => true,
        Err(reason) => {
            skills_test_support::skip(reason);
            false
        }
    }
}

#[test]
fn an_add_that_is_killed_at_any_change_installs_all_skills_or_none() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.write("new");
    place.commit();
    place.check(
        &["add", "git+../repository", "--yes", "--to", "./skills"],
        "",
    );
}

#[test]
fn an_update_that_is_killed_at_any_change_replaces_all_skills_or_none() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let add = ["add", "git+../repository", "--yes", "--to", "./skills"];
    place.succeed("work", &add);
    place.write("new");
    place.commit();
    place.check(&["update", "--yes", "--in", "./skills"], "old");
}

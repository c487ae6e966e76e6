//! A directory with skills and a home directory.

use std::path::{Path, PathBuf};

use crate::skills::{Done, command_with_state};

/// A directory of skills, with the home directory of a user next to it.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn skill(&self, directory: &str, name: &str) -> &Self {
        self.file(
            &format!("{directory}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: About {name}.\n---\nBody\n"),
        )
    }

    /// Runs a command in a subdirectory, with `home` as the home directory and a state directory of
    /// its own.
    pub(crate) fn run(&self, directory: &str, arguments: &[&str]) -> Done {
        let state = tempfile::tempdir().unwrap();
        self.run_with_state(directory, arguments, state.path())
    }

    /// Runs a command in a subdirectory, with a state directory that keeps approvals.
    pub(crate) fn run_with_state(&self, directory: &str, arguments: &[&str], state: &Path) -> Done {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = command_with_state(arguments, scratch.path(), state);
        let home = self.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let output = command
            .current_dir(self.path().join(directory))
            .env("HOME", home)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(self.path().to_str().unwrap(), "PLACE")
        };
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

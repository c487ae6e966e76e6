//! A directory with a skill in it.

use std::fs;
use std::path::PathBuf;

/// A skill in `skill`, and a parent directory for temporary files.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(fixture.skill()).unwrap();
        files
            .iter()
            .for_each(|(path, text)| fixture.write(path, text));
        fixture
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn skill(&self) -> PathBuf {
        self.path().join("skill")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.skill().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces the directory's path in a text with `DIRECTORY`.
    pub(crate) fn redact(&self, text: impl ToString) -> String {
        text.to_string()
            .replace(self.path().to_str().unwrap(), "DIRECTORY")
    }
}

/// The stubs for compilers.
pub(crate) fn stub_tools() -> PathBuf {
    skills_test_support::source_tree().join("crates/skills-build/tests/it/tools")
}

//! A directory with a skill in it.

use std::fs;
use std::path::{Path, PathBuf};

/// A skill in `skill`, and a parent directory for temporary files.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.skill()).unwrap();
        files
            .iter()
            .for_each(|(path, text)| place.write(path, text));
        place
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

    /// Replaces the directory's path in a text with `PLACE`.
    pub(crate) fn told(&self, text: impl ToString) -> String {
        text.to_string()
            .replace(self.path().to_str().unwrap(), "PLACE")
    }
}

/// The stubs for compilers.
pub(crate) fn stand_ins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tools")
}

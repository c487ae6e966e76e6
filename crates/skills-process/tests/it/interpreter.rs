//! Interpreters in constructed trees: every known layout, and what is rejected.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests create the trees that are searched"
)]

mod prefixes;
mod rejections;
mod search;
mod shims;
mod typescript;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use skills_process::{ProgramFinder, ResolvedProgram};
use skills_sandbox::ScriptType;

const PYENV: &str = "#!/usr/bin/env bash\nexec pyenv exec \"${0##*/}\" \"$@\"\n";

/// A tree of files in a temporary directory.
struct Tree {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            root: directory.path().canonicalize().unwrap(),
            _directory: directory,
        }
    }

    /// Creates a Python of a version manager, with its library.
    fn python(self, prefix: &str) -> Self {
        self.binary(&format!("{prefix}/bin/python3.11"))
            .link(&format!("{prefix}/bin/python3"), "python3.11")
            .file(&format!("{prefix}/lib/python3.11/os.py"), "")
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn script(self, path: &str, text: &str) -> Self {
        let tree = self.file(path, text);
        fs::set_permissions(tree.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        tree
    }

    fn binary(self, path: &str) -> Self {
        self.script(path, "\x7fELF")
    }

    /// Creates a symlink; `T` in its target is the root.
    fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target.replace('T', self.root.to_str().unwrap()), path).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn search(&self, directories: &[&str]) -> ProgramFinder {
        ProgramFinder::with_search_path(directories.iter().map(|directory| self.path(directory)))
    }

    /// Describes what is found for a kind of script in these directories.
    fn find(&self, kind: ScriptType, directories: &[&str]) -> String {
        match self.search(directories).find_interpreter(kind) {
            Ok(found) => self.show(&found),
            Err(error) => self.hide(&error.to_string()),
        }
    }

    fn python3(&self, directory: &str) -> String {
        self.find(ScriptType::Python, &[directory])
    }

    fn show(&self, found: &ResolvedProgram) -> String {
        let mut text = format!("{}\n", found.argv0.display());
        for (title, paths) in [
            ("executes", &found.executable_paths),
            ("reads", &found.readable),
        ] {
            paths
                .iter()
                .for_each(|path| text.push_str(&format!("{title} {}\n", path.display())));
        }
        found
            .environment
            .iter()
            .for_each(|(name, value)| text.push_str(&format!("{name}={value}\n")));
        self.hide(&text)
    }

    fn hide(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "T")
    }
}

//! Finds the interpreters, outside the sandbox, by the script's language and never by its first line.

use std::path::{Path, PathBuf};

use skills_sandbox::{SandboxError, ScriptKind};

/// Where programs are looked for when the caller names no directories.
const SEARCH: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// Where interpreters and other programs are looked for.
///
/// The default is `/usr/bin`, `/bin` and `/usr/local/bin`; the environment is never asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Interpreters {
    directories: Vec<PathBuf>,
}

impl Default for Interpreters {
    fn default() -> Self {
        Self { directories: SEARCH.iter().map(PathBuf::from).collect() }
    }
}

/// A program on this machine, with symlinks resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    pub(crate) path: PathBuf,
    /// The directory that holds its libraries when it is not part of the system.
    pub(crate) prefix: Option<PathBuf>,
}

impl Interpreters {
    /// Looks in these directories instead, in this order.
    pub fn in_directories(directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { directories: directories.into_iter().map(Into::into).collect() }
    }

    /// Finds the interpreter for a language.
    pub(crate) fn find(&self, kind: ScriptKind) -> Result<Executable, SandboxError> {
        let (name, hint) = match kind {
            ScriptKind::Python => ("python3", "install Python 3 from the system's packages"),
            ScriptKind::Shell => ("sh", "install a POSIX shell"),
            _ => return Err(SandboxError::load("no interpreter for this language")),
        };
        self.program(name).ok_or_else(|| {
            let searched = self.directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(", ");
            SandboxError::unavailable("interpreter", format!("no `{name}` in {searched}"), hint)
        })
    }

    /// Finds a program by its bare name.
    pub(crate) fn program(&self, name: &str) -> Option<Executable> {
        if name.contains('/') {
            return None;
        }
        self.directories.iter().find_map(|directory| Executable::resolve(&directory.join(name)))
    }

    /// Returns the directories as a `PATH`.
    pub(crate) fn path_variable(&self) -> String {
        self.directories.iter().map(|directory| directory.to_string_lossy()).collect::<Vec<_>>().join(":")
    }
}

impl Executable {
    fn resolve(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok().filter(|path| path.is_file())?;
        let is_system = ["/usr", "/bin", "/lib"].iter().any(|system| path.starts_with(system));
        let prefix = if is_system { None } else { Some(prefix_of(&path)?) };
        Some(Self { path, prefix })
    }
}

/// Returns the directory above `bin`; one so high that it holds more than the interpreter (`/`, `/home`) is not accepted.
fn prefix_of(path: &Path) -> Option<PathBuf> {
    let bin = path.parent().filter(|directory| directory.ends_with("bin"))?;
    bin.parent().filter(|prefix| prefix.components().count() > 2).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_an_interpreter_and_no_more() {
        let prefix = |path: &str| prefix_of(Path::new(path)).map(|prefix| prefix.display().to_string());
        assert_eq!(prefix("/opt/python/3.11/bin/python3.11").as_deref(), Some("/opt/python/3.11"));
        assert_eq!(prefix("/bin/python3"), None);
        assert_eq!(prefix("/home/bin/python3"), None);
        assert_eq!(prefix("/opt/tools/python3"), None);
    }

    #[test]
    fn a_missing_interpreter_says_where_it_was_looked_for() {
        let none = Interpreters::in_directories(["/nowhere"]).find(ScriptKind::Python).unwrap_err();
        insta::assert_snapshot!(none, @"no sandbox: interpreter is not available (no `python3` in /nowhere); install Python 3 from the system's packages");
    }
}

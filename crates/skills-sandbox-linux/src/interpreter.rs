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
    /// The path by which it was found, which tells a program of many names which one it is.
    pub(crate) found: PathBuf,
    /// The directories with its libraries when it is not part of the system.
    pub(crate) libraries: Vec<PathBuf>,
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
    fn resolve(found: &Path) -> Option<Self> {
        let path = found.canonicalize().ok().filter(|path| path.is_file())?;
        let is_system = ["/usr", "/bin", "/lib"].iter().any(|system| path.starts_with(system));
        let libraries = if is_system { Vec::new() } else { libraries_of(&path)? };
        Some(Self { path, found: found.to_owned(), libraries })
    }
}

/// Returns the directories beside `bin` that hold libraries, never the one above, which may be somebody's home.
fn libraries_of(path: &Path) -> Option<Vec<PathBuf>> {
    let prefix = path.parent().filter(|directory| directory.ends_with("bin"))?.parent()?;
    let is_top = prefix.components().count() < 2;
    (!is_top).then(|| vec![prefix.join("lib"), prefix.join("lib64")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_an_interpreter_and_no_more() {
        let libraries = |path: &str| libraries_of(Path::new(path)).map(|found| found[0].display().to_string());
        assert_eq!(libraries("/opt/python/3.11/bin/python3.11").as_deref(), Some("/opt/python/3.11/lib"));
        assert_eq!(libraries("/home/me/bin/python3").as_deref(), Some("/home/me/lib"));
        assert_eq!(libraries("/bin/python3"), None);
        assert_eq!(libraries("/opt/tools/python3"), None);
    }

    #[test]
    fn a_missing_interpreter_says_where_it_was_looked_for() {
        let none = Interpreters::in_directories(["/nowhere"]).find(ScriptKind::Python).unwrap_err();
        insta::assert_snapshot!(none, @"no sandbox: interpreter is not available (no `python3` in /nowhere); install Python 3 from the system's packages");
    }
}

//! The programs of one run, already found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where programs find programs when nobody says otherwise.
const DEFAULT_SEARCH_PATH: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// The programs of one run: the interpreter, and those that the grants name.
///
/// Defaults of the builder: no programs, and `/usr/bin`, `/bin` and `/usr/local/bin` as the
/// directories in which programs find programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ExecutableSet {
    interpreter: Executable,
    programs: BTreeMap<String, Executable>,
    search_path: Vec<PathBuf>,
}

/// A program, and what it needs beside the system's own files.
///
/// Defaults of the builder: it is called by its own path, with no arguments and variables, and
/// needs nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Executable {
    pub(crate) path: PathBuf,
    pub(crate) argv0: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) envs: Vec<(String, String)>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) exec_targets: Vec<PathBuf>,
}

impl ExecutableSet {
    /// Names the interpreter.
    pub fn new(interpreter: impl Into<Executable>) -> Self {
        Self {
            interpreter: interpreter.into(),
            programs: BTreeMap::new(),
            search_path: DEFAULT_SEARCH_PATH.iter().map(PathBuf::from).collect(),
        }
    }

    /// Adds a program by the name that grants have for it.
    pub fn program(mut self, name: impl Into<String>, program: impl Into<Executable>) -> Self {
        self.programs.insert(name.into(), program.into());
        self
    }

    /// Sets the directories in which programs find programs, the `PATH` of the run.
    pub fn search_path(
        mut self,
        directories: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        self.search_path = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the interpreter.
    pub fn interpreter(&self) -> &Executable {
        &self.interpreter
    }

    /// Returns a program.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Executable> {
        self.programs.get(name)
    }

    /// Returns the paths by which programs find a program.
    pub(crate) fn path_candidates(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.search_path
            .iter()
            .map(move |directory| directory.join(name))
    }

    /// Returns the directories as a `PATH`.
    #[must_use]
    pub fn path_env(&self) -> String {
        self.search_path
            .iter()
            .map(|directory| directory.to_string_lossy())
            .collect::<Vec<_>>()
            .join(":")
    }
}

impl Executable {
    /// Names a program by its canonical path, which is what the kernel executes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let (arguments, variables, readable, successors) = Default::default();
        Self {
            argv0: path.clone(),
            path,
            args: arguments,
            envs: variables,
            readable,
            exec_targets: successors,
        }
    }

    /// Sets the path by which it is called. It leads to the canonical one by symlinks; its parent
    /// directories hold none. The Python of a virtual environment finds the environment by it.
    pub fn with_argv0(mut self, name: impl Into<PathBuf>) -> Self {
        self.argv0 = name.into();
        self
    }

    /// Adds an argument that comes before the script.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Adds a variable that it needs.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Adds a canonical path that it reads and loads code from, with all below it.
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Adds a program, by its canonical path, that it becomes when it starts: it is replaced, and
    /// starts nothing beside itself.
    pub fn exec_target(mut self, path: impl Into<PathBuf>) -> Self {
        self.exec_targets.push(path.into());
        self
    }

    /// Returns the canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path by which it is called.
    #[must_use]
    pub fn argv0(&self) -> &Path {
        &self.argv0
    }

    /// Returns its own code: the program and what it becomes.
    pub(crate) fn code_paths(&self) -> impl Iterator<Item = &Path> {
        [&self.path]
            .into_iter()
            .chain(&self.exec_targets)
            .map(PathBuf::as_path)
    }
}

impl From<&str> for Executable {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<PathBuf> for Executable {
    fn from(path: PathBuf) -> Self {
        Self::new(path)
    }
}

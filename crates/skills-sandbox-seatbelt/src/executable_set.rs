//! The programs of one run, already resolved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Default `PATH` of a run.
const DEFAULT_SEARCH_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// The programs of one run: the interpreter, and those that the grants name. All paths are
/// canonical, since seatbelt compares the paths that the kernel resolved.
///
/// Defaults of the builder: no programs, and `/usr/local/bin`, `/usr/bin` and `/bin` as the `PATH`
/// of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ExecutableSet {
    interpreter: Executable,
    programs: BTreeMap<String, Executable>,
    search_path: Vec<PathBuf>,
}

/// A program, and what it needs in addition to the system's files.
///
/// Defaults of the builder: `argv[0]` is its own path, there are no arguments and variables, and no
/// further files.
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
    /// Creates a set with an interpreter only.
    pub fn new(interpreter: impl Into<Executable>) -> Self {
        Self {
            interpreter: interpreter.into(),
            programs: BTreeMap::new(),
            search_path: DEFAULT_SEARCH_PATH.iter().map(PathBuf::from).collect(),
        }
    }

    /// Adds a program with its name in the grants.
    pub fn program(mut self, name: impl Into<String>, program: impl Into<Executable>) -> Self {
        self.programs.insert(name.into(), program.into());
        self
    }

    /// Sets the `PATH` of the run.
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

    /// Returns the paths at which a search of `PATH` may find a program.
    pub(crate) fn path_candidates(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.search_path
            .iter()
            .map(move |directory| directory.join(name))
    }

    /// Returns the search path as the value of `PATH`.
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
    /// Creates a program from its canonical path, which the kernel executes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            argv0: path.clone(),
            path,
            args: Vec::new(),
            envs: Vec::new(),
            readable: Vec::new(),
            exec_targets: Vec::new(),
        }
    }

    /// Sets `argv[0]`. May be a symlink to the canonical path (a virtual environment's `python`);
    /// its parents may not.
    pub fn with_argv0(mut self, name: impl Into<PathBuf>) -> Self {
        self.argv0 = name.into();
        self
    }

    /// Adds an argument before the script.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Adds a variable that it needs.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Adds a canonical path that it reads and loads code from, including everything below it.
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Adds the canonical path of a program that this one replaces itself with (`execve`). This
    /// does not allow further processes.
    pub fn exec_target(mut self, path: impl Into<PathBuf>) -> Self {
        self.exec_targets.push(path.into());
        self
    }

    /// Returns the canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `argv[0]`.
    #[must_use]
    pub fn argv0(&self) -> &Path {
        &self.argv0
    }

    /// Returns its own code: the program and those that it replaces itself with.
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

//! Searches directories for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::bounded_read::{SkipReason, is_script, read_shebang};
use super::prefix::{is_system, remove_nested};
use super::resolve::resolve;
use super::resolved_program::ResolvedProgram;
use super::runtimes;
use super::typescript;
use super::venv;
use skills_policy::SpawnGrant;
use skills_sandbox::{Job, Program, SandboxError, ScriptType};

/// The directories that are searched if the caller names none.
const DEFAULT_SEARCH_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// The name by which many scripts call Python, and the one that systems install.
const PYTHON: (&str, &str) = ("python", "python3");
/// A runtime of TypeScript that is never an interpreter.
const BUN: &str = "bun";
/// The names of directories that are for programs alone.
const PROGRAM_DIRECTORIES: [&str; 3] = ["bin", "sbin", "shims"];
/// The maximum number of rejected candidates in an error.
const MAX_REPORTED: usize = 8;

/// Finds interpreters and other programs on the host, by reading files only.
///
/// By default it searches `/usr/local/bin`, `/usr/bin` and `/bin`, in this order, has no fallback
/// directories, and no override for any kind of script. The environment is not read. Nothing is
/// cached, so a version manager that changes a file is noticed at once.
///
/// ```
/// use skills_sandbox::SandboxErrorKind;
/// use skills_process::ProgramFinder;
///
/// # let empty = tempfile::tempdir()?;
/// let finder = ProgramFinder::with_search_path([empty.path()]);
/// let error = finder.find_interpreter(skills_sandbox::ScriptType::Ruby).unwrap_err();
/// assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ProgramFinder {
    search_path: Vec<PathBuf>,
    fallback_path: Vec<PathBuf>,
    overrides: BTreeMap<ScriptType, PathBuf>,
}

impl Default for ProgramFinder {
    fn default() -> Self {
        Self::with_search_path(DEFAULT_SEARCH_PATH)
    }
}

impl ProgramFinder {
    /// Creates a finder that searches these directories instead, in this order; relative ones are
    /// ignored.
    pub fn with_search_path(directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let directories = directories.into_iter().map(Into::into).collect();
        Self {
            search_path: directories,
            fallback_path: Vec::new(),
            overrides: BTreeMap::new(),
        }
    }

    /// Sets directories that are searched after the search path, in this order; relative ones are
    /// ignored. They also come last in [`path_env`](Self::path_env).
    pub fn with_fallback_path(
        mut self,
        directories: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        for directory in directories.into_iter().map(Into::into) {
            let is_known =
                self.search_path.contains(&directory) || self.fallback_path.contains(&directory);
            if directory.is_absolute() && !is_known {
                self.fallback_path.push(directory);
            }
        }
        self
    }

    /// Runs all scripts of a kind with the interpreter at this absolute path and no other, for
    /// example that of a project's virtual environment. The programs of such an environment come
    /// first in [`path_env`](Self::path_env) and [`find_program`](Self::find_program).
    pub fn override_interpreter(mut self, kind: ScriptType, path: impl Into<PathBuf>) -> Self {
        self.overrides.insert(kind, path.into());
        self
    }

    /// Finds the interpreter for a kind of script. TypeScript runs with Deno, else with a Node that
    /// strips types (22.6 or newer). Bun is never started: it executes what a `bunfig.toml` of the
    /// working directory names before the script.
    ///
    /// # Errors
    /// [`SandboxErrorKind::Unavailable`](skills_sandbox::SandboxErrorKind::Unavailable) if there is
    /// none: with the names and directories that were searched, the candidates that were rejected
    /// and why, and how to install one.
    pub fn find_interpreter(&self, kind: ScriptType) -> Result<ResolvedProgram, SandboxError> {
        let mut passed = Vec::new();
        if let Some(found) = self.find_candidate(kind, &mut passed) {
            return Ok(found);
        }
        // No other program replaces one that was chosen.
        if kind == ScriptType::Deno && !self.overrides.contains_key(&kind) {
            match self.find_without_deno() {
                Some(Ok(program)) => return Ok(program),
                Some(Err(reason)) => passed.push(reason),
                None => {}
            }
        }
        Err(self.interpreter_not_found(kind, &passed))
    }

    /// Returns the Node of this search if it runs TypeScript, or why it does not.
    fn find_without_deno(&self) -> Option<Result<ResolvedProgram, SkipReason>> {
        let mut node = self.find_candidate(ScriptType::Node, &mut Vec::new())?;
        Some(typescript::add_node_arguments(&mut node).map(|()| node))
    }

    /// Returns the first interpreter that is not rejected; the others are added to `passed`.
    fn find_candidate(
        &self,
        kind: ScriptType,
        passed: &mut Vec<SkipReason>,
    ) -> Option<ResolvedProgram> {
        for path in self.candidates(kind) {
            match resolve(&path) {
                None => {}
                // The kernel would start the program of its shebang, which was not selected.
                Some(Ok(program)) if is_script(&program.executable) => {
                    passed.push(format!("{}: is itself a script", path.display()))
                }
                Some(Ok(program)) if is_bun(&program) => passed.push(format!(
                    "{}: Bun executes what a `bunfig.toml` of the working directory names",
                    path.display()
                )),
                Some(Ok(program)) => return Some(into_interpreter(kind, program)),
                Some(Err(reason)) => passed.push(format!("{}: {reason}", path.display())),
            }
        }
        None
    }

    /// Finds a program by its bare name; `None` if there is none, or if the name is a path.
    /// `python` finds `python3` if `python` is not installed. `git` includes its subcommands.
    #[must_use]
    pub fn find_program(&self, name: &str) -> Option<ResolvedProgram> {
        // A path would bypass the search path and the rules for names.
        if name.contains('/') {
            return None;
        }
        let program = self.resolve(name).or_else(|| {
            let is_python = name == PYTHON.0;
            is_python.then(|| self.resolve(PYTHON.1))?
        })?;
        Some(program)
    }

    /// Returns the fallback directories that are for programs alone, by their name: others of a `PATH`
    /// can contain anything.
    pub fn fallback_program_directories(&self) -> impl Iterator<Item = &PathBuf> {
        let directories = self.fallback_path.iter();
        directories.filter(|directory| {
            let name = directory.file_name();
            name.is_some_and(|name| PROGRAM_DIRECTORIES.iter().any(|known| name == *known))
        })
    }

    /// Returns true if a program with this bare name exists for a skill:
    /// [`find_program`](Self::find_program) finds it, or it is the interpreter of a kind of script,
    /// found by [`find_interpreter`](Self::find_interpreter). An interpreter from an override runs
    /// scripts of its kind only; other programs cannot start it by its name.
    #[must_use]
    pub fn has_program(&self, name: &str) -> bool {
        self.find_program(name).is_some()
            || ScriptType::ALL
                .into_iter()
                .any(|kind| self.is_interpreter(kind, name))
    }

    /// Returns true if the interpreter of this kind of script has this name.
    fn is_interpreter(&self, kind: ScriptType, name: &str) -> bool {
        let name = if name == PYTHON.0 { PYTHON.1 } else { name };
        let Ok(interpreter) = self.find_interpreter(kind) else {
            return false;
        };
        // The file of an override can have another name, such as `ruby3.2`. A shell is one of
        // several programs, of which `sh` does not replace `bash`.
        let file = interpreter.argv0.file_name();
        runtimes::interpreter_names(kind) == [name] || file.is_some_and(|file| file == name)
    }

    /// Returns the path of `python3` if the search path has no `python`, for a backend that
    /// provides it by that name.
    #[must_use]
    pub fn missing_python(&self) -> Option<PathBuf> {
        match self.resolve(PYTHON.0) {
            Some(_) => None,
            None => self.resolve(PYTHON.1).map(|program| program.argv0),
        }
    }

    fn resolve(&self, name: &str) -> Option<ResolvedProgram> {
        let of_environment = self.environment_directory().and_then(|directory| {
            let program = resolve(&directory.join(name))?.ok()?;
            let is_script = is_script(&program.executable);
            // The kernel starts such a script with the Python of the environment.
            Some(if is_script {
                self.with_environment(program)
            } else {
                program
            })
        });
        let mut program = of_environment.or_else(|| self.resolve_plain(name))?;
        runtimes::add_subcommands(name, &mut program);
        Some(program)
    }

    /// Finds a program without the environment. Of one in a fallback directory only the file itself is
    /// granted: what is around it belongs to the user.
    fn resolve_plain(&self, name: &str) -> Option<ResolvedProgram> {
        let find =
            |directories| candidate_paths(directories, name).find_map(|path| resolve(&path)?.ok());
        find(&self.search_path).or_else(|| {
            let program = find(&self.fallback_path)?;
            Some(ResolvedProgram {
                executable_paths: vec![program.executable.clone()],
                readable: Vec::new(),
                environment: Vec::new(),
                ..program
            })
        })
    }

    /// Adds the programs with which the kernel starts a command that is a script: those of its first
    /// line, such as `env` and `node`, if they are programs of the system.
    fn add_script_interpreter(&self, program: &mut ResolvedProgram) {
        let Some(shebang) = read_shebang(&program.executable) else {
            return;
        };
        let interpreter = Some(shebang.path()).filter(|path| is_system(path));
        let by_name = shebang.searched_name();
        let searched = by_name
            .into_iter()
            .flat_map(|name| candidate_paths(&self.search_path, name));
        let found = interpreter.map(Path::to_owned).into_iter().chain(searched);
        for found in found.filter_map(|path| resolve(&path)?.ok()) {
            program.executable_paths.extend(found.executable_paths);
        }
    }

    /// Returns the directory of programs of the chosen virtual environment, if there is one.
    fn environment_directory(&self) -> Option<PathBuf> {
        let python = self.overrides.get(&ScriptType::Python)?;
        venv::program_directory(python).filter(|directory| directory.is_absolute())
    }

    /// Adds what the Python of the chosen environment needs to start.
    fn with_environment(&self, mut program: ResolvedProgram) -> ResolvedProgram {
        if let Ok(python) = self.find_interpreter(ScriptType::Python) {
            program.readable.extend(python.readable);
            program.readable = remove_nested(program.readable);
            program.executable_paths.extend(python.executable_paths);
        }
        program
    }

    /// Adds the chosen environment to a program that may start Python, so that a shell script finds
    /// the same Python as a Python script.
    fn with_environment_of_spawns(
        &self,
        program: ResolvedProgram,
        spawn: &SpawnGrant,
    ) -> ResolvedProgram {
        let Some(directory) = self.environment_directory() else {
            return program;
        };
        if !spawn.allows_program(PYTHON.0) && !spawn.allows_program(PYTHON.1) {
            return program;
        }
        let mut program = self.with_environment(program);
        if *spawn == SpawnGrant::Any {
            program.executable_paths.push(directory.clone());
        }
        if let Some(environment) = directory.parent() {
            let environment = environment.to_string_lossy().into_owned();
            program
                .environment
                .push(("VIRTUAL_ENV".to_owned(), environment));
        }
        program
    }

    /// Returns the finder with these interpreters, such as those that a job chooses, in place of those
    /// that it finds; see [`override_interpreter`](Self::override_interpreter).
    #[must_use]
    pub fn with_interpreters(&self, chosen: &BTreeMap<ScriptType, PathBuf>) -> Cow<'_, Self> {
        if chosen.is_empty() {
            return Cow::Borrowed(self);
        }
        let chosen = chosen.iter();
        Cow::Owned(chosen.fold(self.clone(), |finder, (kind, path)| {
            finder.override_interpreter(*kind, path)
        }))
    }

    /// Finds the executable of a job: the interpreter of a script, or the program of a command.
    ///
    /// # Errors
    /// Like [`find_interpreter`](Self::find_interpreter); also if the grants do not allow the
    /// program of a command, if there is none of its name, or if the job is for another backend.
    pub fn for_job(
        &self,
        job: &Job,
        backend: &'static str,
    ) -> Result<ResolvedProgram, SandboxError> {
        let spawn = job.grants().spawn();
        let program = self.find_for_job(job, backend)?;
        let program = self.with_environment_of_spawns(program, spawn);
        Ok(with_tools(with_node_modules(program, job), job))
    }

    /// Finds the program of a command, with the interpreter that the kernel starts for it if it is a
    /// script such as `npm`.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] that names the searched directories.
    pub fn find_command(&self, name: &str) -> Result<ResolvedProgram, SandboxError> {
        let Some(mut program) = self.find_program(name) else {
            let searched = self.search_path.iter().chain(&self.fallback_path);
            return Err(SandboxError::program_not_found(name, &join_paths(searched)));
        };
        self.add_script_interpreter(&mut program);
        Ok(program)
    }

    fn find_for_job(
        &self,
        job: &Job,
        backend: &'static str,
    ) -> Result<ResolvedProgram, SandboxError> {
        match job.program() {
            Program::Script { kind, .. } => self.find_interpreter(*kind),
            // Checked again here, so that a wrong job starts nothing.
            Program::Command { name } if !job.grants().allows_command(name) => {
                Err(SandboxError::rejected(
                    backend,
                    format!("program `{}` is not granted", name.escape_debug()),
                ))
            }
            Program::Command { name } => self.find_command(name),
            _ => Err(SandboxError::invalid_program(
                "this backend only runs scripts and commands",
            )),
        }
    }

    /// Returns the search path as the value of `PATH`: the programs of the chosen virtual environment
    /// come first, the fallback directories last.
    #[must_use]
    pub fn path_env(&self) -> String {
        self.environment_directory()
            .iter()
            .chain(&self.search_path)
            .chain(&self.fallback_path)
            .map(|directory| directory.to_string_lossy())
            .collect::<Vec<_>>()
            .join(":")
    }

    fn candidates(&self, kind: ScriptType) -> Vec<PathBuf> {
        if let Some(chosen) = self.overrides.get(&kind) {
            let absolute = Some(chosen).filter(|path| path.is_absolute());
            return absolute.into_iter().cloned().collect();
        }
        [&self.search_path, &self.fallback_path]
            .into_iter()
            .flat_map(|directories| {
                let names = runtimes::interpreter_names(kind).iter();
                names.flat_map(|name| candidate_paths(directories, name))
            })
            .collect()
    }

    fn interpreter_not_found(&self, kind: ScriptType, passed: &[String]) -> SandboxError {
        let mut reason = self.searched(kind);
        if !passed.is_empty() {
            reason.push_str("; rejected ");
            // A search path can have any length.
            reason.push_str(&passed[..passed.len().min(MAX_REPORTED)].join("; "));
        }
        let hint = if self.overrides.contains_key(&kind) {
            "correct this path, which was given in place of the installed interpreter, or remove it"
        } else {
            runtimes::install_hint(kind)
        };
        SandboxError::missing_interpreter(reason, hint)
    }

    /// Describes the names that were not found, and where they were searched.
    fn searched(&self, kind: ScriptType) -> String {
        if let Some(chosen) = self.overrides.get(&kind) {
            return format!("no program at `{}`", chosen.display());
        }
        let names = runtimes::interpreter_names(kind).iter();
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let directories = self.search_path.iter().chain(&self.fallback_path);
        format!("no {} in {}", names.join(" or "), join_paths(directories))
    }
}

fn is_bun(program: &ResolvedProgram) -> bool {
    let files = [&program.argv0, &program.executable];
    files.iter().any(|path| path.ends_with(BUN))
}

/// Adds the programs that the host application chose, for a job that may start all.
fn with_tools(mut program: ResolvedProgram, job: &Job) -> ResolvedProgram {
    if *job.grants().spawn() == SpawnGrant::Any && !job.tools().is_empty() {
        program.readable.extend(job.tools().iter().cloned());
        program.readable = remove_nested(program.readable);
        program.executable_paths.extend(job.tools().iter().cloned());
    }
    program
}

/// Adds the packages for Node that a job sets.
fn with_node_modules(mut program: ResolvedProgram, job: &Job) -> ResolvedProgram {
    if let Some(directory) = job.installed_node_modules() {
        program.readable.push(directory.to_owned());
        program.readable = remove_nested(program.readable);
        let path = directory.to_string_lossy().into_owned();
        program.environment.push(("NODE_PATH".to_owned(), path));
    }
    program
}

fn candidate_paths(directories: &[PathBuf], name: &str) -> impl Iterator<Item = PathBuf> {
    directories
        .iter()
        // A relative directory would depend on the working directory of the host.
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
}

fn join_paths<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> String {
    directories
        .map(|directory| directory.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn into_interpreter(kind: ScriptType, program: ResolvedProgram) -> ResolvedProgram {
    let name = program
        .argv0
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let arguments = runtimes::interpreter_args(kind, name)
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    ResolvedProgram {
        kind: Some(kind),
        leading_args: arguments,
        ..program
    }
}

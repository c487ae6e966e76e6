//! Looks for programs in directories.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::cache::Cache;
use super::kind::{self, Memory};
use super::program::Interpreter;
use super::resolve::Resolved;
use crate::{Job, Program, SandboxError, ScriptKind};

/// Where programs are looked for when the caller names no directories.
const DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];
/// An error tells of no more paths that were passed over.
const MAX_TOLD: usize = 8;

/// Where interpreters and other programs are looked for.
///
/// Defaults: the directories `/usr/bin`, `/bin` and `/usr/local/bin`, in this order, no further
/// ones, and no interpreter chosen for any kind. The environment is never asked. What was found is
/// kept, for all clones together, until something that led to it changes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Interpreters {
    directories: Vec<PathBuf>,
    further: Vec<PathBuf>,
    chosen: BTreeMap<ScriptKind, PathBuf>,
    cache: Cache,
}

impl Default for Interpreters {
    fn default() -> Self {
        Self::in_directories(DIRECTORIES)
    }
}

impl Interpreters {
    /// Looks in these directories instead, in this order; relative ones are passed over.
    pub fn in_directories(directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let directories = directories.into_iter().map(Into::into).collect();
        Self {
            directories,
            further: Vec::new(),
            chosen: BTreeMap::new(),
            cache: Cache::default(),
        }
    }

    /// Looks for an interpreter that is in none of the directories in these as well, in this order;
    /// relative ones are passed over. Other programs are not looked for there, and they are no part
    /// of the [`path_variable`](Self::path_variable).
    pub fn also_in(mut self, directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        for directory in directories.into_iter().map(Into::into) {
            if !self.directories.contains(&directory) && !self.further.contains(&directory) {
                self.further.push(directory);
            }
        }
        self
    }

    /// Runs all scripts of a kind by the interpreter at this absolute path, and by no other: that
    /// of a project's virtual environment, say.
    pub fn interpreter(mut self, kind: ScriptKind, path: impl Into<PathBuf>) -> Self {
        self.chosen.insert(kind, path.into());
        self
    }

    /// Finds the interpreter for a kind of script.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable), when there is none: with what was
    /// looked for and where, what was passed over and why, and how to get one.
    pub fn find(&self, kind: ScriptKind) -> Result<Interpreter, SandboxError> {
        let mut passed = Vec::new();
        for path in self.candidates(kind) {
            match self.cache.resolve(&path) {
                None => {}
                Some(Ok(program)) if program.is_script => {
                    passed.push(format!("{}: it is a script itself", path.display()))
                }
                Some(Ok(program)) => return Ok(interpreter(kind, program)),
                Some(Err(reason)) => passed.push(format!("{}: {reason}", path.display())),
            }
        }
        Err(self.nothing(kind, &passed))
    }

    /// Finds a program by its bare name; `None` when there is none, or the name is a path.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<Interpreter> {
        if name.contains('/') {
            return None;
        }
        let program =
            places(&self.directories, name).find_map(|path| self.cache.resolve(&path)?.ok())?;
        Some(Interpreter {
            kind: None,
            memory: Memory::of_program(name),
            ..interpreter_of(program)
        })
    }

    /// Finds what is executed for a job: the interpreter of a script, or the program that a command
    /// names.
    ///
    /// # Errors
    /// As [`find`](Self::find); when the grants do not allow the program of a command to be
    /// started, or there is none of its name; when the job is for another backend.
    pub fn for_job(&self, job: &Job, backend: &'static str) -> Result<Interpreter, SandboxError> {
        match job.program() {
            Program::Script { kind, .. } => self.find(*kind),
            Program::Command { name } if !job.grants().spawn().allows_program(name) => Err(
                SandboxError::refused(backend, format!("the program {name:?} was not granted")),
            ),
            Program::Command { name } => self
                .program(name)
                .ok_or_else(|| SandboxError::no_program(name, &listed(self.directories.iter()))),
            Program::Wasm(_) => Err(SandboxError::load(
                "this backend runs scripts and commands only",
            )),
        }
    }

    /// Returns the directories as a `PATH`, the further ones left out.
    #[must_use]
    pub fn path_variable(&self) -> String {
        self.directories
            .iter()
            .map(|directory| directory.to_string_lossy())
            .collect::<Vec<_>>()
            .join(":")
    }

    fn candidates(&self, kind: ScriptKind) -> Vec<PathBuf> {
        match self.chosen.get(&kind) {
            Some(chosen) => Some(chosen)
                .filter(|path| path.is_absolute())
                .into_iter()
                .cloned()
                .collect(),
            None => {
                let both = [&self.directories, &self.further];
                both.into_iter()
                    .flat_map(|directories| {
                        kind::names(kind)
                            .iter()
                            .flat_map(|name| places(directories, name))
                    })
                    .collect()
            }
        }
    }

    fn nothing(&self, kind: ScriptKind, passed: &[String]) -> SandboxError {
        let mut reason = match self.chosen.get(&kind) {
            Some(chosen) => format!("nothing to run at {}", chosen.display()),
            None => {
                let names: Vec<String> = kind::names(kind)
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect();
                let directories = self.directories.iter().chain(&self.further);
                format!("no {} in {}", names.join(" or "), listed(directories))
            }
        };
        if !passed.is_empty() {
            reason.push_str("; passed over ");
            reason.push_str(&passed[..passed.len().min(MAX_TOLD)].join("; "));
        }
        SandboxError::unavailable("interpreter", reason, kind::hint(kind))
    }
}

fn places(directories: &[PathBuf], name: &str) -> impl Iterator<Item = PathBuf> {
    directories
        .iter()
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
}

fn listed<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> String {
    directories
        .map(|directory| directory.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn interpreter(kind: ScriptKind, program: Resolved) -> Interpreter {
    let name = program
        .name
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let arguments = kind::arguments(kind, name)
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    Interpreter {
        kind: Some(kind),
        arguments,
        memory: Memory::of(kind),
        ..interpreter_of(program)
    }
}

fn interpreter_of(program: Resolved) -> Interpreter {
    let Resolved {
        name,
        executable,
        readable,
        executable_paths,
        environment,
        is_script: _,
    } = program;
    Interpreter {
        kind: None,
        name,
        executable,
        arguments: Vec::new(),
        readable,
        executable_paths,
        environment,
        memory: Memory::AddressSpace,
    }
}

//! What is to be run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_policy::Grants;

use crate::SandboxError;

/// What is to be run, and under which grants.
///
/// Defaults of the builder: no arguments, an empty environment, empty input.
#[derive(Debug, Clone)]
#[must_use]
pub struct Job {
    grants: Grants,
    program: Program,
    arguments: Vec<String>,
    environment: Vec<Variable>,
    input: Vec<u8>,
}

/// A variable of the program.
#[derive(Clone)]
struct Variable {
    name: String,
    value: String,
    is_secret: bool,
}

/// The program of a job.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Program {
    /// A WebAssembly component or module, as bytes.
    Wasm(Arc<[u8]>),
    /// A script for an interpreter that the backend chooses by `kind`, never by the script's first line.
    Script {
        /// Its language.
        kind: ScriptKind,
        /// Its absolute path, inside a directory that the grants make readable.
        path: PathBuf,
    },
}

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ScriptKind {
    /// `.py`, run by Python 3.
    Python,
    /// `.sh`, run by a POSIX shell.
    Shell,
}

impl ScriptKind {
    /// Returns the language that a file name's ending stands for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "sh" => Some(Self::Shell),
            _ => None,
        }
    }
}

impl Program {
    /// Names a script.
    pub fn script(kind: ScriptKind, path: impl Into<PathBuf>) -> Self {
        Self::Script { kind, path: path.into() }
    }
}

impl Job {
    /// Starts a job.
    pub fn new(grants: Grants, program: Program) -> Self {
        Self { grants, program, arguments: Vec::new(), environment: Vec::new(), input: Vec::new() }
    }

    /// Adds an argument, which reaches the program as it is, never through a shell.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets an environment variable; the last value of a name wins. The program sees no others but those its backend documents.
    pub fn environment(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(Variable { name: name.into(), value: value.into(), is_secret: false })
    }

    /// Sets a variable of the host, whose value nobody sees by accident.
    ///
    /// # Errors
    /// When the grants do not name the variable.
    pub fn secret(self, name: &str, value: &str) -> Result<Self, SandboxError> {
        if !self.grants.variables().contains(name) {
            return Err(SandboxError::not_granted(name));
        }
        Ok(self.set(Variable { name: name.to_owned(), value: value.to_owned(), is_secret: true }))
    }

    fn set(mut self, variable: Variable) -> Self {
        self.environment.retain(|known| known.name != variable.name);
        self.environment.push(variable);
        self
    }

    /// Sets what the program reads from its standard input.
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = bytes;
        self
    }

    /// Returns the grants.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the arguments.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the environment variables with their values, in the order in which they were set.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()))
    }

    /// Returns the standard input.
    #[must_use]
    pub fn input_bytes(&self) -> &[u8] {
        &self.input
    }
}

/// A secret shows its name only.
impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_secret { "…" } else { &self.value };
        write!(f, "{}={value:?}", self.name)
    }
}

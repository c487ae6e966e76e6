//! What is to be run.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use skills_policy::{Grants, changes_execution};

use crate::{CancellationToken, Quota, SandboxError};

/// What is to be run, and under which grants.
///
/// Defaults of the builder: no arguments, an empty environment, empty input, the first directory
/// that was granted to start in, no quotas, no cancellation, no caller.
#[derive(Debug, Clone)]
#[must_use]
pub struct Job {
    grants: Grants,
    program: Program,
    args: Vec<String>,
    env: Vec<EnvVariable>,
    stdin: Vec<u8>,
    current_dir: Option<PathBuf>,
    path_aliases: Vec<(PathBuf, PathBuf)>,
    quotas: Vec<Quota>,
    cancellation: Option<CancellationToken>,
    caller: Option<String>,
}

/// A variable of the program.
#[derive(Clone)]
struct EnvVariable {
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
    /// A script for an interpreter that the backend chooses by `kind`, never by the script's first
    /// line.
    Script {
        /// Its language.
        kind: ScriptType,
        /// Its absolute path, inside a directory that the grants make readable.
        path: PathBuf,
    },
    /// A program of this machine, which the grants allow to be started.
    Command {
        /// Its name, without a path; the backend looks where it looks for interpreters.
        name: String,
    },
}

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ScriptType {
    /// `.py`, run by Python 3.
    Python,
    /// `.sh` and `.bash`, run by bash or, where there is none, by a POSIX shell.
    Shell,
    /// `.js`, `.mjs` and `.cjs`, run by Node.
    Node,
    /// `.ts`, run by Deno; not `.d.ts`, which only declares.
    Deno,
    /// `.rb`, run by Ruby.
    Ruby,
    /// `.pl`, run by Perl.
    Perl,
}

impl ScriptType {
    /// All languages.
    pub const ALL: [Self; 6] = [
        Self::Python,
        Self::Shell,
        Self::Node,
        Self::Deno,
        Self::Ruby,
        Self::Perl,
    ];

    /// Returns the language as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Shell => "shell",
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Ruby => "ruby",
            Self::Perl => "perl",
        }
    }

    /// Returns the language that a file name's ending stands for.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "sh" | "bash" => Some(Self::Shell),
            "js" | "mjs" | "cjs" => Some(Self::Node),
            "ts" => path
                .file_stem()
                .is_some_and(|stem| Path::new(stem).extension().is_none_or(|inner| inner != "d"))
                .then_some(Self::Deno),
            "rb" => Some(Self::Ruby),
            "pl" => Some(Self::Perl),
            _ => None,
        }
    }
}

impl Program {
    /// Names a script.
    pub fn script(kind: ScriptType, path: impl Into<PathBuf>) -> Self {
        Self::Script {
            kind,
            path: path.into(),
        }
    }

    /// Names a program of this machine.
    pub fn command(name: impl Into<String>) -> Self {
        Self::Command { name: name.into() }
    }
}

impl Job {
    /// Starts a job.
    pub fn new(grants: Grants, program: Program) -> Self {
        Self {
            grants,
            program,
            args: Vec::new(),
            env: Vec::new(),
            stdin: Vec::new(),
            current_dir: None,
            path_aliases: Vec::new(),
            quotas: Vec::new(),
            cancellation: None,
            caller: None,
        }
    }

    /// Adds an argument, which reaches the program as it is, never through a shell.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Sets an environment variable; the last value of a name wins. The program sees no others but
    /// those its backend documents.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set_variable(EnvVariable {
            name: name.into(),
            value: value.into(),
            is_secret: false,
        })
    }

    /// Sets a variable of the host, whose value nobody sees by accident.
    ///
    /// # Errors
    /// When the grants do not name the variable.
    pub fn secret_env(self, name: &str, value: &str) -> Result<Self, SandboxError> {
        if !self.grants.variables().contains(name) {
            return Err(SandboxError::variable_not_granted(name));
        }
        Ok(self.set_variable(EnvVariable {
            name: name.to_owned(),
            value: value.to_owned(),
            is_secret: true,
        }))
    }

    fn set_variable(mut self, variable: EnvVariable) -> Self {
        self.env.retain(|known| known.name != variable.name);
        self.env.push(variable);
        self
    }

    /// Sets what the program reads from its standard input.
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Sets the directory that the program starts in; without one it is the first that was granted.
    /// One that the grants do not make readable is refused. A WebAssembly program sees a file
    /// system of its own and has no such directory.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// Asks that the program find what lies at `path` at `alias` as well, both absolute. It grants
    /// nothing. A backend that shows the file system of the machine cannot do this, and one that
    /// can leaves out an alias that would hide or hold anything else; there
    /// [arguments](Self::resolve_args) that are such paths are replaced.
    pub fn path_alias(mut self, alias: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Self {
        self.path_aliases.push((alias.into(), path.into()));
        self
    }

    /// Bounds what a directory that the grants make writable may hold. A native program is stopped
    /// when it is over, and ends at its [disk limit](crate::Termination::DiskLimit); a WebAssembly
    /// program gets "no space left" instead.
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// Lets `cancellation` stop the run, which then ends as
    /// [cancelled](crate::Termination::Cancelled).
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Names the caller that the job is run for, such as a session. It grants nothing: backends
    /// share their resources fairly among callers, and compile WebAssembly one module at a time for
    /// each. Jobs without a caller count as those of one caller.
    pub fn caller(mut self, caller: impl Into<String>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Returns the same job for a backend that cannot show files at another path than the one that
    /// they lie at: paths of the program, of its directory and of aliases, and words and variables
    /// that are such paths, are replaced.
    pub fn with_real_paths(mut self) -> Self {
        if self
            .grants
            .files()
            .iter()
            .all(|file| file.location() == file.path())
        {
            return self;
        }
        let grants = self.grants.clone();
        let located = |path: &mut PathBuf| *path = grants.located(path);
        let word = |word: &mut String| {
            let path = Path::new(word.as_str());
            if path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) {
                let new = grants.located(path);
                if new != path {
                    *word = new.to_string_lossy().into_owned();
                }
            }
        };
        if let Program::Script { path, .. } = &mut self.program {
            located(path);
        }
        self.current_dir.iter_mut().for_each(located);
        self.path_aliases
            .iter_mut()
            .for_each(|(_, path)| located(path));
        self.args.iter_mut().for_each(word);
        self.env
            .iter_mut()
            .filter(|variable| !variable.is_secret)
            .for_each(|variable| word(&mut variable.value));
        self.grants = grants.at_locations();
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
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the arguments with paths in place of aliases, where a word is an alias, lies below
    /// one, or has one behind the `=` of an option. `place` says what stands for an alias and its
    /// path, and nothing where the alias itself can be used. What a text says inside of a word
    /// stays as it is.
    #[must_use]
    pub fn resolve_args(&self, place: impl Fn(&Path, &Path) -> Option<String>) -> Vec<String> {
        let placed = |word: &str| {
            self.path_aliases.iter().find_map(|(alias, path)| {
                let rest = word.strip_prefix(alias.to_str()?)?;
                // What leads upwards is left as it is.
                let is_below = rest.is_empty()
                    || rest.starts_with('/') && !rest.split('/').any(|part| part == "..");
                is_below
                    .then(|| place(alias, path))
                    .flatten()
                    .map(|place| format!("{place}{rest}"))
            })
        };
        let replaced = |word: &String| match word.split_once('=').filter(|_| word.starts_with('-'))
        {
            Some((option, value)) => placed(value).map(|path| format!("{option}={path}")),
            None => placed(word),
        };
        self.args
            .iter()
            .map(|word| replaced(word).unwrap_or_else(|| word.clone()))
            .collect()
    }

    /// Returns the environment variables with their values, in the order in which they were set.
    pub fn envs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env
            .iter()
            .map(|variable| (variable.name.as_str(), variable.value.as_str()))
    }

    /// Returns the same without those that decide what runs, what it loads or whom it talks to
    /// ([`changes_execution`]), whoever set them. What a skill's program is told of itself
    /// (`SKILL_…`, `TIMEOUT_MS`) stays, since the host sets it.
    pub fn filtered_envs(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_told = |name: &str| name.starts_with("SKILL_") || name == "TIMEOUT_MS";
        self.envs()
            .filter(move |(name, _)| is_told(name) || !changes_execution(name))
    }

    /// Returns the directory that the program starts in.
    ///
    /// # Errors
    /// When the grants make it not readable, or grant nothing at all; `backend` says so.
    pub fn working_directory(&self, backend: &'static str) -> Result<&Path, SandboxError> {
        let files = self.grants.files();
        let Some(home) = files.first() else {
            return Err(SandboxError::rejected(
                backend,
                "the grants make no directory readable, not even the script's own",
            ));
        };
        let Some(directory) = &self.current_dir else {
            return Ok(home.path());
        };
        if files.iter().any(|file| directory.starts_with(file.path())) {
            return Ok(directory);
        }
        Err(SandboxError::rejected(
            backend,
            "the directory that the program is to start in was not granted",
        ))
    }

    /// Returns the aliases and the paths that they stand for.
    #[must_use]
    pub fn path_aliases(&self) -> &[(PathBuf, PathBuf)] {
        &self.path_aliases
    }

    /// Returns the quotas of writable directories.
    #[must_use]
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// Returns what may stop the run from outside.
    #[must_use]
    pub fn cancellation_token(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }

    /// Returns the caller that the job is run for.
    #[must_use]
    pub fn requested_by(&self) -> Option<&str> {
        self.caller.as_deref()
    }

    /// Returns the standard input.
    #[must_use]
    pub fn stdin_bytes(&self) -> &[u8] {
        &self.stdin
    }
}

/// A secret shows its name only.
impl fmt::Debug for EnvVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_secret { "…" } else { &self.value };
        write!(f, "{}={value:?}", self.name)
    }
}

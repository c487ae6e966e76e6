//! The program to run, with its input and grants.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use skills_policy::{Grants, is_unsafe_variable};

use crate::env_variable::EnvVariable;
use crate::{CancellationToken, Locale, Program, ProgramStreams, Quota, SandboxError, ScriptType};

/// A program with its arguments, environment, input and grants, for a backend to run. A job cannot
/// exist without [`Grants`], which only policy creates, so every run was authorized.
///
/// Defaults of the builder: no arguments, an empty environment, empty input, the first granted
/// directory as working directory, no quotas, no cancellation, no grace at the deadline, no caller.
///
/// ```
/// use skills_sandbox::{Job, Program};
///
/// # use skills_policy::{Authorization, Policy, Request};
/// # let request = Request::new("/skills/greet");
/// # let Authorization::Granted(grants) = Policy::default().authorize(&request) else { panic!() };
/// let job = Job::new(grants, Program::command("ls"))
///     .arg("-l")
///     .env("LD_PRELOAD", "/tmp/x.so")
///     .env("LANG", "C");
/// assert_eq!(job.args(), ["-l"]);
/// assert_eq!(job.working_directory("example")?.to_str(), Some("/skills/greet"));
///
/// // Variables that change which code runs are not passed on, regardless of their origin.
/// assert_eq!(job.filtered_envs().collect::<Vec<_>>(), [("LANG", "C")]);
/// // A value of the host's environment needs a grant of its variable.
/// assert!(job.secret_env("API_KEY", "hunter2").is_err());
/// # Ok::<(), skills_sandbox::SandboxError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Job {
    grants: Grants,
    program: Program,
    args: Vec<String>,
    env: Vec<EnvVariable>,
    stdin: Bytes,
    streams: ProgramStreams,
    current_dir: Option<PathBuf>,
    path_aliases: Vec<(PathBuf, PathBuf)>,
    user_home: Option<PathBuf>,
    has_layer: bool,
    pub(crate) locale: Locale,
    pub(crate) certificates: Option<PathBuf>,
    quotas: Vec<Quota>,
    cancellation: Option<CancellationToken>,
    deadline_grace: Duration,
    caller: Option<String>,
    interpreters: BTreeMap<ScriptType, PathBuf>,
    node_modules: Option<PathBuf>,
    python_path: Option<PathBuf>,
    tools: Vec<PathBuf>,
}

impl Job {
    /// Creates a job with the defaults above.
    pub fn new(grants: Grants, program: Program) -> Self {
        Self {
            grants,
            program,
            args: Vec::new(),
            env: Vec::new(),
            stdin: Bytes::new(),
            streams: ProgramStreams::default(),
            current_dir: None,
            path_aliases: Vec::new(),
            user_home: None,
            has_layer: false,
            locale: Locale::default(),
            certificates: None,
            quotas: Vec::new(),
            cancellation: None,
            deadline_grace: Duration::ZERO,
            caller: None,
            interpreters: BTreeMap::new(),
            node_modules: None,
            python_path: None,
            tools: Vec::new(),
        }
    }

    /// Adds an argument. It is passed unchanged, never through a shell.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Sets an environment variable; the last value of a name wins. The program gets no other
    /// variables than these and those that its backend documents.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set_variable(EnvVariable {
            name: name.into(),
            value: value.into(),
            is_secret: false,
        })
    }

    /// Sets a variable from the host's environment, whose value is not shown by `Debug`.
    ///
    /// # Errors
    /// Fails if the grants do not include the variable.
    pub fn secret_env(self, name: &str, value: &str) -> Result<Self, SandboxError> {
        // Checked here too, so that no caller can pass a value that policy did not grant.
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
        // Two values of one name would mean different things to different programs.
        self.env.retain(|other| other.name != variable.name);
        self.env.push(variable);
        self
    }

    /// Sets the standard input of the program.
    pub fn stdin(mut self, bytes: impl Into<Bytes>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Connects the program to streams of the caller. An input stream replaces
    /// [`stdin`](Self::stdin) where the backend runs processes; other backends ignore it.
    pub fn streams(mut self, streams: ProgramStreams) -> Self {
        self.streams = streams;
        self
    }

    /// Sets the working directory; the default is the first granted directory. A directory that the
    /// grants do not make readable is rejected when the job runs. WebAssembly programs have their
    /// own file system and no working directory.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// Makes `path` available at `alias` too, both absolute. This grants nothing. Backends that
    /// show the file system of the host cannot do this; they replace
    /// [arguments](Self::resolve_args) that are such paths. Other backends omit an alias that would
    /// hide or contain another path.
    pub fn path_alias(mut self, alias: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Self {
        self.path_aliases.push((alias.into(), path.into()));
        self
    }

    /// Sets the home directory of the user. `HOME` of a program is a private directory; with this,
    /// granted paths below the home directory are also at the same place below `HOME`, by symlinks,
    /// so that a program finds `~/.tool` where it searches for it. This grants nothing. Only the
    /// Linux backend does this.
    pub fn user_home(mut self, directory: impl Into<PathBuf>) -> Self {
        self.user_home = Some(directory.into());
        self
    }

    /// Returns the home directory of the user.
    #[must_use]
    pub fn user_home_path(&self) -> Option<&Path> {
        self.user_home.as_deref()
    }

    /// Puts a throw-away layer over the first granted directory, if its files are a copy: the program can
    /// write beside its own files, at most 64 MiB, and what it wrote ends with the run. Neither the copy
    /// nor the directory changes. This grants nothing. Only the Linux backend with namespaces does this;
    /// elsewhere the directory is read-only.
    pub fn layer(mut self) -> Self {
        self.has_layer = true;
        self
    }

    /// Returns true if the first granted directory gets a [layer](Self::layer).
    #[must_use]
    pub fn has_layer(&self) -> bool {
        self.has_layer
    }

    /// Hides an absolute path and everything below it, also inside a granted directory. A backend that
    /// cannot hide a path which the grants reach rejects the job.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.grants.hide(path);
        self
    }

    /// Bounds what a directory that the grants make writable may hold. A native program that
    /// exceeds it is killed and ends with [`DiskLimit`](crate::Termination::DiskLimit); a
    /// WebAssembly program gets the error "no space left" instead.
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// Sets a token that stops the run, which then ends as
    /// [`Cancelled`](crate::Termination::Cancelled).
    pub fn cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Sets how long the program may go on after `SIGTERM` asked it to end at its deadline; by
    /// default it is stopped at once. Programs in containers and WebAssembly have no grace.
    pub fn deadline_grace(mut self, grace: Duration) -> Self {
        self.deadline_grace = grace;
        self
    }

    /// Sets the caller that the job runs for, such as a session. This grants nothing: backends
    /// share their resources fairly among callers, compile at most one WebAssembly module at a
    /// time for each, and can keep a container for further jobs of a caller with the same grants. Jobs
    /// without a caller share one anonymous caller, and no container.
    pub fn caller(mut self, caller: impl Into<String>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Runs scripts of a type with the interpreter at this absolute path, such as that of a virtual
    /// environment, in place of the one that the backend would find. The program can read what the
    /// interpreter needs to start; if it may start programs, those beside the interpreter come first
    /// in `PATH`.
    pub fn interpreter(mut self, kind: ScriptType, path: impl Into<PathBuf>) -> Self {
        self.interpreters.insert(kind, path.into());
        self
    }

    /// Sets a directory of installed packages for Node, by its absolute path, which ends with
    /// `node_modules`. The program can read it, and resolves packages in it that it does not find
    /// elsewhere. Where a backend cannot mount it at `/node_modules`, `import` does not find them,
    /// and `require` does.
    pub fn node_modules(mut self, directory: impl Into<PathBuf>) -> Self {
        self.node_modules = Some(directory.into());
        self
    }

    /// Sets a directory in which Python finds modules, by its absolute path. The grants must make it
    /// readable. It comes before installed packages, so it must not be writable for others than the
    /// author of the script.
    pub fn python_path(mut self, directory: impl Into<PathBuf>) -> Self {
        self.python_path = Some(directory.into());
        self
    }

    /// Lets a program that may start all programs also start the one at this absolute path without
    /// symlinks, which the backend would not find by its name. The host application chooses it, such
    /// as a package manager of the user.
    pub fn tool(mut self, path: impl Into<PathBuf>) -> Self {
        self.tools.push(path.into());
        self
    }

    /// Returns the job for a backend that cannot mount files at another path: aliases are replaced
    /// with real paths in the program, the working directory, the arguments and the variables.
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
        let relocate = |path: &mut PathBuf| *path = grants.locate(path);
        let relocate_text = |text: &mut String| {
            let path = Path::new(text.as_str());
            // `..` after a symlink leads elsewhere than in the text, so such a path is not changed.
            if path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) {
                let new = grants.locate(path);
                if new != path {
                    *text = new.to_string_lossy().into_owned();
                }
            }
        };
        if let Program::Script { path, .. } = &mut self.program {
            relocate(path);
        }
        self.current_dir.iter_mut().for_each(relocate);
        self.path_aliases
            .iter_mut()
            .for_each(|(_, path)| relocate(path));
        self.args.iter_mut().for_each(relocate_text);
        self.env
            .iter_mut()
            // A secret that happens to be a path must reach the program unchanged.
            .filter(|variable| !variable.is_secret)
            .for_each(|variable| relocate_text(&mut variable.value));
        self.grants = grants.with_real_paths();
        self
    }

    /// Protects paths in writable directories, which only narrows the grants.
    pub fn protect(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        paths.into_iter().for_each(|path| self.grants.protect(path));
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

    /// Returns the arguments with aliases replaced, where an argument is an alias, is below one, or
    /// has one after the `=` of an option. `place` maps an alias and its path to the replacement,
    /// or to `None` if the alias itself can be used. Paths in the middle of other text are not
    /// replaced.
    #[must_use]
    pub fn resolve_args(&self, place: impl Fn(&Path, &Path) -> Option<String>) -> Vec<String> {
        let placed = |word: &str| {
            self.path_aliases.iter().find_map(|(alias, path)| {
                let rest = word.strip_prefix(alias.to_str()?)?;
                // Paths with `..` are not replaced.
                let is_below = rest.is_empty()
                    || rest.starts_with('/') && !rest.split('/').any(|part| part == "..");
                is_below
                    .then(|| place(alias, path))
                    .flatten()
                    .map(|place| format!("{place}{rest}"))
            })
        };
        // An option can contain a path after its `=`; other text is not interpreted.
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

    /// Returns the same without variables that change which code runs, what it loads or where it
    /// connects ([`is_unsafe_variable`]), regardless of their origin. Variables that describe the
    /// run (`SKILL_…`, `TIMEOUT_MS`) stay, since the host sets them.
    pub fn filtered_envs(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_run_variable = |name: &str| name.starts_with("SKILL_") || name == "TIMEOUT_MS";
        self.envs()
            .filter(move |(name, _)| is_run_variable(name) || !is_unsafe_variable(name))
    }

    /// Returns the working directory of the program.
    ///
    /// # Errors
    /// Fails if the grants do not make it readable, or grant nothing at all; the error names
    /// `backend`.
    pub fn working_directory(&self, backend: &'static str) -> Result<&Path, SandboxError> {
        let files = self.grants.files();
        let Some(first) = files.first() else {
            return Err(SandboxError::rejected(
                backend,
                "the grants do not make any directory readable",
            ));
        };
        let Some(directory) = &self.current_dir else {
            return Ok(first.path());
        };
        if files.iter().any(|file| directory.starts_with(file.path())) {
            return Ok(directory);
        }
        Err(SandboxError::rejected(
            backend,
            "the working directory is not granted",
        ))
    }

    /// Returns the aliases with the paths that they stand for.
    #[must_use]
    pub fn path_aliases(&self) -> &[(PathBuf, PathBuf)] {
        &self.path_aliases
    }

    /// Returns the chosen interpreters, by the type of their scripts.
    #[must_use]
    pub fn interpreters(&self) -> &BTreeMap<ScriptType, PathBuf> {
        &self.interpreters
    }

    /// Returns the directory of installed packages for Node.
    #[must_use]
    pub fn installed_node_modules(&self) -> Option<&Path> {
        self.node_modules.as_deref()
    }

    /// Returns the directory in which Python finds modules.
    #[must_use]
    pub fn python_module_directory(&self) -> Option<&Path> {
        self.python_path.as_deref()
    }

    /// Returns the further programs that it may start.
    #[must_use]
    pub fn tools(&self) -> &[PathBuf] {
        &self.tools
    }

    /// Returns the quotas of writable directories.
    #[must_use]
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// Returns the token that may stop the run.
    #[must_use]
    pub fn cancellation_token(&self) -> Option<&CancellationToken> {
        self.cancellation.as_ref()
    }

    /// Returns how long the program may go on after its deadline.
    #[must_use]
    pub fn grace_at_deadline(&self) -> Duration {
        self.deadline_grace
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

    /// Returns the streams of the caller.
    #[must_use]
    pub fn program_streams(&self) -> &ProgramStreams {
        &self.streams
    }

    /// Returns the bytes of standard input, shared with the job: input of many megabytes is not
    /// copied.
    pub fn shared_stdin(&self) -> Bytes {
        self.stdin.clone()
    }
}

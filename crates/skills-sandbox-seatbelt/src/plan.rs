//! The plan of a run, as plain data.

use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{ResourceLimits, SpawnGrant};
use skills_sandbox::{Environment, Job, Program, SandboxError};

use crate::executable_set::{Executable, ExecutableSet};
use crate::profile::{Profile, ProfileInput, ProxyAccess};

/// Absolute path, so that `PATH` cannot substitute another program.
pub(crate) const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The plan of one job: the command with arguments and environment, the working directory, and the
/// profile.
///
/// Creating a plan has no side effects and works on every system. It can be printed and compared.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    args: Vec<String>,
    env: Environment,
    current_dir: PathBuf,
    profile: Profile,
    spawn: SpawnGrant,
    limits: ResourceLimits,
    network: ProxyAccess,
}

/// Paths and proxy port that a plan depends on. All paths are canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanContext {
    /// The scratch directory.
    pub scratch: PathBuf,
    /// The file that the profile is written to.
    pub profile_path: PathBuf,
    /// Access to the granted hosts.
    pub network: ProxyAccess,
    /// The existing paths in granted directories that may hold keys, which are not opened.
    pub keys: Vec<PathBuf>,
}

impl Plan {
    /// Creates the plan for a job.
    ///
    /// # Errors
    /// Fails if the program is neither a script nor a command, or if this backend cannot enforce
    /// the grants or use the paths.
    pub fn new(
        job: &Job,
        executables: &ExecutableSet,
        context: &PlanContext,
    ) -> Result<Self, SandboxError> {
        let directory = job.working_directory("seatbelt")?.to_owned();
        // A command loads code from its working directory, as a script does from its own directory.
        let (script, code) = match job.program() {
            Program::Script { path, .. } => (Some(path), path.clone()),
            Program::Command { name } => (None, directory.join(name)),
            _ => {
                return Err(SandboxError::invalid_program(
                    "this backend only runs scripts and commands",
                ));
            }
        };
        let grants = job.grants();
        let PlanContext {
            scratch,
            network,
            keys,
            ..
        } = context;
        let profile = Profile::new(&ProfileInput {
            grants,
            executables,
            script: &code,
            scratch,
            network: *network,
            keys,
        })?;
        Ok(Self {
            args: build_args(
                job,
                &profile,
                &context.profile_path,
                script,
                executables.interpreter(),
            )?,
            env: build_environment(job, executables, &path_text(scratch)?, *network),
            current_dir: directory,
            profile,
            spawn: grants.spawn().clone(),
            limits: grants.limits().clone(),
            network: *network,
        })
    }

    /// Returns the program: always the system's own `sandbox-exec`.
    #[must_use]
    pub fn program(&self) -> &'static Path {
        Path::new(SANDBOX_EXEC)
    }

    /// Returns its arguments: the profile, its parameters, the interpreter, the script and the
    /// script's arguments.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Sets the number of processors that programs are told.
    pub(crate) fn with_processors(mut self, count: usize) -> Self {
        self.env = self.env.processors(count);
        self
    }

    /// Returns the complete environment of the program.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        self.env.variables()
    }

    /// Returns the working directory.
    #[must_use]
    pub fn current_dir(&self) -> &Path {
        &self.current_dir
    }

    /// Returns the profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns which programs may be started.
    #[must_use]
    pub fn spawn(&self) -> &SpawnGrant {
        &self.spawn
    }

    /// Returns the access to the granted hosts.
    #[must_use]
    pub fn network(&self) -> ProxyAccess {
        self.network
    }

    /// Returns the resource limits.
    #[must_use]
    pub fn limits(&self) -> &ResourceLimits {
        &self.limits
    }
}

/// The profile is omitted; it has its own `Display`.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("program", &self.program())
            .field("arguments", &self.args)
            .field("environment", &self.env)
            .field("directory", &self.current_dir)
            .field("rules", &self.profile.rules().len())
            .field("limits", &self.limits)
            .finish()
    }
}

/// Returns the arguments of `sandbox-exec`: the profile file and its parameters, then the program
/// by its `argv[0]`, its leading arguments, the script if there is one, and the job's arguments.
fn build_args(
    job: &Job,
    profile: &Profile,
    file: &Path,
    script: Option<&PathBuf>,
    interpreter: &Executable,
) -> Result<Vec<String>, SandboxError> {
    let mut arguments = vec!["-f".to_owned(), path_text(file)?];
    for parameter in profile.parameters() {
        // A path is an argument of its own and never part of the profile's text.
        arguments.extend(["-D".to_owned(), parameter.to_string()]);
    }
    // After `--` no path of a program is parsed as an option.
    arguments.extend(["--".to_owned(), path_text(interpreter.argv0())?]);
    arguments.extend(interpreter.args.iter().cloned());
    arguments.extend(script.map(|script| path_text(script)).transpose()?);
    arguments.extend(job.resolve_args(|_, path| Some(path.to_string_lossy().into_owned())));
    Ok(arguments)
}

fn path_text(path: &Path) -> Result<String, SandboxError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        SandboxError::invalid_program(
            "the path of the script or of a directory of this run is not UTF-8",
        )
    })
}

fn build_environment(
    job: &Job,
    executables: &ExecutableSet,
    scratch: &str,
    network: ProxyAccess,
) -> Environment {
    let path = executables.path_env();
    let mut fixed: Vec<(String, String)> = [
        ("HOME", scratch),
        ("PATH", path.as_str()),
        // Python would write its caches next to the script, in a directory that is read-only.
        ("PYTHONDONTWRITEBYTECODE", "1"),
        // Packages in the home directory of the user are not granted.
        ("PYTHONNOUSERSITE", "1"),
        ("TMPDIR", scratch),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    // The only UTF-8 locale that every macOS has.
    fixed.extend(job.languages("en_US.UTF-8"));
    fixed.extend(executables.interpreter().envs.iter().cloned());
    if let ProxyAccess::LocalPort(port) = network {
        fixed.extend(skills_egress::proxy_env(port));
    }
    Environment::new(job, fixed)
}

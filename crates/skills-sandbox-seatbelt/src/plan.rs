//! What will be done, as plain data.

use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{Limits, Spawn};
use skills_sandbox::{Environment, Job, Program, SandboxError, egress};

use crate::executable_set::{Executable, ExecutableSet};
use crate::profile::{Profile, ProfileInput, ProxyAccess};

/// Always this one: a program of the same name further up in a `PATH` would decide what a sandbox
/// is.
pub(crate) const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// What will be done for one job: which command with which arguments and environment, where, and
/// under which profile.
///
/// Making a plan changes nothing and works on every system. It can be printed and compared.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    args: Vec<String>,
    env: Environment,
    current_dir: PathBuf,
    profile: Profile,
    spawn: Spawn,
    limits: Limits,
    network: ProxyAccess,
}

/// Where a program is going to run. All paths are canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanContext {
    /// Its scratch directory.
    pub scratch: PathBuf,
    /// The file in which its profile will lie.
    pub profile_path: PathBuf,
    /// Its way to the granted hosts.
    pub network: ProxyAccess,
}

impl Plan {
    /// Makes the plan for a job.
    ///
    /// # Errors
    /// When the program is neither a script nor a command, or the grants or paths hold what this
    /// backend cannot enforce.
    pub fn new(
        job: &Job,
        executables: &ExecutableSet,
        ground: &PlanContext,
    ) -> Result<Self, SandboxError> {
        let directory = job.working_directory("seatbelt")?.to_owned();
        // What a command loads lies where it starts, as what a script loads lies beside it.
        let (script, code) = match job.program() {
            Program::Script { path, .. } => (Some(path), path.clone()),
            Program::Command { name } => (None, directory.join(name)),
            _ => {
                return Err(SandboxError::invalid_program(
                    "this backend runs scripts and commands only",
                ));
            }
        };
        let grants = job.grants();
        let PlanContext {
            scratch, network, ..
        } = ground;
        let profile = Profile::new(&ProfileInput {
            grants,
            executables,
            script: &code,
            scratch,
            network: *network,
        })?;
        Ok(Self {
            args: build_args(
                job,
                &profile,
                &ground.profile_path,
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

    /// Returns its arguments: the profile, the paths that it names, the interpreter, the script and
    /// the script's arguments.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the whole environment of the program.
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

    /// Returns the programs that may be started.
    #[must_use]
    pub fn spawn(&self) -> &Spawn {
        &self.spawn
    }

    /// Returns the way to the granted hosts.
    #[must_use]
    pub fn network(&self) -> ProxyAccess {
        self.network
    }

    /// Returns how much may be used.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// What the profile says is left to its own text.
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

/// The program as it wants to be called, what it wants before the script, the script where there is
/// one, and the arguments.
fn build_args(
    job: &Job,
    profile: &Profile,
    file: &Path,
    script: Option<&PathBuf>,
    interpreter: &Executable,
) -> Result<Vec<String>, SandboxError> {
    let mut arguments = vec!["-f".to_owned(), path_text(file)?];
    for parameter in profile.parameters() {
        arguments.extend(["-D".to_owned(), parameter.to_string()]);
    }
    arguments.extend(["--".to_owned(), path_text(interpreter.argv0())?]);
    arguments.extend(interpreter.args.iter().cloned());
    arguments.extend(script.map(|script| path_text(script)).transpose()?);
    arguments.extend(job.resolve_args(|_, path| Some(path.to_string_lossy().into_owned())));
    Ok(arguments)
}

fn path_text(path: &Path) -> Result<String, SandboxError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        SandboxError::invalid_program(
            "the path of the script or of a directory of ours is not UTF-8",
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
        // The one locale with UTF-8 that every macOS has.
        ("LANG", "en_US.UTF-8"),
        ("PATH", path.as_str()),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("TMPDIR", scratch),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    fixed.extend(executables.interpreter().envs.iter().cloned());
    if let ProxyAccess::LocalPort(port) = network {
        fixed.extend(egress::proxy_env(port));
    }
    Environment::new(job, fixed)
}

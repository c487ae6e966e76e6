//! The plan of a run, as plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_egress::ProxyEndpoint;
use skills_policy::{Grants, NetworkGrant};
use skills_process::{KeyFiles, ProtectedEntries, interpreter_args, interpreter_names};
use skills_sandbox::{Environment, Job, Program, SandboxError, ScriptType};

use crate::engine::{BACKEND, EngineFacts, ImageFacts};
use crate::launcher;
use crate::mounts::{MountInput, Unreadable, plan_mounts, scratch_path};
use crate::request::{ContainerRequest, ContainerUser};

/// How long a container stays after the deadline of its run, in seconds, if the host process dies.
const EXTRA_SECONDS: u64 = 10;
/// Where packages for Node are found from every directory.
const NODE_MODULES_PATH: &str = "/node_modules";

/// What a plan depends on.
pub(crate) struct PlanContext<'a> {
    pub(crate) engine: &'a EngineFacts,
    pub(crate) image: &'a ImageFacts,
    pub(crate) runtime: Option<&'a str>,
    /// User and group of the host process.
    pub(crate) ids: (u32, u32),
    pub(crate) socket: &'a Path,
    /// An empty directory of the host.
    pub(crate) empty: &'a Path,
    pub(crate) unreadable: &'a Unreadable,
    /// The directory with the programs of [`launcher`].
    pub(crate) launcher: &'a Path,
    pub(crate) labels: BTreeMap<String, String>,
    /// How long a container is kept for further runs.
    pub(crate) keep_seconds: u64,
}

/// The plan of a run: the container, and what decides the program in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunPlan {
    pub(crate) container: ContainerRequest,
    /// The program that installs the filter of system calls and executes that of the run.
    launcher: String,
    pub(crate) protected: ProtectedEntries,
    /// The files that may hold keys.
    pub(crate) keys: KeyFiles,
    /// The ports of the proxy, if hosts are granted.
    pub(crate) endpoint: Option<ProxyEndpoint>,
    /// The aliases that are paths in the container.
    aliases: Vec<PathBuf>,
    current_dir: PathBuf,
}

/// The program that a job asks for, before it is looked up in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedProgram {
    /// The first of these names that is in the search path of the image.
    Named(Vec<String>),
    /// A path in a granted directory.
    Path(PathBuf),
}

/// The request that starts the program in its container.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ExecRequest {
    pub(crate) args: Vec<String>,
    pub(crate) env: Environment,
    pub(crate) current_dir: String,
}

impl RunPlan {
    /// Plans a run.
    ///
    /// # Errors
    /// Fails if this backend cannot run the program, enforce the grants or mount a path.
    pub(crate) fn new(
        job: &Job,
        protected: ProtectedEntries,
        keys: KeyFiles,
        context: &PlanContext<'_>,
    ) -> Result<Self, SandboxError> {
        let grants = job.grants();
        let current_dir = job.working_directory(BACKEND)?.to_owned();
        if let Some(tool) = job.tools().first() {
            return Err(SandboxError::rejected(
                BACKEND,
                format!("`{}` is a program of the host", tool.display()),
            ));
        }
        let (mounts, aliases) = plan_mounts(&MountInput {
            grants,
            protected: &protected,
            keys: &keys,
            aliases: job.path_aliases(),
            read_only: &further_directories(job),
            socket: context.socket,
            empty: context.empty,
            unreadable: context.unreadable,
            launcher: context.launcher,
        })?;
        let endpoint = match grants.network() {
            NetworkGrant::Hosts(hosts) => Some(ProxyEndpoint::new(hosts)),
            NetworkGrant::None => None,
        };
        let limits = grants.limits().clone();
        let max_seconds = limits.wall_time.as_secs() + EXTRA_SECONDS + context.keep_seconds;
        Ok(Self {
            container: ContainerRequest {
                image: context.image.id.clone(),
                runtime: context.runtime.map(str::to_owned),
                user: ContainerUser::new(context.engine, context.ids),
                mounts,
                keys: keys.clone(),
                scratch: scratch_path(grants),
                volumes: volumes(context.image, grants),
                limits,
                waiting_program: launcher_path(launcher::WAIT),
                max_seconds,
                labels: context.labels.clone(),
            },
            launcher: launcher_path(match job.quotas() {
                [] => launcher::LAUNCH,
                _ => launcher::LAUNCH_WITH_QUOTA,
            }),
            protected,
            keys,
            endpoint,
            aliases,
            current_dir,
        })
    }

    /// Plans the start of the program at `executable`, its path in the container.
    pub(crate) fn exec(&self, job: &Job, image: &ImageFacts, executable: &str) -> ExecRequest {
        let script = match job.program() {
            Program::Script { kind, path } => Some((*kind, path.to_string_lossy().into_owned())),
            _ => None,
        };
        let mut args = vec![self.launcher.clone(), executable.to_owned()];
        if let Some((kind, script)) = script {
            let name = Path::new(executable).file_name().unwrap_or_default();
            let leading = interpreter_args(kind, &name.to_string_lossy());
            args.extend(leading.iter().map(|argument| (*argument).to_owned()));
            args.push(script);
        }
        args.extend(job.resolve_args(|alias, path| {
            let is_mounted = self.aliases.iter().any(|mounted| mounted == alias);
            (!is_mounted).then(|| path.to_string_lossy().into_owned())
        }));
        ExecRequest {
            args,
            env: self.environment(job, image),
            current_dir: self.current_dir.display().to_string(),
        }
    }

    fn environment(&self, job: &Job, image: &ImageFacts) -> Environment {
        let scratch = self.container.scratch.display().to_string();
        let mut fixed: Vec<(String, String)> = [
            ("HOME", scratch.as_str()),
            ("LANG", "C.UTF-8"),
            ("PATH", &search_path(job, image)),
            // Python would try to write byte code next to the script, and load packages from HOME.
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONNOUSERSITE", "1"),
            ("TMPDIR", &scratch),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if job.installed_node_modules().is_some() {
            fixed.push(("NODE_PATH".to_owned(), NODE_MODULES_PATH.to_owned()));
        }
        fixed.extend(self.endpoint.iter().flat_map(ProxyEndpoint::variables));
        // The engine grants one.
        Environment::new(job, fixed).processors(1)
    }
}

impl WantedProgram {
    /// Returns the program of a job.
    ///
    /// # Errors
    /// Fails for programs that no image can run.
    pub(crate) fn new(job: &Job) -> Result<Self, SandboxError> {
        match job.program() {
            Program::Script { kind, .. } => Ok(job.interpreters().get(kind).map_or_else(
                || Self::Named(names_of(*kind)),
                |path| Self::Path(path.clone()),
            )),
            Program::Command { name } => Ok(Self::of_command(job, name)),
            _ => Err(SandboxError::invalid_program(
                "a container only runs scripts and commands",
            )),
        }
    }

    /// A chosen interpreter is also the one that a command names.
    fn of_command(job: &Job, name: &str) -> Self {
        let chosen = ScriptType::from_program(name).and_then(|kind| job.interpreters().get(&kind));
        match (chosen, name) {
            (Some(path), _) => Self::Path(path.clone()),
            // Some images have Python under its other name only, as some hosts have.
            (None, "python") => Self::Named(vec![name.to_owned(), "python3".to_owned()]),
            (None, _) => Self::Named(vec![name.to_owned()]),
        }
    }
}

/// Returns the path of a program of [`launcher`] in the container.
fn launcher_path(name: &str) -> String {
    format!("{}/{name}", launcher::DIRECTORY)
}

fn names_of(kind: ScriptType) -> Vec<String> {
    interpreter_names(kind)
        .iter()
        .map(|name| (*name).to_owned())
        .collect()
}

/// Returns the directories of the image that would be writable: its volumes, and those that Podman makes
/// writable in each container. A granted path is mounted in place of one.
fn volumes(image: &ImageFacts, grants: &Grants) -> Vec<PathBuf> {
    const OF_PODMAN: [&str; 2] = ["/run", "/var/tmp"];
    let of_image = image.volumes.iter().map(String::as_str);
    of_image
        .chain(OF_PODMAN)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && *path != scratch_path(grants))
        .filter(|path| grants.files().iter().all(|file| file.path() != path))
        .collect()
}

/// Returns the directories of installed packages, with their paths in the container.
fn further_directories(job: &Job) -> Vec<(PathBuf, PathBuf)> {
    let environments = job
        .interpreters()
        .values()
        .filter_map(|interpreter| interpreter.parent()?.parent())
        .map(|directory| (directory.to_owned(), directory.to_owned()));
    let modules = job
        .installed_node_modules()
        .map(|directory| (directory.to_owned(), NODE_MODULES_PATH.into()));
    environments.chain(modules).collect()
}

/// Returns the value of `PATH`: the directories of chosen interpreters, then those of the image.
fn search_path(job: &Job, image: &ImageFacts) -> String {
    let chosen = job.interpreters().values().filter_map(|interpreter| {
        let directory = interpreter.parent()?;
        Some(directory.display().to_string())
    });
    chosen
        .chain(image.search_path.iter().cloned())
        .collect::<Vec<_>>()
        .join(":")
}

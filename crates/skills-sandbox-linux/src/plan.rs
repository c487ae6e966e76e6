//! The plan of a run: program, environment, paths and limits as plain data.

use std::path::{Path, PathBuf};

use skills_egress::ProxyEndpoint;
use skills_policy::{FileGrant, Grants, ResourceLimits, SpawnGrant};
use skills_process::{KeyFiles, ProgramFinder, ProtectedEntries, ResolvedProgram};
use skills_sandbox::{Environment, Job, Program, Quota, SandboxError};

use crate::certificate_rules::certificate_rules;
use crate::denied_settings;
use crate::disk_limits;
use crate::isolation::IsolationLevel;
use crate::key_rules::{check_readable, find_keys, without_keys};
use crate::layer::find_layer;
use crate::path_rule::{PathAccess, PathRule, PlanContext, SymlinkPolicy};
use crate::rootfs_plan::{RootFsPlan, home_path};
use crate::run_network::{RunNetwork, proxy_endpoint};
use crate::system_paths::{DEVICES, DYNAMIC_LOADERS, SYSTEM_DIRS, SYSTEM_SETTINGS};
use crate::user_ids::UserIds;

/// The directory of links to programs, in the root file system of a run.
const LINK_DIR: &str = "/run/skill/bin";
/// Maximum directories with keys that a note names.
const MAX_NAMED_DIRECTORIES: usize = 3;
/// The plan of one run: the program with its arguments and environment, and the paths and limits
/// that it gets.
///
/// A plan is plain data, which a test can print and compare. Creating one starts no process and
/// changes no file; it only searches the writable directories for protected paths.
///
/// ```
/// # #[cfg(target_os = "linux")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use skills_policy::{Authorization, Policy, Request};
/// use skills_process::ProgramFinder;
/// use skills_sandbox::{Job, Program, ScriptType};
/// use skills_sandbox_linux::{IsolationLevel, PathAccess, Plan, PlanContext, SymlinkPolicy};
///
/// let Authorization::Granted(grants) = Policy::default().authorize(&Request::new("/skills/pdf"))
/// else {
///     panic!("reading the own directory needs no rule")
/// };
/// let script = Program::script(ScriptType::Shell, "/skills/pdf/run.sh");
/// let context = PlanContext {
///     isolation: IsolationLevel::Namespaces,
///     scratch_path: "/tmp".into(),
///     mount_proc: true,
///     own_network: true,
/// };
/// let plan = Plan::new(&Job::new(grants, script), &ProgramFinder::default(), &context)?;
///
/// // The skill is readable, and must not be reached through a symlink.
/// let skill = plan.paths().iter().find(|rule| rule.path.ends_with("pdf")).unwrap();
/// assert_eq!(skill.access, PathAccess::Read);
/// assert_eq!(skill.symlinks, SymlinkPolicy::Reject);
/// // The environment is complete: nothing is inherited from the host process.
/// assert!(plan.env().contains(&("HOME".to_owned(), "/tmp/home".to_owned())));
/// assert_eq!(plan.args().last().unwrap(), "/skills/pdf/run.sh");
/// # Ok(())
/// # }
/// # #[cfg(not(target_os = "linux"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// `None` for a probe, which applies all restrictions and executes nothing.
    pub(crate) executable: Option<PathBuf>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Environment,
    pub(crate) current_dir: PathBuf,
    pub(crate) isolation: IsolationLevel,
    pub(crate) paths: Vec<PathRule>,
    /// The home directory of the program.
    pub(crate) home: PathBuf,
    /// A symlink named `python`, on hosts that have only `python3`, and its target.
    pub(crate) python_link: Option<(PathBuf, PathBuf)>,
    /// Symlinks in `HOME` to granted paths of the user's home directory, and their targets.
    pub(crate) home_links: Vec<(PathBuf, PathBuf)>,
    /// Granted paths whose files are at another location of the host.
    pub(crate) relocated: Vec<(PathBuf, PathBuf)>,
    /// The protected paths that exist in writable directories.
    pub(crate) protected: ProtectedEntries,
    /// The files in granted directories that may hold keys and that the run does not get.
    pub(crate) keys: KeyFiles,
    pub(crate) rootfs: Option<RootFsPlan>,
    pub(crate) network: RunNetwork,
    /// The ports of granted services of the host's loopback device that are reached directly.
    pub(crate) services: Vec<u16>,
    pub(crate) spawn: SpawnGrant,
    pub(crate) limits: ResourceLimits,
    /// The quotas of the job.
    pub(crate) quotas: Vec<Quota>,
    /// The quota of the scratch directory, unless it is in memory.
    pub(crate) scratch: Option<Quota>,
}

impl Plan {
    /// Creates the plan of a job.
    ///
    /// # Errors
    /// Fails if the program is neither a script nor a host program, if it or its interpreter does
    /// not exist, if the grants contain something that this backend cannot enforce, or if the
    /// writable directories contain more entries than can be searched for protected paths.
    pub fn new(
        job: &Job,
        program_finder: &ProgramFinder,
        context: &PlanContext,
    ) -> Result<Self, SandboxError> {
        let grants = job.grants();
        let current_dir = job.working_directory("linux")?.to_owned();
        let has_namespaces = context.isolation == IsolationLevel::Namespaces;
        if has_namespaces {
            check_no_root_grant(grants)?;
        }
        let program_finder = &*program_finder.with_interpreters(job.interpreters());
        let program = program_finder.for_job(job, "linux")?;
        let endpoint = proxy_endpoint(grants);
        let network = RunNetwork::new(endpoint.as_ref(), context);
        let protected = find_protected(grants)?;
        let keys = find_keys(grants, &protected, context.isolation)?;
        check_readable(&current_dir, &keys)?;
        let mut paths = build_path_rules(job, &program, program_finder, context);
        paths.extend(PathRule::own_terminal(job));
        if has_namespaces {
            paths.extend(exception_rules(grants, &protected, &keys));
        } else {
            paths = without_keys(paths, &keys)?;
        }
        let layer = has_namespaces
            .then(|| find_layer(job, &mut paths))
            .flatten();
        let python_link = find_python_link(grants, program_finder, context);
        let home_links = find_home_links(job, &home_of_run(context));
        let rootfs = has_namespaces.then(|| {
            RootFsPlan::new(&paths, grants.limits(), context, UserIds::sandboxed())
                .with_layer(layer.as_deref(), grants.limits())
                .with_aliases(job.path_aliases())
                .with_aliases(node_modules_link(job).as_slice())
                .with_aliases(python_link.as_slice())
                .with_home_links(&home_links)
                .with_withheld(&keys)
        });
        let mut plan = Self {
            args: build_args(job, &program, rootfs.as_ref())?,
            env: build_environment(
                job,
                &program,
                context,
                &search_path(program_finder, python_link.as_ref()),
                endpoint.as_ref(),
            ),
            python_link,
            home_links,
            home: home_of_run(context),
            current_dir,
            isolation: context.isolation,
            rootfs,
            network,
            services: endpoint
                .map(|endpoint| endpoint.services)
                .unwrap_or_default(),
            paths,
            relocated: relocated_paths(grants),
            protected,
            keys,
            executable: Some(program.executable),
            spawn: grants.spawn().clone(),
            limits: grants.limits().clone(),
            quotas: job.quotas().to_vec(),
            scratch: (!has_namespaces)
                .then(|| Quota::new(&context.scratch_path, grants.limits().scratch_bytes)),
        };
        plan.limits.file_bytes = disk_limits::file_bytes(&plan);
        Ok(plan)
    }

    /// Plans a probe: all restrictions, no program.
    pub(crate) fn probe(context: &PlanContext, network: RunNetwork) -> Self {
        let paths: Vec<PathRule> = SYSTEM_DIRS
            .iter()
            .map(|path| PathRule::system(path, PathAccess::Read))
            .chain(device_rules())
            .collect();
        let limits = ResourceLimits::default();
        let rootfs = (context.isolation == IsolationLevel::Namespaces)
            .then(|| RootFsPlan::new(&paths, &limits, context, UserIds::sandboxed()));
        Self {
            executable: None,
            args: Vec::new(),
            env: Environment::default(),
            current_dir: PathBuf::from("/"),
            isolation: context.isolation,
            rootfs,
            network,
            services: Vec::new(),
            paths,
            home: home_of_run(context),
            python_link: None,
            home_links: Vec::new(),
            relocated: Vec::new(),
            protected: ProtectedEntries::default(),
            keys: KeyFiles::default(),
            spawn: SpawnGrant::None,
            limits,
            quotas: Vec::new(),
            scratch: None,
        }
    }

    /// Returns the rules for all paths of the run, the directory of the program first.
    #[must_use]
    pub fn paths(&self) -> &[PathRule] {
        &self.paths
    }

    /// Returns the quotas of all directories that are measured during the run.
    pub(crate) fn measured_quotas(&self) -> Vec<Quota> {
        self.quotas.iter().chain(&self.scratch).cloned().collect()
    }

    /// Returns the limits as the kernel counts them: the first process of a process namespace is one
    /// that the limit of the run does not include.
    pub(crate) fn counted_limits(&self) -> ResourceLimits {
        let mut limits = self.limits.clone();
        if self.isolation == IsolationLevel::Namespaces {
            limits.processes = limits.processes.saturating_add(1);
        }
        limits
    }

    /// Returns true if a granted path is writable, other than the scratch directory.
    pub(crate) fn has_writable_grants(&self) -> bool {
        self.paths
            .iter()
            .any(|rule| rule.is_writable() && rule.symlinks == SymlinkPolicy::Reject)
    }

    /// Returns what the program cannot do with its own files, where mounts cannot cover keys: one line
    /// for all directories with keys.
    pub(crate) fn key_note(&self) -> Option<String> {
        let around_keys = self
            .paths
            .iter()
            .filter(|rule| rule.access == PathAccess::Create);
        // The outer ones first.
        let mut directories: Vec<&Path> = around_keys.map(|rule| rule.path.as_path()).collect();
        directories.sort_by_key(|path| (path.components().count(), *path));
        let (named, others) = directories.split_at(directories.len().min(MAX_NAMED_DIRECTORIES));
        if named.is_empty() {
            return None;
        }
        let names: Vec<String> = named
            .iter()
            .map(|path| format!("`{}`", path.display()))
            .collect();
        let others = match others.len() {
            0 => String::new(),
            1 => " and 1 more directory".to_owned(),
            number => format!(" and {number} more directories"),
        };
        Some(format!(
            "in {}{others} with keys, the program could not read, rename or remove files that it created: this host has no user namespaces, with which only the keys are withheld",
            names.join(", ")
        ))
    }

    /// Returns the existing paths that may hold keys and that the run cannot open.
    pub(crate) fn withheld_keys(&self) -> Vec<PathBuf> {
        self.keys.iter().map(|(path, _)| path.to_owned()).collect()
    }

    /// Returns the existing protected paths that the run cannot change.
    pub(crate) fn read_only_paths(&self) -> Vec<PathBuf> {
        let protected = self.rootfs.iter().flat_map(|_| self.protected.outermost());
        protected.map(Path::to_owned).collect()
    }

    /// Returns the complete environment of the program, as names and values.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        self.env.variables()
    }

    /// Returns the arguments of the program, its name first.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }
}

/// Rejects a grant of `/`: mounting the root of the host over the new one would undo the isolation.
fn check_no_root_grant(grants: &Grants) -> Result<(), SandboxError> {
    if grants
        .files()
        .iter()
        .any(|file| file.path() == Path::new("/"))
    {
        return Err(SandboxError::rejected(
            "linux",
            "the root directory `/` cannot be granted; grant directories in it",
        ));
    }
    Ok(())
}

/// Searches for protected paths, and rejects grants that are too large to search.
fn find_protected(grants: &Grants) -> Result<ProtectedEntries, SandboxError> {
    ProtectedEntries::find_all(grants)
        .map_err(|limit| SandboxError::rejected("linux", limit.to_string()))
}

/// Returns rules for what is read-only, hidden or withheld inside granted directories. A read-only
/// symlink is mounted over itself, so that it stays.
fn exception_rules(
    grants: &Grants,
    protected: &ProtectedEntries,
    keys: &KeyFiles,
) -> Vec<PathRule> {
    let protected = protected
        .outermost()
        .chain(keys.symlinks())
        .map(|path| PathRule::granted(path, PathAccess::Protected));
    let hidden = grants
        .hidden()
        .iter()
        .filter(|path| grants.innermost_grant(path).is_some())
        .map(|path| PathRule::granted(path, PathAccess::Hidden));
    let withheld = keys
        .iter()
        .map(|(path, _)| PathRule::granted(path, PathAccess::Withheld));
    protected.chain(hidden).chain(withheld).collect()
}

fn relocated_paths(grants: &Grants) -> Vec<(PathBuf, PathBuf)> {
    grants
        .files()
        .iter()
        .filter(|file| file.location() != file.path())
        .map(|file| (file.path().to_owned(), file.location().to_owned()))
        .collect()
}

/// Returns a symlink from `python` to the Python of the run, where the host has no program of that
/// name, for runs that may start programs.
fn find_python_link(
    grants: &Grants,
    program_finder: &ProgramFinder,
    context: &PlanContext,
) -> Option<(PathBuf, PathBuf)> {
    if *grants.spawn() == SpawnGrant::None {
        return None;
    }
    let directory = match context.isolation {
        IsolationLevel::Namespaces => PathBuf::from(LINK_DIR),
        IsolationLevel::Landlock | IsolationLevel::None => context.scratch_path.join(".bin"),
    };
    Some((directory.join("python"), program_finder.missing_python()?))
}

/// Returns the symlink by which `import` of Node finds installed packages from every directory.
fn node_modules_link(job: &Job) -> Option<(PathBuf, PathBuf)> {
    let directory = job.installed_node_modules()?;
    Some((PathBuf::from("/node_modules"), directory.to_owned()))
}

/// Returns the value of `PATH`, with the directory of the link last.
fn search_path(program_finder: &ProgramFinder, link: Option<&(PathBuf, PathBuf)>) -> String {
    let path = program_finder.path_env();
    match link.and_then(|(link, _)| link.parent()) {
        Some(directory) => format!("{path}:{}", directory.display()),
        None => path,
    }
}

/// Returns symlinks in `home` to the granted paths below the user's home directory, without those
/// below another of them.
fn find_home_links(job: &Job, home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Some(user_home) = job.user_home_path() else {
        return Vec::new();
    };
    let granted = || job.grants().files().iter().map(FileGrant::path);
    let below_home =
        |path: &Path| path != user_home && path.starts_with(user_home) && !path.starts_with(home);
    granted()
        .filter(|path| below_home(path))
        .filter(|path| {
            !granted().any(|other| other != *path && below_home(other) && path.starts_with(other))
        })
        .filter_map(|path| {
            let relative = path.strip_prefix(user_home).ok()?;
            Some((home.join(relative), path.to_owned()))
        })
        .collect()
}

fn build_environment(
    job: &Job,
    program: &ResolvedProgram,
    context: &PlanContext,
    search_path: &str,
    endpoint: Option<&ProxyEndpoint>,
) -> Environment {
    let home = home_of_run(context);
    let mut fixed: Vec<(String, String)> = [
        ("HOME", home.to_string_lossy().as_ref()),
        ("PATH", search_path),
        // Python would try to write byte code next to the script, and load packages from HOME.
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("TMPDIR", context.scratch_path.to_string_lossy().as_ref()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    fixed.extend(job.languages("C.UTF-8"));
    fixed.extend(job.certificate_variables());
    if context.isolation == IsolationLevel::Landlock {
        fixed.extend(denied_settings::variables(job));
    }
    fixed.extend(program.environment.iter().cloned());
    fixed.extend(endpoint.into_iter().flat_map(ProxyEndpoint::variables));
    Environment::new(job, fixed)
}

fn home_of_run(context: &PlanContext) -> PathBuf {
    home_path(&context.scratch_path)
}

fn build_path_rules(
    job: &Job,
    program: &ResolvedProgram,
    program_finder: &ProgramFinder,
    context: &PlanContext,
) -> Vec<PathRule> {
    let grants = job.grants();
    // The first rule is the directory of the program, which `RootFsPlan` keeps read-only.
    let mut rules: Vec<PathRule> = grants.files().iter().map(PathRule::of_grant).collect();
    // With namespaces the scratch directory is a file system in memory, not a path of the host.
    if context.isolation != IsolationLevel::Namespaces {
        rules.push(PathRule::system(&context.scratch_path, PathAccess::Write));
    }
    rules.extend(system_rules(&SYSTEM_DIRS, PathAccess::Read));
    rules.extend(system_rules(&SYSTEM_SETTINGS, PathAccess::ReadPublic));
    rules.extend(certificate_rules(job));
    rules.extend(program_rules(program));
    rules.extend(system_rules(&DYNAMIC_LOADERS, PathAccess::Execute));
    rules.extend(device_rules());
    rules.extend(spawn_rules(grants, program_finder));
    rules
}

fn system_rules(paths: &[&'static str], access: PathAccess) -> impl Iterator<Item = PathRule> {
    paths.iter().map(move |path| PathRule::system(path, access))
}

fn device_rules() -> impl Iterator<Item = PathRule> {
    DEVICES
        .iter()
        .map(|(path, access)| PathRule::system(path, *access))
}

/// Returns rules for the programs that a script may start.
fn spawn_rules(grants: &Grants, program_finder: &ProgramFinder) -> Vec<PathRule> {
    match grants.spawn() {
        SpawnGrant::None => Vec::new(),
        SpawnGrant::Programs(names) => names
            .iter()
            .filter_map(|name| program_finder.find_program(name))
            .flat_map(|program| program_rules(&program).collect::<Vec<_>>())
            .collect(),
        SpawnGrant::Any => any_program_rules(grants, program_finder),
    }
}

/// Returns rules for any program of the system, of the user, and of the skill.
pub(crate) fn any_program_rules(grants: &Grants, program_finder: &ProgramFinder) -> Vec<PathRule> {
    let own_dir = grants
        .files()
        .first()
        .map(|file| PathRule::granted(file.path(), PathAccess::Execute));
    let of_user = program_finder
        .fallback_program_directories()
        .map(|directory| PathRule::system(directory, PathAccess::Execute));
    system_rules(&["/usr", "/bin"], PathAccess::Execute)
        .chain(of_user)
        .chain(own_dir)
        .collect()
}

/// Returns the arguments: the program under the name it expects, its leading arguments, the script
/// if there is one, and the arguments of the job.
fn build_args(
    job: &Job,
    program: &ResolvedProgram,
    rootfs: Option<&RootFsPlan>,
) -> Result<Vec<String>, SandboxError> {
    let argv0 = program.argv0.to_string_lossy().into_owned();
    let heap = program.heap_argument(job.grants().limits().memory_bytes);
    let script = match job.program() {
        Program::Script { path, .. } => Some(
            path.to_str()
                .ok_or_else(|| SandboxError::invalid_program("the script's path is not UTF-8"))?
                .to_owned(),
        ),
        _ => None,
    };
    // An alias that is a symlink in the root file system stays as the caller wrote it; any other is
    // replaced by the path of the host.
    let job_args = job.resolve_args(|alias, path| {
        let is_linked = rootfs.is_some_and(|rootfs| rootfs.is_linked(alias, path));
        (!is_linked).then(|| path.to_string_lossy().into_owned())
    });
    Ok([argv0]
        .into_iter()
        .chain(program.leading_args.iter().cloned())
        .chain(heap)
        .chain(script)
        .chain(job_args)
        .collect())
}

/// Returns rules for the files that a program of the host needs to start.
fn program_rules(program: &ResolvedProgram) -> impl Iterator<Item = PathRule> {
    let readable = program
        .readable
        .iter()
        .map(|path| PathRule::system(path, PathAccess::Read));
    let executable = program
        .executable_paths
        .iter()
        .map(|path| PathRule::system(path, PathAccess::Execute));
    readable.chain(executable)
}

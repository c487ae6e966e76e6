//! What will be done, as plain data.

use std::path::{Path, PathBuf};

use skills_policy::{Access, Grants, NetworkGrant, ResourceLimits, SpawnGrant};
use skills_sandbox::interpreter::{MemoryRlimit, ProgramFinder, ResolvedProgram};
use skills_sandbox::{Environment, Job, Program, Quota, SandboxError};

use crate::isolation::IsolationLevel;
use crate::protected_entries::ProtectedEntries;
use crate::rootfs_plan::{RootFsPlan, home_path};
use crate::user_ids::UserIds;

/// System directories with libraries and data that every interpreter needs; links such as `/bin`
/// are followed, missing ones skipped.
///
/// Node does not start when the settings of OpenSSL are there and cannot be read.
const SYSTEM_DIRS: [&str; 8] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/alternatives",
    "/etc/ssl/openssl.cnf",
];
/// The dynamic loaders, which the kernel executes together with any program.
const DYNAMIC_LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];
/// Certificates of authorities, for programs that may reach hosts; never the directory with the
/// machine's private keys.
const CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];
/// Where the proxy listens in a network of the program's own.
pub(crate) const PROXY_PORT: u16 = 3_128;
/// Harmless devices. One of zeros that can be written can be mapped as shared memory, which
/// `RLIMIT_DATA` does not count.
const DEVICES: [(&str, PathAccess); 5] = [
    ("/dev/null", PathAccess::Device),
    ("/dev/zero", PathAccess::ReadDevice),
    ("/dev/full", PathAccess::Device),
    ("/dev/random", PathAccess::Device),
    ("/dev/urandom", PathAccess::Device),
];

/// What will be done for one job: which program with which arguments and environment, and which
/// paths and limits it gets.
///
/// Making a plan changes nothing. It can be printed and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// None: only the walls are put up.
    pub(crate) executable: Option<PathBuf>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Environment,
    /// Which of the kernel's limits bounds its memory.
    pub(crate) memory: MemoryRlimit,
    pub(crate) current_dir: PathBuf,
    pub(crate) isolation: IsolationLevel,
    pub(crate) paths: Vec<PathRule>,
    /// Where files lie that the program finds elsewhere.
    pub(crate) relocated: Vec<(PathBuf, PathBuf)>,
    /// The protected paths that exist in directories that may be written.
    pub(crate) protected: ProtectedEntries,
    pub(crate) rootfs: Option<RootFsPlan>,
    pub(crate) listener: Option<u16>,
    pub(crate) spawn: SpawnGrant,
    pub(crate) limits: ResourceLimits,
    /// The quotas of the job.
    pub(crate) quotas: Vec<Quota>,
    /// The quota of the scratch space, where that lies on a disk of this machine.
    pub(crate) scratch: Option<Quota>,
}

/// Where a program is going to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanContext {
    /// The walls around it.
    pub isolation: IsolationLevel,
    /// Where its scratch space is: a directory of this machine or, for
    /// [`IsolationLevel::Namespaces`], a place in its own file tree.
    pub scratch_path: PathBuf,
    /// Whether a `/proc` of its own can be mounted; only for [`IsolationLevel::Namespaces`].
    pub mount_proc: bool,
}

/// A path and what may be done with it and with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path.
    pub path: PathBuf,
    /// What may be done.
    pub access: PathAccess,
    /// Whether it may lead through symlinks.
    pub symlinks: SymlinkPolicy,
}

/// Whether a path may lead through symlinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// As paths of the system may.
    Follow,
    /// What was granted is what lies at the path and nothing that it leads to.
    Reject,
}

/// What may be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// Read files and list directories.
    Read,
    /// Read a file and execute it.
    Execute,
    /// Read and write a device.
    Device,
    /// Read a device.
    ReadDevice,
    /// Everything but executing and making devices.
    Write,
    /// Read-only although it lies in a directory that may be written. It gives no right of its own.
    Protected,
    /// Neither read nor written although it lies in a directory that was granted: an empty
    /// directory is in its place.
    Hidden,
}

impl Plan {
    /// Makes the plan for a job.
    ///
    /// # Errors
    /// When the program is neither a script nor a command, it or its interpreter is missing, or the
    /// grants hold what this backend cannot enforce.
    pub fn new(
        job: &Job,
        interpreters: &ProgramFinder,
        ground: &PlanContext,
    ) -> Result<Self, SandboxError> {
        let grants = job.grants();
        let directory = job.working_directory("linux")?.to_owned();
        if ground.isolation == IsolationLevel::Namespaces
            && grants
                .files()
                .iter()
                .any(|file| file.path() == Path::new("/"))
        {
            return Err(SandboxError::rejected(
                "linux",
                "the root of the file system cannot be granted, only directories in it",
            ));
        }
        let interpreter = interpreters.for_job(job, "linux")?;
        let listener = (*grants.network() != NetworkGrant::None).then_some(PROXY_PORT);
        let protected = ProtectedEntries::find(grants);
        if let Some(limit) = protected.search_limit() {
            let reason = format!(
                "what may be written holds more than {limit}, too much to protect hooks and settings in it: grant narrower directories"
            );
            return Err(SandboxError::rejected("linux", reason));
        }
        let mut paths = build_path_rules(grants, &interpreter, interpreters, ground);
        if ground.isolation == IsolationLevel::Namespaces {
            let rule = |right| {
                move |path: &Path| PathRule {
                    path: path.to_owned(),
                    access: right,
                    symlinks: SymlinkPolicy::Reject,
                }
            };
            paths.extend(protected.outermost().map(rule(PathAccess::Protected)));
            paths.extend(
                grants
                    .hidden()
                    .iter()
                    .filter(|path| grants.innermost_grant(path).is_some())
                    .map(|path| rule(PathAccess::Hidden)(path)),
            );
        }
        let view = (ground.isolation == IsolationLevel::Namespaces).then(|| {
            RootFsPlan::new(&paths, grants.limits(), ground, UserIds::sandboxed())
                .with_aliases(job.path_aliases())
        });
        Ok(Self {
            args: build_args(job, &interpreter, view.as_ref())?,
            env: build_environment(job, &interpreter, interpreters, ground, listener),
            current_dir: directory,
            isolation: ground.isolation,
            rootfs: view,
            listener,
            paths,
            relocated: relocated_paths(grants),
            protected,
            executable: Some(interpreter.executable),
            memory: interpreter.memory,
            spawn: grants.spawn().clone(),
            limits: grants.limits().clone(),
            quotas: job.quotas().to_vec(),
            scratch: (ground.isolation != IsolationLevel::Namespaces)
                .then(|| Quota::new(&ground.scratch_path, grants.limits().scratch_bytes)),
        })
    }

    /// Plans walls around nothing, to find out whether they stand here.
    pub(crate) fn probe(ground: &PlanContext, listener: Option<u16>) -> Self {
        let system = |path: &&str, right| PathRule {
            path: PathBuf::from(path),
            access: right,
            symlinks: SymlinkPolicy::Follow,
        };
        let devices = DEVICES.iter().map(|(path, right)| system(path, *right));
        let paths: Vec<PathRule> = SYSTEM_DIRS
            .iter()
            .map(|path| system(path, PathAccess::Read))
            .chain(devices)
            .collect();
        let limits = ResourceLimits::default();
        let is_isolated = ground.isolation == IsolationLevel::Namespaces;
        Self {
            executable: None,
            memory: MemoryRlimit::AddressSpace,
            args: Vec::new(),
            env: Environment::default(),
            current_dir: PathBuf::from("/"),
            isolation: ground.isolation,
            rootfs: is_isolated
                .then(|| RootFsPlan::new(&paths, &limits, ground, UserIds::sandboxed())),
            listener,
            paths,
            relocated: Vec::new(),
            protected: ProtectedEntries::default(),
            spawn: SpawnGrant::None,
            limits,
            quotas: Vec::new(),
            scratch: None,
        }
    }

    /// Returns the paths that may be used, and how.
    #[must_use]
    pub fn paths(&self) -> &[PathRule] {
        &self.paths
    }

    /// Returns the quotas of all directories that are measured while the program runs.
    pub(crate) fn measured_quotas(&self) -> Vec<Quota> {
        self.quotas.iter().chain(&self.scratch).cloned().collect()
    }

    /// Says whether something may be written that is not the program's own.
    pub(crate) fn has_writable_grants(&self) -> bool {
        self.paths
            .iter()
            .any(|rule| rule.access == PathAccess::Write && rule.symlinks == SymlinkPolicy::Reject)
    }

    /// Returns the whole environment of the program.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        self.env.variables()
    }

    /// Returns the program and its arguments, as they will be passed.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }
}

fn relocated_paths(grants: &Grants) -> Vec<(PathBuf, PathBuf)> {
    let moved = grants
        .files()
        .iter()
        .filter(|file| file.location() != file.path());
    moved
        .map(|file| (file.path().to_owned(), file.location().to_owned()))
        .collect()
}

fn build_environment(
    job: &Job,
    interpreter: &ResolvedProgram,
    interpreters: &ProgramFinder,
    ground: &PlanContext,
    listener: Option<u16>,
) -> Environment {
    let (home, temporary) = match ground.isolation {
        IsolationLevel::Namespaces => (home_path(&ground.scratch_path), &ground.scratch_path),
        IsolationLevel::Landlock | IsolationLevel::None => {
            (ground.scratch_path.clone(), &ground.scratch_path)
        }
    };
    let path = interpreters.path_env();
    let mut fixed: Vec<(String, String)> = [
        ("HOME", home.to_string_lossy().as_ref()),
        ("LANG", "C.UTF-8"),
        ("PATH", path.as_str()),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("TMPDIR", temporary.to_string_lossy().as_ref()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    fixed.extend(interpreter.environment.iter().cloned());
    fixed.extend(
        listener
            .into_iter()
            .flat_map(skills_sandbox::egress::proxy_env),
    );
    Environment::new(job, fixed)
}

fn build_path_rules(
    grants: &Grants,
    interpreter: &ResolvedProgram,
    interpreters: &ProgramFinder,
    ground: &PlanContext,
) -> Vec<PathRule> {
    let granted = |path: &Path, right| PathRule {
        path: path.to_owned(),
        access: right,
        symlinks: SymlinkPolicy::Reject,
    };
    let system = |path: &Path, right| PathRule {
        path: path.to_owned(),
        access: right,
        symlinks: SymlinkPolicy::Follow,
    };
    let named = |path: &&str, right| system(Path::new(path), right);
    let mut rules: Vec<PathRule> = Vec::new();
    for file in grants.files() {
        rules.push(granted(
            file.path(),
            if file.access() == Access::ReadWrite {
                PathAccess::Write
            } else {
                PathAccess::Read
            },
        ));
    }
    if ground.isolation != IsolationLevel::Namespaces {
        rules.push(system(&ground.scratch_path, PathAccess::Write));
    }
    rules.extend(SYSTEM_DIRS.iter().map(|path| named(path, PathAccess::Read)));
    if *grants.network() != NetworkGrant::None {
        rules.extend(
            CERTIFICATES
                .iter()
                .map(|path| named(path, PathAccess::Read)),
        );
    }
    rules.extend(program_paths(interpreter));
    rules.extend(
        DYNAMIC_LOADERS
            .iter()
            .map(|path| named(path, PathAccess::Execute)),
    );
    rules.extend(DEVICES.iter().map(|(path, right)| named(path, *right)));
    match grants.spawn() {
        SpawnGrant::None => {}
        SpawnGrant::Programs(names) => {
            let programs = names
                .iter()
                .filter_map(|name| interpreters.find_program(name));
            rules.extend(programs.flat_map(|program| program_paths(&program).collect::<Vec<_>>()));
        }
        SpawnGrant::Any => {
            rules.extend(
                ["/usr", "/bin"]
                    .iter()
                    .map(|path| named(path, PathAccess::Execute)),
            );
            rules.extend(
                grants
                    .files()
                    .first()
                    .map(|home| granted(home.path(), PathAccess::Execute)),
            );
        }
    }
    rules
}

/// The program as it wants to be called, what it wants before the script, the script where there is
/// one, and the arguments.
fn build_args(
    job: &Job,
    interpreter: &ResolvedProgram,
    view: Option<&RootFsPlan>,
) -> Result<Vec<String>, SandboxError> {
    let name = interpreter.argv0.to_string_lossy().into_owned();
    let heap = interpreter.heap_argument(job.grants().limits().memory_bytes);
    let before = interpreter.leading_args.iter().cloned().chain(heap);
    let script = match job.program() {
        Program::Script { path, .. } => Some(
            path.to_str()
                .ok_or_else(|| SandboxError::invalid_program("the script's path is not UTF-8"))?
                .to_owned(),
        ),
        _ => None,
    };
    let words = job.resolve_args(|alias, path| {
        let is_seen = view.is_some_and(|view| view.is_linked(alias, path));
        (!is_seen).then(|| path.to_string_lossy().into_owned())
    });
    Ok([name]
        .into_iter()
        .chain(before)
        .chain(script)
        .chain(words)
        .collect())
}

/// What a program of the machine needs to start.
fn program_paths(program: &ResolvedProgram) -> impl Iterator<Item = PathRule> {
    let rule = |right| {
        move |path: &PathBuf| PathRule {
            path: path.clone(),
            access: right,
            symlinks: SymlinkPolicy::Follow,
        }
    };
    program.readable.iter().map(rule(PathAccess::Read)).chain(
        program
            .executable_paths
            .iter()
            .map(rule(PathAccess::Execute)),
    )
}

//! What will be done, as plain data.

use std::path::{Path, PathBuf};

use skills_policy::{Access, Grants, Limits, Network, Spawn};
use skills_sandbox::interpreter::{ResolvedProgram, ProgramFinder, MemoryRlimit};
use skills_sandbox::{Environment, Job, Program, Quota, SandboxError};

use crate::identity::User;
use crate::protected::Protected;
use crate::tier::Tier;
use crate::view::{View, home};

/// System directories with libraries and data that every interpreter needs; links such as `/bin` are followed, missing ones skipped.
///
/// Node does not start when the settings of OpenSSL are there and cannot be read.
const SYSTEM: [&str; 8] =
    ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/ssl/openssl.cnf"];
/// The dynamic loaders, which the kernel executes together with any program.
const LOADERS: [&str; 4] =
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];
/// Certificates of authorities, for programs that may reach hosts; never the directory with the machine's private keys.
const CERTIFICATES: [&str; 4] = ["/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"];
/// Where the proxy listens in a network of the program's own.
pub(crate) const PROXY_PORT: u16 = 3_128;
/// Harmless devices. One of zeros that can be written can be mapped as shared memory, which `RLIMIT_DATA` does not count.
const DEVICES: [(&str, Right); 5] = [
    ("/dev/null", Right::Device),
    ("/dev/zero", Right::ReadDevice),
    ("/dev/full", Right::Device),
    ("/dev/random", Right::Device),
    ("/dev/urandom", Right::Device),
];

/// What will be done for one job: which program with which arguments and environment, and which paths and limits it gets.
///
/// Making a plan changes nothing. It can be printed and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// None: only the walls are put up.
    pub(crate) executable: Option<PathBuf>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Environment,
    /// Which of the kernel's limits bounds its memory.
    pub(crate) memory: MemoryRlimit,
    pub(crate) directory: PathBuf,
    pub(crate) tier: Tier,
    pub(crate) paths: Vec<PathRule>,
    /// Where files lie that the program finds elsewhere.
    pub(crate) moved: Vec<(PathBuf, PathBuf)>,
    /// The protected paths that exist in directories that may be written.
    pub(crate) protected: Protected,
    pub(crate) view: Option<View>,
    pub(crate) listener: Option<u16>,
    pub(crate) spawn: Spawn,
    pub(crate) limits: Limits,
    /// The quotas of the job.
    pub(crate) quotas: Vec<Quota>,
    /// The quota of the scratch space, where that lies on a disk of this machine.
    pub(crate) scratch: Option<Quota>,
}

/// Where a program is going to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The walls around it.
    pub tier: Tier,
    /// Where its scratch space is: a directory of this machine or, for [`Tier::Isolated`], a place in its own file tree.
    pub scratch: PathBuf,
    /// Whether a `/proc` of its own can be mounted; only for [`Tier::Isolated`].
    pub processes: bool,
}

/// A path and what may be done with it and with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path.
    pub path: PathBuf,
    /// What may be done.
    pub right: Right,
    /// Whether it may lead through symlinks.
    pub symlinks: Symlinks,
}

/// Whether a path may lead through symlinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symlinks {
    /// As paths of the system may.
    Followed,
    /// What was granted is what lies at the path and nothing that it leads to.
    Refused,
}

/// What may be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
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
    /// Neither read nor written although it lies in a directory that was granted: an empty directory is in its place.
    Hidden,
}

impl Plan {
    /// Makes the plan for a job.
    ///
    /// # Errors
    /// When the program is neither a script nor a command, it or its interpreter is missing, or the grants hold what this backend cannot enforce.
    pub fn new(job: &Job, interpreters: &ProgramFinder, ground: &Ground) -> Result<Self, SandboxError> {
        let grants = job.grants();
        let directory = job.working_directory("linux")?.to_owned();
        if ground.tier == Tier::Isolated && grants.files().iter().any(|file| file.path() == Path::new("/")) {
            return Err(SandboxError::rejected("linux", "the root of the file system cannot be granted, only directories in it"));
        }
        let interpreter = interpreters.for_job(job, "linux")?;
        let listener = (*grants.network() != Network::None).then_some(PROXY_PORT);
        let protected = Protected::find(grants);
        if let Some(limit) = protected.cut() {
            let reason = format!(
                "what may be written holds more than {limit}, too much to protect hooks and settings in it: grant narrower directories"
            );
            return Err(SandboxError::rejected("linux", reason));
        }
        let mut paths = paths(grants, &interpreter, interpreters, ground);
        if ground.tier == Tier::Isolated {
            let rule = |right| move |path: &Path| PathRule { path: path.to_owned(), right, symlinks: Symlinks::Refused };
            paths.extend(protected.outermost().map(rule(Right::Protected)));
            paths.extend(grants.hidden().iter().filter(|path| grants.around(path).is_some()).map(|path| rule(Right::Hidden)(path)));
        }
        let view =
            (ground.tier == Tier::Isolated).then(|| View::new(&paths, grants.limits(), ground, User::inside()).with_aliases(job.path_aliases()));
        Ok(Self {
            arguments: arguments(job, &interpreter, view.as_ref())?,
            environment: environment(job, &interpreter, interpreters, ground, listener),
            directory,
            tier: ground.tier,
            view,
            listener,
            paths,
            moved: moved(grants),
            protected,
            executable: Some(interpreter.executable),
            memory: interpreter.memory,
            spawn: grants.spawn().clone(),
            limits: grants.limits().clone(),
            quotas: job.quotas().to_vec(),
            scratch: (ground.tier != Tier::Isolated).then(|| Quota::new(&ground.scratch, grants.limits().scratch_bytes)),
        })
    }

    /// Plans walls around nothing, to find out whether they stand here.
    pub(crate) fn probe(ground: &Ground, listener: Option<u16>) -> Self {
        let system = |path: &&str, right| PathRule { path: PathBuf::from(path), right, symlinks: Symlinks::Followed };
        let devices = DEVICES.iter().map(|(path, right)| system(path, *right));
        let paths: Vec<PathRule> = SYSTEM.iter().map(|path| system(path, Right::Read)).chain(devices).collect();
        let limits = Limits::default();
        let is_isolated = ground.tier == Tier::Isolated;
        Self {
            executable: None,
            memory: MemoryRlimit::AddressSpace,
            arguments: Vec::new(),
            environment: Environment::default(),
            directory: PathBuf::from("/"),
            tier: ground.tier,
            view: is_isolated.then(|| View::new(&paths, &limits, ground, User::inside())),
            listener,
            paths,
            moved: Vec::new(),
            protected: Protected::default(),
            spawn: Spawn::None,
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
    pub(crate) fn measured(&self) -> Vec<Quota> {
        self.quotas.iter().chain(&self.scratch).cloned().collect()
    }

    /// Says whether something may be written that is not the program's own.
    pub(crate) fn writes_granted(&self) -> bool {
        self.paths.iter().any(|rule| rule.right == Right::Write && rule.symlinks == Symlinks::Refused)
    }

    /// Returns the whole environment of the program.
    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        self.environment.variables()
    }

    /// Returns the program and its arguments, as they will be passed.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

fn moved(grants: &Grants) -> Vec<(PathBuf, PathBuf)> {
    let moved = grants.files().iter().filter(|file| file.location() != file.path());
    moved.map(|file| (file.path().to_owned(), file.location().to_owned())).collect()
}

fn environment(job: &Job, interpreter: &ResolvedProgram, interpreters: &ProgramFinder, ground: &Ground, listener: Option<u16>) -> Environment {
    let (home, temporary) = match ground.tier {
        Tier::Isolated => (home(&ground.scratch), &ground.scratch),
        Tier::Landlock | Tier::None => (ground.scratch.clone(), &ground.scratch),
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
    fixed.extend(listener.into_iter().flat_map(skills_sandbox::egress::proxy_env));
    Environment::new(job, fixed)
}

fn paths(grants: &Grants, interpreter: &ResolvedProgram, interpreters: &ProgramFinder, ground: &Ground) -> Vec<PathRule> {
    let granted = |path: &Path, right| PathRule { path: path.to_owned(), right, symlinks: Symlinks::Refused };
    let system = |path: &Path, right| PathRule { path: path.to_owned(), right, symlinks: Symlinks::Followed };
    let named = |path: &&str, right| system(Path::new(path), right);
    let mut rules: Vec<PathRule> = Vec::new();
    for file in grants.files() {
        rules.push(granted(file.path(), if file.access() == Access::ReadWrite { Right::Write } else { Right::Read }));
    }
    if ground.tier != Tier::Isolated {
        rules.push(system(&ground.scratch, Right::Write));
    }
    rules.extend(SYSTEM.iter().map(|path| named(path, Right::Read)));
    if *grants.network() != Network::None {
        rules.extend(CERTIFICATES.iter().map(|path| named(path, Right::Read)));
    }
    rules.extend(needs(interpreter));
    rules.extend(LOADERS.iter().map(|path| named(path, Right::Execute)));
    rules.extend(DEVICES.iter().map(|(path, right)| named(path, *right)));
    match grants.spawn() {
        Spawn::None => {}
        Spawn::Programs(names) => {
            let programs = names.iter().filter_map(|name| interpreters.find_program(name));
            rules.extend(programs.flat_map(|program| needs(&program).collect::<Vec<_>>()));
        }
        Spawn::Any => {
            rules.extend(["/usr", "/bin"].iter().map(|path| named(path, Right::Execute)));
            rules.extend(grants.files().first().map(|home| granted(home.path(), Right::Execute)));
        }
    }
    rules
}

/// The program as it wants to be called, what it wants before the script, the script where there is one, and the arguments.
fn arguments(job: &Job, interpreter: &ResolvedProgram, view: Option<&View>) -> Result<Vec<String>, SandboxError> {
    let name = interpreter.argv0.to_string_lossy().into_owned();
    let heap = interpreter.heap_argument(job.grants().limits().memory_bytes);
    let before = interpreter.leading_args.iter().cloned().chain(heap);
    let script = match job.program() {
        Program::Script { path, .. } => Some(path.to_str().ok_or_else(|| SandboxError::invalid_program("the script's path is not UTF-8"))?.to_owned()),
        _ => None,
    };
    let words = job.resolve_args(|alias, path| {
        let is_seen = view.is_some_and(|view| view.links_to(alias, path));
        (!is_seen).then(|| path.to_string_lossy().into_owned())
    });
    Ok([name].into_iter().chain(before).chain(script).chain(words).collect())
}

/// What a program of the machine needs to start.
fn needs(program: &ResolvedProgram) -> impl Iterator<Item = PathRule> {
    let rule = |right| move |path: &PathBuf| PathRule { path: path.clone(), right, symlinks: Symlinks::Followed };
    program.readable.iter().map(rule(Right::Read)).chain(program.executable_paths.iter().map(rule(Right::Execute)))
}

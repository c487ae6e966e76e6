//! What will be done, as plain data.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, Grants, Limits, Network, Spawn};
use skills_sandbox::{Job, Program, SandboxError};

use crate::interpreter::{Executable, Interpreters};

/// System directories with libraries and data that every interpreter needs; links such as `/bin` are followed, missing ones skipped.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives"];
/// The dynamic loaders, which the kernel executes together with any program.
const LOADERS: [&str; 4] =
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];
/// Harmless devices.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What will be done for one job: which program with which arguments and environment, and which paths and limits it gets.
///
/// Making a plan changes nothing. It can be printed and compared.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    pub(crate) executable: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    secrets: BTreeSet<String>,
    pub(crate) directory: PathBuf,
    pub(crate) paths: Vec<PathRule>,
    pub(crate) spawn: Spawn,
    pub(crate) limits: Limits,
}

/// A path and what may be done with it and with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path.
    pub path: PathBuf,
    /// What may be done.
    pub right: Right,
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
    /// Everything but executing and making devices.
    Write,
}

impl Plan {
    /// Makes the plan for a job that may use `scratch`.
    ///
    /// # Errors
    /// When the program is no script, its interpreter is missing, or the grants hold what this backend cannot enforce.
    pub fn new(job: &Job, interpreters: &Interpreters, scratch: &Path) -> Result<Self, SandboxError> {
        let Program::Script { kind, path: script } = job.program() else {
            return Err(SandboxError::load("this backend runs scripts only"));
        };
        let grants = job.grants();
        accepts(grants)?;
        let Some(home) = grants.files().first() else {
            return Err(SandboxError::refused("linux", "the grants make no directory readable, not even the script's own"));
        };
        let interpreter = interpreters.find(*kind)?;
        let script = script.to_str().ok_or_else(|| SandboxError::load("the script's path is not UTF-8"))?;
        let program = interpreter.found.to_string_lossy().into_owned();
        Ok(Self {
            arguments: [program, script.to_owned()].into_iter().chain(job.arguments().iter().cloned()).collect(),
            environment: environment(job, interpreters, scratch),
            secrets: grants.variables().clone(),
            directory: home.path().to_owned(),
            paths: paths(grants, &interpreter, interpreters, scratch),
            executable: interpreter.path,
            spawn: grants.spawn().clone(),
            limits: grants.limits().clone(),
        })
    }

    /// Returns the paths that may be used, and how.
    #[must_use]
    pub fn paths(&self) -> &[PathRule] {
        &self.paths
    }

    /// Returns the whole environment of the program.
    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Returns the program and its arguments, as they will be passed.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

/// Refuses what this backend cannot enforce.
pub(crate) fn accepts(grants: &Grants) -> Result<(), SandboxError> {
    match grants.network() {
        Network::None => Ok(()),
        Network::Hosts(_) => {
            Err(SandboxError::refused("linux", "it cannot open the network to named hosts only, and opens it to none instead"))
        }
    }
}

/// Secrets show their names only.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |(name, value): &(String, String)| (name.clone(), if self.secrets.contains(name) { "…".to_owned() } else { value.clone() });
        let environment: Vec<(String, String)> = self.environment.iter().map(shown).collect();
        f.debug_struct("Plan")
            .field("executable", &self.executable)
            .field("arguments", &self.arguments)
            .field("environment", &environment)
            .field("directory", &self.directory)
            .field("paths", &self.paths)
            .field("spawn", &self.spawn)
            .field("limits", &self.limits)
            .finish()
    }
}

/// The job's variables, then ours, which win: no job decides where programs are found.
fn environment(job: &Job, interpreters: &Interpreters, scratch: &Path) -> Vec<(String, String)> {
    let scratch = scratch.to_string_lossy();
    let path = interpreters.path_variable();
    let fixed = [
        ("HOME", scratch.as_ref()),
        ("LANG", "C.UTF-8"),
        ("PATH", path.as_str()),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("TMPDIR", scratch.as_ref()),
    ];
    let is_fixed = |name: &str| fixed.iter().any(|(fixed, _)| *fixed == name);
    let jobs = job.variables().filter(|(name, _)| !is_fixed(name)).map(|(name, value)| (name.to_owned(), value.to_owned()));
    jobs.chain(fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect()
}

fn paths(grants: &Grants, interpreter: &Executable, interpreters: &Interpreters, scratch: &Path) -> Vec<PathRule> {
    let rule = |path: &Path, right| PathRule { path: path.to_owned(), right };
    let named = |path: &&str, right| PathRule { path: PathBuf::from(path), right };
    let mut rules: Vec<PathRule> = Vec::new();
    for file in grants.files() {
        rules.push(rule(file.path(), if file.access() == Access::ReadWrite { Right::Write } else { Right::Read }));
    }
    rules.push(rule(scratch, Right::Write));
    rules.extend(SYSTEM.iter().map(|path| named(path, Right::Read)));
    rules.extend(interpreter.libraries.iter().map(|libraries| rule(libraries, Right::Read)));
    rules.push(rule(&interpreter.path, Right::Execute));
    rules.extend(LOADERS.iter().map(|path| named(path, Right::Execute)));
    rules.extend(DEVICES.iter().map(|path| named(path, Right::Device)));
    match grants.spawn() {
        Spawn::None => {}
        Spawn::Programs(names) => {
            let programs = names.iter().filter_map(|name| interpreters.program(name));
            rules.extend(programs.map(|program| rule(&program.path, Right::Execute)));
        }
        Spawn::Any => {
            rules.extend(["/usr", "/bin"].iter().map(|path| named(path, Right::Execute)));
            rules.extend(grants.files().first().map(|home| rule(home.path(), Right::Execute)));
        }
    }
    rules
}

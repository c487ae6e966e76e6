//! What a program was given.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::rules::Ruling;
use crate::{Capability, Fate, HostList, HostPattern, Limits, Permission, Request, Verdict};

/// What a program was given: the proof that a sandbox asks for.
///
/// The fields are private and the only constructors that grant anything are decisions of the policy.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Grants {
    files: Vec<FileGrant>,
    network: Network,
    spawn: Spawn,
    variables: BTreeSet<String>,
    limits: Limits,
    verdicts: Vec<Verdict>,
}

impl Grants {
    /// Grants nothing: no file, no host, no program, under the default limits.
    #[must_use]
    pub fn none() -> Self {
        Self {
            files: Vec::new(),
            network: Network::None,
            spawn: Spawn::None,
            variables: BTreeSet::new(),
            limits: Limits::default(),
            verdicts: Vec::new(),
        }
    }

    /// Gives what the verdicts grant.
    pub(crate) fn of(request: &Request, ruling: Ruling, ceiling: &Limits) -> Self {
        let mut grants = Self { limits: request.limits.narrowed_by(ceiling), ..Self::none() };
        if request.is_home {
            grants.file(&request.directory, "/skill".into(), Access::ReadOnly);
        } else if ruling
            .verdicts
            .iter()
            .any(|verdict| verdict.fate == Fate::Granted && verdict.permission.path() == Some(&request.directory))
        {
            // Where commands work comes first, as the home of a program does.
            grants.file(&request.directory, guest(&request.directory, request), Access::ReadOnly);
        }
        if let Some(private) = &request.private {
            grants.file(private, "/workspace".into(), Access::ReadWrite);
        }
        for verdict in ruling.verdicts.iter().filter(|verdict| verdict.fate == Fate::Granted) {
            grants.add(&verdict.permission, request, &ruling);
        }
        grants.verdicts = ruling.verdicts;
        grants
    }

    fn add(&mut self, permission: &Permission, request: &Request, ruling: &Ruling) {
        match permission {
            Permission::Read(path) => self.file(path, guest(path, request), Access::ReadOnly),
            Permission::Write(path) => self.file(path, guest(path, request), Access::ReadWrite),
            Permission::Host(pattern) => self.hosts([pattern.clone()].into(), &ruling.denied_hosts),
            Permission::Program(name) => match &mut self.spawn {
                Spawn::Any => {}
                Spawn::Programs(names) => {
                    names.insert(name.clone());
                }
                Spawn::None => self.spawn = Spawn::Programs([name.clone()].into()),
            },
            Permission::AnyProgram => self.spawn = Spawn::Any,
            Permission::Variable(name) => {
                self.variables.insert(name.clone());
            }
            Permission::Hook(_) | Permission::ListedHosts | Permission::Unreadable(..) => {}
        }
    }

    /// A path that is granted twice has the wider access.
    fn file(&mut self, path: &Path, guest: Cow<'static, str>, access: Access) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) if access == Access::ReadWrite => file.access = access,
            Some(_) => {}
            None => self.files.push(FileGrant { path: path.to_owned(), guest, access }),
        }
    }

    fn hosts(&mut self, allowed: BTreeSet<HostPattern>, denied: &BTreeSet<HostPattern>) {
        let list = match &mut self.network {
            Network::Hosts(list) => list,
            Network::None => {
                self.network = Network::Hosts(HostList { allowed: BTreeSet::new(), denied: denied.clone() });
                return self.hosts(allowed, denied);
            }
        };
        list.allowed.extend(allowed);
    }

    /// Returns the files and directories that may be used, the program's own directory first. A private scratch directory comes on top.
    #[must_use]
    pub fn files(&self) -> &[FileGrant] {
        &self.files
    }

    /// Returns the hosts that may be reached.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the programs that may be started.
    #[must_use]
    pub fn spawn(&self) -> &Spawn {
        &self.spawn
    }

    /// Returns the names of the variables of the host that may be seen.
    #[must_use]
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// Returns how much may be used.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns what was asked for, and why it was granted.
    #[must_use]
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Says whether something of a capability was granted beyond what every program gets.
    #[must_use]
    pub fn includes(&self, capability: Capability) -> bool {
        match capability {
            Capability::Read => !self.files.is_empty(),
            Capability::Write => self.files.iter().any(|file| file.access == Access::ReadWrite),
            Capability::Network => self.network != Network::None,
            Capability::Spawn => self.spawn != Spawn::None,
            Capability::Environment => !self.variables.is_empty(),
        }
    }
}

/// Where a program with a file system of its own finds a path: the workspace has a name, everything else its own.
fn guest(path: &Path, request: &Request) -> Cow<'static, str> {
    let below = request.workspace.as_deref().and_then(|workspace| path.strip_prefix(workspace).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "/workspace".into(),
        Some(below) => format!("/workspace/{}", below.display()).into(),
        None => path.display().to_string().into(),
    }
}

/// A file or directory that may be used, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileGrant {
    #[serde(serialize_with = "crate::path::lossy")]
    path: PathBuf,
    guest: Cow<'static, str>,
    access: Access,
}

impl FileGrant {
    /// Returns the path on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a program that sees a file system of its own finds it: `/skill`, `/workspace`, else its path on this machine.
    #[must_use]
    pub fn guest(&self) -> &str {
        &self.guest
    }

    /// Returns what may be done with it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }
}

/// What may be done with a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read and list.
    ReadOnly,
    /// Read, list, create, change and delete.
    ReadWrite,
}

/// The hosts that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// None.
    None,
    /// These, by name.
    Hosts(HostList),
}

/// The programs that may be started.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawn {
    /// None.
    None,
    /// These, by their names without a path.
    Programs(BTreeSet<String>),
    /// All that the sandbox can see.
    Any,
}

impl Spawn {
    /// Says whether a program of this name may be started.
    #[must_use]
    pub fn allows_program(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Programs(names) => names.contains(name),
            Self::Any => true,
        }
    }
}

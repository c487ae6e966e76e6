//! What a program was given.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::policy::RuleEvaluation;
use crate::request::innermost_protected;
use crate::{
    Capability, Decision, HostFilter, HostPattern, Permission, PermissionDecision, Request,
    ResourceLimits,
};

/// What a program was given: the proof that a sandbox asks for.
///
/// The fields are private and the only constructors that grant anything are decisions of the
/// policy.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Grants {
    files: Vec<FileGrant>,
    network: NetworkGrant,
    spawn: SpawnGrant,
    variables: BTreeSet<String>,
    protected: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    limits: ResourceLimits,
    decisions: Vec<PermissionDecision>,
}

impl Grants {
    /// Grants nothing: no file, no host, no program, under the default limits.
    #[must_use]
    pub fn none() -> Self {
        Self {
            files: Vec::new(),
            network: NetworkGrant::None,
            spawn: SpawnGrant::None,
            variables: BTreeSet::new(),
            protected: BTreeSet::new(),
            hidden: BTreeSet::new(),
            limits: ResourceLimits::default(),
            decisions: Vec::new(),
        }
    }

    /// Gives what the verdicts grant.
    pub(crate) fn from_evaluation(
        request: &Request,
        ruling: RuleEvaluation,
        ceiling: &ResourceLimits,
    ) -> Self {
        let mut grants = Self {
            limits: request.limits.min(ceiling),
            protected: request.protected.clone(),
            hidden: request.hidden.clone(),
            ..Self::none()
        };
        if request.is_skill_directory {
            grants.add_file(&request.directory, "/skill".into(), Access::ReadOnly);
            if let (Some(home), Some(copy)) = (grants.files.first_mut(), &request.copy) {
                home.location.clone_from(copy);
            }
        } else if ruling.decisions.iter().any(|verdict| {
            verdict.decision == Decision::Allow
                && verdict.permission.path() == Some(&request.directory)
        }) {
            // Where commands work comes first, as the home of a program does.
            grants.add_file(
                &request.directory,
                guest_path(&request.directory, request),
                Access::ReadOnly,
            );
        }
        if let Some(private) = &request.private_directory {
            grants.add_file(private, "/workspace".into(), Access::ReadWrite);
        }
        for verdict in ruling
            .decisions
            .iter()
            .filter(|verdict| verdict.decision == Decision::Allow)
        {
            grants.grant(&verdict.permission, request, &ruling);
        }
        grants.decisions = ruling.decisions;
        grants
    }

    fn grant(&mut self, permission: &Permission, request: &Request, ruling: &RuleEvaluation) {
        match permission {
            Permission::Read(path) => {
                self.add_file(path, guest_path(path, request), Access::ReadOnly)
            }
            Permission::Write(path) | Permission::WriteProtected { path, .. } => {
                self.add_file(path, guest_path(path, request), Access::ReadWrite);
            }
            Permission::Host(pattern) => {
                self.set_hosts([pattern.clone()].into(), &ruling.denied_hosts)
            }
            Permission::Program(name) => match &mut self.spawn {
                SpawnGrant::Any => {}
                SpawnGrant::Programs(names) => {
                    names.insert(name.clone());
                }
                SpawnGrant::None => self.spawn = SpawnGrant::Programs([name.clone()].into()),
            },
            Permission::AnyProgram => self.spawn = SpawnGrant::Any,
            Permission::Variable(name) => {
                self.variables.insert(name.clone());
            }
            Permission::Hook(_) | Permission::ListedHosts | Permission::Invalid(..) => {}
        }
    }

    /// A path that is granted twice has the wider access.
    fn add_file(&mut self, path: &Path, guest: Cow<'static, str>, access: Access) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) if access == Access::ReadWrite => file.access = access,
            Some(_) => {}
            None => self.files.push(FileGrant {
                path: path.to_owned(),
                location: path.to_owned(),
                guest_path: guest,
                access,
            }),
        }
    }

    fn set_hosts(&mut self, allowed: BTreeSet<HostPattern>, denied: &BTreeSet<HostPattern>) {
        let list = match &mut self.network {
            NetworkGrant::Hosts(list) => list,
            NetworkGrant::None => {
                self.network = NetworkGrant::Hosts(HostFilter {
                    allowed: BTreeSet::new(),
                    denied: denied.clone(),
                });
                return self.set_hosts(allowed, denied);
            }
        };
        list.allowed.extend(allowed);
    }

    /// Returns the files and directories that may be used, the program's own directory first. A
    /// private scratch directory comes on top.
    #[must_use]
    pub fn files(&self) -> &[FileGrant] {
        &self.files
    }

    /// Returns the paths that stay read-only in granted directories besides
    /// [names](crate::PROTECTED_PATHS), unless they were granted themselves.
    #[must_use]
    pub fn protected(&self) -> &BTreeSet<PathBuf> {
        &self.protected
    }

    /// Returns the paths that are neither read nor written, although a granted directory holds
    /// them.
    #[must_use]
    pub fn hidden(&self) -> &BTreeSet<PathBuf> {
        &self.hidden
    }

    /// Returns the innermost directory at or above `path` that may be written. What is granted for
    /// reading in it does not count: grants add up.
    #[must_use]
    pub fn innermost_writable(&self, path: &Path) -> Option<&FileGrant> {
        let writable = self
            .files
            .iter()
            .filter(|file| file.access == Access::ReadWrite && path.starts_with(&file.path));
        writable.max_by_key(|file| file.path.components().count())
    }

    /// Returns where a path lies that the program knows: itself, or the same path in a
    /// [copy](crate::Request::copy).
    #[must_use]
    pub fn locate(&self, path: &Path) -> PathBuf {
        let moved = self
            .innermost_grant(path)
            .filter(|file| file.location != file.path);
        let below =
            moved.and_then(|file| Some(file.location.join(path.strip_prefix(&file.path).ok()?)));
        // Joining nothing would leave a slash at the end.
        below.map_or_else(|| path.to_owned(), |below| below.components().collect())
    }

    /// Returns the same for a backend that cannot show files at another path than the one that they
    /// lie at.
    #[must_use]
    pub fn with_real_paths(&self) -> Self {
        let mut grants = self.clone();
        grants
            .files
            .iter_mut()
            .for_each(|file| file.path.clone_from(&file.location));
        grants
    }

    /// Returns the innermost granted file or directory at or above `path`.
    #[must_use]
    pub fn innermost_grant(&self, path: &Path) -> Option<&FileGrant> {
        let around = self
            .files
            .iter()
            .filter(|file| path.starts_with(&file.path));
        around.max_by_key(|file| file.path.components().count())
    }

    /// Returns the innermost protected path at or above `path` in what was granted as `granted`;
    /// nothing when there is none.
    #[must_use]
    pub fn protected_in(&self, granted: &Path, path: &Path) -> Option<PathBuf> {
        innermost_protected(path, granted, &self.protected)
    }

    /// Returns the hosts that may be reached.
    #[must_use]
    pub fn network(&self) -> &NetworkGrant {
        &self.network
    }

    /// Returns the programs that may be started.
    #[must_use]
    pub fn spawn(&self) -> &SpawnGrant {
        &self.spawn
    }

    /// Returns the names of the variables of the host that may be seen.
    #[must_use]
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// Returns how much may be used.
    #[must_use]
    pub fn limits(&self) -> &ResourceLimits {
        &self.limits
    }

    /// Returns what was asked for, and why it was granted.
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        &self.decisions
    }

    /// Says whether something of a capability was granted beyond what every program gets.
    #[must_use]
    pub fn includes(&self, capability: Capability) -> bool {
        match capability {
            Capability::Read => !self.files.is_empty(),
            Capability::Write => self
                .files
                .iter()
                .any(|file| file.access == Access::ReadWrite),
            Capability::Network => self.network != NetworkGrant::None,
            Capability::Spawn => self.spawn != SpawnGrant::None,
            Capability::Environment => !self.variables.is_empty(),
        }
    }
}

/// Where a program with a file system of its own finds a path: the workspace has a name, everything
/// else its own.
fn guest_path(path: &Path, request: &Request) -> Cow<'static, str> {
    let below = request
        .workspace
        .as_deref()
        .and_then(|workspace| path.strip_prefix(workspace).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "/workspace".into(),
        Some(below) => format!("/workspace/{}", below.display()).into(),
        None => path.display().to_string().into(),
    }
}

/// A file or directory that may be used, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileGrant {
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    path: PathBuf,
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    location: PathBuf,
    guest_path: Cow<'static, str>,
    access: Access,
}

impl FileGrant {
    /// Returns the path on this machine by which the program knows it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the files lie that the program gets: at [`path`](Self::path), or in the
    /// [copy](crate::Request::copy) of it.
    #[must_use]
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// Returns where a program that sees a file system of its own finds it: `/skill`, `/workspace`,
    /// else its path on this machine.
    #[must_use]
    pub fn guest_path(&self) -> &str {
        &self.guest_path
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
pub enum NetworkGrant {
    /// None.
    None,
    /// These, by name.
    Hosts(HostFilter),
}

/// The programs that may be started.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpawnGrant {
    /// None.
    None,
    /// These, by their names without a path.
    Programs(BTreeSet<String>),
    /// All that the sandbox can see.
    Any,
}

impl SpawnGrant {
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

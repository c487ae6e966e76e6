//! The grants of a run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::earlier_attempt::AttemptContent;
use crate::evaluation_result::RuleEvaluation;
use crate::key_paths::may_hold_keys;
use crate::path::without_final_slash;
use crate::protected_paths::file_reader;
use crate::request::innermost_protected;
use crate::{
    Capability, Decision, EarlierAttempt, HostFilter, HostPattern, Permission, PermissionDecision,
    Request, ResourceLimits, RunEffects,
};

/// The wall-clock time of a further attempt of which earlier ones used all: it ends with the limit as its
/// reason.
const MIN_WALL_TIME: Duration = Duration::from_secs(1);

/// What a run may do: the proof of authorization that a sandbox backend requires.
///
/// The fields are private, and only decisions of the policy create grants that allow anything. So a
/// backend never checks permissions; it enforces what it gets. Serializable for reports, but not
/// deserializable, since that would be a way around the policy.
///
/// ```
/// use skills_policy::{Access, Authorization, Grants, NetworkGrant, Policy, Request};
///
/// let request = Request::new("/skills/a").allowed_tool("Read", None).workspace("/work");
/// let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
///     panic!("reading is allowed by default")
/// };
/// let [skill, workspace] = grants.files() else { panic!("two directories are granted") };
/// assert_eq!((skill.guest_path(), skill.access()), ("/skill", Access::ReadOnly));
/// assert_eq!((workspace.guest_path(), workspace.access()), ("/workspace", Access::ReadOnly));
/// assert_eq!(*grants.network(), NetworkGrant::None);
/// assert!(Grants::none().files().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Grants {
    files: Vec<FileGrant>,
    network: NetworkGrant,
    spawn: SpawnGrant,
    /// The program of a confined command, which starts no second process.
    confined: Option<String>,
    variables: BTreeSet<String>,
    protected: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    limits: ResourceLimits,
    decisions: Vec<PermissionDecision>,
}

impl Grants {
    /// Returns grants for nothing: no file, no host, no program, with the default limits.
    #[must_use]
    pub fn none() -> Self {
        Self {
            files: Vec::new(),
            network: NetworkGrant::None,
            spawn: SpawnGrant::None,
            confined: None,
            variables: BTreeSet::new(),
            protected: BTreeSet::new(),
            hidden: BTreeSet::new(),
            limits: ResourceLimits::default(),
            decisions: Vec::new(),
        }
    }

    /// Returns the attempt of a run with these grants, which was refused nothing and has done nothing yet.
    /// `request` is the one that they were granted for.
    pub fn attempt(&self, request: &Request) -> EarlierAttempt {
        let earlier = request.earlier_attempt();
        EarlierAttempt {
            content: AttemptContent::of(request),
            decisions: self.decisions.clone(),
            limits: self.limits.clone(),
            attempts: earlier.map_or(0, |earlier| earlier.attempts) + 1,
            ran: earlier.map_or(Duration::ZERO, |earlier| earlier.ran),
            refused: Vec::new(),
            raised: None,
            done: RunEffects::default(),
        }
    }

    /// Lets the program of the run create processes although it may start no other program: what it tries
    /// to start is then refused by name. Without this, creating the process is refused.
    pub fn allow_processes(&mut self) {
        if self.spawn == SpawnGrant::None && self.confined.is_none() {
            self.spawn = SpawnGrant::Programs(BTreeSet::new());
        }
    }

    /// Takes the time that earlier attempts of the run had from the wall-clock time.
    pub fn deduct_time(&mut self, ran: Duration) {
        let rest = self.limits.wall_time.saturating_sub(ran);
        self.limits.wall_time = rest.max(MIN_WALL_TIME);
    }

    /// Returns true if they grant nothing that an earlier attempt did not have.
    #[must_use]
    pub fn add_nothing_to(&self, earlier: &EarlierAttempt) -> bool {
        let decisions = self.decisions.iter();
        let mut allowed = decisions.filter(|decision| decision.decision == Decision::Allow);
        self.limits == earlier.limits && allowed.all(|decision| earlier.had(&decision.permission))
    }

    /// Returns the grants for all allowed permissions, with the limits of the request below
    /// `ceiling`.
    pub(crate) fn from_evaluation(
        request: &Request,
        evaluation: RuleEvaluation,
        ceiling: &ResourceLimits,
    ) -> Self {
        let mut grants = Self {
            limits: evaluation.limits(request, ceiling),
            protected: request.protected.clone(),
            hidden: request.hidden.clone(),
            ..Self::none()
        };
        if request.is_skill_directory {
            grants.add_file(&request.directory, "/skill".into(), Access::ReadOnly);
            // Keys beside the scripts of a skill are there for these, not for commands of a model. Those
            // of a project that is a skill itself are keys of the project.
            let is_project = request
                .workspace
                .as_ref()
                .is_some_and(|workspace| workspace.starts_with(&request.directory));
            if request.ad_hoc_digest.is_none() && !is_project {
                grants.include_keys(&request.directory);
            }
        } else if evaluation.decisions.iter().any(|decision| {
            decision.decision == Decision::Allow
                && decision.permission.path() == Some(&request.directory)
        }) {
            // Backends start a program in the first directory of the list: the skill directory, or
            // the one that a host command works on. It is not granted by its position.
            grants.add_file(
                &request.directory,
                guest_path(&request.directory, request),
                Access::ReadOnly,
            );
        }
        // Created by the host for this run, so there is nothing that a rule could protect.
        if let Some(private) = &request.private_directory {
            grants.add_file(private, "/workspace".into(), Access::ReadWrite);
            grants.include_keys(private);
        }
        for decision in evaluation
            .decisions
            .iter()
            .filter(|decision| decision.decision == Decision::Allow)
        {
            grants.grant(&decision.permission, request, &evaluation.denied_hosts);
        }
        grants.use_copies(&request.copies);
        // A skill in its project stays read-only while the project is writable.
        if request.is_skill_directory && grants.innermost_writable(&request.directory).is_some() {
            grants.protected.insert(request.directory.clone());
        }
        grants.decisions = evaluation.decisions;
        grants
    }

    fn grant(
        &mut self,
        permission: &Permission,
        request: &Request,
        denied_hosts: &BTreeSet<HostPattern>,
    ) {
        match permission {
            Permission::Read(path) | Permission::ReadKeys { path, .. } => {
                self.add_file(path, guest_path(path, request), Access::ReadOnly)
            }
            Permission::Write(path) | Permission::WriteProtected { path, .. } => {
                self.add_file(path, guest_path(path, request), Access::ReadWrite);
            }
            Permission::Host(pattern) => self.add_host(pattern.clone(), denied_hosts),
            Permission::Program(name) if request.is_confined => self.confined = Some(name.clone()),
            Permission::Program(name) => match &mut self.spawn {
                SpawnGrant::Any => {}
                SpawnGrant::Programs(names) => {
                    names.insert(name.clone());
                }
                SpawnGrant::None => self.spawn = SpawnGrant::Programs([name.clone()].into()),
            },
            Permission::AnyProgram if request.is_confined => {}
            Permission::AnyProgram => self.spawn = SpawnGrant::Any,
            Permission::Variable(name) => {
                self.variables.insert(name.clone());
            }
            // A hook needs the permission to run, and a package is installed before the run: they
            // grant nothing by themselves. The others never get here: they are expanded or denied
            // before.
            Permission::Hook(_)
            | Permission::Package { .. }
            | Permission::ListedHosts
            | Permission::Invalid(..) => {}
        }
    }

    /// Grants of one path merge to the wider access.
    fn add_file(&mut self, path: &Path, guest_path: Cow<'static, str>, access: Access) {
        match self.files.iter_mut().find(|file| file.path == path) {
            // The order of the requests must not decide; reading and writing one path is writing.
            Some(file) if access == Access::ReadWrite => file.access = access,
            Some(_) => {}
            None => self.files.push(FileGrant {
                path: without_final_slash(path),
                location: without_final_slash(path),
                guest_path,
                access,
                includes_keys: false,
            }),
        }
    }

    /// Lets the run read files with keys in a granted directory.
    fn include_keys(&mut self, directory: &Path) {
        let directory = without_final_slash(directory);
        let granted = self.files.iter_mut().find(|file| file.path == directory);
        if let Some(file) = granted {
            file.includes_keys = true;
        }
    }

    /// Sets where the bytes of copied directories are.
    fn use_copies(&mut self, copies: &BTreeMap<PathBuf, PathBuf>) {
        for (directory, copy) in copies {
            // What is written must reach the directory, and a copy is shared by runs.
            let is_written = self
                .files
                .iter()
                .any(|file| file.access == Access::ReadWrite && file.path.starts_with(directory));
            let file = self.files.iter_mut().find(|file| file.path == *directory);
            if let Some(file) = file.filter(|_| !is_written) {
                file.location.clone_from(copy);
            }
        }
    }

    fn add_host(&mut self, host: HostPattern, denied: &BTreeSet<HostPattern>) {
        match &mut self.network {
            NetworkGrant::Hosts(filter) => {
                filter.allowed.insert(host);
            }
            // A pattern can be wider than a `deny` rule, so the denied hosts are enforced per
            // connection.
            NetworkGrant::None => {
                self.network = NetworkGrant::Hosts(HostFilter {
                    allowed: [host].into(),
                    denied: denied.clone(),
                });
            }
        }
    }

    /// Returns the granted files and directories, the skill directory first. A backend adds a
    /// private scratch directory, which is not listed.
    #[must_use]
    pub fn files(&self) -> &[FileGrant] {
        &self.files
    }

    /// Returns the skill directory if a writable grant is around it. It stays read-only, and a backend
    /// that cannot enforce that must reject the grants.
    #[must_use]
    pub fn skill_in_writable(&self) -> Option<&Path> {
        let skill = self
            .files
            .first()
            .filter(|file| file.guest_path == "/skill")?;
        self.innermost_writable(&skill.path)
            .map(|_| skill.path.as_path())
    }

    /// Returns the absolute paths that stay read-only in granted directories, in addition to the
    /// names of [`protected_paths`](crate::protected_paths), unless they were granted themselves.
    #[must_use]
    pub fn protected(&self) -> &BTreeSet<PathBuf> {
        &self.protected
    }

    /// Returns the paths that the run must not see, although they are in a granted directory.
    #[must_use]
    pub fn hidden(&self) -> &BTreeSet<PathBuf> {
        &self.hidden
    }

    /// Hides an absolute path from the run, which only narrows the grants.
    pub fn hide(&mut self, path: impl Into<PathBuf>) {
        self.hidden.insert(path.into());
    }

    /// Protects an absolute path like those of [`protected`](Self::protected), which only narrows
    /// the grants.
    pub fn protect(&mut self, path: impl Into<PathBuf>) {
        self.protected.insert(path.into());
    }

    /// Returns the innermost writable grant at or above `path`. A read-only grant inside it takes
    /// nothing away: grants are additive.
    #[must_use]
    pub fn innermost_writable(&self, path: &Path) -> Option<&FileGrant> {
        // By depth and not by order: the innermost grant is the one that a backend mounts last.
        let writable = self
            .files
            .iter()
            .filter(|file| file.access == Access::ReadWrite && path.starts_with(&file.path));
        writable.max_by_key(|file| file.path.components().count())
    }

    /// Returns the host path of the file that the run gets at `path`: `path` itself, or the
    /// corresponding path in a [copy](crate::Request::copy).
    #[must_use]
    pub fn locate(&self, path: &Path) -> PathBuf {
        let copied = self
            .innermost_grant(path)
            .filter(|file| file.location != file.path);
        let below =
            copied.and_then(|file| Some(file.location.join(path.strip_prefix(&file.path).ok()?)));
        // Joining an empty path would leave a slash at the end.
        below.map_or_else(|| path.to_owned(), |below| below.components().collect())
    }

    /// Returns the same grants for a backend that cannot map paths: each file at the path where it
    /// is stored, so a [copied](crate::Request::copy) skill runs at the path of its copy.
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
        let enclosing = self
            .files
            .iter()
            .filter(|file| path.starts_with(&file.path));
        enclosing.max_by_key(|file| file.path.components().count())
    }

    /// Returns the grant that decides the access to `path`: the innermost writable one, else the innermost
    /// one.
    #[must_use]
    pub fn deciding_grant(&self, path: &Path) -> Option<&FileGrant> {
        self.innermost_writable(path)
            .or_else(|| self.innermost_grant(path))
    }

    /// Returns the innermost protected path at or above `path` and strictly below `granted`, the
    /// path of a grant; `None` if there is none.
    #[must_use]
    pub fn protected_in(&self, granted: &Path, path: &Path) -> Option<PathBuf> {
        innermost_protected(path, granted, &self.protected)
    }

    /// Returns true if a path in a granted directory is not to be read, since its name
    /// [says](crate::key_part) that it may hold keys and no permission names it. Of some names the
    /// [content](crate::is_key_by_content) has to say it, too. A grant of such a
    /// path, or of a path in it, includes it; a grant of a directory around it does not, except that
    /// of the skill for its own programs. A backend that cannot withhold it rejects the job.
    #[must_use]
    pub fn withholds(&self, path: &Path) -> bool {
        let mut enclosing = self
            .files
            .iter()
            .filter(|file| path.starts_with(&file.path))
            .peekable();
        enclosing.peek().is_some()
            && enclosing.all(|file| !file.includes_keys && may_hold_keys(path, &file.path))
    }

    /// Returns the name of a program that executes the file at `path`, or trusts what it says, as
    /// [`file_reader`]. Whether the file may be written does not matter. Components of the workspace
    /// itself are exempt.
    #[must_use]
    pub fn file_reader(&self, path: &Path) -> Option<&'static str> {
        let workspace = self
            .files
            .iter()
            .find(|file| file.guest_path == "/workspace" && path.starts_with(&file.path));
        file_reader(path, workspace.map_or(Path::new(""), FileGrant::path))
    }

    /// Returns the name of a program that executes all files in a directory.
    #[must_use]
    pub fn reader_of_files_in(&self, directory: &Path) -> Option<&'static str> {
        // No file of a program has this name.
        self.file_reader(&directory.join("any file"))
    }

    /// Returns the hosts that the run may connect to.
    #[must_use]
    pub fn network(&self) -> &NetworkGrant {
        &self.network
    }

    /// Returns the programs that the run may start.
    #[must_use]
    pub fn spawn(&self) -> &SpawnGrant {
        &self.spawn
    }

    /// Returns true if the run may be this program of the host: one that it may [spawn](Self::spawn), or
    /// that of a [confined](Request::confine) command, which may spawn none.
    #[must_use]
    pub fn allows_command(&self, name: &str) -> bool {
        self.spawn.allows_program(name) || self.confined.as_deref() == Some(name)
    }

    /// Returns the names of the host variables that the run gets.
    #[must_use]
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// Returns the resource limits.
    #[must_use]
    pub fn limits(&self) -> &ResourceLimits {
        &self.limits
    }

    /// Returns the decision on each requested permission; all allow.
    #[must_use]
    pub fn decisions(&self) -> &[PermissionDecision] {
        &self.decisions
    }

    /// Returns true if anything of a capability is granted. The skill directory counts as
    /// [`Capability::Read`].
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
            Capability::Packages => false,
        }
    }
}

/// Returns the path inside a virtual file system: `/workspace` for the workspace, the host path for
/// everything else.
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

/// A granted file or directory, with everything below it.
///
/// It has up to three paths: the host path by which the run requested it, the host path where the
/// bytes are (they differ for a [copy](crate::Request::copy)), and the path inside a virtual file
/// system.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileGrant {
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    path: PathBuf,
    #[serde(serialize_with = "crate::path::serialize_lossy")]
    // Kept apart from `path`: rules and protected names are about the path, bytes are read here.
    location: PathBuf,
    guest_path: Cow<'static, str>,
    access: Access,
    /// Files in it that may hold keys are readable too.
    #[serde(skip)]
    includes_keys: bool,
}

impl FileGrant {
    /// Returns true if files in it that [may hold keys](crate::key_part) are readable too.
    #[must_use]
    pub fn includes_keys(&self) -> bool {
        self.includes_keys
    }

    /// Returns the host path by which the run knows it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the host path of the files that the run gets: [`path`](Self::path), or its
    /// [copy](crate::Request::copy).
    #[must_use]
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// Returns its path in a virtual file system: `/skill`, at or below `/workspace`, else the host
    /// path.
    #[must_use]
    pub fn guest_path(&self) -> &str {
        &self.guest_path
    }

    /// Returns the granted access.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }
}

/// The access to a granted file or directory. Executing a file takes a grant for the program
/// ([`SpawnGrant`]); access to its file is not sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read and list.
    ReadOnly,
    /// Read, list, create, change and delete, except at [protected](Grants::protected) paths.
    ReadWrite,
}

/// The hosts that a run may connect to, by name. Backends resolve the names themselves. They connect
/// to private addresses only for a pattern with a port, and to loopback addresses only if such a
/// pattern names `localhost` or the address.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkGrant {
    /// No host.
    None,
    /// The hosts that pass this filter.
    Hosts(HostFilter),
}

/// The programs that a run may start, by name. A name is looked up in the search path of the
/// backend, never in the workspace, so a run cannot substitute a program.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpawnGrant {
    /// No program.
    None,
    /// The programs with these names, without a path.
    Programs(BTreeSet<String>),
    /// All programs that are visible in the sandbox.
    Any,
}

impl SpawnGrant {
    /// Returns true if a program of this name may be started. Names are compared exactly.
    #[must_use]
    pub fn allows_program(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Programs(names) => names.contains(name),
            Self::Any => true,
        }
    }
}

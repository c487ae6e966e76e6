//! The request of a run.

mod allowed_tool;
mod classify;
pub(crate) mod confinement;
mod requested_permission;
mod variable_source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use self::allowed_tool::AllowedTool;
pub(crate) use self::classify::innermost_protected;
pub(crate) use self::requested_permission::{Basis, RequestedPermission};
pub use self::variable_source::VariableSource;
use crate::package::normalize_package;
use crate::requester::{CALLER_NAME, HOOKS_NAME, IMPORT_NAME, REQUIREMENTS_NAME};
use crate::{Capability, EarlierAttempt, HostPattern, Permission, ResourceLimits};

/// Everything that a run asks for: permissions, limits, and what identifies the content.
///
/// A request decides nothing. It collects entries of `allowed-tools`, requests of the caller and
/// declared variables, and records the requester of each, which decisions name. All paths have to
/// be canonical: they are compared by component, and a symlink in one would let it denote another
/// file.
///
/// ```
/// use skills_policy::{Permission, Request};
///
/// let request = Request::new("/skills/deploy")
///     .content_digest("sha256:1")
///     .workspace("/work")
///     .allowed_tool("Bash", Some("git:*"))
///     .allowed_tool("Write", Some("out/**"))
///     .allowed_tool("Task", None);
/// assert_eq!(
///     request.permissions(),
///     [Permission::Write("/work/out".into()), Permission::Program("git".to_owned())]
/// );
/// assert_eq!(request.unused_tools()[0].0, "Task");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Request {
    pub(crate) directory: PathBuf,
    /// False for host commands, which work on the directory but are not in it.
    pub(crate) is_skill_directory: bool,
    /// Directories with the copies that the run gets in their place.
    pub(crate) copies: BTreeMap<PathBuf, PathBuf>,
    pub(crate) name: String,
    pub(crate) digest: Option<String>,
    pub(crate) command: Vec<String>,
    /// The digest of a command that the caller wrote.
    pub(crate) ad_hoc_digest: Option<String>,
    /// The session whose approvals apply; `None` for that of the host application.
    pub(crate) session: Option<String>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) private_directory: Option<PathBuf>,
    tools: Vec<AllowedTool>,
    caller_permissions: Vec<Permission>,
    variables: Vec<(String, VariableSource)>,
    required_programs: Vec<String>,
    interpreter: Option<String>,
    packages: Vec<(Permission, Basis)>,
    notes: Vec<String>,
    declared: BTreeSet<String>,
    dropped: BTreeSet<Capability>,
    /// Whether the program of the command only reads files.
    pub(crate) is_confined: bool,
    /// Whether the run goes on without what only the skill asks for and nothing allows.
    pub(crate) omits_ungranted: bool,
    pub(crate) protected: BTreeSet<PathBuf>,
    pub(crate) hidden: BTreeSet<PathBuf>,
    pub(crate) read_only: BTreeSet<PathBuf>,
    pub(crate) limits: ResourceLimits,
    pub(crate) earlier: Option<EarlierAttempt>,
}

impl Request {
    /// Creates the smallest request: to read the skill directory, with the default
    /// [`ResourceLimits`].
    ///
    /// A skill without `allowed-tools` requests nothing more. The OpenSkills flow interprets a
    /// missing list as "everything is allowed"; here it restricts no tool *of the agent* and grants
    /// the *program* nothing beyond the default. `directory` is canonical.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            is_skill_directory: true,
            copies: BTreeMap::new(),
            name: String::new(),
            digest: None,
            command: Vec::new(),
            ad_hoc_digest: None,
            session: None,
            workspace: None,
            private_directory: None,
            tools: Vec::new(),
            caller_permissions: Vec::new(),
            variables: Vec::new(),
            required_programs: Vec::new(),
            interpreter: None,
            packages: Vec::new(),
            notes: Vec::new(),
            declared: BTreeSet::new(),
            dropped: BTreeSet::new(),
            is_confined: false,
            omits_ungranted: false,
            protected: BTreeSet::new(),
            hidden: BTreeSet::new(),
            read_only: BTreeSet::new(),
            limits: ResourceLimits::default(),
            earlier: None,
        }
    }

    /// Creates the request of a host command that works on `directory`: to read it, as its
    /// workspace. It is not a skill directory, so write access can be requested too. `directory` is
    /// canonical.
    pub fn for_host_command(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            is_skill_directory: false,
            ..Self::new(&directory)
        }
        // The directory is the workspace too, so that names protected in it are found from there
        // on.
        .workspace(&directory)
        .read(directory)
    }

    /// Sets the display name of the skill, for approvers. It has no effect on decisions.
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Lets the run go on without the `allowed-tools` that no rule and no approval allows, as if
    /// the skill did not list them: they are [omitted](crate::Decision::Omit) and not asked for.
    /// What the caller, hooks and requirements ask for still denies the request. By default
    /// everything that is requested has to be allowed.
    ///
    /// ```
    /// use skills_policy::{Authorization, Decision, Policy, Request, SpawnGrant};
    ///
    /// let request = Request::new("/skills/deploy").allowed_tool("Bash", None);
    /// assert!(matches!(Policy::default().authorize(&request), Authorization::Denied(_)));
    /// let Authorization::Granted(grants) = Policy::default().authorize(&request.omit_ungranted())
    /// else {
    ///     panic!("only the skill asks for programs")
    /// };
    /// assert_eq!(*grants.spawn(), SpawnGrant::None);
    /// assert_eq!(grants.decisions()[0].decision(), Decision::Omit);
    /// ```
    pub fn omit_ungranted(mut self) -> Self {
        self.omits_ungranted = true;
        self
    }

    /// Sets the content digest of the directory. Without one, approvals cover a single run.
    pub fn content_digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// Sets the path of a private copy of the directory that runs in its place, so that the content
    /// cannot change between the check of its [digest](Self::content_digest) and the run. Backends
    /// show it at the path of the directory where they can. The path is canonical.
    pub fn copy(self, path: impl Into<PathBuf>) -> Self {
        let directory = self.directory.clone();
        self.copy_of(directory, path)
    }

    /// Sets the path of a private copy that the run gets in the place of another directory, if it may
    /// read that. A run that may write in the directory gets the directory itself. Both paths are
    /// canonical.
    pub fn copy_of(mut self, directory: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Self {
        self.copies.insert(directory.into(), path.into());
        self
    }

    /// Sets the program and its arguments, for approvers. They have no effect on decisions.
    pub fn command(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.command = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Marks the command as written by the caller, for example a model, with a digest of all of it.
    ///
    /// An approval to spawn programs then covers exactly this command on exactly this content, and
    /// lasts at most for the session. Approvals of the skill do not apply to it.
    pub fn ad_hoc(mut self, command_digest: impl Into<String>) -> Self {
        self.ad_hoc_digest = Some(command_digest.into());
        self
    }

    /// Sets the session: approvals for a session apply in it alone. Default `None`, which is a
    /// session too, that of the host application.
    pub fn session(mut self, session: Option<String>) -> Self {
        self.session = session;
        self
    }

    /// Requests the permission that a tool of `allowed-tools` stands for, see
    /// [`Capability::from_tool_name`]; other tools request nothing.
    ///
    /// `pattern` narrows it: `git:*` or `git *` of `Bash` to one program, `domain:example.com` of
    /// `WebFetch` to one host, `src/**` of `Read` to one directory of the workspace. Another
    /// pattern of files requests nothing, and an invalid pattern of hosts or programs denies the
    /// request.
    pub fn allowed_tool(mut self, tool: &str, pattern: Option<&str>) -> Self {
        // `Bash(*)` and `Bash()` mean the same as `Bash`.
        let pattern = pattern
            .map(str::trim)
            .filter(|pattern| !matches!(*pattern, "" | "*"));
        self.tools.push(AllowedTool {
            name: tool.to_owned(),
            pattern: pattern.map(str::to_owned),
        });
        self
    }

    /// Sets the workspace, the directory for input and output files. Reading it is always
    /// requested; writing is requested by tools such as `Write` and by `allow write` rules. Without
    /// a workspace these tools request nothing. The path is canonical.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workspace = Some(directory.into());
        self
    }

    /// Sets a workspace that was created for this run alone. It is always writable, without a rule
    /// or an approval.
    pub fn private_workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.private_directory = Some(directory.into());
        self
    }

    /// Removes the private workspace, for checks of everything else.
    pub fn without_private_workspace(mut self) -> Self {
        self.private_directory = None;
        self
    }

    /// Requests to read a file or directory, for the caller. Denied if the skill has
    /// `allowed-tools` and none of them reads. The path is canonical.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.caller_permissions.push(Permission::Read(path.into()));
        self
    }

    /// Requests to read a file or directory that holds keys, for the caller, whatever its name. The
    /// path is canonical.
    pub fn read_keys(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let keys = path.clone();
        self.caller_permissions
            .push(Permission::ReadKeys { path, keys });
        self
    }

    /// Requests to write a file or directory, for the caller, as [`read`](Self::read) does.
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.caller_permissions.push(Permission::Write(path.into()));
        self
    }

    /// Requests to spawn a program of the host, for the caller, by its name without a path.
    pub fn spawn(mut self, program: impl Into<String>) -> Self {
        self.caller_permissions
            .push(Permission::Program(program.into()));
        self
    }

    /// Requests to spawn any program, for the caller, as a shell command does.
    pub fn spawn_any(mut self) -> Self {
        self.caller_permissions.push(Permission::AnyProgram);
        self
    }

    /// Requests to spawn a program that the skill declares as a requirement, by its name without a
    /// path.
    pub fn required_program(mut self, program: impl Into<String>) -> Self {
        self.required_programs.push(program.into());
        self
    }

    /// Requests a package that the skill declares, by its registry and name (`pypi:pypdf`), in a
    /// version; an empty one stands for a version that is not resolved yet.
    pub fn package(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.with_package(name.into(), version.into(), Basis::Declared)
    }

    /// Requests a package that the skill does not declare and one of its files imports, as
    /// [`package`](Self::package) does.
    ///
    /// Only a rule with this very name allows it, or an approver who saw it: rules for all packages
    /// and for the start of a name, [trusted mode](crate::ApprovalMode::Trusted) and answers that
    /// were given before the run do not.
    pub fn undeclared_package(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.with_package(name.into(), version.into(), Basis::UndeclaredPackage)
    }

    fn with_package(mut self, name: String, version: String, basis: Basis) -> Self {
        // One spelling, so that an approval and a rule are about the same package.
        let name = normalize_package(&name).unwrap_or(name);
        let package = Permission::Package { name, version };
        self.packages.push((package, basis));
        self
    }

    /// Removes all packages, and the lines for the approver.
    pub fn without_packages(mut self) -> Self {
        self.packages.clear();
        self.notes.clear();
        self
    }

    /// Adds a line for the approver, such as what a requested package downloads. It has no effect
    /// on decisions. It can contain text of the skill, escaped by the caller.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Returns the lines for the approver.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Requests to connect to a host, for the caller.
    pub fn connect(mut self, host: HostPattern) -> Self {
        self.caller_permissions.push(Permission::Host(host));
        self
    }

    /// Requests to run as a hook. It needs an approval of this command for this content, whatever
    /// the rules say.
    pub fn hook(mut self, command: impl Into<String>) -> Self {
        self.caller_permissions
            .push(Permission::Hook(command.into()));
        self
    }

    /// Requests an environment variable.
    pub fn variable(mut self, name: impl Into<String>, source: VariableSource) -> Self {
        self.variables.push((name.into(), source));
        self
    }

    /// Records a privilege that the skill declares, whether or not this run requests it, such as a
    /// variable or a hook. After an update, approvers see which were added and removed.
    pub fn declare(mut self, privilege: impl Into<String>) -> Self {
        self.declared.insert(privilege.into());
        self
    }

    /// Removes all permissions of a capability from the request, except those of hooks.
    pub fn drop_capability(mut self, capability: Capability) -> Self {
        self.dropped.insert(capability);
        self
    }

    /// Confines the program of a command to what the run may read: it cannot write, connect, get
    /// variables or start a second process, whatever its skill declares, its arguments say or rules
    /// allow. Each [free program](crate::FreeProgram) then needs no rule and no approval.
    pub fn confine(mut self) -> Self {
        self.is_confined = true;
        self
    }

    /// Protects a path like those of [`protected_paths`](crate::protected_paths): it stays
    /// read-only in a wider writable directory, unless a rule or an approval is for that path
    /// itself. Used for the roots of skills. The path is canonical.
    pub fn protect(mut self, path: impl Into<PathBuf>) -> Self {
        self.protected.insert(path.into());
        self
    }

    /// Hides a path: no run reads or writes it, even in a directory that is granted as a whole.
    /// Used for policy files, approvals, caches and logs of the host. The path is canonical.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.insert(path.into());
        self
    }

    /// Makes a path read-only, whatever rules allow: write access to it, to a path in it and to a
    /// directory around it is denied. Used for directories of the host application that runs may
    /// read. The path is canonical.
    pub fn read_only(mut self, path: impl Into<PathBuf>) -> Self {
        self.read_only.insert(path.into());
        self
    }

    /// Sets the resource limits; the ceiling of the policy still applies.
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Continues after an attempt of the same run on the same content: what an approver allowed stays
    /// allowed, with the limits of that attempt, and what it was refused is asked.
    pub fn after(mut self, earlier: EarlierAttempt) -> Self {
        self.limits = earlier.limits.clone();
        self.earlier = Some(earlier);
        self
    }

    /// Returns the request of a first attempt.
    pub fn first_attempt(mut self) -> Self {
        self.earlier = None;
        self
    }

    /// Returns the attempt that this one follows.
    #[must_use]
    pub fn earlier_attempt(&self) -> Option<&EarlierAttempt> {
        self.earlier.as_ref()
    }

    /// Returns the requested permissions without duplicates, in the order of [`Permission`].
    #[must_use]
    pub fn permissions(&self) -> Vec<Permission> {
        self.requested_permissions()
            .into_iter()
            .map(|requested| requested.permission)
            .collect()
    }

    /// Returns the entries of `allowed-tools` that request nothing in this run, each with the
    /// reason.
    #[must_use]
    pub fn unused_tools(&self) -> Vec<(String, &'static str)> {
        self.tools
            .iter()
            .filter_map(|tool| Some((tool.display_text(), self.reason_unused(tool)?)))
            .collect()
    }

    fn reason_unused(&self, tool: &AllowedTool) -> Option<&'static str> {
        let Some(capability) = Capability::from_tool_name(&tool.name) else {
            return Some("a tool of the agent, not of programs");
        };
        if self.dropped.contains(&capability) {
            return Some("the caller excluded this capability");
        }
        if tool.permission(self.workspace.as_deref()).is_some() {
            return None;
        }
        Some(match capability {
            Capability::Spawn => "the pattern is not the name of a program",
            _ if self.private_directory.is_some() => "the run has a private workspace",
            _ if self.workspace.is_none() => "no workspace is set",
            _ => "the pattern is not a directory of the workspace",
        })
    }

    /// Returns the digest that an approval of an ad-hoc command is stored under, for the command
    /// and the content together; `None` if the content has no digest.
    pub(crate) fn ad_hoc_content_digest(&self) -> Option<String> {
        // Both, since the command can run files of the content: changed content makes it another
        // command. Digests contain no space, so the two parts cannot be confused.
        Some(format!(
            "{} {}",
            self.ad_hoc_digest.as_ref()?,
            self.digest.as_ref()?
        ))
    }

    /// Returns the digest that an approval of programs in further commands is stored under: for the
    /// content, or for the directory of a host command. `None` without a command, and for a skill
    /// without a digest.
    pub(crate) fn programs_digest(&self) -> Option<String> {
        self.commands_digest("programs")
    }

    /// Like [`programs_digest`](Self::programs_digest), for an approval of all programs.
    pub(crate) fn all_programs_digest(&self) -> Option<String> {
        self.commands_digest("all-programs")
    }

    fn commands_digest(&self, kind: &str) -> Option<String> {
        self.ad_hoc_digest.as_ref()?;
        // Other digests of commands have a digest at their start, so they differ from these.
        Some(if self.is_skill_directory {
            format!("{kind} {}", self.digest.as_ref()?)
        } else {
            kind.to_owned()
        })
    }

    /// Returns true if the command of the caller, not the skill, requests this permission.
    pub(crate) fn is_ad_hoc_permission(&self, permission: &Permission) -> bool {
        // Files, hosts and variables keep the approvals of the skill: only what a program does is
        // determined by its arguments.
        self.ad_hoc_digest.is_some()
            && matches!(permission, Permission::Program(_) | Permission::AnyProgram)
    }

    /// Returns all privileges that the skill declares, as it writes them.
    pub(crate) fn declared_privileges(&self) -> BTreeSet<String> {
        // Full texts: a truncated pattern could hide an added privilege.
        self.tools
            .iter()
            .filter(|tool| tool.is_privileged())
            .map(AllowedTool::full_text)
            .chain(self.declared.iter().cloned())
            .collect()
    }

    /// Returns the requested permissions, each once with all its requesters, in the order of
    /// [`Permission`].
    pub(crate) fn requested_permissions(&self) -> Vec<RequestedPermission> {
        let mut all: Vec<RequestedPermission> = Vec::new();
        for (permission, requester, basis) in self.requests_of_tools().chain(self.other_requests())
        {
            match all.iter_mut().find(|known| known.permission == permission) {
                Some(known) => known.merge(requester, basis),
                None => all.push(RequestedPermission {
                    permission,
                    requested_by: vec![requester],
                    basis,
                }),
            }
        }
        all.retain(|requested| confinement::keeps(self, requested));
        // Decisions, prompts and records have one order, whatever the order of the declaration.
        all.sort_by(|a, b| a.permission.cmp(&b.permission));
        all
    }

    fn requests_of_tools(&self) -> impl Iterator<Item = (Permission, String, Basis)> {
        self.tools.iter().filter_map(|tool| {
            let permission = tool.permission(self.workspace.as_deref())?;
            Some((
                self.classify(permission),
                tool.display_text(),
                Basis::Declared,
            ))
        })
    }

    /// Returns the requests of the caller and of hooks, then those of requirements and first lines.
    fn other_requests(&self) -> impl Iterator<Item = (Permission, String, Basis)> {
        let of_caller = self
            .caller_permissions
            .iter()
            .map(|permission| match permission {
                // Not `Declared`: trusted mode grants no hook.
                Permission::Hook(_) => (permission.clone(), HOOKS_NAME, Basis::Undeclared),
                _ => (
                    self.classify(permission.clone()),
                    CALLER_NAME,
                    self.basis_for(permission.capability()),
                ),
            });
        let of_variables = self.variables.iter().map(|(name, source)| {
            let (requester, basis) = match source {
                VariableSource::Secret => (REQUIREMENTS_NAME, Basis::Declared),
                VariableSource::Caller => (REQUIREMENTS_NAME, Basis::ByCaller),
                VariableSource::Undeclared => (CALLER_NAME, Basis::Undeclared),
            };
            (Permission::Variable(name.clone()), requester, basis)
        });
        let of_requirements = self.required_programs.iter().map(|name| {
            let permission = Permission::Program(name.clone());
            (permission, REQUIREMENTS_NAME, Basis::Declared)
        });
        let of_packages = self.packages.iter().map(|(package, basis)| {
            let requester = match basis {
                Basis::UndeclaredPackage => IMPORT_NAME,
                _ => REQUIREMENTS_NAME,
            };
            (package.clone(), requester, *basis)
        });
        of_caller
            .chain(of_variables)
            .chain(of_requirements)
            .chain(self.request_of_first_line())
            .chain(of_packages)
            .map(|(permission, requester, basis)| (permission, requester.to_owned(), basis))
    }

    /// Returns the permission to read the workspace, if one is set.
    pub(crate) fn workspace_permission(&self) -> Option<Permission> {
        self.workspace.clone().map(Permission::Read)
    }

    /// Returns true if the skill names what it needs of a capability: `allowed-tools` is not empty and
    /// does not cover all of it, or the skill requires programs and has no tool that starts any.
    pub(crate) fn restricts(&self, capability: Capability) -> bool {
        match self.basis_for(capability) {
            Basis::ExceedsDeclaration => true,
            Basis::Undeclared => {
                capability == Capability::Spawn && !self.required_programs.is_empty()
            }
            _ => false,
        }
    }
}

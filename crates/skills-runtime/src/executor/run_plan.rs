//! Plans of runs: the program and its request, before authorization.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::Entry;
use skills_library::{OpenedSkill, RunHost, read_requirements};
#[cfg(all(feature = "packages", unix))]
use skills_manifest::RequiredPackage;
use skills_manifest::{HookAction, Manifest, Requirements};
use skills_policy::{Request, SandboxChoice, Secret, VariableSource};
use skills_prompt::{InstalledServers, MissingRequirements};
use skills_sandbox::{SandboxError, ScriptType};
use skills_store::locations;

use super::Executor;
use super::checked_skills::ReadableSkills;
use super::run_subject::{
    HOST_COMMAND_NAME, HostSubject, RunSubject, SkillSubject, command_digest,
};
use super::skill_copies::SkillCopy;
use super::workspace::ActiveWorkspace;
use crate::error::RuntimeError;
use crate::redaction::Redactor;
use crate::{
    ExecutionMode, ExecutionOptions, HostCommand, InputProtocol, RunTarget, Workspace,
    detect_execution_mode,
};

/// A run before authorization.
pub(crate) struct RunPlan {
    pub(crate) subject: RunSubject,
    pub(crate) mode: ExecutionMode,
    pub(crate) options: ExecutionOptions,
    /// The digest of the image with the programs that run; `None` for those of this host.
    pub(crate) image: Option<String>,
    /// Standard input of the program; moved to its job.
    pub(crate) stdin: Vec<u8>,
    /// Whether that is the input of the OpenSkills protocol.
    pub(crate) has_protocol_input: bool,
    pub(crate) request: Request,
    /// Required programs that nothing grants, so that the run goes on without them.
    pub(crate) dropped_programs: Vec<String>,
    /// Variables that can be granted to the program.
    pub(crate) variables: Vec<(String, Secret)>,
    /// Path of the workspace, if there is one.
    pub(crate) workspace: Option<PathBuf>,
    /// The digest of the command of the caller, if it runs one.
    pub(crate) command_digest: Option<String>,
    /// Further skills that the program can read; empty before authorization.
    pub(crate) readable_skills: ReadableSkills,
}

impl Executor {
    /// Plans a run of a skill, using its current files, not those of the scan. All paths of
    /// `options` must be resolved.
    pub(crate) fn plan(
        &self,
        name: &str,
        mut options: ExecutionOptions,
        workspace: Option<&ActiveWorkspace>,
    ) -> Result<RunPlan, RuntimeError> {
        let catalog = self.library().catalog();
        let OpenedSkill {
            entry,
            files,
            document,
        } = OpenedSkill::find_runnable(&catalog, name)?;
        let manifest = document.manifest().clone();
        self.keep_answerable_keys(&mut options);
        options.sandbox = self.select_sandbox(name, entry.directory(), options.sandbox)?;
        let mode = detect_execution_mode(entry.name().as_str(), &files, &manifest, &options)?;
        without_unused_stream(&mode, &mut options);
        let requirements = read_requirements(&manifest, &files);
        let declared = requirements.variable_names();
        let variables = self.variables(&declared, &options);
        let command = options.target.command();
        let command_digest =
            command.map(|command| command_digest(entry.directory(), command, &options));
        let request = build_request(entry, &manifest, &mode, &options);
        let request = command_digest
            .clone()
            .into_iter()
            .fold(request, Request::ad_hoc);
        // Declared variables and hooks belong to what an approval remembers, so that a prompt after
        // a change can show what was added.
        let request = declared.iter().fold(request, |request, name| {
            request.declare(format!("variable {name}"))
        });
        let request = with_owned_workspace(request, &options.workspace, workspace);
        add_workspace_alias(&mut options, workspace);
        start_in_workspace(&mut options, workspace);
        let request = with_variables(request, &variables);
        Ok(RunPlan {
            subject: RunSubject::Skill(Box::new(SkillSubject {
                entry: entry.clone(),
                files: Arc::new(files),
                manifest,
                requirements,
            })),
            image: self.image_of_run(entry.name().as_str(), &mode, &options),
            mode,
            has_protocol_input: has_protocol_input(&options),
            stdin: take_stdin(&mut options),
            options,
            // Last, since it depends on the requested paths.
            request: self.with_read_only_paths(self.with_environment(
                name,
                workspace.map(ActiveWorkspace::path),
                request,
            )),
            dropped_programs: Vec::new(),
            variables: without_sources(variables),
            workspace: workspace.map(|workspace| workspace.path().to_owned()),
            command_digest,
            readable_skills: ReadableSkills::default(),
        })
    }

    /// Plans a host command without a skill. All paths of `options` and `directory` must be
    /// resolved.
    pub(crate) fn plan_command(
        &self,
        directory: &Path,
        command: HostCommand,
        mut options: ExecutionOptions,
    ) -> Result<RunPlan, RuntimeError> {
        self.keep_answerable_keys(&mut options);
        options.sandbox = self.select_sandbox(HOST_COMMAND_NAME, directory, options.sandbox)?;
        let mode = command.mode();
        let digest = command_digest(directory, &command, &options);
        options.target = RunTarget::Command(command);
        if options.current_dir.is_none() {
            options.current_dir = Some(directory.to_owned());
        }
        let variables = self.variables(&BTreeSet::new(), &options);
        let request = Request::for_host_command(directory)
            .display_name(HOST_COMMAND_NAME)
            .command(command_line(directory, &mode, &options))
            .limits(options.limits())
            .ad_hoc(digest.clone())
            .session(options.context.session.clone());
        let request = with_host_programs(with_caller_paths(request, &options), &options);
        let request = with_variables(request, &variables);
        Ok(RunPlan {
            subject: RunSubject::Host(HostSubject {
                directory: directory.to_owned(),
                digest: digest.clone(),
            }),
            image: self.image_of_run(HOST_COMMAND_NAME, &mode, &options),
            mode,
            has_protocol_input: has_protocol_input(&options),
            stdin: take_stdin(&mut options),
            options,
            request: self.with_read_only_paths(request),
            dropped_programs: Vec::new(),
            variables: without_sources(variables),
            workspace: Some(directory.to_owned()),
            command_digest: Some(digest),
            readable_skills: ReadableSkills::default(),
        })
    }

    /// Removes files with keys for which no approver can be asked: the run then goes on without them, as if
    /// the command did not name them. A rule for such a file adds it by itself.
    fn keep_answerable_keys(&self, options: &mut ExecutionOptions) {
        if !self.can_ask(&options.context) {
            options.key_paths.clear();
        }
    }

    /// Selects the sandbox for the programs of a skill: the required one, else the one of the call,
    /// else the preferred one.
    fn select_sandbox(
        &self,
        skill: &str,
        directory: &Path,
        of_call: SandboxChoice,
    ) -> Result<SandboxChoice, SandboxError> {
        let preferred = match of_call {
            SandboxChoice::Auto => self.config().backends.preferred(skill),
            chosen => chosen,
        };
        let policy = self.permissions.policy();
        policy
            .select_sandbox(directory, preferred)
            .map_err(|requirement| {
                let reason = format!("the policy requires {requirement}");
                SandboxError::rejected(preferred.as_str(), reason)
            })
    }

    /// Returns the digest of the image whose programs run; `None` for programs of this host, or if
    /// there is no backend for the program.
    fn image_of_run(
        &self,
        name: &str,
        mode: &ExecutionMode,
        options: &ExecutionOptions,
    ) -> Option<String> {
        let sandbox = self.config().backends.for_run(name, mode, options.sandbox);
        sandbox.ok()?.image()
    }

    /// Returns the interpreter of the host for scripts of a type; `None` if an image has its own.
    pub(super) fn interpreter(&self, plan: &RunPlan, script_type: ScriptType) -> Option<PathBuf> {
        if !plan.uses_programs_of_host() {
            return None;
        }
        let backends = &self.config().backends;
        backends.interpreter(plan.subject.name(), script_type)
    }

    /// Protects the virtual environment with which Python scripts of a skill run, and the installation
    /// that it is based on: their packages run with the permissions of the next skill. An installation
    /// around the workspace is not protected, since nothing could be written there.
    fn with_environment(&self, skill: &str, workspace: Option<&Path>, request: Request) -> Request {
        let python = self
            .config()
            .backends
            .interpreter(skill, ScriptType::Python);
        let directory = python
            .as_deref()
            .and_then(Path::parent)
            .and_then(Path::parent)
            .filter(|directory| directory.join("pyvenv.cfg").is_file())
            .and_then(|directory| directory.canonicalize().ok());
        let Some(directory) = directory else {
            return request;
        };
        let base = python.and_then(|python| python.canonicalize().ok());
        let base = base
            .as_deref()
            .and_then(Path::parent)
            .and_then(Path::parent);
        let is_around = |base: &Path| workspace.is_some_and(|path| path.starts_with(base));
        let is_system = |base: &Path| ["/", "/usr", "/usr/local"].map(Path::new).contains(&base);
        let base = base
            .filter(|base| !is_around(base) && !is_system(base))
            .map(Path::to_owned);
        base.into_iter()
            .fold(request.protect(directory), Request::protect)
    }

    /// Returns the declared variables with a value from the host application or the caller, and the
    /// undeclared variables of the caller.
    fn variables(
        &self,
        declared: &BTreeSet<String>,
        options: &ExecutionOptions,
    ) -> Vec<SourcedVariable> {
        // A value of the caller takes precedence over the configured one.
        let of_caller = options.env.iter().map(|(name, value)| {
            let source = if declared.contains(name) {
                VariableSource::Caller
            } else {
                VariableSource::Undeclared
            };
            (name.clone(), value.clone(), source)
        });
        let secrets = declared
            .iter()
            .filter(|name| !options.env.contains_key(*name));
        let secrets = secrets.filter_map(|name| {
            Some((
                name.clone(),
                self.config().secrets.get(name)?.clone(),
                VariableSource::Secret,
            ))
        });
        of_caller.chain(secrets).collect()
    }

    /// Protects the paths of all requests, and makes paths of the host application read-only, with
    /// each symlink that leads to them.
    pub(crate) fn with_read_only_paths(&self, request: Request) -> Request {
        let request = self.with_protected_paths(request);
        // The canonical path, too: the spelling of names can differ where case is ignored.
        let read_only = self.config().read_only_paths.iter();
        let read_only =
            read_only.flat_map(|path| std::iter::once(canonical(path)).chain(locations(path)));
        let request = read_only.fold(request, Request::read_only);
        #[cfg(all(feature = "packages", unix))]
        let request = self
            .package_store()
            .map(|store| canonical(store.directory()))
            .into_iter()
            .fold(request, Request::read_only);
        request
    }

    /// Hides directories of the host application and protects skill roots inside writable
    /// directories, so that a skill cannot change another one. Optional mounts are included.
    pub(crate) fn with_protected_paths(&self, request: Request) -> Request {
        let protected = self.config().protected_paths.iter();
        let request = protected
            .flat_map(|path| locations(path))
            .fold(request, Request::protect);
        // For all requests: rules can add files that the request does not name.
        let hidden = self.hidden_directories().iter();
        let request = hidden.map(canonical).fold(request, Request::hide);
        #[cfg(all(feature = "packages", unix))]
        let request = self
            .package_store()
            .map(|store| canonical(store.directory()))
            .into_iter()
            .fold(request, Request::protect);
        // Skills are protected against writing only; a skill may read another one.
        let catalog = self.library().catalog();
        catalog.skill_directories().fold(request, Request::protect)
    }

    /// Returns the missing requirements of the skill.
    pub(crate) fn missing_for_run(&self, plan: &RunPlan) -> MissingRequirements {
        let Some(skill) = plan.subject.skill() else {
            return MissingRequirements::default();
        };
        let has_variable = |name: &str| {
            plan.variables
                .iter()
                .any(|(candidate, value)| candidate == name && !value.expose_secret().is_empty())
        };
        let mut missing = MissingRequirements::default();
        let name = skill.entry.name().as_str();
        let host = RunHost {
            servers: &InstalledServers::default(),
            has_variable: &has_variable,
            finder: plan
                .uses_programs_of_host()
                .then(|| self.library().finder(name)),
        };
        missing.add(name, &self.without_installable(&skill.requirements), &host);
        missing
    }

    /// Returns the requirements without programs that packages of the skill install.
    #[cfg(all(feature = "packages", unix))]
    fn without_installable(&self, requirements: &Requirements) -> Requirements {
        let mut requirements = requirements.clone();
        if self.config().packages.is_some() {
            requirements.programs.retain(|program| {
                let mut installs = program.installs.iter();
                !installs.any(|install| RequiredPackage::of_install(install).is_some())
            });
        }
        requirements
    }

    /// Returns all requirements: this build installs no packages.
    #[cfg(not(all(feature = "packages", unix)))]
    fn without_installable(&self, requirements: &Requirements) -> Requirements {
        requirements.clone()
    }
}

/// Returns the canonical path, as grants have it; a rule on another spelling would not match them.
fn canonical(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    // What does not exist yet is created below the longest existing parent.
    for existing in path.ancestors() {
        if let (Ok(canonical), Ok(missing)) = (existing.canonicalize(), path.strip_prefix(existing))
        {
            return canonical.components().chain(missing.components()).collect();
        }
    }
    path.to_owned()
}

impl RunPlan {
    /// Returns true if the program runs with the programs and paths of this host. False in a
    /// container, also if there is no backend for it, so that the run fails with that reason.
    pub(super) fn uses_programs_of_host(&self) -> bool {
        self.image.is_none() && self.options.sandbox != SandboxChoice::Container
    }

    /// Returns a redactor of the values of all variables that the program can get.
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(
            self.variables
                .iter()
                .map(|(name, value)| (name.as_str(), value.expose_secret())),
        )
    }

    /// Returns the request for content whose private copy runs.
    pub(crate) fn request_for_content(&self, content: Option<&SkillCopy>) -> Request {
        let request = self.request_for_digest(content.map(|content| content.digest.as_str()));
        content
            .and_then(SkillCopy::path)
            .into_iter()
            .fold(request, Request::copy)
    }

    /// Returns the request for the content with this digest.
    pub(crate) fn request_for_digest(&self, digest: Option<&str>) -> Request {
        with_digest(&self.request, digest)
    }
}

pub(super) fn with_digest(request: &Request, digest: Option<&str>) -> Request {
    match digest {
        Some(digest) => request.clone().content_digest(digest),
        None => request.clone(),
    }
}

/// A variable that can be granted: its name, its value and where the value is from.
type SourcedVariable = (String, Secret, VariableSource);

fn with_variables(request: Request, variables: &[SourcedVariable]) -> Request {
    variables
        .iter()
        .fold(request, |request, (name, _, source)| {
            request.variable(name, *source)
        })
}

fn without_sources(variables: Vec<SourcedVariable>) -> Vec<(String, Secret)> {
    variables
        .into_iter()
        .map(|(name, value, _)| (name, value))
        .collect()
}

/// Sets the working directory of a program that starts in its private workspace.
fn start_in_workspace(options: &mut ExecutionOptions, workspace: Option<&ActiveWorkspace>) {
    let is_private = matches!(options.workspace, Workspace::Private(_));
    if let Some(workspace) = workspace
        && options.starts_in_private_workspace
        && is_private
        && options.current_dir.is_none()
    {
        options.current_dir = Some(workspace.path().to_owned());
    }
}

/// Makes the workspace available as `/workspace` for arguments, too, where the backend can.
fn add_workspace_alias(options: &mut ExecutionOptions, workspace: Option<&ActiveWorkspace>) {
    let alias = Path::new("/workspace");
    let is_known = options.path_aliases.iter().any(|(known, _)| known == alias);
    // The directory of a session has a name of its own.
    let is_session = matches!(options.workspace, Workspace::Session(_));
    if let Some(workspace) = workspace.filter(|_| !is_known && !is_session) {
        let path = workspace.path().to_owned();
        options.path_aliases.push((alias.to_owned(), path));
    }
}

/// Requests write access to a workspace that this process created, which needs no approval.
fn with_owned_workspace(
    request: Request,
    workspace: &Workspace,
    active: Option<&ActiveWorkspace>,
) -> Request {
    match (active, workspace) {
        (Some(private), Workspace::Private(_)) => request.private_workspace(private.path()),
        // A preview does not create the workspace.
        // Only the path that programs would see is known.
        (None, Workspace::Private(_)) => request.private_workspace("/workspace"),
        (_, Workspace::Session(directory)) => request.private_workspace(directory.path()),
        _ => request,
    }
}

/// Builds the request: what the skill declares and the options add, without dropped capabilities.
fn build_request(
    entry: &Entry,
    manifest: &Manifest,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
) -> Request {
    let request = Request::new(entry.directory())
        .display_name(entry.name().as_str())
        .command(command_line(entry.directory(), mode, options))
        .limits(options.limits())
        .session(options.context.session.clone());
    let request = match &options.workspace {
        Workspace::Directory(directory) => request.workspace(directory),
        _ => request,
    };
    let request = manifest
        .allowed_tools()
        .iter()
        .fold(request, |request, rule| {
            request.allowed_tool(rule.tool(), rule.pattern())
        });
    let request = hook_texts(manifest).fold(with_caller_paths(request, options), Request::declare);
    with_host_programs(request, options)
}

/// Adds paths and hosts of the options, and removes dropped capabilities.
fn with_caller_paths(request: Request, options: &ExecutionOptions) -> Request {
    let request = options.readable_paths.iter().fold(request, Request::read);
    let request = options.key_paths.iter().fold(request, Request::read_keys);
    let request = options.writable_paths.iter().fold(request, Request::write);
    let request = options
        .hosts
        .iter()
        .cloned()
        .fold(request, Request::connect);
    options
        .dropped_capabilities
        .iter()
        .fold(request, |request, capability| {
            request.drop_capability(*capability)
        })
}

/// Adds the programs that a host command spawns.
fn with_host_programs(request: Request, options: &ExecutionOptions) -> Request {
    match options.target.command() {
        None => request,
        Some(HostCommand::Program(name)) => request.spawn(name),
        // A command line can start any program, so permission for `sh` alone would not describe it.
        Some(HostCommand::Shell(_)) => request.spawn_any(),
    }
}

/// Returns the program with its arguments, for an approval request.
fn command_line(base: &Path, mode: &ExecutionMode, options: &ExecutionOptions) -> Vec<String> {
    let command = options.target.command();
    let is_command = command.is_some();
    // The standard input of `sh` is code, so the approver must see it.
    let stdin = options
        .stdin
        .as_deref()
        .filter(|stdin| is_command && !stdin.is_empty())
        .map(|stdin| {
            let text = String::from_utf8_lossy(stdin);
            let shown: String = text.chars().take(MAX_DISPLAYED_INPUT_CHARS).collect();
            let more = text.len() - shown.len();
            let suffix = if more > 0 {
                format!(" and {more} more bytes")
            } else {
                String::new()
            };
            format!("<<< {shown:?}{suffix}")
        });
    let current_dir = options
        .current_dir
        .as_ref()
        .filter(|directory| is_command && *directory != base)
        .map(|directory| format!("(in {})", directory.display()));
    std::iter::once(mode.program().to_owned())
        .chain(command.into_iter().flat_map(HostCommand::leading_args))
        .chain(options.args.iter().cloned())
        .chain(stdin)
        .chain(current_dir)
        .collect()
}

/// Maximum number of characters of a command's standard input in an approval request.
const MAX_DISPLAYED_INPUT_CHARS: usize = 4_096;

/// Removes an input stream from the options of a WebAssembly program, which gets its input as JSON.
fn without_unused_stream(mode: &ExecutionMode, options: &mut ExecutionOptions) {
    if matches!(mode, ExecutionMode::Wasm { .. }) || options.stdin.is_some() {
        options.streams.input = None;
    }
}

/// Returns true if the program gets the input of the options on standard input.
fn has_protocol_input(options: &ExecutionOptions) -> bool {
    options.input_protocol == InputProtocol::OpenSkills
        && options.stdin.is_none()
        && options.streams.input.is_none()
}

/// Moves the standard input of the program out of the options, since it can be large.
fn take_stdin(options: &mut ExecutionOptions) -> Vec<u8> {
    if options.streams.input.is_some() {
        return Vec::new();
    }
    let is_protocol = has_protocol_input(options);
    let input = std::mem::take(&mut options.input);
    if is_protocol {
        return input.to_string().into_bytes();
    }
    options.stdin.take().unwrap_or_default()
}

/// Returns the hooks of a skill as text.
fn hook_texts(manifest: &Manifest) -> impl Iterator<Item = String> {
    manifest
        .extensions()
        .hooks
        .iter()
        .map(|hook| match &hook.action {
            HookAction::Command { command, .. } => {
                let matcher = hook.matcher.as_deref().unwrap_or("*");
                format!("hook {} {matcher}: {command}", hook.event.as_str())
            }
            _ => format!("hook {}", hook.event.as_str()),
        })
}

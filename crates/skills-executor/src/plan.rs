//! The first stage of a run: what would run, and what it asks for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use skills_library::RunHost;
#[cfg(all(feature = "packages", unix))]
use skills_manifest::RequiredPackage;
use skills_manifest::Requirements;
use skills_policy::{Request, SandboxChoice, Secret};
use skills_prompt::{InstalledServers, MissingRequirements};
use skills_sandbox::{CancellationToken, SandboxError, ScriptType};

use crate::confinement::confine;
use crate::error::RuntimeError;
use crate::execution_mode::ExecutionMode;
use crate::host_command::HostCommand;
use crate::input_protocol::InputProtocol;
use crate::options::{ExecutionOptions, RunTarget, Workspace};
use crate::program_detection::{InterpretedScript, SelectedProgram, select_program};
use crate::redaction::Redactor;
use crate::request::{
    build_request, request_of_command, variables_of, with_environment, with_read_only_paths,
    with_variables, without_sources,
};
use crate::run_subject::{
    HOST_COMMAND_NAME, HostSubject, RunSubject, SkillSubject, command_digest,
};
use crate::services::Services;

/// A run before anything is checked: the program, its input and its request. It never changes;
/// [`Checked`](super::check::Checked) adds what the host has.
pub(crate) struct Planned {
    services: Services,
    subject: RunSubject,
    mode: ExecutionMode,
    /// The path of a script that a program of the host runs.
    interpreted: Option<String>,
    options: ExecutionOptions,
    /// The digest of the image with the programs that run; `None` for those of this host.
    image: Option<String>,
    /// Standard input of the program.
    stdin: Bytes,
    /// Whether that is the input of the OpenSkills protocol.
    has_protocol_input: bool,
    request: Request,
    /// Variables that can be granted to the program.
    variables: Vec<(String, Secret)>,
    /// The digest of the command of the caller, if it runs one.
    command_digest: Option<String>,
    /// The title of the hook that runs, as approvals name it.
    hook: Option<String>,
}

impl Planned {
    /// Plans a run of a skill, of a hook if its title is given. Uses the current files of the skill,
    /// not those of the scan. All paths of `options` must be resolved.
    pub(crate) fn of_skill(
        services: &Services,
        name: &str,
        mut options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<Self, RuntimeError> {
        let skill = SkillSubject::open(services.library(), name)?;
        let (entry, directory) = (&skill.entry, skill.entry.directory());
        let name = entry.name().as_str();
        keep_answerable_keys(services, &mut options);
        options.sandbox = select_sandbox(services, name, directory, options.sandbox)?;
        let SelectedProgram { mode, interpreted } =
            select_program(name, &skill.files, &skill.manifest, &options)?;
        without_unused_stream(&mode, &mut options);
        let declared = skill.requirements.variable_names();
        let variables = variables_of(services, &declared, &options);
        let command = options.target.command();
        let command_digest = command.map(|command| command_digest(directory, command, &options));
        let script_path = interpreted.as_ref().map(|script| script.path.clone());
        if let Some(script) = interpreted {
            // After the digest: the command is not that of the caller, so that approvals are for the
            // content of the skill.
            start_interpreter(&mode, script, directory, &mut options);
        }
        let policy = services.permissions().policy();
        let interpreter = script_path.as_ref().map(|_| mode.program());
        let request = build_request(entry, &skill.manifest, &mode, &options, policy, interpreter);
        let request = command_digest
            .clone()
            .into_iter()
            .fold(request, Request::ad_hoc);
        // Declared variables and hooks belong to what an approval remembers, so that a prompt after
        // a change can show what was added.
        let request = declared.iter().fold(request, |request, name| {
            request.declare(format!("variable {name}"))
        });
        let request = with_variables(request, &variables);
        let request = hook.into_iter().fold(request, Request::hook);
        // The skill chose its interpreter, which is asked for like other programs.
        let request = if script_path.is_some() {
            request
        } else {
            confine(services, name, &mode, &options, request)
        };
        Ok(Self {
            services: services.clone(),
            image: image_of_run(services, name, &mode, &options),
            subject: RunSubject::Skill(Box::new(skill)),
            mode,
            interpreted: script_path,
            has_protocol_input: has_protocol_input(&options),
            stdin: take_stdin(&mut options),
            options,
            request,
            variables: without_sources(variables),
            command_digest,
            hook: hook.map(str::to_owned),
        })
    }

    /// Plans a host command without a skill, whose workspace is `directory`. All paths of `options`
    /// and `directory` must be resolved.
    pub(crate) fn of_command(
        services: &Services,
        directory: &Path,
        command: HostCommand,
        mut options: ExecutionOptions,
    ) -> Result<Self, RuntimeError> {
        keep_answerable_keys(services, &mut options);
        options.sandbox = select_sandbox(services, HOST_COMMAND_NAME, directory, options.sandbox)?;
        let mode = command.mode();
        let digest = command_digest(directory, &command, &options);
        options.target = RunTarget::Command(command);
        options.workspace = Workspace::Directory(directory.to_owned());
        if options.current_dir.is_none() {
            options.current_dir = Some(directory.to_owned());
        }
        let variables = variables_of(services, &BTreeSet::new(), &options);
        let policy = services.permissions().policy();
        let request = request_of_command(directory, &mode, &options, policy);
        let request = request.ad_hoc(digest.clone());
        let request = with_variables(request, &variables);
        let request = confine(services, HOST_COMMAND_NAME, &mode, &options, request);
        Ok(Self {
            services: services.clone(),
            subject: RunSubject::Host(HostSubject {
                directory: directory.to_owned(),
                digest: digest.clone(),
            }),
            image: image_of_run(services, HOST_COMMAND_NAME, &mode, &options),
            mode,
            interpreted: None,
            has_protocol_input: has_protocol_input(&options),
            stdin: take_stdin(&mut options),
            options,
            request,
            variables: without_sources(variables),
            command_digest: Some(digest),
            hook: None,
        })
    }

    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    pub(crate) fn subject(&self) -> &RunSubject {
        &self.subject
    }

    /// Returns the skill; `None` for a host command without one.
    pub(crate) fn skill(&self) -> Option<&SkillSubject> {
        self.subject.skill()
    }

    /// Returns the name of the skill, or that of all host commands.
    pub(crate) fn name(&self) -> &str {
        self.subject.name()
    }

    /// Returns the path of the script in the skill, also if a program of the host runs it.
    pub(crate) fn script_path(&self) -> Option<&str> {
        match &self.mode {
            ExecutionMode::Native { script_path, .. } => Some(script_path),
            _ => self.interpreted.as_deref(),
        }
    }

    pub(crate) fn mode(&self) -> &ExecutionMode {
        &self.mode
    }

    /// Returns true if a further attempt can follow a refusal.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.options.attempts() > 1 && self.services.can_ask_after_refusal(&self.options.context)
    }

    pub(crate) fn options(&self) -> &ExecutionOptions {
        &self.options
    }

    /// Returns the digest of the image whose programs run; `None` for programs of this host.
    #[cfg(all(feature = "packages", unix))]
    pub(crate) fn image(&self) -> Option<&str> {
        self.image.as_deref()
    }

    pub(crate) fn stdin(&self) -> &Bytes {
        &self.stdin
    }

    /// Returns true if the standard input is that of the OpenSkills protocol.
    pub(crate) fn has_protocol_input(&self) -> bool {
        self.has_protocol_input
    }

    /// Returns the request with the paths that are protected on this host now: time can have passed
    /// since the plan. A private workspace, which each attempt creates, has the path that programs know.
    pub(crate) fn request(&self) -> Request {
        let mut request = self.request.clone();
        if self.skill().is_some() {
            let workspace = known_workspace(&self.options.workspace);
            request = with_environment(&self.services, self.name(), workspace, request);
        }
        with_read_only_paths(&self.services, request)
    }

    /// Returns the request without what only the skill asks for and nothing allows, if no approver
    /// can answer: many skills declare more than their scripts use.
    pub(crate) fn without_unanswerable(&self, request: Request) -> Request {
        if self.services.can_ask(&self.options.context) {
            request
        } else {
            request.omit_ungranted()
        }
    }

    pub(crate) fn variables(&self) -> &[(String, Secret)] {
        &self.variables
    }

    /// Returns the digest of the command of the caller, if it runs one.
    pub(crate) fn command_digest(&self) -> Option<&str> {
        self.command_digest.as_deref()
    }

    /// Returns the title of the hook that runs, as approvals name it; `None` for other runs.
    pub(crate) fn hook(&self) -> Option<&str> {
        self.hook.as_deref()
    }

    /// Runs scripts of a type with the interpreter at this absolute path.
    pub(crate) fn with_interpreter(mut self, script_type: ScriptType, path: PathBuf) -> Self {
        self.services = self.services.with_interpreter(script_type, path);
        self
    }

    /// Replaces the cancellation of the run, and returns the one that it had.
    pub(crate) fn replace_cancellation(
        &mut self,
        cancellation: CancellationToken,
    ) -> Option<CancellationToken> {
        self.options.context.cancellation.replace(cancellation)
    }

    /// Returns true if the program runs with the programs and paths of this host. False in a
    /// container, also if there is no backend for it, so that the run fails with that reason.
    pub(crate) fn uses_programs_of_host(&self) -> bool {
        self.image.is_none() && self.options.sandbox != SandboxChoice::Container
    }

    /// Returns the interpreter of the host for scripts of a type; `None` if an image has its own.
    pub(crate) fn interpreter(&self, script_type: ScriptType) -> Option<PathBuf> {
        self.uses_programs_of_host()
            .then(|| self.services.interpreter(self.name(), script_type))
            .flatten()
    }

    /// Returns a redactor of the values of all variables that the program can get, without the paths of
    /// existing files: those are in many lines of output, and hide nothing.
    pub(crate) fn redactor(&self) -> Redactor {
        let variables = self.variables.iter();
        let values = variables.map(|(name, value)| (name.as_str(), value.expose_secret()));
        Redactor::new(values.filter(|(_, value)| !is_existing_path(value)))
    }

    /// Returns the missing requirements of the skill.
    pub(crate) fn missing_requirements(&self) -> MissingRequirements {
        let mut missing = MissingRequirements::default();
        let Some(skill) = self.skill() else {
            return missing;
        };
        let has_variable = |name: &str| {
            self.variables
                .iter()
                .any(|(candidate, value)| candidate == name && !value.expose_secret().is_empty())
        };
        let finder = self
            .uses_programs_of_host()
            .then(|| self.services.finder(self.name()));
        let host = RunHost {
            servers: &InstalledServers::default(),
            has_variable: &has_variable,
            finder: finder.as_deref(),
        };
        let requirements = without_installable(&self.services, &skill.requirements);
        missing.add(self.name(), &requirements, &host);
        missing
    }
}

fn is_existing_path(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.symlink_metadata().is_ok()
}

/// Removes files with keys for which no approver can be asked: the run then goes on without them, as if
/// the command did not name them. A rule for such a file adds it by itself.
fn keep_answerable_keys(services: &Services, options: &mut ExecutionOptions) {
    if !services.can_ask(&options.context) {
        options.key_paths.clear();
    }
}

/// Selects the sandbox for the programs of a skill: the required one, else the one of the call,
/// else the preferred one.
fn select_sandbox(
    services: &Services,
    skill: &str,
    directory: &Path,
    of_call: SandboxChoice,
) -> Result<SandboxChoice, SandboxError> {
    let preferred = match of_call {
        SandboxChoice::Auto => services.config().backends.preferred(skill),
        chosen => chosen,
    };
    let policy = services.permissions().policy();
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
    services: &Services,
    name: &str,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
) -> Option<String> {
    let backends = &services.config().backends;
    backends.for_run(name, mode, options.sandbox).ok()?.image()
}

fn known_workspace(workspace: &Workspace) -> Option<&Path> {
    match workspace {
        Workspace::Directory(path) => Some(path),
        Workspace::Session(directory) => Some(directory.path()),
        Workspace::None | Workspace::Private(_) => None,
    }
}

/// Returns the requirements without programs that packages of the skill install.
#[cfg(all(feature = "packages", unix))]
fn without_installable(services: &Services, requirements: &Requirements) -> Requirements {
    let mut requirements = requirements.clone();
    if services.config().packages.is_some() {
        requirements.programs.retain(|program| {
            let mut installs = program.installs.iter();
            !installs.any(|install| RequiredPackage::of_install(install).is_some())
        });
    }
    requirements
}

/// Returns all requirements: this build installs no packages.
#[cfg(not(all(feature = "packages", unix)))]
fn without_installable(_services: &Services, requirements: &Requirements) -> Requirements {
    requirements.clone()
}

/// Makes the program of the first line the target, with the path of the script as its argument.
fn start_interpreter(
    mode: &ExecutionMode,
    script: InterpretedScript,
    directory: &Path,
    options: &mut ExecutionOptions,
) {
    let path = directory.join(script.path).to_string_lossy().into_owned();
    let leading = script.args.into_iter().chain([path]);
    options.args = leading.chain(std::mem::take(&mut options.args)).collect();
    options.target = RunTarget::Command(HostCommand::Program(mode.program().to_owned()));
}

/// Removes an input stream from the options of a WebAssembly program, which gets its input as JSON.
fn without_unused_stream(mode: &ExecutionMode, options: &mut ExecutionOptions) {
    if matches!(mode, ExecutionMode::Wasm { .. }) || options.stdin.is_some() {
        options.input_stream = None;
    }
}

/// Returns true if the program gets the input of the options on standard input.
fn has_protocol_input(options: &ExecutionOptions) -> bool {
    options.input_protocol == InputProtocol::OpenSkills
        && options.stdin.is_none()
        && options.input_stream.is_none()
}

/// Moves the standard input of the program out of the options, since it can be large.
fn take_stdin(options: &mut ExecutionOptions) -> Bytes {
    if options.input_stream.is_some() {
        return Bytes::new();
    }
    let is_protocol = has_protocol_input(options);
    let input = std::mem::take(&mut options.input);
    if is_protocol {
        return input.to_string().into_bytes().into();
    }
    options.stdin.take().unwrap_or_default().into()
}

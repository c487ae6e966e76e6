//! Builds the request of a run: what the skill declares, what the caller adds, and what is protected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_discovery::Entry;
use skills_manifest::{HookAction, Manifest};
use skills_policy::{Policy, Request, Secret, VariableSource};
use skills_sandbox::ScriptType;
use skills_store::locations;

use crate::execution_mode::ExecutionMode;
use crate::host_command::HostCommand;
use crate::options::{ExecutionOptions, Workspace};
use crate::run_subject::HOST_COMMAND_NAME;
use crate::services::Services;

/// The path of a private workspace in requests, before it exists, and for programs that see a file
/// system of their own.
pub(crate) const WORKSPACE_ALIAS: &str = "/workspace";

/// Builds the request: what the skill declares and the options add, without dropped capabilities.
/// `interpreter` is the program of the host that the first line of the script names.
pub(crate) fn build_request(
    entry: &Entry,
    manifest: &Manifest,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
    policy: &Policy,
    interpreter: Option<&str>,
) -> Request {
    let request = Request::new(entry.directory())
        .display_name(entry.name().as_str())
        .command(command_line(entry.directory(), mode, options))
        .limits(options.limits(policy))
        .session(options.context.session.clone());
    let request = match &options.workspace {
        Workspace::Directory(directory) => request.workspace(directory),
        Workspace::Session(directory) => request.private_workspace(directory.path()),
        Workspace::Private(_) => request.private_workspace(WORKSPACE_ALIAS),
        Workspace::None => request,
    };
    let request = manifest
        .allowed_tools()
        .iter()
        .fold(request, |request, rule| {
            request.allowed_tool(rule.tool(), rule.pattern())
        });
    let request = hook_texts(manifest).fold(with_caller_paths(request, options), Request::declare);
    match interpreter {
        // The skill chose its interpreter, not the caller.
        Some(name) => request.interpreter(name),
        None => with_host_programs(request, options),
    }
}

/// Builds the request of a host command on a directory.
pub(crate) fn request_of_command(
    directory: &Path,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
    policy: &Policy,
) -> Request {
    let request = Request::for_host_command(directory)
        .display_name(HOST_COMMAND_NAME)
        .command(command_line(directory, mode, options))
        .limits(options.limits(policy))
        .session(options.context.session.clone());
    with_host_programs(with_caller_paths(request, options), options)
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

/// Returns the program with its arguments, for a question.
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

/// Maximum number of characters of a command's standard input in a question.
const MAX_DISPLAYED_INPUT_CHARS: usize = 4_096;

/// Returns the declared variables with a value from the host application or the caller, and the
/// undeclared variables of the caller.
pub(crate) fn variables_of(
    services: &Services,
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
        let value = services.config().secrets.get(name)?.clone();
        Some((name.clone(), value, VariableSource::Secret))
    });
    of_caller.chain(secrets).collect()
}

/// A variable that can be granted: its name, its value and where the value is from.
pub(crate) type SourcedVariable = (String, Secret, VariableSource);

pub(crate) fn with_variables(request: Request, variables: &[SourcedVariable]) -> Request {
    variables
        .iter()
        .fold(request, |request, (name, _, source)| {
            request.variable(name, *source)
        })
}

pub(crate) fn without_sources(variables: Vec<SourcedVariable>) -> Vec<(String, Secret)> {
    variables
        .into_iter()
        .map(|(name, value, _)| (name, value))
        .collect()
}

pub(crate) fn with_digest(request: &Request, digest: Option<&str>) -> Request {
    match digest {
        Some(digest) => request.clone().content_digest(digest),
        None => request.clone(),
    }
}

/// Protects the virtual environment with which Python scripts of a skill run, and the installation
/// that it is based on: their packages run with the permissions of the next skill. An installation
/// around the workspace is not protected, since nothing could be written there.
pub(crate) fn with_environment(
    services: &Services,
    skill: &str,
    workspace: Option<&Path>,
    request: Request,
) -> Request {
    let python = services.interpreter(skill, ScriptType::Python);
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

/// Protects the paths of all requests, and makes paths of the host application read-only, with
/// each symlink that leads to them.
pub(crate) fn with_read_only_paths(services: &Services, request: Request) -> Request {
    let request = with_protected_paths(services, request);
    // The canonical path, too: the spelling of names can differ where case is ignored.
    let read_only = services.config().read_only_paths.iter();
    let read_only =
        read_only.flat_map(|path| std::iter::once(canonical(path)).chain(locations(path)));
    let request = read_only.fold(request, Request::read_only);
    #[cfg(all(feature = "packages", unix))]
    let request = package_directory(services)
        .into_iter()
        .fold(request, Request::read_only);
    request
}

/// Hides directories of the host application and protects skill roots inside writable
/// directories, so that a skill cannot change another one. Optional mounts are included.
pub(crate) fn with_protected_paths(services: &Services, request: Request) -> Request {
    let protected = services.config().protected_paths.iter();
    let request = protected
        .flat_map(|path| locations(path))
        .fold(request, Request::protect);
    // For all requests: rules can add files that the request does not name.
    let hidden = services.config().hidden_directories.iter();
    let request = hidden.map(canonical).fold(request, Request::hide);
    #[cfg(all(feature = "packages", unix))]
    let request = package_directory(services)
        .into_iter()
        .fold(request, Request::protect);
    // Skills are protected against writing only; a skill may read another one.
    let catalog = services.library().catalog();
    catalog.skill_directories().fold(request, Request::protect)
}

/// Returns the canonical path of the store of packages, if packages are configured.
#[cfg(all(feature = "packages", unix))]
fn package_directory(services: &Services) -> Option<PathBuf> {
    let config = services.config().packages.as_ref()?;
    Some(canonical(config.store().directory()))
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

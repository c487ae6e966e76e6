//! What would run and what it asks for, before anything is decided.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::Entry;
use skills_manifest::{HookAction, Manifest};
use skills_policy::{Capability, Origin, Permission, Request};

use crate::contents::Content;
use crate::error::{Repr, RuntimeError};
use crate::requirements::{declared_variables, missing};
use crate::runtime::find;
use crate::subject::{COMMANDS, Machine, Skill, Subject, words_of};
use crate::workspace::Prepared;
use crate::{
    Command, Convention, ExecutionMode, ExecutionOptions, Secret, SkillRuntime, Workspace,
    detect_execution_mode,
};

/// A run before it is decided on.
pub(crate) struct Planned {
    pub(crate) subject: Subject,
    pub(crate) mode: ExecutionMode,
    pub(crate) options: ExecutionOptions,
    /// Standard input as the program gets it.
    pub(crate) input: Vec<u8>,
    pub(crate) request: Request,
    /// The variables of the host that the program might be given.
    pub(crate) variables: Vec<(String, Secret)>,
    /// Where the workspace lies, when there is one.
    pub(crate) workspace: Option<PathBuf>,
}

impl SkillRuntime {
    /// Finds out what would run and what it asks for. The files of now decide, not those of the
    /// scan. All paths of `options` are resolved.
    pub(crate) fn plan(
        &self,
        name: &str,
        options: ExecutionOptions,
        workspace: Option<&Prepared>,
    ) -> Result<Planned, RuntimeError> {
        let catalog = self.catalog();
        let entry = find(&catalog, name)?;
        let failed = |source| {
            RuntimeError::from(Repr::Files {
                path: entry.location(),
                source,
            })
        };
        let files = entry.open().map_err(failed)?;
        let manifest = files.document().map_err(failed)?.manifest().clone();
        let unread = manifest.unread_restrictions();
        if !unread.is_empty() {
            let (skill, path, fields) =
                (entry.name().to_string(), entry.location(), unread.to_vec());
            return Err(Repr::Restricted {
                skill,
                path,
                fields,
            }
            .into());
        }
        let mode = detect_execution_mode(entry.name().as_str(), &files, &manifest, &options)?;
        let declared = declared_variables(&files, &manifest);
        let variables = self.variables(&declared, &options);
        let request = request(entry, &manifest, &mode, &options);
        let request = declared.iter().fold(request, |request, name| {
            request.declares(format!("variable {name}"))
        });
        let request = match (workspace, &options.workspace) {
            (Some(private), Workspace::Private(_)) => request.private_workspace(private.path()),
            // None is made for a look at what would be.
            (None, Workspace::Private(_)) => request.private_workspace("/workspace"),
            (_, Workspace::Session(directory)) => request.private_workspace(directory.path()),
            _ => request,
        };
        let workspace = workspace.map(|workspace| workspace.path().to_owned());
        let request = variables
            .iter()
            .fold(request, |request, (name, _, origin)| {
                request.variable(name, *origin)
            });
        let variables = variables
            .into_iter()
            .map(|(name, value, _)| (name, value))
            .collect();
        let (input, entry) = (input(&options), entry.clone());
        let subject = Subject::Skill(Box::new(Skill {
            entry,
            files: Arc::new(files),
            manifest,
        }));
        let request = self.guarded(request);
        Ok(Planned {
            subject,
            mode,
            options,
            input,
            request,
            variables,
            workspace,
        })
    }

    /// Finds out what a command asks for that works on a directory and for no skill. All paths of
    /// `options` and `directory` are resolved.
    pub(crate) fn plan_command(
        &self,
        directory: &Path,
        options: ExecutionOptions,
    ) -> Result<Planned, RuntimeError> {
        let Some(command) = &options.command else {
            return Err(Repr::NoProgram {
                skill: COMMANDS.to_owned(),
            }
            .into());
        };
        let mode = ExecutionMode::Command {
            program: command.program().to_owned(),
        };
        let machine = Machine::new(directory, command, &options);
        let made_up = words_of(directory, command, &options);
        let options = ExecutionOptions {
            directory: options
                .directory
                .clone()
                .or_else(|| Some(directory.to_owned())),
            ..options
        };
        let variables = self.variables(&std::collections::BTreeSet::new(), &options);
        let request = Request::of_commands(directory)
            .named(COMMANDS)
            .command(words(directory, &mode, &options))
            .limits(options.limits());
        let request = request.made_up(made_up).session(options.session.clone());
        let request = variables.iter().fold(
            started(offered(request, &options), &options),
            |request, (name, _, origin)| request.variable(name, *origin),
        );
        let variables = variables
            .into_iter()
            .map(|(name, value, _)| (name, value))
            .collect();
        let (input, workspace) = (input(&options), Some(directory.to_owned()));
        let request = self.guarded(request);
        Ok(Planned {
            subject: Subject::Machine(machine),
            mode,
            options,
            input,
            request,
            variables,
            workspace,
        })
    }

    /// The declared variables that the host or the caller has, and those that the caller gives
    /// undeclared.
    fn variables(
        &self,
        declared: &std::collections::BTreeSet<String>,
        options: &ExecutionOptions,
    ) -> Vec<(String, Secret, Origin)> {
        let given = options.env.iter().map(|(name, value)| {
            let origin = if declared.contains(name) {
                Origin::Caller
            } else {
                Origin::Undeclared
            };
            (name.clone(), value.clone(), origin)
        });
        let secrets = declared
            .iter()
            .filter(|name| !options.env.contains_key(*name));
        let secrets = secrets.filter_map(|name| {
            Some((
                name.clone(),
                self.shared.secrets.get(name)?.clone(),
                Origin::Secret,
            ))
        });
        given.chain(secrets).collect()
    }

    /// Hides directories of the host, and protects roots of skills in what may be written: a skill
    /// must not change another one. Offers of the caller count.
    pub(crate) fn guarded(&self, request: Request) -> Request {
        let is_about_files = |permission: &Permission| permission.path().is_some();
        let is_write = |permission: &Permission| permission.capability() == Capability::Write;
        let wanted = request.permissions();
        let canonical = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let hidden = self
            .shared
            .hidden
            .iter()
            .filter(|_| wanted.iter().any(is_about_files));
        let request = hidden.map(canonical).fold(request, Request::hide);
        let roots = self
            .shared
            .discovery
            .roots()
            .iter()
            .filter(|_| wanted.iter().any(is_write));
        roots
            .map(|root| canonical(&root.path().to_owned()))
            .fold(request, Request::protect)
    }

    /// Lists what the skill needs and is not here.
    pub(crate) fn missing(&self, planned: &Planned) -> Vec<String> {
        let Some(skill) = planned.subject.skill() else {
            return Vec::new();
        };
        let has_variable = |name: &str| {
            planned
                .variables
                .iter()
                .any(|(known, value)| known == name && !value.expose().is_empty())
        };
        missing(
            &skill.manifest,
            &self.shared.program_directories,
            has_variable,
        )
    }
}

impl Planned {
    /// Returns the request for content, of which the copy runs.
    pub(crate) fn request_for_content(&self, content: Option<&Content>) -> Request {
        let request = self.request_for(content.map(|content| content.digest.as_str()));
        content
            .and_then(Content::copy)
            .into_iter()
            .fold(request, Request::copy)
    }

    /// Returns the request, for the content with this digest.
    pub(crate) fn request_for(&self, digest: Option<&str>) -> Request {
        match digest {
            Some(digest) => self.request.clone().content(digest),
            None => self.request.clone(),
        }
    }
}

/// Makes the request: what the skill declares and the caller offers, less what is given up.
fn request(
    entry: &Entry,
    manifest: &Manifest,
    mode: &ExecutionMode,
    options: &ExecutionOptions,
) -> Request {
    let request = Request::new(entry.directory())
        .named(entry.name().as_str())
        .command(words(entry.directory(), mode, options))
        .limits(options.limits())
        .session(options.session.clone());
    let request = match &options.workspace {
        Workspace::Directory(directory) => request.workspace(directory),
        _ => request,
    };
    let request = manifest
        .allowed_tools()
        .iter()
        .fold(request, |request, rule| {
            request.tool(rule.tool(), rule.pattern())
        });
    let request = hooks(manifest).fold(offered(request, options), Request::declares);
    let request = started(request, options);
    match &options.command {
        Some(command) => request.made_up(words_of(entry.directory(), command, options)),
        None => request,
    }
}

/// Adds what the caller offers, less what is given up.
fn offered(request: Request, options: &ExecutionOptions) -> Request {
    let request = options.read.iter().fold(request, Request::read);
    let request = options.write.iter().fold(request, Request::write);
    let request = options.hosts.iter().cloned().fold(request, Request::reach);
    options
        .without
        .iter()
        .fold(request, |request, capability| request.without(*capability))
}

/// Adds the programs of the machine that a command starts.
fn started(request: Request, options: &ExecutionOptions) -> Request {
    match &options.command {
        None => request,
        Some(Command::Program(name)) => request.start(name),
        Some(Command::Shell(_)) => request.start_any(),
    }
}

/// What will run, with its arguments.
fn words(base: &Path, mode: &ExecutionMode, options: &ExecutionOptions) -> Vec<String> {
    let of_command = options.command.iter().flat_map(Command::arguments);
    let is_command = options.command.is_some();
    // Whoever is asked about `sh` has to see what it is given to read.
    let stdin = options
        .stdin
        .as_deref()
        .filter(|stdin| is_command && !stdin.is_empty())
        .map(|stdin| {
            let text = String::from_utf8_lossy(stdin);
            let shown: String = text.chars().take(MAX_SHOWN_INPUT).collect();
            let more = text.len() - shown.len();
            let cut = if more > 0 {
                format!(" and {more} bytes that are not shown")
            } else {
                String::new()
            };
            format!("<<< {shown:?}{cut}")
        });
    let starts_in = options
        .directory
        .as_ref()
        .filter(|directory| is_command && *directory != base)
        .map(|directory| format!("(in {})", directory.display()));
    std::iter::once(mode.program().to_owned())
        .chain(of_command)
        .chain(options.args.iter().cloned())
        .chain(stdin)
        .chain(starts_in)
        .collect()
}

/// So much of a command's standard input is shown to whoever is asked, in characters; of more it is
/// said that it is more.
const MAX_SHOWN_INPUT: usize = 4_096;

/// What the program gets on its standard input.
fn input(options: &ExecutionOptions) -> Vec<u8> {
    match (&options.stdin, options.convention) {
        (Some(bytes), _) => bytes.clone(),
        (None, Convention::OpenSkills) => options.input.to_string().into_bytes(),
        (None, Convention::ScriptRunner) => Vec::new(),
    }
}

/// The hooks of a skill, each as one text.
fn hooks(manifest: &Manifest) -> impl Iterator<Item = String> {
    manifest
        .extensions()
        .commands
        .iter()
        .map(|hook| match &hook.action {
            HookAction::Command { command, .. } => {
                let matcher = hook.matcher.as_deref().unwrap_or("*");
                format!("hook {} {matcher}: {command}", hook.event.as_str())
            }
            _ => format!("hook {}", hook.event.as_str()),
        })
}

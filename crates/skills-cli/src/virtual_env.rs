//! Python virtual environments for scripts.
//!
//! One that the user has activated is used like a named one. One of a project is offered, and never used
//! without consent, also if it is the active one: it runs code at the start of every script, a project could
//! contain a prepared one, and editors activate what they find there.

#![expect(
    clippy::disallowed_methods,
    reason = "lists the packages of an environment, which is not a skill"
)]

mod base;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills_runtime::audit::ContentHash;
use skills_runtime::{PrivateFile, ScriptType};

use crate::approver;
use crate::context::Context;
use crate::error::CommandError;
use crate::file_mode::has_execute_bit;
use crate::input;
use crate::interpreters::InterpreterArg;
use crate::output::Output;
use crate::process_environment::Environment;
use crate::program_args::ProgramArgs;
use crate::state;

/// Names of virtual environments in a workspace.
const NAMES: [&str; 2] = [".venv", "venv"];
/// The file that makes a directory a virtual environment.
const CONFIG_FILE: &str = "pyvenv.cfg";
/// Maximum size of that file, in bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 10;
/// Maximum size of a file that Python executes when it starts, in bytes, and their maximum number.
const MAX_STARTUP_BYTES: u64 = 1 << 20;
const MAX_STARTUP_FILES: usize = 1_000;
/// Maximum size of a program of Python that is copied into an environment, in bytes.
const MAX_PROGRAM_BYTES: u64 = 128 << 20;

/// A virtual environment.
#[derive(Debug, Clone)]
pub(crate) struct VirtualEnv {
    directory: PathBuf,
    pub(crate) python: PathBuf,
    is_active: bool,
}

/// The interpreters of a command.
#[derive(Debug, Default)]
pub(crate) struct Interpreters {
    /// Those of the options, and that of a virtual environment to which the user agreed earlier.
    pub(crate) chosen: Vec<InterpreterArg>,
    pub(crate) questions: Questions,
}

/// The virtual environments about which the user can still be asked. One to which the user agrees
/// precedes the chosen one.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    environments: Vec<VirtualEnv>,
    workspace: Option<PathBuf>,
}

/// The answers of the user, by the directory of the environment.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers(BTreeMap<String, Answer>);

/// An answer, valid for this version of the environment.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    identity: String,
    is_used: bool,
}

/// Returns the active virtual environment (`VIRTUAL_ENV`) and those of the workspace, without those
/// that must not be used.
pub(crate) fn find_all(environment: &Environment, workspace: Option<&Path>) -> Vec<VirtualEnv> {
    let found = find_candidates(environment, workspace).into_iter();
    found
        .filter(|found| reason_against(&found.directory, environment, workspace).is_none())
        .collect()
}

/// Returns why an environment must not be used, as a clause; `None` if it can be.
fn reason_against(
    directory: &Path,
    environment: &Environment,
    workspace: Option<&Path>,
) -> Option<String> {
    base::check(directory, environment.home(), workspace).err()
}

/// Reports the environments that must not be used, which a user would otherwise miss.
fn report_unusable(environment: &Environment, workspace: Option<&Path>, output: Output) {
    for found in find_candidates(environment, workspace) {
        if let Some(reason) = reason_against(&found.directory, environment, workspace) {
            output.status(&format!(
                "note: the virtual environment `{}` is not used: {reason}",
                found.directory.display()
            ));
        }
    }
}

fn find_candidates(environment: &Environment, workspace: Option<&Path>) -> Vec<VirtualEnv> {
    let active = environment.path("VIRTUAL_ENV").into_iter();
    let of_workspace = workspace.into_iter();
    let of_workspace = of_workspace.flat_map(|workspace| NAMES.map(|name| workspace.join(name)));
    let mut found: Vec<VirtualEnv> = Vec::new();
    let candidates = active.map(|directory| (directory, true));
    let of_workspace = of_workspace.map(|directory| (directory, false));
    for (directory, is_active) in candidates.chain(of_workspace) {
        let python = directory.join("bin/python");
        let is_known = found.iter().any(|known| known.directory == directory);
        let is_environment =
            directory.join(CONFIG_FILE).is_file() && python.is_file() && has_execute_bit(&python);
        if is_environment && !is_known {
            found.push(VirtualEnv {
                directory,
                python,
                is_active,
            });
        }
    }
    found
}

/// Returns the interpreters of the options, with that of a virtual environment which the user has
/// activated, or to which the user agreed earlier. Nothing is asked.
pub(crate) fn interpreters(
    programs: &ProgramArgs,
    context: &Context,
) -> anyhow::Result<Interpreters> {
    let mut chosen = programs.interpreter.clone();
    let settings = context.settings()?.interpreters.iter();
    let workspace = programs.workspace_dir(context)?;
    let mut known = chosen.iter().chain(settings);
    for known in known.clone() {
        check_interpreter(known, &context.environment, workspace.as_deref())?;
    }
    let mut environments = Vec::new();
    if !known.any(|known| known.skill.is_none() && known.kind == ScriptType::Python) {
        report_unusable(&context.environment, workspace.as_deref(), context.output);
        for found in find_all(&context.environment, workspace.as_deref()) {
            match remembered(&found, context) {
                Some(true) => {
                    chosen.push(found.into_interpreter());
                    break;
                }
                Some(false) => {}
                None if found.is_of_user(&context.environment, workspace.as_deref()) => {
                    announce(&found, context);
                    chosen.push(found.into_interpreter());
                    break;
                }
                None => environments.push(found),
            }
        }
    }
    Ok(Interpreters {
        chosen,
        questions: Questions {
            environments,
            workspace,
        },
    })
}

impl Interpreters {
    /// Asks the user, and returns the interpreters with the answer.
    pub(crate) fn ask(self, context: &Context) -> Vec<InterpreterArg> {
        let mut all = self.chosen;
        all.extend(self.questions.ask(context));
        all
    }
}

impl Questions {
    /// Asks the user on a terminal, once about each environment, and returns the interpreter of the
    /// first one to which the user agrees.
    pub(crate) fn ask(self, context: &Context) -> Option<InterpreterArg> {
        let (environment, workspace) = (&context.environment, self.workspace.as_deref());
        let mut environments = self.environments.into_iter();
        let accepted = environments.find(|found| {
            // It may have changed since it was found.
            reason_against(&found.directory, environment, workspace).is_none()
                && is_accepted(found, context)
        });
        accepted.map(VirtualEnv::into_interpreter)
    }
}

impl VirtualEnv {
    /// Returns true if the user has activated it, and it does not belong to the project: neither is it in
    /// the workspace or the working directory, nor are these in the directory around it.
    fn is_of_user(&self, environment: &Environment, workspace: Option<&Path>) -> bool {
        let home = environment.home().and_then(|home| home.canonicalize().ok());
        let current_dir = environment.current_dir();
        let (Ok(directory), Ok(current_dir)) = (self.directory.canonicalize(), current_dir) else {
            return false;
        };
        let Some(around) = directory.parent() else {
            return false;
        };
        let is_home = |path: &Path| home.as_deref() == Some(path);
        let is_apart = |project: &Path| {
            project.canonicalize().is_ok_and(|project| {
                (is_home(&project) || !directory.starts_with(&project))
                    && (is_home(around) || !project.starts_with(around))
            })
        };
        self.is_active && is_apart(current_dir) && workspace.is_none_or(is_apart)
    }

    fn into_interpreter(self) -> InterpreterArg {
        InterpreterArg {
            skill: None,
            kind: ScriptType::Python,
            path: self.python,
        }
    }
}

/// Rejects an interpreter of an environment that must not be used.
fn check_interpreter(
    chosen: &InterpreterArg,
    environment: &Environment,
    workspace: Option<&Path>,
) -> anyhow::Result<()> {
    let directory = chosen.path.parent().and_then(Path::parent);
    let directory = directory.filter(|directory| directory.join(CONFIG_FILE).is_file());
    let reason = directory.and_then(|found| reason_against(found, environment, workspace));
    let is_python = chosen.kind == ScriptType::Python;
    match reason.filter(|_| is_python) {
        None => Ok(()),
        Some(reason) => {
            let path = chosen.path.display();
            Err(CommandError::input(format!("cannot use interpreter `{path}`: {reason}")).into())
        }
    }
}

fn is_accepted(found: &VirtualEnv, context: &Context) -> bool {
    // Another command may have asked meanwhile.
    if let Some(is_used) = remembered(found, context) {
        return is_used;
    }
    if !approver::is_terminal() {
        return false;
    }
    let question = format!(
        "Run Python scripts of skills with the virtual environment `{}`? It is readable for them, and its code runs with their permissions. [y]es / [N]o, for this version of it",
        found.directory.display()
    );
    let Some(is_used) = approver::choose(&question) else {
        // Asked again next time.
        return false;
    };
    if let Some(identity) = identity(found) {
        remember(found, Answer { identity, is_used }, context);
    }
    is_used
}

/// Says once that an environment is used.
fn announce(found: &VirtualEnv, context: &Context) {
    context.output.status(&format!(
        "note: Python scripts run with the active virtual environment `{}`; `--interpreter python=/usr/bin/python3` chooses another Python",
        found.directory.display()
    ));
    if let Some(identity) = identity(found) {
        let is_used = true;
        remember(found, Answer { identity, is_used }, context);
    }
}

/// Returns what the user answered about this version of an environment.
fn remembered(found: &VirtualEnv, context: &Context) -> Option<bool> {
    let answers = read_answers(&answers_file(context)?);
    let answer = answers.0.get(&*found.directory.to_string_lossy())?;
    (answer.identity == identity(found)?).then_some(answer.is_used)
}

/// Stores an answer. Without a state directory, or if it cannot be written, the user is asked
/// again.
fn remember(found: &VirtualEnv, answer: Answer, context: &Context) {
    let Some(file) = answers_file(context) else {
        return;
    };
    let stored = file.lock().and_then(|_lock| {
        let mut answers = read_answers(&file);
        let directory = found.directory.to_string_lossy().into_owned();
        answers.0.insert(directory, answer);
        file.replace(&serde_json::to_string_pretty(&answers)?)
    });
    if let Err(error) = stored {
        let path = file.path().display();
        context.output.status(&format!(
            "warning: cannot store the answer in `{path}`: {error}"
        ));
    }
}

fn answers_file(context: &Context) -> Option<PrivateFile> {
    let directory = context.environment.state_dir()?;
    Some(PrivateFile::new(state::virtual_envs_path(&directory)))
}

fn read_answers(file: &PrivateFile) -> Answers {
    let text = file.read().ok().flatten().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Identifies a version of an environment: its configuration, the program that its `python` leads
/// to, and the files that Python executes when it starts. `None` if one of them cannot be read.
fn identity(found: &VirtualEnv) -> Option<String> {
    let config = input::read_bytes(&found.directory.join(CONFIG_FILE), MAX_CONFIG_BYTES).ok()?;
    let program = found.python.canonicalize().ok()?;
    let directory = found.directory.canonicalize().ok()?;
    let metadata = program.metadata().ok()?;
    let mut parts = vec![
        directory.to_string_lossy().into_owned(),
        program.to_string_lossy().into_owned(),
        format!("{} {}", metadata.len(), metadata.mtime()),
        ContentHash::new(&config).sha256,
    ];
    // A copy can be replaced by another program of the same size and time.
    if program.starts_with(&directory) {
        let copy = input::read_bytes(&program, MAX_PROGRAM_BYTES).ok()?;
        parts.push(ContentHash::new(&copy).sha256);
    }
    for file in startup_files(&directory)? {
        let content = input::read_bytes(&file, MAX_STARTUP_BYTES).ok()?;
        parts.push(file.to_string_lossy().into_owned());
        parts.push(ContentHash::new(&content).sha256);
    }
    Some(ContentHash::new(parts.join("\0").as_bytes()).sha256)
}

/// Returns the files in the packages of an environment that Python executes when it starts, in order.
/// `None` if there are too many, or if a directory cannot be listed.
fn startup_files(directory: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    // `lib64` is mostly a link to `lib`, and its files then count twice.
    let libraries = ["lib", "lib64"].map(|name| entries(&directory.join(name)));
    let libraries: Option<Vec<_>> = libraries.into_iter().collect();
    for version in libraries?.into_iter().flatten() {
        let packages = version.join("site-packages");
        let compiled = entries(&packages.join("__pycache__"))?;
        for path in entries(&packages)?.into_iter().chain(compiled) {
            if is_startup_module(&path) {
                add_files(path, &mut found)?;
            }
        }
    }
    found.sort();
    Some(found)
}

/// Returns true for a `.pth` file, and for each form of the modules that Python imports when it
/// starts: a directory (a package), source, or compiled code (`sitecustomize.cpython-312.pyc`).
fn is_startup_module(path: &Path) -> bool {
    const MODULES: [&str; 2] = ["sitecustomize", "usercustomize"];
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let module = name.split_once('.').map_or(name, |(module, _)| module);
    name.ends_with(".pth") || MODULES.contains(&module)
}

/// Adds a file, or all files of a package. `None` if there are too many.
fn add_files(path: PathBuf, found: &mut Vec<PathBuf>) -> Option<()> {
    let mut remaining = vec![path];
    while let Some(path) = remaining.pop() {
        if found.len() + remaining.len() >= MAX_STARTUP_FILES {
            return None;
        }
        // A link to a directory is a package too; a cycle ends at the limit.
        if path.is_dir() {
            remaining.extend(entries(&path)?);
        } else {
            found.push(path);
        }
    }
    Some(())
}

/// Lists a directory; empty if it does not exist.
fn entries(directory: &Path) -> Option<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries
            .map(|entry| entry.ok().map(|entry| entry.path()))
            .collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Vec::new())
        }
        Err(_) => None,
    }
}

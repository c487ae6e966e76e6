//! Files and directories of the command: state, caches and policy files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_runtime::audit::{AuditError, AuditErrorKind, AuditLog, AuditSink as _};
use skills_runtime::ledger::Ledger;
use skills_runtime::policy::RecordMode;
use skills_runtime::{Builder, FileApprovalStore, Policy};
use skills_store::create_private_dir;
use skills_store::trusted_file::{self, TrustError, TrustErrorKind};

use crate::error::CommandError;
use crate::output::Output;
use crate::process_environment::Environment;

/// Configuration directory of the administrator.
const ADMIN_DIR: &str = "/etc/skills";
/// Policy file, relative to the directory of the user, of the administrator and of a project.
const POLICY_FILE: &str = "policy.toml";
/// Settings file, relative to the directory of the user and of a project.
const SETTINGS_FILE: &str = "config.toml";
/// Configuration directory of a project, relative to each of its directories.
const PROJECT_DIR: &str = ".skills";

/// Directory of search indexes, relative to the cache directory.
pub(crate) const SEARCH_CACHE_DIR: &str = "search";

/// Paths of the policy files, which need not exist.
pub(crate) struct PolicyPaths {
    pub(crate) admin: PathBuf,
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Vec<PathBuf>,
}

impl PolicyPaths {
    pub(crate) fn new(environment: &Environment) -> Self {
        // Files of all directories apply. `deny` wins in any order, so an inner file cannot undo an
        // outer one.
        let (user, project) = user_and_project(environment, POLICY_FILE);
        Self {
            admin: PathBuf::from(ADMIN_DIR).join(POLICY_FILE),
            user,
            project,
        }
    }
}

/// Paths of the settings files, which need not exist.
pub(crate) struct SettingsPaths {
    pub(crate) user: Option<PathBuf>,
    /// From the root of the project to the innermost directory.
    pub(crate) project: Vec<PathBuf>,
}

impl SettingsPaths {
    pub(crate) fn new(environment: &Environment) -> Self {
        let (user, project) = user_and_project(environment, SETTINGS_FILE);
        Self { user, project }
    }
}

/// Returns the paths of a file of the user and of the directories of the project, its root first.
fn user_and_project(environment: &Environment, file: &str) -> (Option<PathBuf>, Vec<PathBuf>) {
    let user = environment.config_dir();
    let project = environment.project_dirs().iter();
    let project = project.map(|directory| directory.join(PROJECT_DIR).join(file));
    (user.map(|config| config.join(file)), project.collect())
}

/// Returns the file with the user's answers about virtual environments, in the state directory.
pub(crate) fn virtual_envs_path(state_dir: &Path) -> PathBuf {
    state_dir.join("virtual-envs.json")
}

/// Returns the file with the skills of projects that the user trusts by their content.
pub(crate) fn trusted_skills_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("trusted-skills.json"))
}

/// Returns the file with the user's tool overrides.
pub(crate) fn overrides_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("tools.json"))
}

/// Returns the file with the sources of skills that were installed.
#[cfg(feature = "install")]
pub(crate) fn known_sources_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("sources.json"))
}

/// Returns the file that is locked while settings change, without the suffix `.lock`.
pub(crate) fn settings_lock_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("settings"))
}

pub(crate) fn audit_log_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("audit.jsonl"))
}

/// Returns the ledger of how skills are used.
pub(crate) fn usage_ledger(environment: &Environment) -> Option<Ledger> {
    Some(Ledger::new(environment.state_dir()?.join("ledger")))
}

/// Returns the approval store of the user.
pub(crate) fn open_approvals(environment: &Environment) -> Option<FileApprovalStore> {
    let state = environment.state_dir()?;
    Some(FileApprovalStore::new(state.join("approvals.json")))
}

/// A file or directory of this command. No program may write it, a path in it, or a directory around
/// it.
pub(crate) struct OwnPath {
    pub(crate) path: PathBuf,
    pub(crate) access: OwnAccess,
}

/// What programs may do with a path of this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnAccess {
    /// Nothing: programs and tools see it empty, also in a readable directory.
    Hidden,
    /// Read it, if a rule or an approval allows.
    ReadOnly,
}

/// Returns all paths of this command: the directories of configuration, policy, state (approvals, audit
/// log, ledger, tokens), caches (compiled code, build tools, search indexes), drafts and packages, and
/// what is a symlink in them, since its target is elsewhere.
///
/// The policy of a project is not included: it is inside the directory that programs work on, and can
/// only restrict unless the project is trusted. Neither are the roots of skills, which are protected.
pub(crate) fn own_paths(environment: &Environment) -> Vec<OwnPath> {
    #[cfg(feature = "packages")]
    let environments = environment.environments_dir();
    #[cfg(not(feature = "packages"))]
    let environments = None;
    let policy = PolicyPaths::new(environment);
    let settings = SettingsPaths::new(environment);
    let hidden = [
        Some(PathBuf::from(ADMIN_DIR)),
        environment.config_dir(),
        environment.state_dir(),
        environment.cache_dir(),
    ];
    let linked = [environment.state_dir(), environment.cache_dir()];
    let linked = linked.into_iter().flatten();
    let hidden = hidden.into_iter().flatten();
    let hidden = hidden.chain(linked.flat_map(|directory| symlinks_in(&directory)));
    // Their directory is hidden. Other directories in it can be roots of skills behind symlinks.
    let read_only = [
        Some(policy.admin),
        policy.user,
        settings.user,
        environment.drafts_dir(),
        environments,
    ];
    let read_only = read_only.into_iter().flatten();
    let hidden = hidden.map(|path| OwnPath {
        path,
        access: OwnAccess::Hidden,
    });
    hidden
        .chain(read_only.map(|path| OwnPath {
            path,
            access: OwnAccess::ReadOnly,
        }))
        .collect()
}

/// Returns the symlinks in a directory, which need not exist.
#[expect(
    clippy::disallowed_methods,
    reason = "the directories of the command are not those of a skill"
)]
fn symlinks_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_symlink())
        .collect()
}

/// Adds the approval store and the audit log to a runtime. Where the state directory cannot be
/// created or written, as in a container without a home directory or with one that is read-only,
/// programs run without them if the [policy](Policy::record) says that records are optional. A note
/// says what is not kept. `required_by` returns the policy file that requires records, for the error.
///
/// # Errors
/// Fails if no record can be written. In any case it fails if other users can change the directory, or
/// if the log is damaged or full, since records that are lost that way would go unnoticed.
pub(crate) fn with_state(
    builder: Builder,
    policy: &Policy,
    environment: &Environment,
    required_by: impl FnOnce() -> Option<PathBuf>,
    output: Output,
) -> anyhow::Result<Builder> {
    let opened = open_state(environment);
    let (approvals, log) = match opened {
        Ok(State { approvals, log }) => (Some(approvals), log),
        Err(problem) => (None, Err(problem)),
    };
    let lost = if approvals.is_some() && has_writable_state_dir(environment) {
        "no audit record is written"
    } else {
        "no audit record is written, and no answer is kept"
    };
    let builder = match approvals {
        Some(approvals) => builder.approval_store(Arc::new(approvals)),
        None => builder,
    };
    match log {
        Ok(log) => Ok(builder.audit(Arc::new(log))),
        Err(StateError::Failed(error)) => Err(error),
        Err(StateError::Unwritable(error)) if policy.record() == RecordMode::Required => {
            Err(no_record(&error, environment, required_by()).into())
        }
        Err(StateError::Unwritable(error)) => {
            output.status(&format!("note: {lost}: {error:#}; {SET_STATE_HOME}"));
            Ok(builder)
        }
    }
}

/// What a user does about a state directory that is missing or cannot be written.
const SET_STATE_HOME: &str =
    "set `HOME` or `XDG_STATE_HOME` to a directory of yours that you can write";

/// Returns the error of a run if its record cannot be written. `required_by` is the policy file of the
/// administrator or of a project that requires records, if there is one.
fn no_record(
    error: &anyhow::Error,
    environment: &Environment,
    required_by: Option<PathBuf>,
) -> CommandError {
    let message = format!("cannot run programs: no audit record can be written: {error:#}");
    let how = match required_by {
        Some(file) => format!("records are required by `{}`", file.display()),
        None => {
            let paths = PolicyPaths::new(environment);
            let file = paths.user.unwrap_or(paths.admin);
            format!(
                "to run without records, write `record = \"optional\"` in `{}`",
                file.display()
            )
        }
    };
    CommandError::input(message).with_help(format!("{SET_STATE_HOME}; {how}"))
}

/// The files of the state directory that runs use.
struct State {
    approvals: FileApprovalStore,
    log: Result<AuditLog, StateError>,
}

/// Why state cannot be kept.
enum StateError {
    /// Its directory is not known, or this user may not write it.
    Unwritable(anyhow::Error),
    /// Anything else, such as a directory that other users can change.
    Failed(anyhow::Error),
}

fn open_state(environment: &Environment) -> Result<State, StateError> {
    let (Some(directory), Some(log), Some(approvals)) = (
        environment.state_dir(),
        audit_log_path(environment),
        open_approvals(environment),
    ) else {
        let error = "no home directory";
        return Err(StateError::Unwritable(anyhow::anyhow!(error)));
    };
    let shown = directory.display();
    create_private_dir(&directory).map_err(|error| {
        let message = format!("cannot create `{shown}`: {error}");
        let is_unwritable = is_unwritable(&error) || error.kind() == ErrorKind::AlreadyExists;
        StateError::new(anyhow::anyhow!(message), is_unwritable)
    })?;
    // Another user could write an approval there, or replace the log.
    trusted_file::check_directory(&directory).map_err(|error| StateError::Failed(error.into()))?;
    Ok(State {
        approvals,
        log: open_log(log),
    })
}

fn open_log(path: PathBuf) -> Result<AuditLog, StateError> {
    let failed = |error: AuditError| {
        let is_unwritable = std::error::Error::source(&error)
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(is_unwritable);
        StateError::new(error.into(), is_unwritable)
    };
    let log = AuditLog::open(path).map_err(failed)?;
    match log.check_writable() {
        // Each run waits again.
        Err(error) if error.kind() != AuditErrorKind::Locked => Err(failed(error)),
        _ => Ok(log),
    }
}

impl StateError {
    fn new(error: anyhow::Error, is_unwritable: bool) -> Self {
        if is_unwritable {
            Self::Unwritable(error)
        } else {
            Self::Failed(error)
        }
    }
}

/// Returns true if answers can be kept: their file is replaced in the state directory.
#[cfg(unix)]
fn has_writable_state_dir(environment: &Environment) -> bool {
    use nix::unistd::{AccessFlags, access};
    let flags = AccessFlags::W_OK | AccessFlags::X_OK;
    let directory = environment.state_dir();
    directory.is_some_and(|directory| access(&directory, flags).is_ok())
}

#[cfg(not(unix))]
fn has_writable_state_dir(_environment: &Environment) -> bool {
    true
}

/// Returns true if this user may not write, or there is no such directory. A disk that is full is
/// another case: a program could fill it, so that its end is not recorded.
fn is_unwritable(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let is_of_system = cause.is_none_or(|cause: &TrustError| {
        matches!(cause.kind(), TrustErrorKind::Io | TrustErrorKind::NotFound)
    });
    is_of_system
        && matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::PermissionDenied
                | ErrorKind::ReadOnlyFilesystem
        )
}

//! Paths of state, caches, drafts and policy files, from XDG variables and the home directory.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use skills_runtime::audit::AuditLog;
use skills_runtime::{Builder, CodeCache, FileApprovalStore};

/// Configuration directory of the administrator.
const ADMIN_DIR: &str = "/etc/skills";
/// Policy file of the administrator.
const ADMIN_POLICY: &str = "/etc/skills/policy.toml";
/// Policy file of a project, relative to each of its directories.
const PROJECT_POLICY: &str = ".skills/policy.toml";

/// Returns the directory for state: `$XDG_STATE_HOME/skills`, else `~/.local/state/skills`. Returns
/// `None` without a home directory.
pub(crate) fn state_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_STATE_HOME", ".local/state")?.join("skills"))
}

/// Returns the cache directory: `$XDG_CACHE_HOME/skills`, else `~/.cache/skills`. Returns `None`
/// without a home directory.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_CACHE_HOME", ".cache")?.join("skills"))
}

/// Returns the directory of drafts: `$XDG_DATA_HOME/skills/drafts`, else
/// `~/.local/share/skills/drafts`. Returns `None` without a home directory.
pub(crate) fn drafts_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_DATA_HOME", ".local/share")?.join("skills/drafts"))
}

/// Returns the file of the generated bearer token for clients over HTTP.
pub(crate) fn token_path() -> Option<PathBuf> {
    Some(state_dir()?.join("mcp-token"))
}

/// Returns the path whose `.lock` file `skills mcp install` locks.
pub(crate) fn install_lock_path() -> Option<PathBuf> {
    Some(state_dir()?.join("mcp-install"))
}

/// Returns the file with the user's tool overrides.
pub(crate) fn overrides_path() -> Option<PathBuf> {
    Some(state_dir()?.join("tools.json"))
}

fn xdg_dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = env::var_os(variable)
        .map(PathBuf::from)
        // The XDG specification says that relative paths are invalid and ignored.
        .filter(|path| path.is_absolute());
    set.or_else(|| {
        Some(
            env::home_dir()
                .filter(|home| home.is_absolute())?
                .join(below_home),
        )
    })
}

/// Returns the directory for compiled code: `$XDG_CACHE_HOME/skills/code`, else
/// `~/.cache/skills/code`.
fn code_cache_dir() -> Option<PathBuf> {
    Some(cache_dir()?.join("code"))
}

/// Opens the code cache.
///
/// # Errors
/// Fails without a home directory, or if the directory cannot be created.
pub(crate) fn open_code_cache() -> anyhow::Result<CodeCache> {
    let Some(directory) = code_cache_dir() else {
        anyhow::bail!("cannot open the code cache: no home directory; set `XDG_CACHE_HOME`");
    };
    Ok(CodeCache::open(directory)?)
}

/// Adds the code cache to a runtime. Without a directory for it, every process compiles again.
pub(crate) fn with_code_cache(builder: Builder) -> Builder {
    // The cache saves time only, so its absence is not an error.
    open_code_cache()
        .into_iter()
        .fold(builder, Builder::code_cache)
}

/// Returns the path of the audit log.
pub(crate) fn audit_log_path() -> Option<PathBuf> {
    Some(state_dir()?.join("audit.jsonl"))
}

/// Returns the approval store of the user.
pub(crate) fn open_approvals() -> Option<FileApprovalStore> {
    Some(FileApprovalStore::new(state_dir()?.join("approvals.json")))
}

/// Paths of the policy files.
pub(crate) struct PolicyPaths {
    pub(crate) admin: PathBuf,
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Vec<PathBuf>,
}

/// Returns the paths of the policy files, which need not exist.
pub(crate) fn policy_paths() -> PolicyPaths {
    let user =
        xdg_dir("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills/policy.toml"));
    let project = crate::discovery_config::project_dirs()
        .into_iter()
        // Files of all directories apply. `deny` wins in any order, so an inner file cannot undo an
        // outer one.
        .map(|directory| directory.join(PROJECT_POLICY))
        .collect();
    PolicyPaths {
        admin: PathBuf::from(ADMIN_POLICY),
        user,
        project,
    }
}

/// Returns the paths denied for writing regardless of rules: policy, approvals, audit log, drafts
/// and caches. The policy of a project is not included: it is inside the directory that programs
/// work on, and can only restrict unless the project is trusted.
pub(crate) fn write_protected_paths() -> Vec<PathBuf> {
    let files = policy_paths();
    // Compiled code, build tools and their caches run with the privileges of the user.
    let caches = cache_dir()
        .into_iter()
        .flat_map(|cache| ["code", "tools", "build"].map(|name| cache.join(name)));
    files
        .user
        .into_iter()
        .chain([files.admin])
        .chain(state_dir())
        .chain(drafts_dir())
        .chain(caches)
        .collect()
}

/// Returns the directories hidden from all programs and tools, even inside a readable directory:
/// approvals, audit log, server token, caches, and the policy of the user and of the administrator.
pub(crate) fn hidden_dirs() -> Vec<PathBuf> {
    let rules = xdg_dir("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills"));
    state_dir()
        .into_iter()
        .chain(cache_dir())
        .chain(rules)
        .chain([PathBuf::from(ADMIN_DIR)])
        .collect()
}

/// Adds the approval store and the audit log to a runtime.
///
/// # Errors
/// Fails without a state directory, or if it is world-writable; then nothing runs.
pub(crate) fn with_state(builder: Builder) -> anyhow::Result<Builder> {
    // No fallback to the temporary directory or to no log at all: both would lose what was approved
    // or run.
    let (Some(directory), Some(log), Some(approvals)) =
        (state_dir(), audit_log_path(), open_approvals())
    else {
        anyhow::bail!(
            "cannot open the audit log and the approval store: no home directory; set `XDG_STATE_HOME`"
        );
    };
    // Before the log is opened: without a record nothing may run.
    create_private_dir(&directory).map_err(|error| {
        anyhow::anyhow!(
            "cannot create `{}`: {error}; set `XDG_STATE_HOME`",
            directory.display()
        )
    })?;
    // Any program could write an approval there, or replace the log.
    if is_world_writable(&directory) {
        anyhow::bail!(
            "state directory `{}` is world-writable; run `chmod o-w` on it",
            directory.display()
        );
    }
    Ok(builder
        .approval_store(Arc::new(approvals))
        .audit(Arc::new(AuditLog::open(log)?)))
}

/// Creates a directory with mode 0700, with its parents.
#[cfg(unix)]
pub(crate) fn create_private_dir(directory: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
pub(crate) fn create_private_dir(directory: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)
}

/// Returns true if every user can change a file or directory, or replace it.
#[cfg(unix)]
pub(crate) fn is_world_writable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| {
        path.metadata()
            .map_or(0, |metadata| metadata.permissions().mode())
    };
    let parent = path.parent().map_or(0, mode);
    // In a sticky directory, such as `/tmp`, only the owner of a file can replace it.
    let is_sticky = parent & 0o1000 != 0;
    mode(path) & 0o002 != 0 || (parent & 0o002 != 0 && !is_sticky)
}

#[cfg(not(unix))]
pub(crate) fn is_world_writable(_path: &std::path::Path) -> bool {
    false
}

/// Returns true if users other than the owner can read a file.
#[cfg(unix)]
pub(crate) fn is_readable_by_others(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_readable_by_others(_path: &std::path::Path) -> bool {
    false
}

/// Returns true if the group or other users have any access to a file.
#[cfg(unix)]
pub(crate) fn is_group_or_world_accessible(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_group_or_world_accessible(_path: &std::path::Path) -> bool {
    false
}

/// Returns the value of an environment variable, if it is set and valid UTF-8.
pub(crate) fn env_var(name: &str) -> Option<String> {
    env::var(name).ok()
}

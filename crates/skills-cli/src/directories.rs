//! Where this command keeps what it knows, and where its rules stand.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use skills_runtime::audit::AuditLog;
use skills_runtime::{Builder, CodeCache, FileApprovalStore};

/// The directory of whoever administers the machine.
const ADMIN_DIR: &str = "/etc/skills";
/// The rules of whoever administers the machine.
const ADMIN_POLICY: &str = "/etc/skills/policy.toml";
/// Where the rules of a project stand, below each of its directories.
const PROJECT_POLICY: &str = ".skills/policy.toml";

/// Returns the directory for state: `$XDG_STATE_HOME/skills`, else `~/.local/state/skills`; nothing
/// when there is no home.
pub(crate) fn state_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_STATE_HOME", ".local/state")?.join("skills"))
}

/// Returns the directory for what can be made again: `$XDG_CACHE_HOME/skills`, else
/// `~/.cache/skills`; nothing when there is no home.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_CACHE_HOME", ".cache")?.join("skills"))
}

/// Returns where models make new skills: `$XDG_DATA_HOME/skills/drafts`, else
/// `~/.local/share/skills/drafts`; nothing when there is no home.
pub(crate) fn drafts_dir() -> Option<PathBuf> {
    Some(xdg_dir("XDG_DATA_HOME", ".local/share")?.join("skills/drafts"))
}

/// Returns where the token lies that this command makes for clients over HTTP.
pub(crate) fn token_path() -> Option<PathBuf> {
    Some(state_dir()?.join("mcp-token"))
}

/// Returns the file beside which `skills mcp install` keeps its lock.
pub(crate) fn install_lock_path() -> Option<PathBuf> {
    Some(state_dir()?.join("mcp-install"))
}

/// Returns where administrators' changes to tools lie.
pub(crate) fn overrides_path() -> Option<PathBuf> {
    Some(state_dir()?.join("tools.json"))
}

fn xdg_dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = env::var_os(variable)
        .map(PathBuf::from)
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

/// Returns the cache of compiled code.
///
/// # Errors
/// When there is no place for it.
pub(crate) fn open_code_cache() -> anyhow::Result<CodeCache> {
    let Some(directory) = code_cache_dir() else {
        anyhow::bail!(
            "there is no home directory, and so no place for compiled code; set XDG_CACHE_HOME"
        );
    };
    Ok(CodeCache::open(directory)?)
}

/// Lets a runtime keep compiled code; without a place for it every process compiles.
pub(crate) fn with_code_cache(builder: Builder) -> Builder {
    open_code_cache()
        .into_iter()
        .fold(builder, Builder::code_cache)
}

/// Returns where the log of runs lies.
pub(crate) fn audit_log_path() -> Option<PathBuf> {
    Some(state_dir()?.join("audit.jsonl"))
}

/// Returns where approvals lie.
pub(crate) fn open_approvals() -> Option<FileApprovalStore> {
    Some(FileApprovalStore::new(state_dir()?.join("approvals.json")))
}

/// The files with rules.
pub(crate) struct PolicyPaths {
    pub(crate) admin: PathBuf,
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Vec<PathBuf>,
}

/// Returns where rules stand, whether there are any or not.
pub(crate) fn policy_paths() -> PolicyPaths {
    let user =
        xdg_dir("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills/policy.toml"));
    let project = crate::discovery_config::project_dirs()
        .into_iter()
        .map(|directory| directory.join(PROJECT_POLICY))
        .collect();
    PolicyPaths {
        admin: PathBuf::from(ADMIN_POLICY),
        user,
        project,
    }
}

/// Returns what no program may write, whoever allows it. The rules of a project are not among it:
/// they lie where programs work, and only narrow unless the project is trusted.
pub(crate) fn write_protected_paths() -> Vec<PathBuf> {
    let files = policy_paths();
    // Compiled code, compilers and what these keep run with the rights of the user.
    let made = cache_dir()
        .into_iter()
        .flat_map(|cache| ["code", "tools", "build"].map(|name| cache.join(name)));
    files
        .user
        .into_iter()
        .chain([files.admin])
        .chain(state_dir())
        .chain(drafts_dir())
        .chain(made)
        .collect()
}

/// Returns the directories that no program and no tool sees, even in a wider one that it may read:
/// approvals, records and the server's token, compiled code, and the rules of the user and of the
/// administrator.
pub(crate) fn hidden_dirs() -> Vec<PathBuf> {
    let rules = xdg_dir("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills"));
    state_dir()
        .into_iter()
        .chain(cache_dir())
        .chain(rules)
        .chain([PathBuf::from(ADMIN_DIR)])
        .collect()
}

/// Lets a runtime keep approvals and records.
///
/// # Errors
/// When there is no place for them: then nothing runs.
pub(crate) fn with_state(builder: Builder) -> anyhow::Result<Builder> {
    let (Some(directory), Some(log), Some(approvals)) =
        (state_dir(), audit_log_path(), open_approvals())
    else {
        anyhow::bail!(
            "there is no home directory, and so no place for records and approvals; set XDG_STATE_HOME"
        );
    };
    create_private_dir(&directory).map_err(|error| {
        anyhow::anyhow!(
            "cannot make {}: {error}; set XDG_STATE_HOME",
            directory.display()
        )
    })?;
    if is_world_writable(&directory) {
        anyhow::bail!(
            "anybody may change what stands in {}; run `chmod o-w` on it",
            directory.display()
        );
    }
    Ok(builder
        .approval_store(Arc::new(approvals))
        .audit(Arc::new(AuditLog::open(log)?)))
}

/// Makes a directory that only its owner may enter.
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
    std::fs::create_dir_all(state_dir)
}

/// Says whether anybody may change a file or directory, or put another in its place.
#[cfg(unix)]
pub(crate) fn is_world_writable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| {
        path.metadata()
            .map_or(0, |metadata| metadata.permissions().mode())
    };
    let parent = path.parent().map_or(0, mode);
    let is_sticky = parent & 0o1000 != 0;
    mode(path) & 0o002 != 0 || (parent & 0o002 != 0 && !is_sticky)
}

#[cfg(not(unix))]
pub(crate) fn is_world_writable(_path: &std::path::Path) -> bool {
    false
}

/// Says whether others than its owner may read a file.
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

/// Says whether others than its owner may do anything with a file.
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

/// Returns the value of a variable of this process.
pub(crate) fn env_var(name: &str) -> Option<String> {
    env::var(name).ok()
}

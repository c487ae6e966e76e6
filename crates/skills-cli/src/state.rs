//! Where this command keeps what it knows, and where its rules stand.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use skills_runtime::audit::Log;
use skills_runtime::{ArtifactCache, Builder, FileApprovals};

/// The directory of whoever administers the machine.
const ADMIN_DIRECTORY: &str = "/etc/skills";
/// The rules of whoever administers the machine.
const ADMIN: &str = "/etc/skills/policy.toml";
/// Where the rules of a project stand, below each of its directories.
const PROJECT: &str = ".skills/policy.toml";

/// Returns the directory for state: `$XDG_STATE_HOME/skills`, else `~/.local/state/skills`; nothing
/// when there is no home.
pub(crate) fn directory() -> Option<PathBuf> {
    Some(base("XDG_STATE_HOME", ".local/state")?.join("skills"))
}

/// Returns the directory for what can be made again: `$XDG_CACHE_HOME/skills`, else
/// `~/.cache/skills`; nothing when there is no home.
pub(crate) fn cache() -> Option<PathBuf> {
    Some(base("XDG_CACHE_HOME", ".cache")?.join("skills"))
}

/// Returns where models make new skills: `$XDG_DATA_HOME/skills/drafts`, else
/// `~/.local/share/skills/drafts`; nothing when there is no home.
pub(crate) fn drafts() -> Option<PathBuf> {
    Some(base("XDG_DATA_HOME", ".local/share")?.join("skills/drafts"))
}

/// Returns where the token lies that this command makes for clients over HTTP.
pub(crate) fn token() -> Option<PathBuf> {
    Some(directory()?.join("mcp-token"))
}

/// Returns the file beside which `skills mcp install` keeps its lock.
pub(crate) fn install_lock() -> Option<PathBuf> {
    Some(directory()?.join("mcp-install"))
}

/// Returns where administrators' changes to tools lie.
pub(crate) fn overrides() -> Option<PathBuf> {
    Some(directory()?.join("tools.json"))
}

fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
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
fn code() -> Option<PathBuf> {
    Some(cache()?.join("code"))
}

/// Returns the cache of compiled code.
///
/// # Errors
/// When there is no place for it.
pub(crate) fn code_cache() -> anyhow::Result<ArtifactCache> {
    let Some(directory) = code() else {
        anyhow::bail!(
            "there is no home directory, and so no place for compiled code; set XDG_CACHE_HOME"
        );
    };
    Ok(ArtifactCache::open(directory)?)
}

/// Lets a runtime keep compiled code; without a place for it every process compiles.
pub(crate) fn keep_compiled(builder: Builder) -> Builder {
    code_cache().into_iter().fold(builder, Builder::wasm_cache)
}

/// Returns where the log of runs lies.
pub(crate) fn log() -> Option<PathBuf> {
    Some(directory()?.join("audit.jsonl"))
}

/// Returns where approvals lie.
pub(crate) fn approvals() -> Option<FileApprovals> {
    Some(FileApprovals::new(directory()?.join("approvals.json")))
}

/// The files with rules.
pub(crate) struct PolicyFiles {
    pub(crate) admin: PathBuf,
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Vec<PathBuf>,
}

/// Returns where rules stand, whether there are any or not.
pub(crate) fn policy_files() -> PolicyFiles {
    let user = base("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills/policy.toml"));
    let project = crate::roots::project()
        .into_iter()
        .map(|directory| directory.join(PROJECT))
        .collect();
    PolicyFiles {
        admin: PathBuf::from(ADMIN),
        user,
        project,
    }
}

/// Returns what no program may write, whoever allows it. The rules of a project are not among it:
/// they lie where programs work, and only narrow unless the project is trusted.
pub(crate) fn own_files() -> Vec<PathBuf> {
    let files = policy_files();
    // Compiled code, compilers and what these keep run with the rights of the user.
    let made = cache()
        .into_iter()
        .flat_map(|cache| ["code", "tools", "build"].map(|name| cache.join(name)));
    files
        .user
        .into_iter()
        .chain([files.admin])
        .chain(directory())
        .chain(drafts())
        .chain(made)
        .collect()
}

/// Returns the directories that no program and no tool sees, even in a wider one that it may read:
/// approvals, records and the server's token, compiled code, and the rules of the user and of the
/// administrator.
pub(crate) fn hidden() -> Vec<PathBuf> {
    let rules = base("XDG_CONFIG_HOME", ".config").map(|config| config.join("skills"));
    directory()
        .into_iter()
        .chain(cache())
        .chain(rules)
        .chain([PathBuf::from(ADMIN_DIRECTORY)])
        .collect()
}

/// Lets a runtime keep approvals and records.
///
/// # Errors
/// When there is no place for them: then nothing runs.
pub(crate) fn keep(builder: Builder) -> anyhow::Result<Builder> {
    let (Some(directory), Some(log), Some(approvals)) = (directory(), log(), approvals()) else {
        anyhow::bail!(
            "there is no home directory, and so no place for records and approvals; set XDG_STATE_HOME"
        );
    };
    make_private(&directory).map_err(|error| {
        anyhow::anyhow!(
            "cannot make {}: {error}; set XDG_STATE_HOME",
            directory.display()
        )
    })?;
    if is_anybodys(&directory) {
        anyhow::bail!(
            "anybody may change what stands in {}; run `chmod o-w` on it",
            directory.display()
        );
    }
    Ok(builder
        .approvals(Arc::new(approvals))
        .audit(Arc::new(Log::open(log)?)))
}

/// Makes a directory that only its owner may enter.
#[cfg(unix)]
pub(crate) fn make_private(directory: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
pub(crate) fn make_private(directory: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)
}

/// Says whether anybody may change a file or directory, or put another in its place.
#[cfg(unix)]
pub(crate) fn is_anybodys(path: &std::path::Path) -> bool {
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
pub(crate) fn is_anybodys(_path: &std::path::Path) -> bool {
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
pub(crate) fn is_of_others(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_of_others(_path: &std::path::Path) -> bool {
    false
}

/// Returns the value of a variable of this process.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

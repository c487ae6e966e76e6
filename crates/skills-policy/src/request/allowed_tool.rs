//! An entry of `allowed-tools`, and the permission that it requests.

use std::path::{Component, Path, PathBuf};

use crate::path::is_program_name;
use crate::permission::truncate;
use crate::{Capability, HostPattern, Permission};

/// Maximum length in bytes of a file pattern that names a directory.
const MAX_PATTERN_BYTES: usize = 200;

/// An entry of `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedTool {
    pub(super) name: String,
    pub(super) pattern: Option<String>,
}

impl AllowedTool {
    pub(super) fn is_privileged(&self) -> bool {
        Capability::from_tool_name(&self.name).is_some_and(Capability::is_privileged)
    }

    /// Returns the entry as it is written: `Bash(git:*)`.
    pub(super) fn full_text(&self) -> String {
        self.pattern.as_ref().map_or_else(
            || self.name.clone(),
            |pattern| format!("{}({pattern})", self.name),
        )
    }

    /// Returns the entry, truncated for display.
    pub(super) fn display_text(&self) -> String {
        truncate(&self.full_text())
    }

    /// Returns the permission that the entry requests; `None` if a program cannot get anything by
    /// it.
    pub(super) fn permission(&self, workspace: Option<&Path>) -> Option<Permission> {
        let pattern = self.pattern.as_deref();
        match Capability::from_tool_name(&self.name)? {
            Capability::Read => pattern_directory(workspace?, pattern).map(Permission::Read),
            Capability::Write => pattern_directory(workspace?, pattern).map(Permission::Write),
            Capability::Network => Some(pattern_hosts(pattern)),
            _ => pattern_program(pattern),
        }
    }
}

/// Returns the directory of a file pattern: `src/**`, `src/*` and `src/` name a directory of the
/// workspace, `*.md` does not. Grants are for whole directories, so a pattern of single files would
/// grant more than it says.
fn pattern_directory(workspace: &Path, pattern: Option<&str>) -> Option<PathBuf> {
    let Some(pattern) = pattern else {
        return Some(workspace.to_owned());
    };
    // `./src/**` and `src/**` are the same directory, but `../` must not pass.
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern == "**" {
        return Some(workspace.to_owned());
    }
    let below = ["/**", "/*", "/"]
        .iter()
        .find_map(|end| pattern.strip_suffix(end))?;
    // A path that an approval prompt would display ambiguously is not granted either.
    let is_displayable = |c: char| {
        !c.is_control() && !matches!(c, '*' | '?' | '[' | '{') && (c == ' ' || !c.is_whitespace())
    };
    let is_unambiguous = below.chars().all(is_displayable)
        && !below.contains("  ")
        && below.len() <= MAX_PATTERN_BYTES;
    // Absolute patterns would replace the workspace when joined, `..` would leave it.
    let is_below = Path::new(below)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_unambiguous && is_below && !below.is_empty()).then(|| workspace.join(below))
}

/// Returns the hosts of a pattern: all that rules list without one, else the host after `domain:`.
fn pattern_hosts(pattern: Option<&str>) -> Permission {
    let Some(pattern) = pattern else {
        return Permission::ListedHosts;
    };
    let host = pattern
        .strip_prefix("domain:")
        .and_then(|host| host.trim().parse::<HostPattern>().ok())
        // A port can lead to a service of the user's machine, which only the user names.
        .filter(|host| host.port().is_none());
    host.map_or_else(
        || Permission::Invalid(Capability::Network, pattern.to_owned()),
        Permission::Host,
    )
}

/// Returns the program of a pattern, its first word: `git` of `git:*`, `git *` and `git status`. A
/// path requests nothing: it names a file of the skill, which runs anyway, or of the host, which
/// never does.
fn pattern_program(pattern: Option<&str>) -> Option<Permission> {
    let Some(pattern) = pattern else {
        return Some(Permission::AnyProgram);
    };
    let word = pattern
        .split([':', ' ', '*'])
        .next()
        .unwrap_or_default()
        .trim();
    match word {
        // Anything else is denied below, so `$(id):*` cannot be displayed as a program.
        word if is_program_name(word) => Some(Permission::Program(word.to_owned())),
        word if word.starts_with('.') || word.contains(['/', '\\']) => None,
        _ => Some(Permission::Invalid(Capability::Spawn, pattern.to_owned())),
    }
}

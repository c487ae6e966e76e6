//! One entry of `allowed-tools`, and what it asks for.

use std::path::{Component, Path, PathBuf};

use crate::path::is_program_name;
use crate::permission::truncate;
use crate::{Capability, HostPattern, Permission};

/// The longest pattern of files that names a directory, in bytes.
const MAX_PATTERN_BYTES: usize = 200;

/// One entry of `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedTool {
    pub(super) name: String,
    pub(super) pattern: Option<String>,
}

impl AllowedTool {
    pub(super) fn full_text(&self) -> String {
        self.pattern.as_ref().map_or_else(
            || self.name.clone(),
            |pattern| format!("{}({pattern})", self.name),
        )
    }

    /// The entry, cut to what a reader takes in.
    pub(super) fn display_text(&self) -> String {
        truncate(&self.full_text())
    }

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

/// `src/**` and `src/*` are directories of the workspace, and so is `src/`; `*.md` is none.
fn pattern_directory(workspace: &Path, pattern: Option<&str>) -> Option<PathBuf> {
    let Some(pattern) = pattern else {
        return Some(workspace.to_owned());
    };
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern == "**" {
        return Some(workspace.to_owned());
    }
    let below = ["/**", "/*", "/"]
        .iter()
        .find_map(|end| pattern.strip_suffix(end))?;
    // What would look like something else in a question names no directory either.
    let is_shown = |c: char| {
        !c.is_control() && !matches!(c, '*' | '?' | '[' | '{') && (c == ' ' || !c.is_whitespace())
    };
    let is_plain =
        below.chars().all(is_shown) && !below.contains("  ") && below.len() <= MAX_PATTERN_BYTES;
    let is_below = Path::new(below)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_plain && is_below && !below.is_empty()).then(|| workspace.join(below))
}

fn pattern_hosts(pattern: Option<&str>) -> Permission {
    let Some(pattern) = pattern else {
        return Permission::ListedHosts;
    };
    let host = pattern
        .strip_prefix("domain:")
        .and_then(|host| host.trim().parse::<HostPattern>().ok());
    host.map_or_else(
        || Permission::Invalid(Capability::Network, pattern.to_owned()),
        Permission::Host,
    )
}

/// The first word of the pattern: `git` of `git:*`, `git *` and `git status`. A path is no name of
/// a program, and asks for nothing.
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
        word if is_program_name(word) => Some(Permission::Program(word.to_owned())),
        word if word.starts_with('.') || word.contains(['/', '\\']) => None,
        _ => Some(Permission::Invalid(Capability::Spawn, pattern.to_owned())),
    }
}

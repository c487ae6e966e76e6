//! Names that stay read-only in directories that may be written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Paths, relative to any directory that may be written, that no wider rule makes writable: an
/// agent, an editor, a shell or git executes or obeys what lies there the next time it is started,
/// or it holds keys. A `/` separates the components.
///
/// They are protected at any depth and in any case. Directories in which agents look for skills of
/// a project are among them, so that a skill cannot change another one. A backend that cannot
/// protect them says so in its report.
pub const PROTECTED_PATHS: &[&str] = &[
    // Git, its hooks and its settings, and services that run what a commit brings. Entries below
    // `.git` hold even where `.git` itself is granted.
    ".git",
    ".git/commondir",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/modules",
    ".git/worktrees",
    ".gitconfig",
    ".githooks",
    ".gitmodules",
    ".husky",
    ".lefthook",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".circleci",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/actions",
    ".github/agents",
    ".github/copilot-instructions.md",
    ".github/hooks",
    ".github/instructions",
    ".github/prompts",
    ".github/skills",
    ".github/workflows",
    ".gitlab-ci.yml",
    // Shells and what they start.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/Code",
    ".config/amp",
    ".config/autostart",
    ".config/crush",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/goose",
    ".config/kitty",
    ".config/mise",
    ".config/nvim",
    ".config/opencode",
    ".config/skills",
    ".config/systemd",
    ".config/tmux",
    ".config/zed",
    ".cshrc",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".local/bin",
    ".local/share/systemd",
    ".login",
    ".mise.toml",
    ".pam_environment",
    ".profile",
    ".screenrc",
    ".tcshrc",
    ".tmux.conf",
    ".tool-versions",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "Library/LaunchAgents",
    "mise.toml",
    // Agents: settings, hooks, servers, instructions and skills.
    ".agent",
    ".agents",
    ".aider.conf.yml",
    ".amp",
    ".antigravity",
    ".augment",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codex",
    ".continue",
    ".copilot",
    ".cortex",
    ".crush",
    ".cursor",
    ".cursorrules",
    ".deepagents",
    ".factory",
    ".gemini",
    ".goose",
    ".hermes",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kiro",
    ".mcp.json",
    ".openclaw",
    ".opencode",
    ".pi",
    ".qoder",
    ".qwen",
    ".roo",
    ".roorules",
    ".skills",
    ".trae",
    ".windsurf",
    ".windsurfrules",
    "crush.json",
    "opencode.json",
    // Editors, debuggers and build tools.
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".devcontainer",
    ".devcontainer.json",
    ".dir-locals.el",
    ".emacs",
    ".emacs.d",
    ".exrc",
    ".fleet",
    ".gdbinit",
    ".gradle",
    ".idea",
    ".ipython",
    ".irbrc",
    ".lldbinit",
    ".npmrc",
    ".nvim.lua",
    ".nvimrc",
    ".pnpmfile.cjs",
    ".pythonrc.py",
    ".vim",
    ".vimrc",
    ".vscode",
    ".vscode-server",
    ".yarn",
    ".yarnrc",
    ".yarnrc.yml",
    ".zed",
    // Keys.
    ".gnupg",
    ".netrc",
    ".ssh",
];

/// The components of each name, folded, by the first of them.
static BY_FIRST_COMPONENT: LazyLock<HashMap<String, Vec<Vec<String>>>> = LazyLock::new(|| {
    let mut by_first: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    for name in PROTECTED_PATHS {
        let components: Vec<String> = name.split('/').map(fold_name).collect();
        by_first
            .entry(components[0].clone())
            .or_default()
            .push(components);
    }
    by_first
});

/// Returns the innermost protected path at or above `path` that lies strictly below `base`, when
/// there is one.
///
/// `base` is what was granted, or offered, as a whole: names in it do not count, so a workspace
/// that lies in a directory of an agent can be written. An empty `base` exempts nothing. Names are
/// compared without regard to case and to characters that file systems ignore.
#[must_use]
pub fn innermost_protected_name(path: &Path, base: &Path) -> Option<PathBuf> {
    let components = folded_components(path);
    let exempt = base.components().count();
    let ends = (0..components.len()).flat_map(|start| {
        let rest = &components[start..];
        let names = BY_FIRST_COMPONENT.get(&rest[0]).into_iter().flatten();
        names
            .filter(move |name| components_start_with(rest, name))
            .map(move |name| start + name.len())
    });
    let end = ends.filter(|end| *end > exempt).max()?;
    Some(path.components().take(end).collect())
}

/// Says whether a protected name may begin with the last components of `path`, as `.config/git`
/// does with those of `/home/.config`: renaming or replacing such a directory would change what is
/// protected in it. `base` as in [`innermost_protected_name`].
#[must_use]
pub fn may_lead_to_protected(path: &Path, base: &Path) -> bool {
    let components = folded_components(path);
    components.len() > base.components().count()
        && (0..components.len()).any(|start| {
            let rest = &components[start..];
            let names = BY_FIRST_COMPONENT.get(&rest[0]).into_iter().flatten();
            names
                .into_iter()
                .any(|name| name.len() > rest.len() && components_start_with(name, rest))
        })
}

fn folded_components(path: &Path) -> Vec<String> {
    path.components()
        .map(|component| fold_name(&component.as_os_str().to_string_lossy()))
        .collect()
}

fn components_start_with(components: &[String], prefix: &[String]) -> bool {
    components.len() >= prefix.len()
        && components
            .iter()
            .zip(prefix)
            .all(|(component, wanted)| component == wanted)
}

/// Writes a file name so that all spellings that some file system takes for the same name are
/// equal, when one of them is ASCII.
///
/// Case is ignored, and so are the characters that HFS+ ignores (zero-width and directional marks)
/// and the dots and spaces that Windows drops at the end.
#[must_use]
pub fn fold_name(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name
        .chars()
        .filter(|c| !is_ignorable(*c))
        .flat_map(char::to_lowercase)
    {
        match c {
            // Lower-case already, with `S` as its upper case.
            '\u{17f}' => folded.push('s'),
            '\u{fb00}' => folded.push_str("ff"),
            '\u{fb01}' => folded.push_str("fi"),
            '\u{fb02}' => folded.push_str("fl"),
            '\u{fb03}' => folded.push_str("ffi"),
            '\u{fb04}' => folded.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => folded.push_str("st"),
            c => folded.push(c),
        }
    }
    folded.truncate(folded.trim_end_matches(['.', ' ']).len());
    folded
}

/// The characters that HFS+ leaves out when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(path: &str, base: &str) -> Option<String> {
        innermost_protected_name(Path::new(path), Path::new(base))
            .map(|path| path.display().to_string())
    }

    #[test]
    fn names_are_found_at_any_depth_and_in_any_spelling() {
        for name in PROTECTED_PATHS {
            for path in [
                format!("/w/{name}"),
                format!("/w/a/b/{}/x", name.to_uppercase()),
                format!("/w/{name}/a/b"),
            ] {
                assert!(by(&path, "/w").is_some(), "{path}");
                assert!(by(&path, "").is_some(), "{path}");
            }
        }
        for path in [
            "/w/.\u{17f}\u{17f}h/config",
            "/w/.con\u{fb01}g/git",
            "/w/.g\u{200c}it/config",
            "/w/.git./x",
            "/w/.ENVRC ",
        ] {
            assert!(by(path, "/w").is_some(), "{path}");
        }
        for path in [
            "/w",
            "/w/git/config",
            "/w/.gitignore",
            "/w/.config/other",
            "/w/.github/FUNDING.yml",
            "/w/env",
            "/w/...",
            "/w/.cargo/x",
        ] {
            assert_eq!(by(path, "/w"), None, "{path}");
        }
    }

    #[test]
    fn the_innermost_name_below_the_base_counts() {
        assert_eq!(
            by("/w/.git/hooks/pre-commit", "/w").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(
            by("/w/.git/hooks/pre-commit", "/w/.git").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(by("/w/.git/objects", "/w/.git"), None);
        assert_eq!(by("/w/.git/hooks/pre-commit", "/w/.git/hooks"), None);
        assert_eq!(
            by("/h/.claude/worktrees/x/src", "/h/.claude/worktrees/x"),
            None
        );
        assert_eq!(
            by("/h/.claude/worktrees/x/.ENVRC", "/h/.claude/worktrees/x").as_deref(),
            Some("/h/.claude/worktrees/x/.ENVRC")
        );
        assert_eq!(
            by("/w/.github/workflows/x", "/w/.github").as_deref(),
            Some("/w/.github/workflows")
        );
    }

    #[test]
    fn directories_above_a_name_lead_to_it() {
        let leads =
            |path: &str, base: &str| may_lead_to_protected(Path::new(path), Path::new(base));
        assert!(leads("/w/.config", "/w") && leads("/w/a/.GitHub", "/w") && leads("/w/.git", "/w"));
        assert!(
            !leads("/w/.config", "/w/.config")
                && !leads("/w/.config/x", "/w")
                && !leads("/w", "/w")
                && !leads("/w/.claude", "/w")
        );
    }
}

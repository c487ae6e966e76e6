//! Paths that stay read-only in writable directories, by name.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Relative paths that no wider rule makes writable: an agent, an editor, a shell or git executes
/// or trusts the files there at its next start, or they contain keys. Components are separated by
/// `/`.
///
/// They are protected at any depth of a writable directory and regardless of case. The directories
/// that agents scan for skills are included, so that a skill cannot change another one. A backend
/// that cannot protect them reports that in its enforcement report.
pub const PROTECTED_PATHS: &[&str] = &[
    // Git, its hooks and settings, and services that execute files of a commit. Entries below
    // `.git` apply even where `.git` itself is granted.
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
    // Shells, and programs that they start.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/Code",
    ".config/agents",
    ".config/amp",
    ".config/autostart",
    ".config/crush",
    ".config/devin",
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
    // Packages and start files that run at the start of every Python script.
    ".venv",
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
    // Agents: settings, hooks, MCP servers, instructions and skills.
    ".agent",
    ".agents",
    ".aider.conf.yml",
    ".amp",
    ".antigravity",
    ".augment",
    ".claude",
    ".claude.json",
    ".clawdbot",
    ".cline",
    ".clinerules",
    ".codeium",
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
    ".moltbot",
    ".openclaw",
    ".opencode",
    ".pi",
    ".qoder",
    ".qwen",
    ".roo",
    ".roorules",
    ".skills",
    ".snowflake",
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

/// The components of each protected path, folded, by the first component.
// Backends check every path of a directory tree, so the lookup is by hash.
static BY_FIRST_COMPONENT: LazyLock<HashMap<String, Vec<Vec<String>>>> = LazyLock::new(|| {
    let mut by_first: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    for path in PROTECTED_PATHS {
        let components: Vec<String> = path.split('/').map(fold_name).collect();
        by_first
            .entry(components[0].clone())
            .or_default()
            .push(components);
    }
    by_first
});

/// The longest last component of a protected path.
const MAX_COMPONENT_BYTES: usize = 32;

/// The last components of the protected paths, folded.
static LAST_COMPONENTS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let names = PROTECTED_PATHS
        .iter()
        .filter_map(|path| path.rsplit('/').next());
    names.map(fold_name).collect()
});

/// Returns the innermost protected path at or above `path` and strictly below `base`, `None` if
/// there is none.
///
/// `base` is the directory that was granted or offered as a whole: its own components are exempt,
/// so a workspace inside a directory such as `.claude` can be written. An empty `base` exempts
/// nothing. Names are compared in the form of [`fold_name`].
///
/// ```
/// use skills_policy::innermost_protected_name;
/// use std::path::{Path, PathBuf};
///
/// let protected = |path: &str| innermost_protected_name(Path::new(path), Path::new("/w"));
/// assert_eq!(protected("/w/a/.GIT/hooks/pre-commit"), Some(PathBuf::from("/w/a/.GIT/hooks")));
/// assert_eq!(protected("/w/.gitignore"), None);
/// ```
#[must_use]
pub fn innermost_protected_name(path: &Path, base: &Path) -> Option<PathBuf> {
    // By name and not by inode: a protected path need not exist yet, and creating it is the attack.
    let components = folded_components(path);
    let exempt_count = base.components().count();
    let ends = (0..components.len()).flat_map(|start| {
        let rest = &components[start..];
        let names = BY_FIRST_COMPONENT.get(&rest[0]).into_iter().flatten();
        names
            .filter(move |name| components_start_with(rest, name))
            .map(move |name| start + name.len())
    });
    // The innermost one counts, so that a grant of `.git` does not include `.git/hooks`.
    let end = ends.filter(|end| *end > exempt_count).max()?;
    Some(path.components().take(end).collect())
}

/// Returns true if a protected path ends with a component of this name: a quick check before
/// [`innermost_protected_name`], for searches of large directories. Names are compared in the form
/// of [`fold_name`].
///
/// ```
/// use skills_policy::ends_protected_path;
///
/// // `.git/config` is protected, so any `config` may be.
/// assert!(ends_protected_path("config".as_ref()) && ends_protected_path(".Git".as_ref()));
/// assert!(!ends_protected_path("main.rs".as_ref()));
/// ```
#[must_use]
pub fn ends_protected_path(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    if !name.is_ascii() {
        return LAST_COMPONENTS.contains(fold_name(&name).as_str());
    }
    // As `fold_name`, without allocating for each name.
    let mut buffer = [0; MAX_COMPONENT_BYTES];
    let name = name.trim_end_matches(['.', ' ']).as_bytes();
    let Some(folded) = buffer.get_mut(..name.len()) else {
        return false;
    };
    folded.copy_from_slice(name);
    folded.make_ascii_lowercase();
    str::from_utf8(folded).is_ok_and(|folded| LAST_COMPONENTS.contains(folded))
}

/// Returns true if the last components of `path` begin a protected path of more components, as
/// `.config` begins `.config/git`. Renaming or replacing such a directory would move the protected
/// path, so it must not be replaced either. `base` as in [`innermost_protected_name`].
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
            .all(|(component, expected)| component == expected)
}

/// Returns a form of a file name that is equal for all spellings that some file system treats as
/// the same name, if one of them is ASCII.
///
/// Ignored are case, the characters that HFS+ ignores (zero-width and directional marks), and the
/// dots and spaces that Windows removes from the end. The result is for comparison only.
///
/// ```
/// assert_eq!(skills_policy::fold_name(".G\u{200c}it. "), ".git");
/// ```
#[must_use]
pub fn fold_name(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name
        .chars()
        .filter(|c| !is_ignorable(*c))
        .flat_map(char::to_lowercase)
    {
        match c {
            // The long s and the ligatures are lowercase already, but a case-insensitive file
            // system compares their uppercase forms, which are ASCII.
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
    // After folding, since an ignored character can follow the dots.
    folded.truncate(folded.trim_end_matches(['.', ' ']).len());
    folded
}

/// Returns true for characters that HFS+ ignores when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected_by(path: &str, base: &str) -> Option<String> {
        innermost_protected_name(Path::new(path), Path::new(base))
            .map(|path| path.display().to_string())
    }

    #[test]
    fn protected_names_match_at_any_depth_and_in_any_spelling() {
        for name in PROTECTED_PATHS {
            for path in [
                format!("/w/{name}"),
                format!("/w/a/b/{}/x", name.to_uppercase()),
                format!("/w/{name}/a/b"),
            ] {
                assert!(protected_by(&path, "/w").is_some(), "{path}");
                assert!(protected_by(&path, "").is_some(), "{path}");
            }
        }
        for path in [
            "/w/.\u{17f}\u{17f}h/config",
            "/w/.con\u{fb01}g/git",
            "/w/.g\u{200c}it/config",
            "/w/.git./x",
            "/w/.ENVRC ",
        ] {
            assert!(protected_by(path, "/w").is_some(), "{path}");
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
            assert_eq!(protected_by(path, "/w"), None, "{path}");
        }
    }

    #[test]
    fn all_protected_paths_pass_the_quick_check() {
        for path in PROTECTED_PATHS {
            let name = path.rsplit('/').next().unwrap();
            assert!(name.len() <= MAX_COMPONENT_BYTES);
            for spelling in [
                name.to_owned(),
                format!("{}. .", name.to_uppercase()),
                format!("\u{200d}{name}"),
            ] {
                assert!(ends_protected_path(spelling.as_ref()), "{spelling}");
                let path = Path::new("/w").join(path).with_file_name(spelling);
                assert!(innermost_protected_name(&path, Path::new("/w")).is_some());
            }
        }
        for name in [
            "",
            ".",
            "x",
            "gitignore",
            ".git-",
            &"long".repeat(100),
            "\u{200d}",
        ] {
            assert!(!ends_protected_path(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn the_innermost_protected_name_below_the_base_is_returned() {
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w/.git").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(protected_by("/w/.git/objects", "/w/.git"), None);
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w/.git/hooks"),
            None
        );
        assert_eq!(
            protected_by("/h/.claude/worktrees/x/src", "/h/.claude/worktrees/x"),
            None
        );
        assert_eq!(
            protected_by("/h/.claude/worktrees/x/.ENVRC", "/h/.claude/worktrees/x").as_deref(),
            Some("/h/.claude/worktrees/x/.ENVRC")
        );
        assert_eq!(
            protected_by("/w/.github/workflows/x", "/w/.github").as_deref(),
            Some("/w/.github/workflows")
        );
    }

    #[test]
    fn parents_of_protected_names_are_detected() {
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

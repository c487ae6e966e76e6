//! What stays as it is in a directory that may be written.

/// Names below a writable directory that no program may change: what is in them runs, or steers an agent or an editor, the next time somebody works
/// there, or is a key. Of `.git` see [`PROTECTED_IN_GIT`]. Those in one directory stand side by side.
///
/// A backend that cannot protect them says so in its report.
pub const PROTECTED: [&str; 28] = [
    ".gitconfig",
    ".gitmodules",
    ".config/fish",
    ".config/git",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".agents",
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".idea",
    ".mcp.json",
    ".openclaw",
    ".skills",
    ".vscode",
    ".windsurf",
    ".gnupg",
    ".ssh",
];

/// Names below a `.git` that lead git to settings or hooks.
pub const PROTECTED_IN_GIT: [&str; 6] = ["commondir", "config", "config.worktree", "hooks", "modules", "worktrees"];

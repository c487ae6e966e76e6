//! The roots that clients scan, in their order.

use crate::client::{Root, RootBase, RootScope};
use crate::table::CLIENTS;

pub(crate) const fn root(base: RootBase, path: &'static str, scope: RootScope) -> Root {
    Root { base, path, scope }
}

pub(crate) const fn project(path: &'static str) -> Root {
    root(RootBase::ProjectUpwards, path, RootScope::Repo)
}

pub(crate) const fn working(path: &'static str) -> Root {
    root(RootBase::Working, path, RootScope::Repo)
}

pub(crate) const fn home(path: &'static str) -> Root {
    root(RootBase::Home, path, RootScope::User)
}

pub(crate) const fn config(path: &'static str) -> Root {
    root(RootBase::XdgConfig, path, RootScope::User)
}

pub(crate) const fn admin(path: &'static str) -> Root {
    root(RootBase::FileSystemRoot, path, RootScope::Admin)
}

const fn downward(path: &'static str) -> Root {
    root(RootBase::ProjectDownwards, path, RootScope::Repo)
}

const PLUGINS: Root = root(RootBase::Plugins, "", RootScope::User);

// The order matters where a client lets the first or the last root win. Codex keeps all skills, so
// there it only decides which root a directory belongs to.

/// The roots that Codex scans.
pub const CODEX_ROOTS: &[Root] = &[
    project(".codex/skills"),
    root(RootBase::Codex, "skills", RootScope::User),
    home(".agents/skills"),
    root(RootBase::Codex, "skills/.system", RootScope::System),
    admin("etc/codex/skills"),
    PLUGINS,
    downward(".agents/skills"),
];

/// The roots that Claude Code scans.
pub const CLAUDE_ROOTS: &[Root] = &[
    admin("etc/claude-code/.claude/skills"),
    root(RootBase::Claude, "skills", RootScope::User),
    root(RootBase::Claude, "skills/synced", RootScope::User),
    project(".claude/skills"),
    PLUGINS,
];

/// The roots that OpenClaw scans.
pub const OPENCLAW_ROOTS: &[Root] = &[
    working("skills"),
    working(".agents/skills"),
    home(".agents/skills"),
    root(RootBase::OpenClaw, "skills", RootScope::User),
    home(".clawdbot/skills"),
    home(".moltbot/skills"),
    PLUGINS,
];

/// The roots that Gemini CLI scans.
pub const GEMINI_ROOTS: &[Root] = &[
    working(".agents/skills"),
    working(".gemini/skills"),
    home(".agents/skills"),
    home(".gemini/skills"),
    PLUGINS,
];

/// The roots that Copilot scans.
pub const COPILOT_ROOTS: &[Root] = &[
    working(".github/skills"),
    working(".agents/skills"),
    working(".claude/skills"),
    project(".github/skills"),
    home(".copilot/skills"),
    home(".agents/skills"),
    root(RootBase::Claude, "skills", RootScope::User),
    PLUGINS,
    root(RootBase::Copilot, "", RootScope::User),
];

/// The roots that Goose scans.
pub const GOOSE_ROOTS: &[Root] = &[
    working(".agents/skills"),
    working(".goose/skills"),
    working(".claude/skills"),
    home(".agents/skills"),
    config("goose/skills"),
    root(RootBase::Claude, "skills", RootScope::User),
    config("agents/skills"),
    PLUGINS,
];

/// The roots that opencode scans.
pub const OPENCODE_ROOTS: &[Root] = &[
    config("opencode/skills"),
    root(RootBase::Claude, "skills", RootScope::User),
    home(".agents/skills"),
    downward(".opencode/skills"),
    downward(".claude/skills"),
    downward(".agents/skills"),
];

pub(crate) const ALL: &[&[Root]] = &[
    CODEX_ROOTS,
    CLAUDE_ROOTS,
    OPENCLAW_ROOTS,
    GEMINI_ROOTS,
    COPILOT_ROOTS,
    GOOSE_ROOTS,
    OPENCODE_ROOTS,
];

/// Returns the own roots of all clients, in the order of a scan in which the first root wins: those
/// of the project before those of the user, since they are the more specific choice, then those of
/// plugins, of the clients and of the administrator. In each group they have the order of the table.
pub fn universal_roots() -> impl Iterator<Item = Root> {
    let all = || CLIENTS.iter().flat_map(|client| client.roots).copied();
    let with_base = move |base| all().filter(move |root| root.base == base);
    let of_host = |root: &Root| matches!(root.scope, RootScope::System | RootScope::Admin);
    with_base(RootBase::ProjectUpwards)
        .chain(with_base(RootBase::Working))
        .chain(all().filter(|root| root.scope == RootScope::User))
        .chain([PLUGINS])
        .chain(
            CLIENTS
                .iter()
                .rev()
                .flat_map(|client| client.roots)
                .copied()
                .filter(of_host),
        )
}

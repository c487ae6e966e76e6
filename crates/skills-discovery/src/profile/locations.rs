//! The places, gathered from the clients' documentation and sources.

use std::path::PathBuf;

use super::{Profile, Surroundings};
use crate::Scope;

/// A place below something that the surroundings name.
pub(super) struct Location {
    pub(super) base: Base,
    pub(super) path: &'static str,
    pub(super) scope: Scope,
}

/// What a place lies below.
#[derive(Clone, Copy)]
pub(super) enum Base {
    /// Every directory from the working directory up to the project's root.
    ProjectUpwards,
    /// Every directory from the project's root down to the working directory.
    ProjectDownwards,
    /// The working directory.
    Working,
    Home,
    /// `CODEX_HOME`, else `~/.codex`.
    Codex,
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    Claude,
    /// `XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// `OPENCLAW_STATE_DIR`, else `~/.openclaw`.
    OpenClaw,
    /// Each directory of `COPILOT_SKILLS_DIRS`.
    Copilot,
    /// The file system's root.
    Machine,
    /// The roots that plugins bring.
    Plugins,
}

impl Location {
    /// The directories that the base is here.
    pub(super) fn bases(&self, surroundings: &Surroundings) -> Vec<PathBuf> {
        let below_home = |path: &str| surroundings.home.as_ref().map(|home| home.join(path));
        let either = |set: &Option<PathBuf>, path: &str| set.clone().or_else(|| below_home(path)).into_iter().collect();
        // What lies in the home directory is the user's, even when the home directory is a project.
        let projects = || surroundings.project.iter().filter(|directory| surroundings.home.as_ref() != Some(directory));
        match self.base {
            Base::ProjectUpwards => projects().rev().cloned().collect(),
            Base::ProjectDownwards => projects().cloned().collect(),
            Base::Working => projects().filter(|directory| Some(*directory) == surroundings.project.last()).cloned().collect(),
            Base::Home => surroundings.home.iter().cloned().collect(),
            Base::Codex => either(&surroundings.codex_home, ".codex"),
            Base::Claude => either(&surroundings.claude_config, ".claude"),
            Base::Config => either(&surroundings.config, ".config"),
            Base::OpenClaw => either(&surroundings.openclaw_state, ".openclaw"),
            Base::Copilot => surroundings.copilot_directories.clone(),
            Base::Machine => vec![PathBuf::from("/")],
            Base::Plugins => Vec::new(),
        }
    }
}

const fn at(base: Base, path: &'static str, scope: Scope) -> Location {
    Location { base, path, scope }
}

const fn project(path: &'static str) -> Location {
    at(Base::ProjectUpwards, path, Scope::Repo)
}

const fn home(path: &'static str) -> Location {
    at(Base::Home, path, Scope::User)
}

const fn config(path: &'static str) -> Location {
    at(Base::Config, path, Scope::User)
}

pub(super) fn of(profile: Profile) -> &'static [Location] {
    match profile {
        Profile::Universal => UNIVERSAL,
        Profile::Codex => CODEX,
        Profile::Claude => CLAUDE,
        Profile::OpenClaw => OPENCLAW,
        Profile::Gemini => GEMINI,
        Profile::Copilot => COPILOT,
        Profile::Goose => GOOSE,
        Profile::OpenCode => OPENCODE,
    }
}

const CODEX: &[Location] = &[
    project(".codex/skills"),
    at(Base::Codex, "skills", Scope::User),
    home(".agents/skills"),
    at(Base::Codex, "skills/.system", Scope::System),
    at(Base::Machine, "etc/codex/skills", Scope::Admin),
    at(Base::Plugins, "", Scope::User),
    at(Base::ProjectDownwards, ".agents/skills", Scope::Repo),
];

const CLAUDE: &[Location] = &[
    at(Base::Machine, "etc/claude-code/.claude/skills", Scope::Admin),
    at(Base::Claude, "skills", Scope::User),
    at(Base::Claude, "skills/synced", Scope::User),
    project(".claude/skills"),
    at(Base::Plugins, "", Scope::User),
];

const OPENCLAW: &[Location] = &[
    at(Base::Working, "skills", Scope::Repo),
    at(Base::Working, ".agents/skills", Scope::Repo),
    home(".agents/skills"),
    at(Base::OpenClaw, "skills", Scope::User),
    home(".clawdbot/skills"),
    home(".moltbot/skills"),
    at(Base::Plugins, "", Scope::User),
];

const GEMINI: &[Location] = &[
    at(Base::Working, ".agents/skills", Scope::Repo),
    at(Base::Working, ".gemini/skills", Scope::Repo),
    home(".agents/skills"),
    home(".gemini/skills"),
    at(Base::Plugins, "", Scope::User),
];

const COPILOT: &[Location] = &[
    at(Base::Working, ".github/skills", Scope::Repo),
    at(Base::Working, ".agents/skills", Scope::Repo),
    at(Base::Working, ".claude/skills", Scope::Repo),
    project(".github/skills"),
    home(".copilot/skills"),
    home(".agents/skills"),
    at(Base::Claude, "skills", Scope::User),
    at(Base::Plugins, "", Scope::User),
    at(Base::Copilot, "", Scope::User),
];

const GOOSE: &[Location] = &[
    at(Base::Working, ".agents/skills", Scope::Repo),
    at(Base::Working, ".goose/skills", Scope::Repo),
    at(Base::Working, ".claude/skills", Scope::Repo),
    home(".agents/skills"),
    config("goose/skills"),
    at(Base::Claude, "skills", Scope::User),
    config("agents/skills"),
    at(Base::Plugins, "", Scope::User),
];

const OPENCODE: &[Location] = &[
    config("opencode/skills"),
    at(Base::Claude, "skills", Scope::User),
    home(".agents/skills"),
    at(Base::ProjectDownwards, ".opencode/skills", Scope::Repo),
    at(Base::ProjectDownwards, ".claude/skills", Scope::Repo),
    at(Base::ProjectDownwards, ".agents/skills", Scope::Repo),
];

const UNIVERSAL: &[Location] = &[
    project(".agents/skills"),
    project(".claude/skills"),
    project(".codex/skills"),
    project(".github/skills"),
    project(".gemini/skills"),
    project(".cursor/skills"),
    project(".opencode/skills"),
    project(".goose/skills"),
    project(".deepagents/skills"),
    project(".agent/skills"),
    at(Base::Working, ".openclaw/skills", Scope::Repo),
    at(Base::Working, ".factory/skills", Scope::Repo),
    at(Base::Working, ".windsurf/skills", Scope::Repo),
    at(Base::Working, ".hermes/skills", Scope::Repo),
    at(Base::Working, ".pi/skills", Scope::Repo),
    at(Base::Working, ".cortex/skills", Scope::Repo),
    at(Base::Working, ".roo/skills", Scope::Repo),
    at(Base::Working, ".kilo/skills", Scope::Repo),
    at(Base::Working, ".kiro/skills", Scope::Repo),
    at(Base::Working, ".junie/skills", Scope::Repo),
    at(Base::Working, ".continue/skills", Scope::Repo),
    at(Base::Working, ".augment/skills", Scope::Repo),
    at(Base::Working, ".qwen/skills", Scope::Repo),
    home(".agents/skills"),
    at(Base::Claude, "skills", Scope::User),
    at(Base::Codex, "skills", Scope::User),
    home(".copilot/skills"),
    home(".gemini/skills"),
    home(".gemini/antigravity/skills"),
    home(".cursor/skills"),
    config("opencode/skills"),
    config("goose/skills"),
    config("agents/skills"),
    config("crush/skills"),
    config("devin/skills"),
    at(Base::OpenClaw, "skills", Scope::User),
    home(".agent/skills"),
    home(".factory/skills"),
    home(".codeium/windsurf/skills"),
    home(".hermes/skills"),
    home(".pi/agent/skills"),
    home(".snowflake/cortex/skills"),
    home(".roo/skills"),
    home(".kilo/skills"),
    home(".kiro/skills"),
    home(".junie/skills"),
    home(".continue/skills"),
    home(".augment/skills"),
    home(".qwen/skills"),
    at(Base::Plugins, "", Scope::User),
    at(Base::Codex, "skills/.system", Scope::System),
    at(Base::Machine, "etc/codex/skills", Scope::Admin),
    at(Base::Machine, "etc/claude-code/.claude/skills", Scope::Admin),
];

//! The places, gathered from the clients' documentation and sources.

use std::path::PathBuf;

use super::{ClientProfile, ProfileContext};
use crate::Scope;

/// A place below something that the surroundings name.
pub(super) struct Location {
    pub(super) base: LocationBase,
    pub(super) path: &'static str,
    pub(super) scope: Scope,
}

/// What a place lies below.
#[derive(Clone, Copy)]
pub(super) enum LocationBase {
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
    XdgConfig,
    /// `OPENCLAW_STATE_DIR`, else `~/.openclaw`.
    OpenClaw,
    /// Each directory of `COPILOT_SKILLS_DIRS`.
    Copilot,
    /// The file system's root.
    FileSystemRoot,
    /// The roots that plugins bring.
    Plugins,
}

impl Location {
    /// The directories that the base is here.
    pub(super) fn base_directories(&self, surroundings: &ProfileContext) -> Vec<PathBuf> {
        let below_home = |path: &str| surroundings.home.as_ref().map(|home| home.join(path));
        let either = |set: &Option<PathBuf>, path: &str| {
            set.clone()
                .or_else(|| below_home(path))
                .into_iter()
                .collect()
        };
        // What lies in the home directory is the user's, even when the home directory is a project.
        let projects = || {
            surroundings
                .project_directories
                .iter()
                .filter(|directory| surroundings.home.as_ref() != Some(directory))
        };
        match self.base {
            LocationBase::ProjectUpwards => projects().rev().cloned().collect(),
            LocationBase::ProjectDownwards => projects().cloned().collect(),
            LocationBase::Working => projects()
                .filter(|directory| Some(*directory) == surroundings.project_directories.last())
                .cloned()
                .collect(),
            LocationBase::Home => surroundings.home.iter().cloned().collect(),
            LocationBase::Codex => either(&surroundings.codex_home, ".codex"),
            LocationBase::Claude => either(&surroundings.claude_config, ".claude"),
            LocationBase::XdgConfig => either(&surroundings.xdg_config_home, ".config"),
            LocationBase::OpenClaw => either(&surroundings.openclaw_state, ".openclaw"),
            LocationBase::Copilot => surroundings.copilot_directories.clone(),
            LocationBase::FileSystemRoot => vec![PathBuf::from("/")],
            LocationBase::Plugins => Vec::new(),
        }
    }
}

const fn location(base: LocationBase, path: &'static str, scope: Scope) -> Location {
    Location { base, path, scope }
}

const fn project_location(path: &'static str) -> Location {
    location(LocationBase::ProjectUpwards, path, Scope::Repo)
}

const fn home_location(path: &'static str) -> Location {
    location(LocationBase::Home, path, Scope::User)
}

const fn config_location(path: &'static str) -> Location {
    location(LocationBase::XdgConfig, path, Scope::User)
}

pub(super) fn for_profile(profile: ClientProfile) -> &'static [Location] {
    match profile {
        ClientProfile::Universal => UNIVERSAL,
        ClientProfile::Codex => CODEX,
        ClientProfile::Claude => CLAUDE,
        ClientProfile::OpenClaw => OPENCLAW,
        ClientProfile::Gemini => GEMINI,
        ClientProfile::Copilot => COPILOT,
        ClientProfile::Goose => GOOSE,
        ClientProfile::OpenCode => OPENCODE,
    }
}

const CODEX: &[Location] = &[
    project_location(".codex/skills"),
    location(LocationBase::Codex, "skills", Scope::User),
    home_location(".agents/skills"),
    location(LocationBase::Codex, "skills/.system", Scope::System),
    location(
        LocationBase::FileSystemRoot,
        "etc/codex/skills",
        Scope::Admin,
    ),
    location(LocationBase::Plugins, "", Scope::User),
    location(
        LocationBase::ProjectDownwards,
        ".agents/skills",
        Scope::Repo,
    ),
];

const CLAUDE: &[Location] = &[
    location(
        LocationBase::FileSystemRoot,
        "etc/claude-code/.claude/skills",
        Scope::Admin,
    ),
    location(LocationBase::Claude, "skills", Scope::User),
    location(LocationBase::Claude, "skills/synced", Scope::User),
    project_location(".claude/skills"),
    location(LocationBase::Plugins, "", Scope::User),
];

const OPENCLAW: &[Location] = &[
    location(LocationBase::Working, "skills", Scope::Repo),
    location(LocationBase::Working, ".agents/skills", Scope::Repo),
    home_location(".agents/skills"),
    location(LocationBase::OpenClaw, "skills", Scope::User),
    home_location(".clawdbot/skills"),
    home_location(".moltbot/skills"),
    location(LocationBase::Plugins, "", Scope::User),
];

const GEMINI: &[Location] = &[
    location(LocationBase::Working, ".agents/skills", Scope::Repo),
    location(LocationBase::Working, ".gemini/skills", Scope::Repo),
    home_location(".agents/skills"),
    home_location(".gemini/skills"),
    location(LocationBase::Plugins, "", Scope::User),
];

const COPILOT: &[Location] = &[
    location(LocationBase::Working, ".github/skills", Scope::Repo),
    location(LocationBase::Working, ".agents/skills", Scope::Repo),
    location(LocationBase::Working, ".claude/skills", Scope::Repo),
    project_location(".github/skills"),
    home_location(".copilot/skills"),
    home_location(".agents/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    location(LocationBase::Plugins, "", Scope::User),
    location(LocationBase::Copilot, "", Scope::User),
];

const GOOSE: &[Location] = &[
    location(LocationBase::Working, ".agents/skills", Scope::Repo),
    location(LocationBase::Working, ".goose/skills", Scope::Repo),
    location(LocationBase::Working, ".claude/skills", Scope::Repo),
    home_location(".agents/skills"),
    config_location("goose/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    config_location("agents/skills"),
    location(LocationBase::Plugins, "", Scope::User),
];

const OPENCODE: &[Location] = &[
    config_location("opencode/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    home_location(".agents/skills"),
    location(
        LocationBase::ProjectDownwards,
        ".opencode/skills",
        Scope::Repo,
    ),
    location(
        LocationBase::ProjectDownwards,
        ".claude/skills",
        Scope::Repo,
    ),
    location(
        LocationBase::ProjectDownwards,
        ".agents/skills",
        Scope::Repo,
    ),
];

const UNIVERSAL: &[Location] = &[
    project_location(".agents/skills"),
    project_location(".claude/skills"),
    project_location(".codex/skills"),
    project_location(".github/skills"),
    project_location(".gemini/skills"),
    project_location(".cursor/skills"),
    project_location(".opencode/skills"),
    project_location(".goose/skills"),
    project_location(".deepagents/skills"),
    project_location(".agent/skills"),
    location(LocationBase::Working, ".openclaw/skills", Scope::Repo),
    location(LocationBase::Working, ".factory/skills", Scope::Repo),
    location(LocationBase::Working, ".windsurf/skills", Scope::Repo),
    location(LocationBase::Working, ".hermes/skills", Scope::Repo),
    location(LocationBase::Working, ".pi/skills", Scope::Repo),
    location(LocationBase::Working, ".cortex/skills", Scope::Repo),
    location(LocationBase::Working, ".roo/skills", Scope::Repo),
    location(LocationBase::Working, ".kilo/skills", Scope::Repo),
    location(LocationBase::Working, ".kiro/skills", Scope::Repo),
    location(LocationBase::Working, ".junie/skills", Scope::Repo),
    location(LocationBase::Working, ".continue/skills", Scope::Repo),
    location(LocationBase::Working, ".augment/skills", Scope::Repo),
    location(LocationBase::Working, ".qwen/skills", Scope::Repo),
    home_location(".agents/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    location(LocationBase::Codex, "skills", Scope::User),
    home_location(".copilot/skills"),
    home_location(".gemini/skills"),
    home_location(".gemini/antigravity/skills"),
    home_location(".cursor/skills"),
    config_location("opencode/skills"),
    config_location("goose/skills"),
    config_location("agents/skills"),
    config_location("crush/skills"),
    config_location("devin/skills"),
    location(LocationBase::OpenClaw, "skills", Scope::User),
    home_location(".agent/skills"),
    home_location(".factory/skills"),
    home_location(".codeium/windsurf/skills"),
    home_location(".hermes/skills"),
    home_location(".pi/agent/skills"),
    home_location(".snowflake/cortex/skills"),
    home_location(".roo/skills"),
    home_location(".kilo/skills"),
    home_location(".kiro/skills"),
    home_location(".junie/skills"),
    home_location(".continue/skills"),
    home_location(".augment/skills"),
    home_location(".qwen/skills"),
    location(LocationBase::Plugins, "", Scope::User),
    location(LocationBase::Codex, "skills/.system", Scope::System),
    location(
        LocationBase::FileSystemRoot,
        "etc/codex/skills",
        Scope::Admin,
    ),
    location(
        LocationBase::FileSystemRoot,
        "etc/claude-code/.claude/skills",
        Scope::Admin,
    ),
];

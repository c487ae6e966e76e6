//! The directories of each client, from its documentation and sources.

use std::path::{Path, PathBuf};

use super::{ClientProfile, ProfileContext};
use crate::Scope;

/// A directory of a client, relative to a directory that depends on the host.
pub(super) struct Location {
    pub(super) base: LocationBase,
    pub(super) path: &'static str,
    pub(super) scope: Scope,
}

/// The directory that a location is relative to.
#[derive(Clone, Copy)]
pub(super) enum LocationBase {
    /// Each directory of the project, from the working directory up to the root.
    ProjectUpwards,
    /// Each directory of the project, from the root down to the working directory.
    ProjectDownwards,
    /// The working directory.
    Working,
    /// The home directory.
    Home,
    /// `CODEX_HOME`, or `~/.codex`.
    Codex,
    /// `CLAUDE_CONFIG_DIR`, or `~/.claude`.
    Claude,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    XdgConfig,
    /// `OPENCLAW_STATE_DIR`, or `~/.openclaw`.
    OpenClaw,
    /// Each directory of `COPILOT_SKILLS_DIRS`.
    Copilot,
    /// The root of the file system.
    FileSystemRoot,
    /// The roots of plugins, which the context contains as a whole.
    Plugins,
}

impl Location {
    /// Returns the directories that the base stands for, in the order in which they are scanned.
    pub(super) fn base_directories(&self, context: &ProfileContext) -> Vec<PathBuf> {
        let home = context.home.as_deref();
        match self.base {
            LocationBase::ProjectUpwards => projects(context).rev().cloned().collect(),
            LocationBase::ProjectDownwards => projects(context).cloned().collect(),
            // Filtered as the others: the working directory may be the home directory.
            LocationBase::Working => projects(context)
                .filter(|directory| Some(*directory) == context.project_directories.last())
                .cloned()
                .collect(),
            LocationBase::Home => context.home.iter().cloned().collect(),
            LocationBase::Codex => set_or_below_home(&context.codex_home, home, ".codex"),
            LocationBase::Claude => set_or_below_home(&context.claude_config, home, ".claude"),
            LocationBase::XdgConfig => set_or_below_home(&context.xdg_config_home, home, ".config"),
            LocationBase::OpenClaw => set_or_below_home(&context.openclaw_state, home, ".openclaw"),
            LocationBase::Copilot => context.copilot_directories.clone(),
            LocationBase::FileSystemRoot => vec![PathBuf::from("/")],
            // Roots of plugins are complete; `ClientProfile::roots` adds them.
            LocationBase::Plugins => Vec::new(),
        }
    }
}

/// Returns the directories of the project, from its root down.
fn projects(context: &ProfileContext) -> impl DoubleEndedIterator<Item = &PathBuf> {
    // The home directory may be a project, for example if dotfiles are under version control. Its
    // skills are those of the user, and must not become untrusted skills of a project.
    context
        .project_directories
        .iter()
        .filter(|directory| context.home.as_ref() != Some(directory))
}

/// Returns the value of a variable, or else the default directory in the home directory.
fn set_or_below_home(
    variable: &Option<PathBuf>,
    home: Option<&Path>,
    default: &str,
) -> Vec<PathBuf> {
    let below_home = || home.map(|home| home.join(default));
    variable.clone().or_else(below_home).into_iter().collect()
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

const fn downward_location(path: &'static str) -> Location {
    location(LocationBase::ProjectDownwards, path, Scope::Repo)
}

const fn working_location(path: &'static str) -> Location {
    location(LocationBase::Working, path, Scope::Repo)
}

const fn admin_location(path: &'static str) -> Location {
    location(LocationBase::FileSystemRoot, path, Scope::Admin)
}

const PLUGINS: Location = location(LocationBase::Plugins, "", Scope::User);

/// Returns the locations of a client, in the order in which it scans them.
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

// The order matters where a client lets the first or the last root win. Codex keeps all skills, so
// there it only decides which root a directory belongs to.
const CODEX: &[Location] = &[
    project_location(".codex/skills"),
    location(LocationBase::Codex, "skills", Scope::User),
    home_location(".agents/skills"),
    location(LocationBase::Codex, "skills/.system", Scope::System),
    admin_location("etc/codex/skills"),
    PLUGINS,
    downward_location(".agents/skills"),
];

const CLAUDE: &[Location] = &[
    admin_location("etc/claude-code/.claude/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    location(LocationBase::Claude, "skills/synced", Scope::User),
    project_location(".claude/skills"),
    PLUGINS,
];

const OPENCLAW: &[Location] = &[
    working_location("skills"),
    working_location(".agents/skills"),
    home_location(".agents/skills"),
    location(LocationBase::OpenClaw, "skills", Scope::User),
    home_location(".clawdbot/skills"),
    home_location(".moltbot/skills"),
    PLUGINS,
];

const GEMINI: &[Location] = &[
    working_location(".agents/skills"),
    working_location(".gemini/skills"),
    home_location(".agents/skills"),
    home_location(".gemini/skills"),
    PLUGINS,
];

const COPILOT: &[Location] = &[
    working_location(".github/skills"),
    working_location(".agents/skills"),
    working_location(".claude/skills"),
    project_location(".github/skills"),
    home_location(".copilot/skills"),
    home_location(".agents/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    PLUGINS,
    location(LocationBase::Copilot, "", Scope::User),
];

const GOOSE: &[Location] = &[
    working_location(".agents/skills"),
    working_location(".goose/skills"),
    working_location(".claude/skills"),
    home_location(".agents/skills"),
    config_location("goose/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    config_location("agents/skills"),
    PLUGINS,
];

const OPENCODE: &[Location] = &[
    config_location("opencode/skills"),
    location(LocationBase::Claude, "skills", Scope::User),
    home_location(".agents/skills"),
    downward_location(".opencode/skills"),
    downward_location(".claude/skills"),
    downward_location(".agents/skills"),
];

// Directories that clients share come first, then those of single clients. The project goes
// before the user, since it is the more specific choice; its trust is checked separately.
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
    working_location(".openclaw/skills"),
    working_location(".factory/skills"),
    working_location(".windsurf/skills"),
    working_location(".hermes/skills"),
    working_location(".pi/skills"),
    working_location(".cortex/skills"),
    working_location(".roo/skills"),
    working_location(".kilo/skills"),
    working_location(".kiro/skills"),
    working_location(".junie/skills"),
    working_location(".continue/skills"),
    working_location(".augment/skills"),
    working_location(".qwen/skills"),
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
    PLUGINS,
    location(LocationBase::Codex, "skills/.system", Scope::System),
    admin_location("etc/codex/skills"),
    admin_location("etc/claude-code/.claude/skills"),
];

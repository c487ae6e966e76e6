//! Where each client keeps skills, and what it makes of equal names: the differences as data.

mod locations;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{
    DirSymlinks, Discovery, Namespace, NestedSkills, Precedence, Root, Scope, SearchDepth, Trust,
};
use locations::{Location, LocationBase};

/// A client whose places for skills are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientProfile {
    /// All known places of all clients: the project's before the user's, `.agents/skills` first.
    Universal,
    /// Codex: no name hides another, skills below skills are found, plugins give names a namespace.
    Codex,
    /// Claude Code: the administrator's skills win over the user's, those over the project's; one
    /// level deep.
    Claude,
    /// OpenClaw: symlinks must stay below their root.
    OpenClaw,
    /// Gemini CLI: one level deep.
    Gemini,
    /// Copilot in its command line and in VS Code.
    Copilot,
    /// Goose.
    Goose,
    /// OpenCode: what is found last wins.
    OpenCode,
}

/// What a profile needs to know of the machine. Whoever reads the environment fills it in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileContext {
    /// The directories from the project's root down to the working directory; see
    /// [`project_directories`].
    pub project_directories: Vec<PathBuf>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `CODEX_HOME`, where it is set.
    pub codex_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, where it is set.
    pub claude_config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, where it is set.
    pub xdg_config_home: Option<PathBuf>,
    /// `OPENCLAW_STATE_DIR`, where it is set.
    pub openclaw_state: Option<PathBuf>,
    /// `COPILOT_SKILLS_DIRS`.
    pub copilot_directories: Vec<PathBuf>,
    /// Roots that plugins bring.
    pub plugins: Vec<Root>,
    /// Whether the user has agreed to the project's skills. Default: not.
    pub project_trust: Trust,
}

impl ClientProfile {
    /// All profiles, the default first.
    pub const ALL: [Self; 8] = [
        Self::Universal,
        Self::Codex,
        Self::Claude,
        Self::OpenClaw,
        Self::Gemini,
        Self::Copilot,
        Self::Goose,
        Self::OpenCode,
    ];

    /// Returns the profile's name as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Universal => "universal",
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::OpenClaw => "openclaw",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
        }
    }

    /// Finds a profile by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }

    /// Lists the roots in the order in which they are searched; each path once.
    #[must_use]
    pub fn roots(self, surroundings: &ProfileContext) -> Vec<Root> {
        let mut roots: Vec<Root> = Vec::new();
        for location in locations::for_profile(self) {
            let found = match location.base {
                LocationBase::Plugins => surroundings.plugins.clone(),
                _ => location
                    .base_directories(surroundings)
                    .into_iter()
                    .map(|base| self.build_root(location, &base, surroundings))
                    .collect(),
            };
            for root in found {
                if roots.iter().all(|known| known.path() != root.path()) {
                    roots.push(root);
                }
            }
        }
        roots
    }

    /// Looks as the client does.
    pub fn discovery(self, surroundings: &ProfileContext) -> Discovery {
        let discovery = Discovery::new(self.roots(surroundings)).precedence(self.precedence());
        if self == Self::Codex {
            discovery.product("codex")
        } else {
            discovery
        }
    }

    fn precedence(self) -> Precedence {
        match self {
            Self::Codex => Precedence::KeepAll,
            Self::OpenCode => Precedence::LastRoot,
            _ => Precedence::FirstRoot,
        }
    }

    fn build_root(self, location: &Location, base: &Path, surroundings: &ProfileContext) -> Root {
        let path = if location.path.is_empty() {
            base.to_owned()
        } else {
            base.join(location.path)
        };
        let root = Root::new(path, location.scope);
        let root = if location.scope == Scope::Repo {
            root.trust(surroundings.project_trust)
        } else {
            root
        };
        self.configure_root(root)
    }

    /// Gives a root the client's way of reading: depth, nested skills, symlinks, namespaces.
    #[must_use]
    pub fn configure_root(self, root: Root) -> Root {
        match self {
            Self::Codex => root
                .nested(NestedSkills::Search)
                .namespace(Namespace::FromManifests),
            Self::Claude => root.depth(SearchDepth::Children),
            Self::Gemini => root.depth(SearchDepth::OneLevel),
            Self::OpenClaw => root.dir_symlinks(DirSymlinks::WithinRoot),
            _ => root,
        }
    }
}

impl fmt::Display for ClientProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Lists the directories from the root of the project down to `directory`.
///
/// The root is the nearest directory at or above `directory` that holds one of `markers`, as a file
/// or a directory; where there is none, or no marker, `directory` stands alone. When `directory` is
/// a file, its parent is meant.
#[must_use]
pub fn project_directories(directory: &Path, markers: &[&str]) -> Vec<PathBuf> {
    let start = if directory.is_file() {
        directory.parent().unwrap_or(directory)
    } else {
        directory
    };
    let holds = |directory: &Path| {
        markers
            .iter()
            .any(|marker| directory.join(marker).symlink_metadata().is_ok())
    };
    let Some(root) = start.ancestors().find(|directory| holds(directory)) else {
        return vec![start.to_owned()];
    };
    let mut directories: Vec<PathBuf> = start
        .ancestors()
        .take_while(|directory| directory.starts_with(root))
        .map(Path::to_owned)
        .collect();
    directories.reverse();
    directories
}

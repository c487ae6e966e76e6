//! Client profiles: where each client keeps skills, and how it reads them, as data.

mod locations;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use skills_clients::{Root as ClientRoot, RootBase};

use crate::{
    DelimiterRule, DirSymlinks, Discovery, HiddenDirectories, MissingDescription, NameRule,
    Namespace, NestedSkills, Precedence, ReadingRules, Root, Scope, SearchDepth, SkillFileSymlinks,
    Trust,
};

/// The roots and parsing rules of one client.
///
/// A profile reproduces which directories the client scans, in which order, how deep, and which of
/// several skills with the same name it uses. The paths are from the documentation and sources of
/// the clients. A profile reads no environment variable: see [`ProfileContext`].
///
/// ```
/// use std::path::Path;
///
/// use skills_discovery::{ClientProfile, ProfileContext, Scope};
///
/// let mut context = ProfileContext::default();
/// context.home = Some("/home/me".into());
/// let roots = ClientProfile::Claude.roots(&context);
/// let user = roots.iter().find(|root| root.scope() == Scope::User).unwrap();
/// assert_eq!(user.path(), Path::new("/home/me/.claude/skills"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientProfile {
    /// The directories of all known clients: those of the project before those of the user, and
    /// `.agents/skills` first. The first root wins.
    Universal,
    /// Codex: all skills of the same name are kept, nested skills are found, and plugins give names
    /// a namespace; names over 64 characters and delimiters other than `---` are rejected.
    Codex,
    /// Claude Code: one level deep; name and description are optional; skills of the administrator
    /// hide those of the user, and these hide those of the project.
    Claude,
    /// OpenClaw: symlinks must stay inside their root.
    OpenClaw,
    /// Gemini CLI: one level deep; a `SKILL.md` may be a symlink inside its root; a name is required,
    /// and some characters in it become hyphens.
    Gemini,
    /// Copilot on the command line and in VS Code: skills have the names of their directories.
    Copilot,
    /// Goose: any depth, also below skills and in hidden directories; a name is required, and a
    /// missing description is empty.
    Goose,
    /// OpenCode: the last root wins.
    OpenCode,
}

/// The directories that the roots of a profile depend on.
///
/// This crate reads neither the environment nor the home directory; the caller does, and fills in
/// what it found. All fields are empty by default, and roots that depend on an empty field are left
/// out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileContext {
    /// The directories from the root of the project down to the working directory, as from
    /// [`project_directories`].
    pub project_directories: Vec<PathBuf>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `CODEX_HOME`, if set. Default: `.codex` in the home directory.
    pub codex_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, if set. Default: `.claude` in the home directory.
    pub claude_config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, if set. Default: `.config` in the home directory.
    pub xdg_config_home: Option<PathBuf>,
    /// `OPENCLAW_STATE_DIR`, if set. Default: `.openclaw` in the home directory.
    pub openclaw_state: Option<PathBuf>,
    /// The directories in `COPILOT_SKILLS_DIRS`.
    pub copilot_directories: Vec<PathBuf>,
    /// The roots of installed plugins.
    pub plugins: Vec<Root>,
    /// Whether the user trusts the skills of the project. Default: untrusted.
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

    /// Returns the name of the profile as one lowercase word, as in `--profile`.
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

    /// Returns the profile with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }

    /// Returns the roots in the order in which the client scans them, without duplicate paths.
    /// Roots of the project have the trust of [`ProfileContext::project_trust`].
    #[must_use]
    pub fn roots(self, context: &ProfileContext) -> Vec<Root> {
        let mut roots: Vec<Root> = Vec::new();
        let mut paths = HashSet::new();
        for location in &locations::for_profile(self) {
            let found = match location.base {
                RootBase::Plugins => context.plugins.clone(),
                _ => locations::base_directories(location, context)
                    .into_iter()
                    .map(|base| self.build_root(location, &base, context))
                    .collect(),
            };
            for root in found {
                // Some clients share directories, and a variable may name a default directory.
                if paths.insert(root.path().to_owned()) {
                    roots.push(root);
                }
            }
        }
        roots
    }

    /// Returns the configuration for a scan like that of the client: its roots, its precedence and
    /// its product name.
    pub fn discovery(self, context: &ProfileContext) -> Discovery {
        let discovery = Discovery::new(self.roots(context)).precedence(self.precedence());
        // `policy.products` is a feature of Codex; other clients ignore it.
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

    fn build_root(self, location: &ClientRoot, base: &Path, context: &ProfileContext) -> Root {
        let path = if location.path.is_empty() {
            base.to_owned()
        } else {
            base.join(location.path)
        };
        let scope = locations::scope(location);
        let root = Root::new(path, scope);
        // Only files of the project may be by strangers. All other directories belong to the user,
        // the host application or the administrator.
        let root = if scope == Scope::Repo {
            root.trust(context.project_trust)
        } else {
            root
        };
        self.configure_root(root)
    }

    /// Returns how the client reads a `SKILL.md`.
    #[must_use]
    pub fn reading_rules(self) -> ReadingRules {
        let mut rules = ReadingRules::default();
        match self {
            Self::Claude => rules.missing_description = MissingDescription::FromBody,
            Self::Codex => {
                rules.name = NameRule::Short;
                rules.delimiters = DelimiterRule::Dashes;
            }
            Self::Copilot => rules.name = NameRule::Directory,
            Self::Gemini => rules.name = NameRule::Portable,
            Self::Goose => {
                rules.missing_description = MissingDescription::Empty;
                rules.name = NameRule::Required;
            }
            Self::Universal | Self::OpenClaw | Self::OpenCode => {}
        }
        rules
    }

    /// Sets the options of a root as the client reads its own: depth, nested skills, symlinks,
    /// namespaces and the rules for skill files.
    #[must_use]
    pub fn configure_root(self, root: Root) -> Root {
        let root = root.reading(self.reading_rules());
        match self {
            Self::Codex => root
                .nested(NestedSkills::Search)
                .namespace(Namespace::FromManifests),
            Self::Claude => root.depth(SearchDepth::Children),
            Self::Gemini => root
                .depth(SearchDepth::OneLevel)
                .skill_file_symlinks(SkillFileSymlinks::WithinRoot),
            Self::Goose => root
                .depth(SearchDepth::Unlimited)
                .nested(NestedSkills::Search)
                .hidden(HiddenDirectories::Search),
            Self::OpenClaw => root.dir_symlinks(DirSymlinks::WithinRoot),
            Self::Universal | Self::Copilot | Self::OpenCode => root,
        }
    }
}

impl fmt::Display for ClientProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the directories from the root of the project down to `directory`, both included.
///
/// The root is the nearest directory at or above `directory` with an entry of one of the names
/// `markers`, of any type. If there is none, the result is `directory` only. If `directory` is a
/// file, its parent is used.
///
/// ```
/// use skills_discovery::project_directories;
///
/// # let directory = tempfile::tempdir()?;
/// let root = directory.path().join("project");
/// std::fs::create_dir_all(root.join(".git"))?;
/// std::fs::create_dir_all(root.join("src"))?;
/// let directories = project_directories(&root.join("src"), &[".git"]);
/// assert_eq!(directories, [root.clone(), root.join("src")]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn project_directories(directory: &Path, markers: &[&str]) -> Vec<PathBuf> {
    let start = if directory.is_file() {
        directory.parent().unwrap_or(directory)
    } else {
        directory
    };
    let Some(root) = start
        .ancestors()
        .find(|directory| has_marker(directory, markers))
    else {
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

fn has_marker(directory: &Path, markers: &[&str]) -> bool {
    // In a worktree or submodule `.git` is a file, and it may be a symlink.
    markers
        .iter()
        .any(|marker| directory.join(marker).symlink_metadata().is_ok())
}

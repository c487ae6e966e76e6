//! Where to look.

use std::fmt;
use std::path::{Path, PathBuf};

/// A directory to look for skills in, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    scope: Scope,
    dir_symlinks: DirSymlinks,
    skill_file_symlinks: SkillFileSymlinks,
    depth: SearchDepth,
    nested: NestedSkills,
    trust: Trust,
    namespace: Namespace,
}

impl Root {
    /// Names a directory; it need not exist.
    ///
    /// Defaults: directory symlinks are followed, except in [`Scope::System`], where they are
    /// ignored; a `SKILL.md` that is a symlink must stay inside its skill; the root is searched to
    /// the depth of the limits and not below a skill; it is trusted and has no namespace.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, scope: Scope) -> Self {
        Self {
            path: path.into(),
            scope,
            dir_symlinks: if scope == Scope::System {
                DirSymlinks::Ignore
            } else {
                DirSymlinks::Follow
            },
            skill_file_symlinks: SkillFileSymlinks::WithinSkill,
            depth: SearchDepth::Limited,
            nested: NestedSkills::Skip,
            trust: Trust::Trusted,
            namespace: Namespace::None,
        }
    }

    /// Chooses what to do with symlinks to directories.
    #[must_use]
    pub fn dir_symlinks(mut self, symlinks: DirSymlinks) -> Self {
        self.dir_symlinks = symlinks;
        self
    }

    /// Chooses what to do with a `SKILL.md` that is a symlink.
    #[must_use]
    pub fn skill_file_symlinks(mut self, file_links: SkillFileSymlinks) -> Self {
        self.skill_file_symlinks = file_links;
        self
    }

    /// Chooses how deep to look.
    #[must_use]
    pub fn depth(mut self, depth: SearchDepth) -> Self {
        self.depth = depth;
        self
    }

    /// Chooses whether to look below skills.
    #[must_use]
    pub fn nested(mut self, nested: NestedSkills) -> Self {
        self.nested = nested;
        self
    }

    /// Says whether the root is trusted.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Chooses the namespace of the skills' names.
    #[must_use]
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = namespace;
        self
    }

    /// Returns the directory as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns who the root belongs to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Says whether the root is trusted.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }

    pub(crate) fn symlink_policy(&self) -> DirSymlinks {
        self.dir_symlinks
    }

    pub(crate) fn follows_skill_file_symlinks(&self) -> bool {
        self.skill_file_symlinks == SkillFileSymlinks::Follow
    }

    pub(crate) fn searches_nested(&self) -> bool {
        self.nested == NestedSkills::Search
    }

    pub(crate) fn is_children_only(&self) -> bool {
        self.depth == SearchDepth::Children
    }

    /// How deep skills may lie, when that is less than the limits say.
    pub(crate) fn max_depth(&self) -> Option<usize> {
        (self.depth != SearchDepth::Limited).then_some(1)
    }

    pub(crate) fn namespace_policy(&self) -> &Namespace {
        &self.namespace
    }
}

/// Who a root belongs to. The order is the order of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Named by the caller.
    Custom,
    /// The project.
    Repo,
    /// The user.
    User,
    /// Shipped with the host.
    System,
    /// The machine's administrator.
    Admin,
}

impl Scope {
    /// All scopes in their order.
    pub const ALL: [Self; 5] = [
        Self::Custom,
        Self::Repo,
        Self::User,
        Self::System,
        Self::Admin,
    ];

    /// Returns the scope as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Custom => "custom",
            Self::Repo => "repo",
            Self::User => "user",
            Self::System => "system",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What to do with a symlink to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirSymlinks {
    /// Enter it wherever it leads. Installers link skills from one client's directory into
    /// another's.
    Follow,
    /// Enter it only when it stays below the root.
    WithinRoot,
    /// Never enter it.
    Ignore,
}

/// What to do with a `SKILL.md` that is a symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillFileSymlinks {
    /// Read it when it stays inside its skill.
    WithinSkill,
    /// Read the regular file it leads to, wherever that is: managers of dotfiles link single files.
    /// All other files of the skill stay behind the handle of its directory.
    Follow,
}

/// How deep to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchDepth {
    /// To the depth of the [`ScanLimits`](crate::ScanLimits).
    Limited,
    /// At the root and the directories in it.
    OneLevel,
    /// Only at the directories in the root; the root itself is no skill either.
    Children,
}

/// What to do with directories below a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NestedSkills {
    /// Do not look: a `SKILL.md` there is an example or a template far more often than a skill.
    Skip,
    /// Look for skills there too, as Codex does.
    Search,
}

/// Whether the user has agreed to what a root holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// Its skills are used.
    Trusted,
    /// Its skills are found and listed as blocked; no model hears of them and none of their
    /// programs runs.
    #[default]
    Untrusted,
}

/// What stands before the names of a root's skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Namespace {
    /// Nothing.
    None,
    /// The plugin's name and a colon: the root belongs to a plugin.
    Plugin {
        /// The plugin's name.
        name: String,
        /// The plugin's directory.
        directory: PathBuf,
    },
    /// The name of the nearest plugin at or above the skill, where there is one:
    /// `.codex-plugin/plugin.json`, else `.claude-plugin/plugin.json`.
    FromManifests,
}

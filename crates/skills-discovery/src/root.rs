//! Roots: the directories that are scanned, and how each is read.

use std::fmt;
use std::path::{Path, PathBuf};

use skills_manifest::ReadingRules;

use crate::ScanLimits;

/// A directory that is scanned for skills, and the options for reading it.
///
/// A root is a value: it opens nothing and need not exist. The options say what the scan may follow
/// (symlinks, nested skills, depth), whether the user trusts the skills, and which namespace their
/// names get.
///
/// ```
/// use skills_discovery::{DirSymlinks, Root, Scope, Trust};
///
/// let root = Root::new("/srv/project/.agents/skills", Scope::Repo)
///     .dir_symlinks(DirSymlinks::WithinRoot)
///     .trust(Trust::Untrusted);
/// assert_eq!(root.scope().as_str(), "repo");
/// assert!(!root.is_trusted());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    scope: Scope,
    pub(crate) dir_symlinks: DirSymlinks,
    pub(crate) skill_file_symlinks: SkillFileSymlinks,
    pub(crate) depth: SearchDepth,
    nested: NestedSkills,
    pub(crate) hidden: HiddenDirectories,
    pub(crate) reading: ReadingRules,
    limits: Option<ScanLimits>,
    trust: Trust,
    pub(crate) namespace: Namespace,
}

impl Root {
    /// Creates a root with the default options. The directory need not exist.
    ///
    /// Defaults: symlinks to directories are followed, except in [`Scope::System`], where they are
    /// ignored; a `SKILL.md` that is a symlink must stay inside its skill; the root is searched to
    /// the depth of the limits, and neither below a skill nor in hidden directories; a skill needs
    /// a description; the limits are those of the scan; it is trusted and has no namespace.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, scope: Scope) -> Self {
        Self {
            path: path.into(),
            scope,
            // As in Codex: the host application installs these skills as plain directories.
            dir_symlinks: if scope == Scope::System {
                DirSymlinks::Ignore
            } else {
                DirSymlinks::Follow
            },
            skill_file_symlinks: SkillFileSymlinks::WithinSkill,
            depth: SearchDepth::Limited,
            nested: NestedSkills::Skip,
            hidden: HiddenDirectories::Skip,
            reading: ReadingRules::default(),
            limits: None,
            trust: Trust::Trusted,
            namespace: Namespace::None,
        }
    }

    /// Sets whether symlinks to directories are followed.
    #[must_use]
    pub fn dir_symlinks(mut self, symlinks: DirSymlinks) -> Self {
        self.dir_symlinks = symlinks;
        self
    }

    /// Sets whether a `SKILL.md` may be a symlink out of its skill.
    #[must_use]
    pub fn skill_file_symlinks(mut self, symlinks: SkillFileSymlinks) -> Self {
        self.skill_file_symlinks = symlinks;
        self
    }

    /// Sets how deep the root is searched.
    #[must_use]
    pub fn depth(mut self, depth: SearchDepth) -> Self {
        self.depth = depth;
        self
    }

    /// Sets whether directories below a skill are searched.
    #[must_use]
    pub fn nested(mut self, nested: NestedSkills) -> Self {
        self.nested = nested;
        self
    }

    /// Sets whether directories whose names start with a dot are searched.
    #[must_use]
    pub fn hidden(mut self, hidden: HiddenDirectories) -> Self {
        self.hidden = hidden;
        self
    }

    /// Sets how a `SKILL.md` is read where clients differ.
    #[must_use]
    pub fn reading(mut self, rules: ReadingRules) -> Self {
        self.reading = rules;
        self
    }

    /// Sets limits for this root, in place of those of the scan.
    #[must_use]
    pub fn limits(mut self, limits: ScanLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Sets whether the user trusts the skills of the root.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the namespace of the names of the skills.
    #[must_use]
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = namespace;
        self
    }

    /// Returns the path of the directory as it was passed to [`new`](Self::new).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the scope of the root.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns true if the user trusts the skills of the root.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }

    /// Returns the limits of the root, or else those of the scan.
    pub(crate) fn limits_or<'a>(&'a self, limits: &'a ScanLimits) -> &'a ScanLimits {
        self.limits.as_ref().unwrap_or(limits)
    }

    pub(crate) fn searches_nested(&self) -> bool {
        self.nested == NestedSkills::Search
    }

    /// Returns the maximum depth of a skill within the limits of the scan.
    pub(crate) fn max_depth(&self, limits: &ScanLimits) -> usize {
        match self.depth {
            SearchDepth::Limited => limits.max_depth,
            SearchDepth::OneLevel | SearchDepth::Children => limits.max_depth.min(1),
            SearchDepth::Unlimited => usize::MAX,
        }
    }
}

/// The owner of a root and of its skills.
///
/// The order of the variants is the order of the entries of a catalog, not an order of precedence:
/// precedence follows the order of the roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// A directory that the caller selected, such as with `--root`.
    Custom,
    /// The project; its author may be a stranger to the user.
    Repo,
    /// The user.
    User,
    /// The host application ships it.
    System,
    /// The administrator of the machine.
    Admin,
}

impl Scope {
    /// All scopes, in order.
    pub const ALL: [Self; 5] = [
        Self::Custom,
        Self::Repo,
        Self::User,
        Self::System,
        Self::Admin,
    ];

    /// Returns the scope as one lowercase word, as in JSON output.
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

/// How a scan treats a symlink to a directory.
///
/// However often and wherever symlinks lead, each directory is visited at most once, so that cycles
/// end. Symlinks to `/` and to directories in it are never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirSymlinks {
    /// Follow it wherever it leads: installers link skills from the directory of one client into
    /// that of another.
    Follow,
    /// Follow it only if its target is below the root.
    WithinRoot,
    /// Do not follow it.
    Ignore,
}

/// How a scan treats a `SKILL.md` that is a symlink.
///
/// A target that is not allowed is reported as skipped, with the code `outside-skill`. A symlink
/// that is followed out of the skill has a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillFileSymlinks {
    /// Read it if its target is inside the skill directory: otherwise any file of the user could
    /// become instructions for a model.
    WithinSkill,
    /// Read the regular file that it leads to, wherever that is: dotfile managers link single
    /// files. All other files of the skill must still be inside its directory.
    Follow,
    /// Read it if its target is below the root: collections link one file from several skills
    /// (Gemini).
    WithinRoot,
}

/// How deep a root is searched.
///
/// A symlinked directory has the depth of its symlink, and deeper directories are reported as
/// skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SearchDepth {
    /// To the depth of the [`ScanLimits`](crate::ScanLimits).
    Limited,
    /// The root and the directories directly in it.
    OneLevel,
    /// Only the directories directly in the root; the root itself is not a skill.
    Children,
    /// To any depth; only the other limits of the scan apply.
    Unlimited,
}

/// How a scan treats the directories below a skill.
///
/// This is about skill directories other than the root: a root that is a skill itself is always
/// searched. With [`Search`](Self::Search) the directory of every skill is listed, which costs
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NestedSkills {
    /// Do not search them: a `SKILL.md` there is more often an example or a template than a skill.
    Skip,
    /// Search them for further skills, as Codex does.
    Search,
}

/// Whether directories whose names start with a dot are searched.
///
/// Version control and virtual environments (`.git`, `.hg`, `.svn`, `.jj`, `.venv`, `.tox`) are
/// never searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HiddenDirectories {
    /// Do not search them: clients keep caches and bundled skills there.
    Skip,
    /// Search them, for collections with skills in `.curated` or `.claude/skills`. Within one root,
    /// a hidden skill does not shadow a visible one of the same name.
    Search,
}

/// Whether the user trusts the skills of a root.
///
/// The default is untrusted, since a cloned repository must not address a model before the user has
/// agreed; [`Root::new`] sets trusted, since its caller has chosen the directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// The skills are active.
    Trusted,
    /// The skills are found but inactive: not listed to a model, and none of their programs runs.
    #[default]
    Untrusted,
}

/// The prefix of the names of the skills of a root, separated by a colon (`plugin:skill`).
///
/// Rules and lookups use the name with its prefix. A name that is longer than 128 characters with
/// its prefix is not valid, and the skill is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Namespace {
    /// No prefix.
    None,
    /// The name of the plugin that the root belongs to.
    Plugin {
        /// The name of the plugin.
        name: String,
        /// The directory of the plugin; paths in `agents/openai.yaml` may refer to it.
        directory: PathBuf,
    },
    /// The name of the nearest plugin at or above the skill, if there is one. A plugin is a
    /// directory with `.codex-plugin/plugin.json`, or else `.claude-plugin/plugin.json`.
    FromManifests,
}

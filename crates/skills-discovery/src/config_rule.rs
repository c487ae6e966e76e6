//! Rules of the configuration that enable and disable skills.

use std::fmt;
use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use crate::{Entry, Scope};

/// A rule that enables or disables the skills that its selector matches.
///
/// Of several rules that match a skill, the last one decides; a skill that no rule matches is
/// enabled. A rule cannot enable a skill of an untrusted root. Pass rules to
/// [`Discovery::rules`](crate::Discovery::rules).
///
/// ```
/// use skills_discovery::{ConfigRule, Discovery, Lookup, Root, Scope, Selector};
///
/// # let directory = tempfile::tempdir()?;
/// # for name in ["pdf", "docx"] {
/// #     std::fs::create_dir(directory.path().join(name))?;
/// #     let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n");
/// #     std::fs::write(directory.path().join(name).join("SKILL.md"), text)?;
/// # }
/// let rules = [
///     ConfigRule::disable(Selector::Pattern("*".to_owned()), "config.toml"),
///     ConfigRule::enable(Selector::Name("pdf".to_owned()), "--enable"),
/// ];
/// let catalog = Discovery::new([Root::new(directory.path(), Scope::User)]).rules(rules).scan();
/// assert!(matches!(catalog.find("pdf"), Lookup::Found(_)));
/// let Lookup::Inactive(docx) = catalog.find("docx") else { panic!("docx is enabled") };
/// assert_eq!(docx.reason().to_string(), "disabled by rule `disable pattern * (config.toml)`");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRule {
    selector: Selector,
    action: RuleAction,
    source: String,
}

/// The skills that a rule applies to.
///
/// A selector compares names and paths exactly, including case; only [`Pattern`](Self::Pattern) has
/// wildcards. It can be used without a rule, to filter the entries of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector {
    /// The skill with this directory or `SKILL.md`. [`ConfigRule::with_resolved_path`] resolves
    /// symlinks on the path; a scan does this for its rules.
    Path(PathBuf),
    /// All skills of exactly this name, including its namespace (`plugin:skill`).
    Name(String),
    /// All skills whose name, including its namespace, matches a pattern: `*` matches any number
    /// of characters, `?` exactly one.
    Pattern(String),
    /// All skills of a scope.
    Scope(Scope),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleAction {
    Enable,
    Disable,
}

impl ConfigRule {
    /// Creates a rule that enables skills. `source` names where the rule comes from, such as a file
    /// or an option of the command line; explanations show it.
    #[must_use]
    pub fn enable(selector: Selector, source: impl Into<String>) -> Self {
        Self {
            selector,
            action: RuleAction::Enable,
            source: source.into(),
        }
    }

    /// Creates a rule that disables skills; `source` is as in [`enable`](Self::enable).
    #[must_use]
    pub fn disable(selector: Selector, source: impl Into<String>) -> Self {
        Self {
            selector,
            action: RuleAction::Disable,
            source: source.into(),
        }
    }

    /// Returns true if the rule disables skills.
    #[must_use]
    pub fn disables(&self) -> bool {
        self.action == RuleAction::Disable
    }

    /// Resolves the symlinks of the path of the rule, if it has one. The paths of entries are
    /// canonical, so that the rule matches the skill through whichever symlink it was written. A
    /// path that does not exist stays as it is.
    #[must_use]
    pub fn with_resolved_path(mut self) -> Self {
        if let Selector::Path(path) = &mut self.selector
            && let Some(canonical) = canonical_skill_path(path)
        {
            *path = canonical;
        }
        self
    }

    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        self.selector.matches(entry)
    }
}

impl Selector {
    /// Returns true if the selector matches a skill.
    #[must_use]
    pub fn matches(&self, entry: &Entry) -> bool {
        match self {
            Self::Path(path) => entry.is_located_at(path),
            Self::Name(name) => entry.name().as_str() == name,
            Self::Pattern(pattern) => WildMatch::new(pattern).matches(entry.name().as_str()),
            Self::Scope(scope) => entry.scope() == *scope,
        }
    }
}

/// Resolves the symlinks on the path of a skill directory or skill file. Returns `None` if there is
/// no such file or directory.
///
/// If the last component is a symlink to a file, it stays: a skill is identified by its directory,
/// not by the file that its `SKILL.md` links to.
#[must_use]
pub fn canonical_skill_path(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return path.canonicalize().ok();
    }
    // `Path::parent` of a bare file name is the empty path, which cannot be resolved.
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    path.symlink_metadata().ok()?;
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

impl fmt::Display for ConfigRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.disables() {
            "disable "
        } else {
            "enable "
        })?;
        match &self.selector {
            Selector::Path(path) => write!(f, "path {}", path.display())?,
            Selector::Name(name) => write!(f, "name {name}")?,
            Selector::Pattern(pattern) => write!(f, "pattern {pattern}")?,
            Selector::Scope(scope) => write!(f, "scope {scope}")?,
        }
        // The source shows the user which file or option to change.
        write!(f, " ({})", self.source)
    }
}

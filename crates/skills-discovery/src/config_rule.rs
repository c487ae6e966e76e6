//! Rules that enable and disable skills.

use std::fmt;
use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use crate::{Entry, Scope};

/// A rule that enables or disables skills. Of several that fit, the last one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRule {
    selector: Selector,
    action: RuleAction,
    source: String,
}

/// Which skills a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector {
    /// The skill with this directory or `SKILL.md`; symlinks on the path are resolved.
    Path(PathBuf),
    /// All skills of exactly this name, its namespace included.
    Name(String),
    /// All skills whose name fits a pattern, in which `*` stands for anything and `?` for one
    /// character.
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
    /// Makes a rule that enables; `source` says where it stands, as explanations show it.
    #[must_use]
    pub fn enable(selector: Selector, source: impl Into<String>) -> Self {
        Self {
            selector,
            action: RuleAction::Enable,
            source: source.into(),
        }
    }

    /// Makes a rule that disables.
    #[must_use]
    pub fn disable(selector: Selector, source: impl Into<String>) -> Self {
        Self {
            selector,
            action: RuleAction::Disable,
            source: source.into(),
        }
    }

    /// Says whether the rule disables.
    #[must_use]
    pub fn disables(&self) -> bool {
        self.action == RuleAction::Disable
    }

    /// Returns where the rule stands.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns which skills it is about.
    #[must_use]
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Resolves the symlinks of its path once, before it is compared with canonical ones.
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
    /// Says whether a skill is meant.
    #[must_use]
    pub fn matches(&self, entry: &Entry) -> bool {
        match self {
            Self::Path(path) => path_matches_entry(path, entry),
            Self::Name(name) => entry.name().as_str() == name,
            Self::Pattern(pattern) => WildMatch::new(pattern).matches(entry.name().as_str()),
            Self::Scope(scope) => entry.scope() == *scope,
        }
    }
}

/// Resolves the symlinks on the way to a skill's directory or file; a file that is itself a symlink
/// keeps its name.
#[must_use]
pub fn canonical_skill_path(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return path.canonicalize().ok();
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    path.symlink_metadata().ok()?;
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

fn path_matches_entry(path: &Path, entry: &Entry) -> bool {
    path == entry.directory() || path == entry.location()
}

impl fmt::Display for ConfigRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.disables() {
            "disable "
        } else {
            "enable "
        })?;
        match &self.selector {
            Selector::Path(path) => write!(f, "{}", path.display())?,
            Selector::Name(name) => write!(f, "{name:?}")?,
            Selector::Pattern(pattern) => write!(f, "names like {pattern:?}")?,
            Selector::Scope(scope) => write!(f, "all of scope {scope}")?,
        }
        write!(f, " ({})", self.source)
    }
}

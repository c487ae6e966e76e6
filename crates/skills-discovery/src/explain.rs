//! Why a skill is seen, or not.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{
    Catalog, Discovery, Entry, InactiveEntry, InactiveReason, Lookup, SKILL_FILE, Scope,
    SkipReason, Skipped, canonical_skill_path,
};

/// Why a skill is seen, or not, step by step.
#[derive(Debug, Clone)]
pub struct Explanation {
    status: SkillStatus,
    steps: Vec<ExplanationStep>,
}

/// The answer in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillStatus {
    /// It is used, and the model is offered it.
    ModelInvocable,
    /// It is used when somebody names it; the model is not offered it.
    MentionOnly,
    /// Several skills have the name.
    Ambiguous,
    /// It was found and is not used.
    Inactive,
    /// It, or a directory that it lies in, was passed over.
    Skipped,
    /// No root leads to it, or there is no such skill.
    NotFound,
}

impl SkillStatus {
    /// Returns the verdict as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelInvocable => "offered",
            Self::MentionOnly => "only-by-name",
            Self::Ambiguous => "ambiguous",
            Self::Inactive => "inactive",
            Self::Skipped => "skipped",
            Self::NotFound => "unseen",
        }
    }
}

/// One step of an explanation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ExplanationStep {
    /// A skill was found in a root.
    Found {
        /// Its name.
        name: String,
        /// Its `SKILL.md`.
        path: PathBuf,
        /// The root.
        root: PathBuf,
        /// Who the root belongs to.
        scope: Scope,
    },
    /// Something of it is wrong, and it loads all the same.
    Warning(String),
    /// It is not used.
    Inactive(InactiveReason),
    /// The model is not offered it.
    NotModelInvocable(&'static str),
    /// The model is offered it.
    ModelInvocable,
    /// Something was passed over.
    Skipped {
        /// What.
        path: PathBuf,
        /// The stable code of the reason.
        code: &'static str,
        /// Why.
        reason: String,
    },
    /// A path lies below no root.
    OutsideRoots(PathBuf),
    /// A directory was searched and holds no `SKILL.md`.
    NoSkillFile(PathBuf),
    /// There is no such file or directory.
    PathNotFound(PathBuf),
    /// No skill has the name; these are nearest.
    NameNotFound(Vec<String>),
}

impl Explanation {
    /// Returns the answer in one word.
    #[must_use]
    pub fn status(&self) -> SkillStatus {
        self.status
    }

    /// Returns the steps that led to it.
    #[must_use]
    pub fn steps(&self) -> &[ExplanationStep] {
        &self.steps
    }
}

impl Discovery {
    /// Explains why `catalog`, which this found, shows a skill or not; `query` is a name, a
    /// directory or a `SKILL.md`.
    #[must_use]
    pub fn explain(&self, catalog: &Catalog, query: &str) -> Explanation {
        let path = Path::new(query);
        let canonical = canonical_skill_path(path);
        let looks_like_path =
            query.contains(['/', std::path::MAIN_SEPARATOR]) || canonical.is_some();
        let mut explanation = Explanation {
            status: SkillStatus::NotFound,
            steps: Vec::new(),
        };
        let is_it = |entry: &Entry| {
            entry.name().as_str() == query
                || canonical
                    .as_deref()
                    .is_some_and(|path| is_located_at(entry, path))
        };
        let entries: Vec<&Entry> = catalog
            .entries()
            .iter()
            .filter(|entry| is_it(entry))
            .collect();
        let inactive: Vec<&InactiveEntry> = catalog
            .inactive()
            .iter()
            .filter(|inactive| is_it(inactive.entry()))
            .collect();
        for entry in &entries {
            explanation.push_model_invocability(entry);
        }
        for inactive in &inactive {
            explanation.push_found(inactive.entry());
            explanation
                .steps
                .push(ExplanationStep::Inactive(inactive.reason().clone()));
        }
        match (entries.len(), inactive.len()) {
            (0, 0) => {}
            (0, _) => explanation.status = SkillStatus::Inactive,
            (1, _) => return explanation,
            (_, _) => explanation.status = SkillStatus::Ambiguous,
        }
        if entries.is_empty() {
            explanation.push_skipped(catalog, query, canonical.as_deref());
        }
        if explanation.steps.is_empty() {
            self.explain_not_found(
                &mut explanation,
                catalog,
                query,
                canonical.as_deref().filter(|_| looks_like_path),
                looks_like_path,
            );
        }
        explanation
    }

    /// Says why nothing at all is known of it.
    fn explain_not_found(
        &self,
        explanation: &mut Explanation,
        catalog: &Catalog,
        query: &str,
        path: Option<&Path>,
        looks_like_path: bool,
    ) {
        let step = match path {
            Some(path) => {
                let is_below = |root: &crate::Root| {
                    root.path()
                        .canonicalize()
                        .is_ok_and(|root| path.starts_with(root))
                };
                if !self.roots.iter().any(is_below) {
                    ExplanationStep::OutsideRoots(path.to_owned())
                } else if path.is_dir() && !path.join(SKILL_FILE).exists() {
                    ExplanationStep::NoSkillFile(path.to_owned())
                } else {
                    ExplanationStep::OutsideRoots(path.to_owned())
                }
            }
            None if looks_like_path => ExplanationStep::PathNotFound(PathBuf::from(query)),
            None => {
                let nearest = match catalog.find(query) {
                    Lookup::Unknown(nearest) => nearest.into_iter().map(str::to_owned).collect(),
                    _ => Vec::new(),
                };
                let missing = catalog
                    .skipped()
                    .iter()
                    .filter(|skipped| matches!(skipped.reason(), SkipReason::RootNotFound));
                explanation.steps.extend(missing.map(skipped_step));
                ExplanationStep::NameNotFound(nearest)
            }
        };
        explanation.steps.push(step);
    }
}

impl Explanation {
    fn push_found(&mut self, entry: &Entry) {
        self.steps.push(ExplanationStep::Found {
            name: entry.name().to_string(),
            path: entry.location(),
            root: entry.root().to_owned(),
            scope: entry.scope(),
        });
        self.steps.extend(
            entry
                .warnings()
                .iter()
                .map(|warning| ExplanationStep::Warning(warning.to_string())),
        );
    }

    fn push_model_invocability(&mut self, entry: &Entry) {
        self.push_found(entry);
        let reason = if !entry.manifest().unparsed_restrictions().is_empty() {
            Some("a restriction that it declares could not be read")
        } else if !entry.manifest().model_invocable() {
            Some("`disable-model-invocation` is set")
        } else if !entry.is_model_invocable() {
            Some("the policy of agents/openai.yaml forbids it or could not be read")
        } else {
            None
        };
        self.status = if reason.is_some() {
            SkillStatus::MentionOnly
        } else {
            SkillStatus::ModelInvocable
        };
        self.steps.push(reason.map_or(
            ExplanationStep::ModelInvocable,
            ExplanationStep::NotModelInvocable,
        ));
    }

    /// Adds what was passed over and is of the name, at the path or on the way to it.
    fn push_skipped(&mut self, catalog: &Catalog, query: &str, path: Option<&Path>) {
        let is_named = |part: Option<&Path>| {
            part.and_then(Path::file_name)
                .is_some_and(|name| name == query)
        };
        let concerns = |skipped: &&Skipped| {
            let at = skipped.path();
            let is_named =
                is_named(Some(at)) || (at.extension().is_some() && is_named(at.parent()));
            let leads_to =
                path.is_some_and(|path| path.starts_with(at) || at.parent() == Some(path));
            is_named || leads_to
        };
        let before = self.steps.len();
        self.steps
            .extend(catalog.skipped().iter().filter(concerns).map(skipped_step));
        if before == 0 && !self.steps.is_empty() {
            self.status = SkillStatus::Skipped;
        }
    }
}

fn skipped_step(skipped: &Skipped) -> ExplanationStep {
    let (path, reason) = (skipped.path().to_owned(), skipped.reason());
    ExplanationStep::Skipped {
        path,
        code: reason.code(),
        reason: reason.to_string(),
    }
}

fn is_located_at(entry: &Entry, path: &Path) -> bool {
    entry.directory() == path || entry.location() == path
}

impl ExplanationStep {
    /// Returns the stable code of the kind of step, or of the reason why something was passed over
    /// or is not used.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Found { .. } => "found",
            Self::Warning(_) => "warning",
            Self::Inactive(reason) => reason.code(),
            Self::NotModelInvocable(_) => "not-offered",
            Self::ModelInvocable => "offered",
            Self::Skipped { code, .. } => code,
            Self::OutsideRoots(_) => "below-no-root",
            Self::NoSkillFile(_) => "no-skill-file",
            Self::PathNotFound(_) => "no-such-path",
            Self::NameNotFound(_) => "no-such-name",
        }
    }

    /// Returns the path that the step is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Found { path, .. } | Self::Skipped { path, .. } => Some(path),
            Self::OutsideRoots(path) | Self::NoSkillFile(path) | Self::PathNotFound(path) => {
                Some(path)
            }
            _ => None,
        }
    }
}

impl fmt::Display for ExplanationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found {
                name,
                path,
                root,
                scope,
            } => {
                write!(
                    f,
                    "found {name:?} at {} in the {scope} root {}",
                    path.display(),
                    root.display()
                )
            }
            Self::Warning(warning) => write!(f, "warning: {warning}"),
            Self::Inactive(reason) => write!(f, "not used: {reason}"),
            Self::NotModelInvocable(reason) => write!(
                f,
                "used when it is named, not offered to the model: {reason}"
            ),
            Self::ModelInvocable => f.write_str("used, and offered to the model"),
            Self::Skipped { path, reason, .. } => {
                write!(f, "passed over {}: {reason}", path.display())
            }
            Self::OutsideRoots(path) => write!(
                f,
                "{} lies below no root, or a limit of its root",
                path.display()
            ),
            Self::NoSkillFile(path) => write!(
                f,
                "{} was searched and holds no {SKILL_FILE}",
                path.display()
            ),
            Self::PathNotFound(path) => write!(f, "there is no {}", path.display()),
            Self::NameNotFound(nearest) if nearest.is_empty() => {
                f.write_str("no skill has this name")
            }
            Self::NameNotFound(nearest) => write!(
                f,
                "no skill has this name; the nearest: {}",
                nearest.join(", ")
            ),
        }
    }
}

//! Explains why a skill is available or not.

use std::path::{Path, PathBuf};

use crate::{
    Catalog, Discovery, Entry, InactiveEntry, InactiveReason, Lookup, Root, SKILL_FILE, Scope,
    SkipReason, Skipped, canonical_skill_path,
};

/// The explanation of why a skill is available or not: a status and the steps that led to it.
///
/// Made by [`Discovery::explain`] from a catalog, for commands such as `skills show --why`. Steps
/// are in the order in which a user reads them; each has a stable
/// [`code`](ExplanationStep::code) and a text.
#[derive(Debug, Clone)]
pub struct Explanation {
    status: SkillStatus,
    steps: Vec<ExplanationStep>,
}

/// The result of an explanation in one word.
///
/// Only [`ModelInvocable`](Self::ModelInvocable) and [`MentionOnly`](Self::MentionOnly) skills can
/// be used by their name; all others need a change by the user first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillStatus {
    /// The skill is active and listed to a model.
    ModelInvocable,
    /// The skill is active for explicit mentions only; it is not listed to a model.
    MentionOnly,
    /// Several active skills have the name.
    Ambiguous,
    /// The skill was found but is not in use.
    Inactive,
    /// The scan skipped the skill, or a directory that contains it.
    Skipped,
    /// The skill does not exist, or is not below any root.
    NotFound,
}

impl SkillStatus {
    /// Returns the stable code of the status, as in JSON output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelInvocable => "model-invocable",
            Self::MentionOnly => "mention-only",
            Self::Ambiguous => "ambiguous",
            Self::Inactive => "inactive",
            Self::Skipped => "skipped",
            Self::NotFound => "not-found",
        }
    }
}

/// One step of an [`Explanation`].
///
/// [`code`](Self::code) is stable and meant for programs. The text of
/// [`Display`](std::fmt::Display) is meant for users and may change.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ExplanationStep {
    /// A skill was found in a root.
    #[error(
        "found `{name}` at {} in {scope} root {}",
        path.display(),
        root.display()
    )]
    Found {
        /// The name of the skill.
        name: String,
        /// The path of its `SKILL.md`.
        path: PathBuf,
        /// The root, as it was passed to the scan.
        root: PathBuf,
        /// The scope of the root.
        scope: Scope,
    },
    /// The skill has a problem but still loads.
    #[error("warning: {0}")]
    Warning(String),
    /// The skill is not in use.
    #[error("inactive: {0}")]
    Inactive(InactiveReason),
    /// The skill is active but not listed to a model, for this reason.
    #[error("not model-invocable: {0}")]
    NotModelInvocable(&'static str),
    /// The skill is active and listed to a model.
    #[error("active and model-invocable")]
    ModelInvocable,
    /// A file or directory was skipped.
    #[error("skipped {}: {reason}", path.display())]
    Skipped {
        /// The file or directory.
        path: PathBuf,
        /// The stable code of the [`SkipReason`].
        code: &'static str,
        /// The text of the reason.
        reason: String,
    },
    /// The path is not below any root, or beyond a limit of its root.
    #[error("{} is not below any root, or beyond a limit of its root", .0.display())]
    OutsideRoots(PathBuf),
    /// The directory is below a root but has no `SKILL.md`.
    #[error("{} contains no `{SKILL_FILE}`", .0.display())]
    NoSkillFile(PathBuf),
    /// The file or directory does not exist.
    #[error("{} does not exist", .0.display())]
    PathNotFound(PathBuf),
    /// The path, or the skill file in the directory, cannot be accessed, such as for lack of a
    /// permission.
    #[error("cannot open {}: {reason}", path.display())]
    Inaccessible {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// No skill has the name; these names are similar, best first.
    #[error("no skill has this name{}", suggestion(.0))]
    NameNotFound(Vec<String>),
}

impl Explanation {
    /// Returns the result in one word.
    #[must_use]
    pub fn status(&self) -> SkillStatus {
        self.status
    }

    /// Returns the steps that led to the status, in order.
    #[must_use]
    pub fn steps(&self) -> &[ExplanationStep] {
        &self.steps
    }
}

/// What an explanation is asked for.
struct Query<'a> {
    text: &'a str,
    /// The path without symlinks, if the query is the path of an existing file or directory.
    canonical: Option<PathBuf>,
}

impl<'a> Query<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            canonical: canonical_skill_path(Path::new(text)),
        }
    }

    /// Returns true if the query is a path, not a name.
    fn is_path(&self) -> bool {
        self.text.contains(['/', std::path::MAIN_SEPARATOR]) || self.canonical.is_some()
    }

    fn matches_entry(&self, entry: &Entry) -> bool {
        entry.name().as_str() == self.text
            || self
                .canonical
                .as_deref()
                .is_some_and(|path| entry.is_located_at(path))
    }

    /// Returns true if something that was skipped has the name, is at the path, contains it or is a
    /// file directly in it.
    fn matches_skipped(&self, skipped: &Skipped) -> bool {
        let at = skipped.path();
        // A skill file stands for its directory, whose name is the likely name of the skill.
        let is_named = self.is_file_name_of(Some(at))
            || (at.extension().is_some() && self.is_file_name_of(at.parent()));
        let is_on_path = self
            .canonical
            .as_deref()
            .is_some_and(|path| path.starts_with(at) || at.parent() == Some(path));
        is_named || is_on_path
    }

    fn is_file_name_of(&self, path: Option<&Path>) -> bool {
        path.and_then(Path::file_name)
            .is_some_and(|name| name == self.text)
    }
}

/// Explains why a skill is available or not; see [`Discovery::explain`].
pub(crate) fn explain(discovery: &Discovery, catalog: &Catalog, query: &str) -> Explanation {
    let query = Query::new(query);
    let entries: Vec<&Entry> = catalog
        .entries()
        .iter()
        .filter(|entry| query.matches_entry(entry))
        .collect();
    let inactive: Vec<&InactiveEntry> = catalog
        .inactive()
        .iter()
        .filter(|inactive| query.matches_entry(inactive.entry()))
        .collect();
    let mut explanation = Explanation {
        status: SkillStatus::NotFound,
        steps: Vec::new(),
    };
    for entry in &entries {
        explanation.push_active(entry);
    }
    for inactive in &inactive {
        explanation.push_found(inactive.entry());
        let step = ExplanationStep::Inactive(inactive.reason().clone());
        explanation.steps.push(step);
    }
    match (entries.len(), inactive.len()) {
        (0, 0) => {
            // By the name of its directory, which other commands accept as well.
            if let Lookup::Found(entry) = catalog.find(query.text) {
                explanation.push_active(entry);
                return explanation;
            }
        }
        (0, _) => explanation.status = SkillStatus::Inactive,
        // `push_active` has set the status.
        (1, _) => return explanation,
        (_, _) => explanation.status = SkillStatus::Ambiguous,
    }
    // Skipped copies of an active skill would only distract from it.
    if entries.is_empty() {
        explanation.push_skipped(catalog, &query);
    }
    if explanation.steps.is_empty() {
        explain_not_found(discovery, &mut explanation, catalog, &query);
    }
    explanation
}

/// Adds why neither a skill nor a skipped path matches the query.
fn explain_not_found(
    discovery: &Discovery,
    explanation: &mut Explanation,
    catalog: &Catalog,
    query: &Query,
) {
    let step = match &query.canonical {
        Some(path) if is_empty_directory_of_root(discovery, path) => {
            ExplanationStep::NoSkillFile(path.clone())
        }
        Some(path) => {
            inaccessible_step(path).unwrap_or_else(|| ExplanationStep::OutsideRoots(path.clone()))
        }
        None if query.is_path() => {
            let path = Path::new(query.text);
            inaccessible_step(path)
                .unwrap_or_else(|| ExplanationStep::PathNotFound(path.to_owned()))
        }
        None => {
            let nearest = match catalog.find(query.text) {
                Lookup::Unknown(nearest) => nearest.into_iter().map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            // The skill may be in a root that does not exist, or not yet, or that cannot be read.
            let unread_roots = catalog
                .skipped()
                .iter()
                .filter(|skipped| is_unread_root(discovery, skipped));
            explanation.steps.extend(unread_roots.map(skipped_step));
            ExplanationStep::NameNotFound(nearest)
        }
    };
    explanation.steps.push(step);
}

/// Returns true if a root was skipped because it does not exist or cannot be read.
fn is_unread_root(discovery: &Discovery, skipped: &Skipped) -> bool {
    let is_root = |root: &Root| {
        let path = root.path();
        path == skipped.path() || path.canonicalize().is_ok_and(|path| path == skipped.path())
    };
    match skipped.reason() {
        SkipReason::RootNotFound => true,
        SkipReason::Unreadable(_) => discovery.roots.iter().any(is_root),
        _ => false,
    }
}

/// Returns true if a path is a directory below a root and has no `SKILL.md`.
fn is_empty_directory_of_root(discovery: &Discovery, path: &Path) -> bool {
    let contains_path = |root: &Root| {
        root.path()
            .canonicalize()
            .is_ok_and(|root| path.starts_with(root))
    };
    discovery.roots.iter().any(contains_path)
        && path.is_dir()
        && matches!(path.join(SKILL_FILE).try_exists(), Ok(false))
}

impl Explanation {
    fn push_found(&mut self, entry: &Entry) {
        self.steps.push(ExplanationStep::Found {
            name: entry.name().to_string(),
            path: entry.location(),
            root: entry.root().to_owned(),
            scope: entry.scope(),
        });
        let warnings = entry.warnings().iter().map(ToString::to_string);
        self.steps.extend(warnings.map(ExplanationStep::Warning));
    }

    fn push_active(&mut self, entry: &Entry) {
        self.push_found(entry);
        let (status, step) = match not_invocable_reason(entry) {
            Some(reason) => (
                SkillStatus::MentionOnly,
                ExplanationStep::NotModelInvocable(reason),
            ),
            None => (SkillStatus::ModelInvocable, ExplanationStep::ModelInvocable),
        };
        self.status = status;
        self.steps.push(step);
    }

    /// Adds what was skipped and matches the query. It decides the status only if no skill matches.
    fn push_skipped(&mut self, catalog: &Catalog, query: &Query) {
        let steps_before = self.steps.len();
        let skipped = catalog.skipped().iter().chain(catalog.unread_skills());
        let matching = skipped.filter(|skipped| query.matches_skipped(skipped));
        self.steps.extend(matching.map(skipped_step));
        if steps_before == 0 && !self.steps.is_empty() {
            self.status = SkillStatus::Skipped;
        }
    }
}

/// Returns why an active skill is not listed to a model; `None` if it is.
fn not_invocable_reason(entry: &Entry) -> Option<&'static str> {
    // The most specific reason first: a restriction that cannot be parsed also makes the manifest
    // report that it is not model-invocable.
    if !entry.manifest().unparsed_restrictions().is_empty() {
        Some("a declared restriction cannot be parsed")
    } else if !entry.manifest().model_invocable() {
        Some("`disable-model-invocation` is set")
    } else if !entry.is_model_invocable() {
        Some("the policy in `agents/openai.yaml` forbids it or cannot be parsed")
    } else {
        None
    }
}

/// Returns a step if the operating system rejects access to a path, or to the skill file in it.
fn inaccessible_step(path: &Path) -> Option<ExplanationStep> {
    let is_directory = path.is_dir();
    let skill_file = path.join(SKILL_FILE);
    let opened: &Path = if is_directory { &skill_file } else { path };
    let error = opened.try_exists().err()?;
    Some(ExplanationStep::Inaccessible {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn skipped_step(skipped: &Skipped) -> ExplanationStep {
    let (path, reason) = (skipped.path().to_owned(), skipped.reason());
    ExplanationStep::Skipped {
        path,
        code: reason.code(),
        reason: reason.to_string(),
    }
}

impl ExplanationStep {
    /// Returns the stable code of the step, as in JSON output. For skipped paths and inactive
    /// skills it is the code of the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Found { .. } => "found",
            Self::Warning(_) => "warning",
            Self::Inactive(reason) => reason.code(),
            Self::NotModelInvocable(_) => "not-model-invocable",
            Self::ModelInvocable => "model-invocable",
            Self::Skipped { code, .. } => code,
            Self::OutsideRoots(_) => "outside-roots",
            Self::NoSkillFile(_) => "no-skill-file",
            Self::PathNotFound(_) => "path-not-found",
            Self::Inaccessible { .. } => "inaccessible",
            Self::NameNotFound(_) => "name-not-found",
        }
    }

    /// Returns the path that the step is about, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Found { path, .. }
            | Self::Skipped { path, .. }
            | Self::Inaccessible { path, .. } => Some(path),
            Self::OutsideRoots(path) | Self::NoSkillFile(path) | Self::PathNotFound(path) => {
                Some(path)
            }
            _ => None,
        }
    }
}

fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean `{}`?", nearest.join("` or `"))
    }
}

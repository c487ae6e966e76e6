//! The summary of a skill in a list, and its listing mode.

use std::borrow::Cow;
use std::cmp::Ordering;

use skills_discovery::{Catalog, Entry, Scope, Selector};

/// The row of one skill in a skills section: name, description and path of its `SKILL.md`.
///
/// The texts may contain anything; rendering escapes them. Build it from a catalog with
/// [`model_invocable_skills`], or with [`new`](Self::new) for skills from elsewhere.
///
/// ```
/// use skills_prompt::{ListingMode, SkillSummary};
///
/// let summary = SkillSummary::new("pdf", "Fills forms.", "/skills/pdf/SKILL.md")
///     .root("/skills")
///     .mode(ListingMode::Pinned);
/// assert_eq!(summary.name(), "pdf");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    pub(crate) location: Cow<'a, str>,
    pub(crate) root: Option<Cow<'a, str>>,
    pub(crate) scope: Scope,
    pub(crate) mode: ListingMode,
}

/// How a user wants a skill to be listed.
///
/// A mode only restricts or orders: it never lists a skill that is not model-invocable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListingMode {
    /// Listed as the budget allows.
    #[default]
    Auto,
    /// Listed before all others, and gets its share of the budget before them: its description is truncated only if the
    /// pinned skills alone exceed the budget.
    Pinned,
    /// Listed without its description.
    NameOnly,
    /// Not listed; users can mention it.
    Manual,
    /// Not listed, and mentioning it has no effect.
    Off,
}

impl ListingMode {
    /// All modes, in the order of their declaration.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Pinned,
        Self::NameOnly,
        Self::Manual,
        Self::Off,
    ];

    /// Returns the mode as a lowercase word, which is stable and used in configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pinned => "pinned",
            Self::NameOnly => "name-only",
            Self::Manual => "manual",
            Self::Off => "off",
        }
    }

    /// Returns true if a skill with this mode may be listed.
    #[must_use]
    pub fn is_listed(self) -> bool {
        !matches!(self, Self::Manual | Self::Off)
    }
}

/// Rules that assign a [`ListingMode`] to skills.
///
/// If several rules match a skill, the last one applies. Without a matching rule the mode is
/// [`ListingMode::Auto`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingModes(Vec<(Selector, ListingMode)>);

impl ListingModes {
    /// Adds a rule, which takes precedence over the earlier ones.
    #[must_use]
    pub fn with_rule(mut self, selector: Selector, mode: ListingMode) -> Self {
        self.0.push((selector, mode));
        self
    }

    /// Returns the mode of a skill, by the last rule that matches.
    #[must_use]
    pub fn get(&self, entry: &Entry) -> ListingMode {
        self.0
            .iter()
            .rev()
            .find(|(selector, _)| selector.matches(entry))
            .map_or(ListingMode::Auto, |(_, mode)| *mode)
    }
}

impl<'a> SkillSummary<'a> {
    /// Creates a summary from a name, a description and the path of the `SKILL.md`.
    ///
    /// Defaults: scope [`Scope::Custom`], mode [`ListingMode::Auto`], no root.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'a, str>>,
        description: impl Into<Cow<'a, str>>,
        location: impl Into<Cow<'a, str>>,
    ) -> Self {
        let (name, description, location) = (name.into(), description.into(), location.into());
        Self {
            name,
            description,
            location,
            root: None,
            scope: Scope::Custom,
            mode: ListingMode::Auto,
        }
    }

    /// Sets the root that contains the skill, so that an alias can replace it in the path.
    #[must_use]
    pub fn root(self, root: impl Into<Cow<'a, str>>) -> Self {
        Self {
            root: Some(root.into()),
            ..self
        }
    }

    /// Sets the scope, which is the first key of the order.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the listing mode.
    #[must_use]
    pub fn mode(self, mode: ListingMode) -> Self {
        Self { mode, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates the summary of an entry of `catalog`, with its scope and root.
    #[must_use]
    pub fn from_entry(catalog: &'a Catalog, entry: &'a Entry) -> Self {
        let location = entry.location().to_string_lossy().into_owned();
        let summary = Self::new(
            entry.name().as_str(),
            entry.manifest().description(),
            to_slash_path(Cow::Owned(location)),
        );
        let root = to_slash_path(catalog.root_of(entry).to_string_lossy());
        summary.scope(entry.scope()).root(root)
    }

    /// Compares by the order of a prompt: skills of the caller, then System, Admin, Repo, User;
    /// within a scope by name, then path (Codex).
    pub(crate) fn prompt_order(&self, other: &Self) -> Ordering {
        scope_rank(self.scope)
            .cmp(&scope_rank(other.scope))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.location.cmp(&other.location))
    }
}

/// Returns the summaries of the model-invocable skills of `catalog`, with their modes.
///
/// A skill is not model-invocable if it sets `disable-model-invocation`, if its
/// `agents/openai.yaml` sets `allow_implicit_invocation: false`, or if it has a restriction that
/// could not be parsed. No mode overrides that.
#[must_use]
pub fn model_invocable_skills<'a>(
    catalog: &'a Catalog,
    modes: &ListingModes,
) -> Vec<SkillSummary<'a>> {
    let entries = catalog
        .entries()
        .iter()
        .filter(|entry| entry.is_model_invocable());
    entries
        .map(|entry| SkillSummary::from_entry(catalog, entry).mode(modes.get(entry)))
        .collect()
}

/// Returns the roots of the skills of a catalog, in the order of the scan, for
/// [`SkillListRenderer::roots`](crate::SkillListRenderer::roots).
#[must_use]
pub fn root_paths(catalog: &Catalog) -> Vec<String> {
    catalog
        .used_roots()
        .into_iter()
        .map(|root| to_slash_path(root.to_string_lossy()).into_owned())
        .collect()
}

fn scope_rank(scope: Scope) -> u8 {
    match scope {
        Scope::Custom => 0,
        Scope::System => 1,
        Scope::Admin => 2,
        Scope::Repo => 3,
        // User scope comes last, with scopes that are added later.
        _ => 4,
    }
}

/// Replaces backslashes on Windows, since models write paths with slashes. Elsewhere a backslash is
/// part of a name.
fn to_slash_path(path: Cow<'_, str>) -> Cow<'_, str> {
    if cfg!(windows) {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        path
    }
}

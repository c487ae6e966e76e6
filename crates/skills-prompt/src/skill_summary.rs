//! What the catalogue says of one skill.

use std::borrow::Cow;
use std::cmp::Ordering;

use skills_discovery::{Catalog, Entry, Scope, Selector};

/// What the catalogue says of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    pub(crate) location: Cow<'a, str>,
    pub(crate) root: Option<Cow<'a, str>>,
    pub(crate) scope: Scope,
    pub(crate) mode: ListingMode,
}

/// How a skill stands in the catalogue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListingMode {
    /// As the budget allows.
    #[default]
    Auto,
    /// Before all others: its description is shortened only when the pinned skills alone exceed the
    /// budget.
    Pinned,
    /// Without its description.
    NameOnly,
    /// Not in the catalogue; users may name it.
    UserOnly,
    /// Not in the catalogue, and naming it has no effect.
    Disabled,
}

impl ListingMode {
    /// All modes.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Pinned,
        Self::NameOnly,
        Self::UserOnly,
        Self::Disabled,
    ];

    /// Returns the mode as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pinned => "pinned",
            Self::NameOnly => "name-only",
            Self::UserOnly => "manual",
            Self::Disabled => "off",
        }
    }

    /// Says whether a skill of this mode has a place in the catalogue at all.
    #[must_use]
    pub fn is_listed(self) -> bool {
        !matches!(self, Self::UserOnly | Self::Disabled)
    }
}

/// Which skills have which [`ListingMode`]: of several rules that fit, the last one wins; without
/// one it is [`ListingMode::Auto`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingModes(Vec<(Selector, ListingMode)>);

impl ListingModes {
    /// Adds a rule.
    #[must_use]
    pub fn with_rule(mut self, selector: Selector, mode: ListingMode) -> Self {
        self.0.push((selector, mode));
        self
    }

    /// Returns the mode of a skill.
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
    /// Makes an item: name, description of any form, path of the `SKILL.md`.
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

    /// Says below which root the skill lies, so that an alias can stand for it.
    #[must_use]
    pub fn root(self, root: impl Into<Cow<'a, str>>) -> Self {
        Self {
            root: Some(root.into()),
            ..self
        }
    }

    /// Says whose the skill is, which decides on its place.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Says how the skill stands in the catalogue.
    #[must_use]
    pub fn mode(self, mode: ListingMode) -> Self {
        Self { mode, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the item of a skill of a catalogue.
    #[must_use]
    pub fn from_entry(catalog: &'a Catalog, entry: &'a Entry) -> Self {
        let root = match catalog.root_of(entry).to_string_lossy() {
            Cow::Owned(root) => Cow::Owned(to_slash_path(root)),
            Cow::Borrowed(root) if cfg!(windows) => Cow::Owned(to_slash_path(root.to_owned())),
            Cow::Borrowed(root) => Cow::Borrowed(root),
        };
        let item = Self::new(
            entry.name().as_str(),
            entry.manifest().description(),
            to_slash_path(slash_location(entry)),
        );
        item.scope(entry.scope()).root(root)
    }

    /// The order of a prompt: skills that the caller named, then System, Admin, Repo, User; within
    /// a scope by name, then path.
    pub(crate) fn prompt_order(&self, other: &Self) -> Ordering {
        scope_rank(self.scope)
            .cmp(&scope_rank(other.scope))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.location.cmp(&other.location))
    }
}

/// Returns the skills of `catalog` that the model may choose by itself.
///
/// Left out are those that forbid it: `disable-model-invocation`,
/// `allow_implicit_invocation: false` in `agents/openai.yaml`, a restriction that could not be
/// read. No mode brings them back.
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

/// Returns the roots of a catalogue for
/// [`SkillListRenderer::roots`](crate::SkillListRenderer::roots), as its items name them.
#[must_use]
pub fn root_paths(catalog: &Catalog) -> Vec<String> {
    catalog
        .used_roots()
        .into_iter()
        .map(|root| to_slash_path(root.to_string_lossy().into_owned()))
        .collect()
}

fn scope_rank(scope: Scope) -> u8 {
    match scope {
        Scope::Custom => 0,
        Scope::System => 1,
        Scope::Admin => 2,
        Scope::Repo => 3,
        _ => 4,
    }
}

fn slash_location(entry: &Entry) -> String {
    let location = entry.location().into_os_string();
    location
        .into_string()
        .unwrap_or_else(|other| other.to_string_lossy().into_owned())
}

/// Models write paths with slashes; a backslash is a separator on Windows only.
fn to_slash_path(path: String) -> String {
    if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path
    }
}

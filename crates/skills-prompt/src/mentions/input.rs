//! The input in which skills are mentioned, and how it is read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::mention::Confidence;
use crate::paths::normalize_path;

/// A part of user input, as an argument of [`MentionIndex::find`](crate::MentionIndex::find).
///
/// The texts of a message and the selections of its user interface are passed together, because a
/// selection settles what its name means in the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserInput<'a> {
    /// Text that the user typed.
    Text(&'a str),
    /// A skill that the user selected in a user interface.
    Skill {
        /// The name of the skill.
        name: &'a str,
        /// The path of its `SKILL.md`, with or without `skill://`.
        path: &'a str,
    },
}

/// Options for [`MentionIndex::find`](crate::MentionIndex::find).
///
/// Defaults: no connectors, relative paths resolve to nothing, `$name` is ASCII, phrases are
/// selected from [`Confidence::Medium`] on.
#[derive(Debug, Clone)]
#[must_use]
pub struct MentionOptions {
    pub(super) connectors: BTreeSet<String>,
    working_directory: Option<PathBuf>,
    pub(super) unicode_names: bool,
    pub(super) phrases: Option<Confidence>,
}

impl Default for MentionOptions {
    fn default() -> Self {
        Self {
            connectors: BTreeSet::new(),
            working_directory: None,
            unicode_names: false,
            phrases: Some(Confidence::Medium),
        }
    }
}

impl MentionOptions {
    /// Returns the options of Codex: structured input, links and `$name` with ASCII names, but no
    /// phrases.
    pub fn codex() -> Self {
        Self {
            phrases: None,
            ..Self::default()
        }
    }

    /// Sets the connectors of the client, which `$name` may refer to as well. A skill with the same
    /// name, ignoring ASCII case, is then selected only by its path.
    pub fn connectors<S: AsRef<str>>(mut self, slugs: impl IntoIterator<Item = S>) -> Self {
        let slugs = slugs.into_iter();
        self.connectors = slugs
            .map(|slug| slug.as_ref().to_ascii_lowercase())
            .collect();
        self
    }

    /// Sets the directory that relative paths of structured input start at.
    pub fn working_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.working_directory = Some(directory.into());
        self
    }

    /// Allows letters and digits of all scripts in `$name`.
    pub fn unicode_names(mut self) -> Self {
        self.unicode_names = true;
        self
    }

    /// Sets the minimum confidence at which a phrase is selected and not just suggested; `None`
    /// disables phrases.
    pub fn phrases(mut self, min_confidence: Option<Confidence>) -> Self {
        self.phrases = min_confidence;
        self
    }

    /// Returns the absolute path of structured input; `None` for a relative one without a working
    /// directory.
    pub(super) fn resolve_path(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        if path.is_absolute() {
            return Some(normalize_path(path));
        }
        let directory = self.working_directory.as_ref()?;
        Some(normalize_path(&directory.join(path)))
    }
}

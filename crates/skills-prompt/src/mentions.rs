//! Which skills a user's input names.

mod index;
mod mention;
mod normalize;
mod phrase;
mod select;
mod sigils;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_discovery::Entry;

pub use index::MentionIndex;
pub use mention::{Confidence, Mention, MentionKind, Resolution, SuggestionReason};

/// A part of a user's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserInput<'a> {
    /// Text.
    Text(&'a str),
    /// A skill that was chosen in a user interface.
    Skill {
        /// Its name.
        name: &'a str,
        /// The path of its `SKILL.md`.
        path: &'a str,
    },
}

/// What counts as a mention.
///
/// Defaults: no connectors, relative paths lead nowhere, plain names are ASCII, names in words
/// count from [`Confidence::Medium`].
#[derive(Debug, Clone)]
#[must_use]
pub struct MentionOptions {
    connectors: BTreeSet<String>,
    working_directory: Option<PathBuf>,
    unicode_names: bool,
    phrases: Option<Confidence>,
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
    /// As Codex does: only structured input, links and `$name` with ASCII names.
    pub fn codex() -> Self {
        Self {
            phrases: None,
            ..Self::default()
        }
    }

    /// Names connectors that `$name` may mean as well; the case of letters does not matter.
    pub fn connectors<S: AsRef<str>>(self, slugs: impl IntoIterator<Item = S>) -> Self {
        Self {
            connectors: slugs
                .into_iter()
                .map(|slug| slug.as_ref().to_ascii_lowercase())
                .collect(),
            ..self
        }
    }

    /// Says where relative paths of structured input start.
    pub fn working_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self {
            working_directory: Some(directory.into()),
            ..self
        }
    }

    /// Lets `$name` have letters and digits of all scripts.
    pub fn unicode_names(self) -> Self {
        Self {
            unicode_names: true,
            ..self
        }
    }

    /// Lets names in words count from this confidence on; `None` turns them off.
    pub fn phrases(self, at_least: Option<Confidence>) -> Self {
        Self {
            phrases: at_least,
            ..self
        }
    }

    /// Resolves the path of structured input.
    fn resolve_path(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        if path.is_absolute() {
            return Some(crate::paths::normalize_path(path));
        }
        Some(crate::paths::normalize_path(
            &self.working_directory.as_ref()?.join(path),
        ))
    }
}

/// The skills that an input names.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Mentions<'a> {
    /// The skills to use, each once: first those of structured input, then text by text those of
    /// links, of plain names and of words; within one of these in the order of the catalogue
    /// (Codex).
    pub selected: Vec<&'a Entry>,
    /// Every mention and what became of it, in the order of the input.
    pub all: Vec<Mention<'a>>,
}

//! Completion of skill names and file paths.

use std::collections::BTreeSet;

use skills_runtime::{Catalog, Entry};

use super::publisher::Publisher;

/// Maximum number of completions.
const MAX_VALUES: usize = 100;

/// The completions of a partial name or path.
///
/// Completions are offered for published skills only, so they reveal nothing that the skill list
/// does not contain. They are complete values, not the missing ends, in byte order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// Complete names or paths that start with the input, in order: at most 100.
    pub values: Vec<String>,
    /// Whether there are further matches.
    pub has_more: bool,
}

impl Publisher {
    /// Completes the name of a skill. Checks no more skills than it returns.
    pub(crate) fn complete_skill(&self, catalog: &Catalog, prefix: &str) -> Completion {
        let names = catalog
            .entries()
            .iter()
            .map(Entry::name)
            .map(AsRef::<str>::as_ref);
        let matching: BTreeSet<&str> = names.filter(|name| name.starts_with(prefix)).collect();
        Completion::from_values(
            matching
                .into_iter()
                // Lazily, so that only as many skills are captured as are returned.
                .filter(|name| self.publish_one(catalog, name).is_ok()),
        )
    }

    /// Completes the path of a file. Skills that are not published have no completions.
    pub(crate) fn complete_path(&self, catalog: &Catalog, skill: &str, prefix: &str) -> Completion {
        let Ok(publication) = self.publish_one(catalog, skill) else {
            return Completion::default();
        };
        Completion::from_values(
            publication
                .files
                .iter()
                .map(|file| file.path.as_str())
                .filter(|path| path.starts_with(prefix)),
        )
    }
}

impl Completion {
    fn from_values<'a>(mut values: impl Iterator<Item = &'a str>) -> Self {
        let completions = values
            .by_ref()
            .take(MAX_VALUES)
            .map(str::to_owned)
            .collect();
        Self {
            values: completions,
            has_more: values.next().is_some(),
        }
    }
}

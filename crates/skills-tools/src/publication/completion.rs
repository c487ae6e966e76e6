//! What somebody may go on to type.

use std::collections::BTreeSet;

use skills_runtime::{Catalog, Entry};

use super::Library;

/// The most that are offered at once.
const MAX_VALUES: usize = 100;

/// What somebody may go on to type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// Whole names or paths that begin with what was typed, in order: at most 100.
    pub values: Vec<String>,
    /// Whether there are more.
    pub has_more: bool,
}

impl Library {
    /// Completes the name of a skill. No more skills are looked at than are offered.
    pub(crate) fn complete_skill(&self, catalog: &Catalog, prefix: &str) -> Completion {
        let names = catalog
            .entries()
            .iter()
            .map(Entry::name)
            .map(AsRef::<str>::as_ref);
        let fitting: BTreeSet<&str> = names.filter(|name| name.starts_with(prefix)).collect();
        Completion::of(
            fitting
                .into_iter()
                .filter(|name| self.one(catalog, name).is_ok()),
        )
    }

    /// Completes the path of a file of a skill; a skill that is not published has none.
    pub(crate) fn complete_path(&self, catalog: &Catalog, skill: &str, prefix: &str) -> Completion {
        let Ok(publication) = self.one(catalog, skill) else {
            return Completion::default();
        };
        Completion::of(
            publication
                .files()
                .iter()
                .map(|file| file.path())
                .filter(|path| path.starts_with(prefix)),
        )
    }
}

impl Completion {
    fn of<'a>(mut values: impl Iterator<Item = &'a str>) -> Self {
        let offered = values
            .by_ref()
            .take(MAX_VALUES)
            .map(str::to_owned)
            .collect();
        Self {
            values: offered,
            has_more: values.next().is_some(),
        }
    }
}

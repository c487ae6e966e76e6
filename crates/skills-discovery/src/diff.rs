//! What changed between two catalogues.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::{Catalog, Entry};

/// What changed between two catalogues: the directories of skills that came, went or look
/// different, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogDiff {
    /// Skills that are used now and were not before.
    pub added: Vec<PathBuf>,
    /// Skills that were used before and are not now.
    pub removed: Vec<PathBuf>,
    /// Skills whose `SKILL.md`, `agents/openai.yaml`, name or scope changed.
    pub changed: Vec<PathBuf>,
}

impl CatalogDiff {
    /// Compares two catalogues by the directories of their skills.
    #[must_use]
    pub fn between(before: &Catalog, after: &Catalog) -> Self {
        let known: HashMap<&Path, &Entry> = before
            .entries()
            .iter()
            .map(|entry| (entry.directory(), entry))
            .collect();
        let now: HashMap<&Path, &Entry> = after
            .entries()
            .iter()
            .map(|entry| (entry.directory(), entry))
            .collect();
        let mut diff = Self::default();
        for entry in after.entries() {
            match known.get(entry.directory()) {
                None => diff.added.push(entry.directory().to_owned()),
                Some(old) if !is_unchanged(old, entry) => {
                    diff.changed.push(entry.directory().to_owned())
                }
                Some(_) => {}
            }
        }
        let gone = before
            .entries()
            .iter()
            .filter(|entry| !now.contains_key(entry.directory()));
        diff.removed = gone.map(|entry| entry.directory().to_owned()).collect();
        for paths in [&mut diff.added, &mut diff.removed, &mut diff.changed] {
            paths.sort();
        }
        diff
    }

    /// Says whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn is_unchanged(a: &Entry, b: &Entry) -> bool {
    // Where nobody has asked for the host's metadata, nobody can miss a change of it.
    let same_host = a
        .metadata
        .loaded_openai()
        .is_none_or(|host| host.stamp == b.openai_file().stamp);
    let same_text =
        a.stamp == b.stamp && (a.stamp.is_settled() || a.metadata.content_eq(&b.metadata));
    same_text && same_host && a.name == b.name && a.scope == b.scope
}

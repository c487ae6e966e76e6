//! The difference between two catalogs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::{Catalog, Entry};

/// The difference between two catalogs: the directories of skills that were added, removed or
/// changed.
///
/// Each list is sorted by path and contains canonical directories. A skill that moves to another
/// directory is removed and added. Inactive skills and skipped paths do not count, and neither do
/// files that a catalog is not built from, such as scripts.
///
/// ```
/// use skills_discovery::{CatalogDiff, Discovery, Root, Scope};
///
/// # let directory = tempfile::tempdir()?;
/// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
/// let before = discovery.scan();
/// std::fs::create_dir(directory.path().join("pdf"))?;
/// std::fs::write(
///     directory.path().join("pdf/SKILL.md"),
///     "---\nname: pdf\ndescription: Reads PDF files.\n---\n",
/// )?;
/// let diff = CatalogDiff::between(&before, &discovery.scan());
/// assert!(diff.added[0].ends_with("pdf"));
/// assert!(diff.removed.is_empty() && diff.changed.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogDiff {
    /// Skills that are active now and were not before.
    pub added: Vec<PathBuf>,
    /// Skills that were active before and are not now.
    pub removed: Vec<PathBuf>,
    /// Skills whose `SKILL.md`, `agents/openai.yaml`, name or scope changed.
    pub changed: Vec<PathBuf>,
}

impl CatalogDiff {
    /// Compares two catalogs by the directories of their active skills.
    #[must_use]
    pub fn between(before: &Catalog, after: &Catalog) -> Self {
        let old_entries = entries_by_directory(before);
        let new_entries = entries_by_directory(after);
        let mut diff = Self::default();
        for entry in after.entries() {
            match old_entries.get(entry.directory()) {
                None => diff.added.push(entry.directory().to_owned()),
                Some(old) if !is_unchanged(old, entry) => {
                    diff.changed.push(entry.directory().to_owned());
                }
                Some(_) => {}
            }
        }
        diff.removed = before
            .entries()
            .iter()
            .filter(|entry| !new_entries.contains_key(entry.directory()))
            .map(|entry| entry.directory().to_owned())
            .collect();
        for paths in [&mut diff.added, &mut diff.removed, &mut diff.changed] {
            paths.sort();
        }
        diff
    }

    /// Returns whether the catalogs have the same skills.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn entries_by_directory(catalog: &Catalog) -> HashMap<&Path, &Entry> {
    catalog
        .entries()
        .iter()
        .map(|entry| (entry.directory(), entry))
        .collect()
}

fn is_unchanged(old: &Entry, new: &Entry) -> bool {
    // If no caller has read the old `agents/openai.yaml`, no caller can depend on its content, and
    // reading it for the comparison would cost more than the rescan itself.
    let same_openai = old
        .metadata
        .loaded_openai()
        .is_none_or(|openai| openai.stamp == new.openai_file().stamp);
    // Equal stamps prove nothing if the file was written in the clock tick of the scan. Only then
    // the content is compared.
    let same_manifest = old.stamp == new.stamp
        && (old.stamp.is_settled() || old.metadata.content_eq(&new.metadata));
    same_manifest && same_openai && old.name == new.name && old.scope == new.scope
}

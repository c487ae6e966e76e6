//! Checks whether a catalog is still current.

use std::path::PathBuf;

use crate::openai_file::OPENAI_FILE;
use crate::stamp_set::is_stamp_current;
use crate::{Catalog, Entry, FileStamp, parallel};

/// The stamps of everything that a catalog was built from.
///
/// These are all skill files, the `agents/openai.yaml` files that were read, or their absence, all
/// directories that were listed, plugin manifests, missing roots, and the targets of all symlinks
/// that were followed. If none changed, a new scan would have the same result.
#[derive(Debug, Clone, Copy)]
pub struct ScanStamps<'a> {
    catalog: &'a Catalog,
    stamps: &'a [(PathBuf, Option<FileStamp>)],
    symlinks: &'a [(PathBuf, PathBuf)],
}

impl<'a> ScanStamps<'a> {
    pub(crate) fn new(
        catalog: &'a Catalog,
        stamps: &'a [(PathBuf, Option<FileStamp>)],
        symlinks: &'a [(PathBuf, PathBuf)],
    ) -> Self {
        Self {
            catalog,
            stamps,
            symlinks,
        }
    }

    /// Returns whether nothing changed since the scan. Reads the metadata of all files, on up to
    /// `threads` threads, but no content. Files with stamps from the clock tick of the scan count
    /// as changed.
    #[must_use]
    pub fn is_current(self, threads: usize) -> bool {
        let are_stamps_current = self
            .stamps
            .iter()
            .all(|(path, stamp)| is_stamp_current(path, *stamp));
        // The stamps of directories do not show that a symlink in a parent was replaced.
        let are_symlinks_current = || {
            self.symlinks
                .iter()
                .all(|(path, target)| path.canonicalize().is_ok_and(|now| now == *target))
        };
        if !are_stamps_current || !are_symlinks_current() {
            return false;
        }
        let entries: Vec<&Entry> = self.catalog.all_entries().collect();
        parallel::map(&entries, threads, |entry| is_entry_unchanged(entry))
            .all(|is_unchanged| is_unchanged)
    }

    /// Returns the targets of roots and symlinks, which a watcher watches as well.
    #[cfg(feature = "watch")]
    pub(crate) fn symlink_targets(self) -> impl Iterator<Item = &'a std::path::Path> {
        self.symlinks.iter().map(|(_, target)| target.as_path())
    }
}

fn is_entry_unchanged(entry: &Entry) -> bool {
    // One buffer for both paths: this runs for each skill before each call.
    let mut path =
        PathBuf::with_capacity(entry.directory().as_os_str().len() + OPENAI_FILE.len() + 1);
    path.push(entry.directory());
    path.push(entry.file_name());
    if !entry.stamp.is_unchanged(FileStamp::from_path(&path)) {
        return false;
    }
    // If no caller has read `agents/openai.yaml`, the first access will read its current content.
    let Some(openai) = entry.metadata.loaded_openai() else {
        return true;
    };
    path.pop();
    path.push(OPENAI_FILE);
    is_stamp_current(&path, openai.stamp)
}

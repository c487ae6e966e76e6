//! Whether the disk still looks as it did.

use std::path::PathBuf;

use crate::openai_file::OPENAI_FILE;
use crate::{Catalog, Entry, FileStamp, parallel};

/// How the files looked that a catalogue was made of: every `SKILL.md`, every `agents/openai.yaml`
/// or its absence where somebody has asked for it, every directory that was
/// listed, every root that was missing, every symlink that was followed.
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
        links: &'a [(PathBuf, PathBuf)],
    ) -> Self {
        Self {
            catalog,
            stamps,
            symlinks: links,
        }
    }

    /// Looks at the metadata of all files and says whether they look as before. Reads nothing.
    #[must_use]
    pub fn is_current(self, threads: usize) -> bool {
        let is_as_before = |(path, stamp): &(PathBuf, Option<FileStamp>)| match stamp {
            Some(stamp) => stamp.is_unchanged(FileStamp::from_path(path)),
            None => FileStamp::from_path(path).is_none(),
        };
        let leads_there = |(path, target): &(PathBuf, PathBuf)| {
            path.canonicalize().is_ok_and(|now| now == *target)
        };
        if !self.stamps.iter().all(is_as_before) || !self.symlinks.iter().all(leads_there) {
            return false;
        }
        let entries: Vec<&Entry> = self.catalog.all_entries().collect();
        parallel::map(&entries, threads, |entry| is_entry_unchanged(entry)).all(|same| same)
    }

    /// Returns where roots and symlinks lead, for those who watch.
    #[cfg(feature = "watch")]
    pub(crate) fn symlink_targets(self) -> impl Iterator<Item = &'a std::path::Path> {
        self.symlinks.iter().map(|(_, target)| target.as_path())
    }
}

fn is_entry_unchanged(entry: &Entry) -> bool {
    let mut path =
        PathBuf::with_capacity(entry.directory().as_os_str().len() + OPENAI_FILE.len() + 1);
    path.push(entry.directory());
    path.push(entry.file_name());
    if !entry.stamp.is_unchanged(FileStamp::from_path(&path)) {
        return false;
    }
    // What nobody has read will be read as it is then.
    let Some(host) = entry.metadata.loaded_openai() else {
        return true;
    };
    path.pop();
    path.push(OPENAI_FILE);
    let now = FileStamp::from_path(&path);
    host.stamp
        .map_or(now.is_none(), |stamp| stamp.is_unchanged(now))
}

//! Whether the disk still looks as it did.

use std::path::{Path, PathBuf};

use crate::host::HOST_FILE;
use crate::{Catalog, Entry, Stamp, parallel};

/// How the files looked that a catalogue was made of: every `SKILL.md`, every `agents/openai.yaml`
/// or its absence where somebody has asked for it, every directory that was
/// listed, every root that was missing.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint<'a> {
    catalog: &'a Catalog,
    stamps: &'a [(PathBuf, Option<Stamp>)],
}

impl<'a> Fingerprint<'a> {
    pub(crate) fn new(catalog: &'a Catalog, stamps: &'a [(PathBuf, Option<Stamp>)]) -> Self {
        Self { catalog, stamps }
    }

    /// Looks at the metadata of all files and says whether they look as before. Reads nothing.
    #[must_use]
    pub fn is_current(self, threads: usize) -> bool {
        let is_as_before = |(path, stamp): &(PathBuf, Option<Stamp>)| match stamp {
            Some(stamp) => stamp.is_still(Stamp::of_path(path)),
            None => Stamp::of_path(path).is_none(),
        };
        if !self.stamps.iter().all(is_as_before) {
            return false;
        }
        let entries: Vec<&Entry> = self.catalog.all().collect();
        parallel::map(&entries, threads, |entry| looks_as_before(entry)).into_iter().all(|same| same)
    }

    /// Returns the directories and files whose change may change the catalogue, for those who watch them.
    pub fn paths(self) -> impl Iterator<Item = &'a Path> {
        self.stamps.iter().map(|(path, _)| path.as_path())
    }
}

fn looks_as_before(entry: &Entry) -> bool {
    let mut path = PathBuf::with_capacity(entry.directory().as_os_str().len() + HOST_FILE.len() + 1);
    path.push(entry.directory());
    path.push(entry.file_name());
    if !entry.stamp.is_still(Stamp::of_path(&path)) {
        return false;
    }
    // What nobody has read will be read as it is then.
    let Some(host) = entry.content.known_host() else { return true };
    path.pop();
    path.push(HOST_FILE);
    let now = Stamp::of_path(&path);
    host.stamp.map_or(now.is_none(), |stamp| stamp.is_still(now))
}

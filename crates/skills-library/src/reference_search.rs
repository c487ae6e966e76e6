//! Search for sections of the references of skills.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use skills_discovery::{Catalog, Entry, Generation, Generations, StampSet};
use skills_search::{ReferenceIndex, ReferenceIndexBuilder, Span};
use skills_threads::lock;

use crate::skill_index::read_body;

/// The directory of the files that a search for references reads.
const REFERENCES_DIR: &str = "references";
/// Maximum size of a reference that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Maximum number of files of a skill that are searched.
const MAX_FILES: usize = 200;

/// A search for sections of references.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceSearch<'a> {
    /// The request.
    pub query: &'a str,
    /// The skill to search; all that a model can activate if `None`.
    pub skill: Option<&'a Entry>,
    /// Maximum number of sections.
    pub limit: usize,
}

/// Keeps the last index of the references of all skills.
#[derive(Default)]
pub(crate) struct ReferenceCache {
    latest: Mutex<Option<CachedReferences>>,
}

/// An index with what tells whether it is current.
struct CachedReferences {
    catalog: Arc<Catalog>,
    index: Arc<ReferenceIndex>,
    /// Stamps of the files and of their directories; the catalog knows the skill files.
    stamps: StampSet,
    /// The generation in which the stamps were last compared.
    generation: Option<Generation>,
}

impl ReferenceCache {
    /// Searches the references of the skills that `accepts` accepts.
    pub(crate) fn search(
        &self,
        catalog: &Arc<Catalog>,
        generations: &Generations,
        accepts: impl Fn(&Entry) -> bool,
        search: ReferenceSearch<'_>,
    ) -> Vec<(String, Span)> {
        let entries = catalog.entries();
        self.index(catalog, generations)
            .search_among(search.query, search.limit, |skill| accepts(&entries[skill]))
            .into_iter()
            .map(|span| (entries[span.skill].name().to_string(), span.clone()))
            .collect()
    }

    /// Returns the index of a catalog. Compares the stamp of every file, unless that was done in the
    /// current generation; sections that did not change are not analyzed again.
    fn index(&self, catalog: &Arc<Catalog>, generations: &Generations) -> Arc<ReferenceIndex> {
        // Taken before the files are compared, so that a change meanwhile makes the result stale.
        let generation = generations.current();
        let mut latest = lock(&self.latest);
        if let Some(latest) = latest.as_mut()
            && Arc::ptr_eq(&latest.catalog, catalog)
        {
            let is_compared = generation.is_some() && latest.generation == generation;
            if is_compared || latest.stamps.is_current() {
                latest.generation = generation;
                return Arc::clone(&latest.index);
            }
        }
        let mut stamps = StampSet::default();
        let builder = match &*latest {
            Some(latest) => ReferenceIndexBuilder::reusing(&latest.index),
            None => ReferenceIndexBuilder::new(),
        };
        let index = Arc::new(build(builder, catalog.entries(), &mut stamps));
        *latest = Some(CachedReferences {
            catalog: Arc::clone(catalog),
            index: Arc::clone(&index),
            stamps,
            generation,
        });
        index
    }
}

/// Searches the references of one skill, whose files are read.
pub(crate) fn search_skill(entry: &Entry, query: &str, limit: usize) -> Vec<(String, Span)> {
    let builder = ReferenceIndexBuilder::new();
    let index = build(builder, [entry], &mut StampSet::default());
    let found = index.search(query, limit).into_iter();
    found
        .map(|span| (entry.name().to_string(), span.clone()))
        .collect()
}

/// Builds the index of some skills, and adds the stamps of their references.
fn build<'e>(
    mut builder: ReferenceIndexBuilder<'_>,
    entries: impl IntoIterator<Item = &'e Entry>,
    stamps: &mut StampSet,
) -> ReferenceIndex {
    for (number, entry) in entries.into_iter().enumerate() {
        if let Some((body, first_line)) = read_body(entry) {
            let location = entry.location();
            let file_name = location.file_name().map(Path::new).unwrap_or(&location);
            builder.add_file(number, &file_name.to_string_lossy(), &body, first_line);
        }
        for (path, text) in read_references(entry, stamps) {
            builder.add_file(number, &path, &text, 1);
        }
    }
    builder.build()
}

/// Returns the text files below `references/`, in the order of their paths.
fn read_references(entry: &Entry, stamps: &mut StampSet) -> Vec<(String, String)> {
    // Each stamp is taken before its file or directory is read. That of a directory changes when a
    // file is added or removed.
    stamps.add(entry.directory().join(REFERENCES_DIR));
    let Ok(files) = entry.open() else {
        return Vec::new();
    };
    let listing = files.list(REFERENCES_DIR).unwrap_or_default();
    let paths = listing.resources.into_iter().map(|resource| resource.path);
    let paths: Vec<String> = paths.take(MAX_FILES).collect();
    for directory in subdirectories(&paths) {
        stamps.add(entry.directory().join(directory));
    }
    let texts = paths.into_iter().filter_map(|path| {
        stamps.add(entry.directory().join(&path));
        let bytes = files.read(&path, MAX_FILE_BYTES).ok()?;
        // Images and archives are not text.
        Some((path, String::from_utf8(bytes).ok()?))
    });
    texts.collect()
}

/// Returns the directories of files, except the one of all references.
fn subdirectories(files: &[String]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for file in files {
        let mut path = file.as_str();
        while let Some((directory, _)) = path.rsplit_once('/') {
            if directory != REFERENCES_DIR {
                found.insert(directory);
            }
            path = directory;
        }
    }
    found
}

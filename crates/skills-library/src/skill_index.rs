//! Search for skills.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skills_discovery::{Catalog, Entry, Root};
use skills_manifest::FrontmatterScan;
use skills_search::{
    Confidence, Document, Explanation, IndexBuilder, MAX_INDEX_BYTES, NearDuplicate,
    NearDuplicates, SearchIndex, SourceTag,
};
use skills_threads::lock;

use crate::cache_file::store;
use crate::private_file::PrivateFile;

/// The number of index files in a cache directory. Catalogs of different roots use different ones.
const CACHE_FILES: u64 = 8;

/// An index over the skills of a catalog.
///
/// [`Library::search_index`](crate::Library::search_index) returns it. It ranks by name, description
/// and instructions, and finds nothing for small talk. A ranking is never a reason to inject a skill.
///
/// ```
/// use skills_discovery::{Discovery, Root, Scope};
/// use skills_library::{Library, LibraryConfig};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("forms"))?;
/// # std::fs::write(directory.path().join("forms/SKILL.md"), "---\nname: forms\ndescription: Fills PDF forms.\n---\nMerge pages.\n")?;
/// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
/// let index = Library::new(discovery, LibraryConfig::default()).search_index();
/// let found = index.search("could you merge these PDFs?", |_| true);
/// assert_eq!(found.skills[0].name().as_str(), "forms");
/// assert!(index.search("thank you!", |_| true).skills.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SkillIndex {
    catalog: Arc<Catalog>,
    /// Its documents are the entries of the catalog, in their order.
    index: SearchIndex,
}

/// The skills that fit a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillSearch<'a> {
    /// The skills, best first; none if nothing fits.
    pub skills: Vec<&'a Entry>,
    /// The score of each of them, only comparable within one search.
    pub scores: Vec<f32>,
    /// How sure it is that one of them fits.
    pub confidence: Confidence,
}

impl SkillIndex {
    /// Returns the catalog of the index.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Returns the skills that fit a query, among those that `accepts` accepts.
    #[must_use]
    pub fn search(&self, query: &str, accepts: impl Fn(&Entry) -> bool) -> SkillSearch<'_> {
        let entries = self.catalog.entries();
        let result = self
            .index
            .search_among(query, |document| accepts(&entries[document]));
        let hits = result.hits.iter();
        SkillSearch {
            skills: hits.clone().map(|hit| &entries[hit.document]).collect(),
            scores: hits.map(|hit| hit.score).collect(),
            confidence: result.confidence,
        }
    }

    /// Returns the places of all entries of the catalog, the best for a query first. Entries without
    /// a word of the query keep their order, at the end.
    #[must_use]
    pub fn rank(&self, query: &str) -> Vec<usize> {
        let mut is_ranked = vec![false; self.index.len()];
        let mut order = Vec::with_capacity(self.index.len());
        for ranked in self.index.rank(query) {
            is_ranked[ranked.document] = true;
            order.push(ranked.document);
        }
        order.extend((0..is_ranked.len()).filter(|document| !is_ranked[*document]));
        order
    }

    /// Explains why a skill of the catalog has its score: the parts.
    #[must_use]
    pub fn explain(&self, query: &str, entry: &Entry) -> Option<Explanation> {
        let mut entries = self.catalog.entries().iter();
        let document = entries.position(|known| known.directory() == entry.directory())?;
        Some(self.index.explain(query, document))
    }

    /// Returns how to ask better if nothing fits, as one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        let share = self.index.unspaced_share();
        let language = if share > 0.9 {
            "in the language of the descriptions (in Chinese or another script without spaces)"
        } else if share > 0.1 {
            "in the language of the descriptions (several)"
        } else {
            "in the language of the descriptions (mostly English)"
        };
        format!("Name the task and what it is about in a few words, {language}.")
    }
}

/// Returns true if an index has exactly the documents of these sources.
fn matches_tags(index: &SearchIndex, tags: &[Option<SourceTag>]) -> bool {
    // A source without a tag must be read.
    index.len() == tags.len()
        && index
            .tags()
            .zip(tags)
            .all(|(known, tag)| tag.is_some() && known == tag.as_ref())
}

/// Keeps the last index of a library, for the next one, in memory and on disk.
pub(crate) struct IndexCache {
    file: Option<PrivateFile>,
    latest: Mutex<Option<Arc<SkillIndex>>>,
}

impl IndexCache {
    pub(crate) fn new(directory: Option<PathBuf>, roots: &[Root]) -> Self {
        let set = root_set(roots);
        let file = |directory: PathBuf| PrivateFile::new(directory.join(format!("index-{set}")));
        Self {
            file: directory.map(file),
            latest: Mutex::default(),
        }
    }

    /// Returns the index of a catalog. Skills that the last index has, unchanged, are not read.
    pub(crate) fn index(&self, catalog: &Arc<Catalog>) -> Arc<SkillIndex> {
        let tags: Vec<Option<SourceTag>> = catalog.entries().iter().map(source_tag).collect();
        let mut latest = lock(&self.latest);
        let index = match &*latest {
            Some(known) => build(catalog, &tags, &known.index),
            None => self.load_or_build(catalog, &tags),
        };
        let index = Arc::new(SkillIndex {
            catalog: Arc::clone(catalog),
            index,
        });
        *latest = Some(Arc::clone(&index));
        index
    }

    /// Returns the index of an earlier process if no skill changed, and builds it otherwise.
    fn load_or_build(&self, catalog: &Catalog, tags: &[Option<SourceTag>]) -> SearchIndex {
        let stored = self.load().unwrap_or_default();
        if matches_tags(&stored, tags) {
            return stored;
        }
        let index = build(catalog, tags, &stored);
        self.store(&index);
        index
    }

    /// Reads the index of an earlier process. Any problem of the file means that there is none.
    fn load(&self) -> Option<SearchIndex> {
        let bytes = self.file.as_ref()?.read_bytes(MAX_INDEX_BYTES).ok()??;
        SearchIndex::from_bytes(&bytes).ok()
    }

    fn store(&self, index: &SearchIndex) {
        if let Some((file, bytes)) = self.file.as_ref().zip(index.to_bytes()) {
            store(file, &bytes);
        }
    }
}

/// Returns the number of the files for catalogs of these roots.
fn root_set(roots: &[Root]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    // Two sets of roots may share files; then each replaces them and takes over what fits.
    let mut hasher = DefaultHasher::new();
    for root in roots {
        root.path().hash(&mut hasher);
    }
    hasher.finish() % CACHE_FILES
}

/// Returns what identifies the text of an entry without reading it; `None` if its file may have
/// changed since the scan without a change of its stamp.
fn source_tag(entry: &Entry) -> Option<SourceTag> {
    let stamp = entry.stamp().settled_bytes()?;
    let location = entry.location();
    let parts = [
        location.as_os_str().as_encoded_bytes(),
        entry.name().as_str().as_bytes(),
        &stamp,
    ];
    Some(SourceTag::new(parts))
}

fn build(catalog: &Catalog, tags: &[Option<SourceTag>], previous: &SearchIndex) -> SearchIndex {
    let mut builder = IndexBuilder::reusing(previous);
    for (entry, tag) in catalog.entries().iter().zip(tags) {
        if tag.and_then(|tag| builder.reuse(tag)).is_some() {
            continue;
        }
        // A skill that cannot be read is still found by its name and description.
        let (body, _) = read_body(entry).unwrap_or_default();
        let description = entry.manifest().description();
        let document = Document::new(entry.name().as_str(), description, &body);
        builder.add_with_tag(&document, *tag);
    }
    builder.build()
}

/// Returns the body of a skill and its first line.
pub(crate) fn read_body(entry: &Entry) -> Option<(String, usize)> {
    let mut bytes = entry.read_skill_file().ok()?;
    let frontmatter = FrontmatterScan::parse_file(&bytes).ok()?;
    let offset = frontmatter.body_offset();
    let line = frontmatter.body_line();
    let text = match String::from_utf8(bytes.split_off(offset)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Some((text, line))
}

/// Finds the skills of a catalog with almost the same text.
pub(crate) fn near_duplicates(catalog: &Catalog) -> Vec<NearDuplicate> {
    let mut documents = NearDuplicates::default();
    for entry in catalog.entries() {
        let (body, _) = read_body(entry).unwrap_or_default();
        let description = entry.manifest().description();
        documents.add(&Document::new(entry.name().as_str(), description, &body));
    }
    documents.find()
}

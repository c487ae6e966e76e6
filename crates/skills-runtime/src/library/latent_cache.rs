//! The latent space of an index: computed when a search first needs it, and kept on disk.

use std::sync::{Arc, OnceLock};

use skills_search::{LatentSpace, MAX_INDEX_BYTES, Ranked, Ranker, SearchIndex};

use super::cache_file::store;
use crate::PrivateFile;

/// Larger catalogs are searched by words only: computing the space of one of this size takes two
/// seconds, and that of 100,000 skills ten.
const MAX_SKILLS: usize = 10_000;

/// How skills are ranked by a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SearchMethod {
    /// By the words of the request only.
    Words,
    /// By words for the first five places, and by words and latent semantics of the catalog for the
    /// others. Catalogs of more than 10,000 skills are ranked by words only. This is the default.
    #[default]
    Fused,
}

/// Where latent spaces are kept between processes.
#[derive(Debug, Clone)]
pub(super) struct LatentCache {
    pub(super) file: Option<PrivateFile>,
}

/// The latent space of one index, computed on first use. It is empty if the method has none.
#[derive(Debug, Default)]
pub(super) struct LazySpace {
    cache: Option<LatentCache>,
    space: OnceLock<Arc<LatentSpace>>,
}

impl LazySpace {
    /// Creates the space of an index, without one if there is no cache. An earlier space of the same
    /// index is taken over.
    pub(super) fn new(
        cache: Option<LatentCache>,
        index: &SearchIndex,
        earlier: Option<&Self>,
    ) -> Self {
        let lazy = Self {
            cache: cache.filter(|_| index.len() <= MAX_SKILLS),
            space: OnceLock::new(),
        };
        let known = earlier.and_then(|earlier| earlier.space.get());
        if let Some(known) = known.filter(|space| space.is_of(index)) {
            let _ = lazy.space.set(Arc::clone(known));
        }
        lazy
    }

    /// Ranks the documents of the index by latent semantics; none without a space.
    pub(super) fn rank(&self, index: &SearchIndex, query: &str) -> Vec<Ranked> {
        let Some(cache) = &self.cache else {
            return Vec::new();
        };
        let space = self
            .space
            .get_or_init(|| Arc::new(cache.load_or_compute(index)));
        let ranker = space.ranker(index);
        ranker.map(|ranker| ranker.rank(query)).unwrap_or_default()
    }
}

impl LatentCache {
    fn load_or_compute(&self, index: &SearchIndex) -> LatentSpace {
        self.load(index).unwrap_or_else(|| {
            let space = LatentSpace::new(index);
            if let Some(file) = &self.file {
                store(file, &space.to_bytes());
            }
            space
        })
    }

    /// Reads the space of an earlier process. Any problem of the file means that there is none.
    fn load(&self, index: &SearchIndex) -> Option<LatentSpace> {
        let bytes = self.file.as_ref()?.read_bytes(MAX_INDEX_BYTES).ok()??;
        LatentSpace::from_bytes(&bytes, index).ok()
    }
}

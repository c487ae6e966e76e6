//! Searches: a ranking without the documents that do not fit.

use crate::evidence::{Confidence, confidence};
use crate::index::SearchIndex;
use crate::query::{Query, Ranked};
use crate::ranker::{KEPT_PLACES, fuse};

/// Maximum number of documents that a search returns.
pub const MAX_HITS: usize = 50;
/// Maximum number of documents if it is not sure that any fits.
const MAX_UNSURE_HITS: usize = 3;
/// A document with a smaller part of the best score does not fit.
pub(crate) const MIN_SHARE_OF_BEST: f32 = 0.25;

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchResult {
    /// The documents that fit, best first; none if nothing fits. Scores are those of the words, 0
    /// for a document that only another ranking has.
    pub hits: Vec<Ranked>,
    /// How sure it is that one of them fits.
    pub confidence: Confidence,
    /// The best documents that do not fit, best first.
    rest: Vec<Ranked>,
}

impl SearchResult {
    /// Fuses the places behind the fifth with another ranking, such as one by
    /// [latent semantics](crate::LatentRanker), as [`fuse`] does. How many documents fit depends on
    /// their words only, so the number of hits does not change.
    ///
    /// `other` is called only if there are more than five hits. Its documents must be those that the
    /// search accepts.
    #[must_use]
    pub fn fused_with(self, other: impl FnOnce() -> Vec<Ranked>) -> Self {
        let count = self.hits.len();
        if count <= KEPT_PLACES {
            return self;
        }
        let words = [self.hits, self.rest].concat();
        let mut hits = fuse_with_scores(words, &other());
        let rest = hits.split_off(count);
        Self { hits, rest, ..self }
    }
}

impl SearchIndex {
    /// Returns the documents that fit a query, best first: at most [`MAX_HITS`], at most three if
    /// the evidence is weak, and none if nothing fits, which is the answer to small talk.
    ///
    /// [`rank`](crate::Ranker::rank) orders all documents instead, to fill a budget.
    #[must_use]
    pub fn search(&self, query: &str) -> SearchResult {
        self.search_among(query, |_| true)
    }

    /// Searches like [`search`](Self::search) among the documents that `accepts` accepts.
    #[must_use]
    pub fn search_among(&self, query: &str, accepts: impl Fn(usize) -> bool) -> SearchResult {
        let parsed = Query::parse(self, query);
        let mut ranked = parsed.rank_first(self, MAX_HITS, &accepts);
        let confidence = confidence(self, &parsed, &ranked);
        let limit = match confidence {
            Confidence::None => 0,
            Confidence::Low => MAX_UNSURE_HITS,
            Confidence::High => MAX_HITS,
        };
        let best = ranked.first().map_or(0.0, |hit| hit.score);
        let fitting = ranked.iter().take(limit);
        let count = fitting
            .take_while(|hit| hit.score >= best * MIN_SHARE_OF_BEST)
            .count();
        let rest = ranked.split_off(count);
        SearchResult {
            hits: ranked,
            confidence,
            rest,
        }
    }
}

/// Fuses two rankings, and gives each document its score in the first one.
fn fuse_with_scores(mut first: Vec<Ranked>, second: &[Ranked]) -> Vec<Ranked> {
    let mut fused = fuse(&first, &[second]);
    first.sort_unstable_by_key(|ranked| ranked.document);
    for ranked in &mut fused {
        let known = first.binary_search_by_key(&ranked.document, |known| known.document);
        ranked.score = known.map_or(0.0, |known| first[known].score);
    }
    fused
}

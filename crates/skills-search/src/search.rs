//! Searches: a ranking without the documents that do not fit.

use crate::evidence::{Confidence, confidence};
use crate::index::SearchIndex;
use crate::query::{Query, Ranked};

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
    /// The documents that fit, best first; none if nothing fits.
    pub hits: Vec<Ranked>,
    /// How sure it is that one of them fits.
    pub confidence: Confidence,
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
        let query = Query::parse(self, query);
        let mut hits = query.rank_first(self, MAX_HITS, accepts);
        let confidence = confidence(self, &query, &hits);
        hits.truncate(match confidence {
            Confidence::None => 0,
            Confidence::Low => MAX_UNSURE_HITS,
            Confidence::High => MAX_HITS,
        });
        let best = hits.first().map_or(0.0, |hit| hit.score);
        hits.retain(|hit| hit.score >= best * MIN_SHARE_OF_BEST);
        SearchResult { hits, confidence }
    }
}

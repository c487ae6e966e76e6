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
    /// [`rank`](Self::rank) orders all documents instead, to fill a budget.
    #[must_use]
    pub fn search(&self, query: &str) -> SearchResult {
        self.search_among(query, |_| true)
    }

    /// Returns the documents that match a query at all, best first. The same documents and the same
    /// query give the same order.
    #[must_use]
    pub fn rank(&self, query: &str) -> Vec<Ranked> {
        Query::parse(self, query).rank(self)
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
        ranked.truncate(count);
        SearchResult {
            hits: ranked,
            confidence,
        }
    }
}

//! Searches: a ranking without the documents that do not fit, and why a document has its score.

use crate::document::Field;
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

/// The parts of a score: one per word of the query, and one per pair of adjacent words.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The terms of the query that are looked up, in its order.
    pub terms: Vec<TermExplanation>,
}

/// What one term of a query adds to a score.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TermExplanation {
    /// The term as it is looked up: folded and stemmed; a pair has a space between its words.
    pub term: String,
    /// How many documents contain it.
    pub documents: usize,
    /// The fields of this document that contain it, with the number of occurrences.
    pub fields: Vec<(Field, u16)>,
    /// The part of the score; 0 if the document does not contain it.
    pub score: f32,
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

    /// Explains the score of a document for a query: the sum of the parts. All parts are 0 without
    /// such a document.
    #[must_use]
    pub fn explain(&self, query: &str, document: usize) -> Explanation {
        let query = Query::parse(self, query);
        let terms = query.terms.into_iter().map(|term| {
            let postings = term.number.map_or(&[][..], |term| self.postings(term));
            let posting = postings
                .binary_search_by_key(&document, |posting| posting.document as usize)
                .ok()
                .map(|position| postings[position]);
            let counts = term
                .number
                .filter(|_| posting.is_some())
                .and_then(|term| self.count(document, term));
            let counts = counts
                .map(|count| count.fields.to_array())
                .unwrap_or_default();
            let weight = term.weight();
            TermExplanation {
                term: term.text,
                documents: postings.len(),
                fields: Field::ALL
                    .into_iter()
                    .zip(counts)
                    .filter(|(_, count)| *count > 0)
                    .collect(),
                score: posting.map_or(0.0, |posting| weight * posting.score),
            }
        });
        Explanation {
            terms: terms.collect(),
        }
    }
}

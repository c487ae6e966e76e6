//! Why a document has its score.

use crate::document::Field;
use crate::index::SearchIndex;
use crate::query::Query;

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
            let counts = counts.map(|count| count.fields()).unwrap_or_default();
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

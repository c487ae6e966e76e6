//! The space of a catalog: a vector for each document and for its terms.

use std::cmp::Reverse;

use super::matrix::Matrix;
use super::quantized_rows::QuantizedRows;
use super::sparse_matrix::SparseMatrix;
use super::subspace::dominant_directions;
use crate::index::SearchIndex;

/// The number of dimensions. More separate documents as words do, fewer mix up topics.
const DIMENSIONS: usize = 128;
/// Maximum number of terms with a vector: those of the most documents.
const MAX_TERMS: usize = 24 * 1024;
/// Maximum number of documents by which the directions are chosen; all documents of a larger
/// catalog get a vector, too.
const MAX_FITTED: usize = 8 * 1024;

/// A vector for each document of an index, and for the words that at least two documents contain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatentSpace {
    /// The numbers of the terms with a vector, ascending.
    terms: Vec<u32>,
    term_vectors: QuantizedRows,
    documents: QuantizedRows,
}

impl LatentSpace {
    /// Computes the space of an index. The same index gives the same space.
    pub(crate) fn new(index: &SearchIndex) -> Self {
        let terms = choose_terms(index, MAX_TERMS);
        let fitted = score_matrix(index, &terms, index.len().min(MAX_FITTED));
        // As many dimensions as documents would tell all words apart, and find nothing new.
        let dimensions = DIMENSIONS.min(index.len().div_ceil(2));
        let directions = dominant_directions(&fitted, dimensions);
        let all;
        let matrix = if fitted.rows() < index.len() {
            all = score_matrix(index, &terms, index.len());
            &all
        } else {
            &fitted
        };
        let documents = document_vectors(matrix, &directions);
        let mut term_vectors = QuantizedRows::new(directions.columns());
        directions.rows().for_each(|row| term_vectors.push(row));
        Self {
            terms,
            term_vectors,
            documents,
        }
    }

    /// Creates a space from its parts; `None` if they do not match, or do not match an index with
    /// so many terms.
    pub(crate) fn from_parts(
        terms: Vec<u32>,
        term_vectors: QuantizedRows,
        documents: QuantizedRows,
        known_terms: usize,
    ) -> Option<Self> {
        let is_valid = terms.len() == term_vectors.len()
            && terms.is_sorted_by(|a, b| a < b)
            && terms
                .last()
                .is_none_or(|last| (*last as usize) < known_terms)
            && term_vectors.dimensions() == documents.dimensions()
            && documents.dimensions() <= DIMENSIONS;
        is_valid.then_some(Self {
            terms,
            term_vectors,
            documents,
        })
    }

    pub(crate) fn terms(&self) -> &[u32] {
        &self.terms
    }

    pub(crate) fn term_vectors(&self) -> &QuantizedRows {
        &self.term_vectors
    }

    pub(crate) fn documents(&self) -> &QuantizedRows {
        &self.documents
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.documents.dimensions()
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.terms.len() * size_of::<u32>() + self.term_vectors.bytes() + self.documents.bytes()
    }

    /// Adds a multiple of the vector of a term, if it has one, to a direction.
    pub(crate) fn add_term(&self, term: u32, factor: f32, direction: &mut [f32]) {
        if let Ok(row) = self.terms.binary_search(&term) {
            self.term_vectors.add_row(row, factor, direction);
        }
    }
}

/// Returns the words that at least two documents contain, ascending; of too many those of the most
/// documents. A word of one document says nothing about others.
fn choose_terms(index: &SearchIndex, max_terms: usize) -> Vec<u32> {
    let all = 0..u32::try_from(index.vocabulary.len()).unwrap_or(u32::MAX);
    let mut terms: Vec<u32> = all
        .filter(|term| index.postings(*term).len() > 1)
        .filter(|term| !index.vocabulary.term(*term as usize).contains(' '))
        .collect();
    if terms.len() > max_terms {
        terms.sort_by_key(|term| Reverse(index.postings(*term).len()));
        terms.truncate(max_terms);
        terms.sort_unstable();
    }
    terms
}

/// Returns the scores of so many documents, evenly spread over all of them, for these terms.
fn score_matrix(index: &SearchIndex, terms: &[u32], documents: usize) -> SparseMatrix {
    let all = index.len();
    SparseMatrix::from_columns(documents, terms.len(), |column| {
        let postings = index.postings(terms[column]).iter();
        postings.filter_map(move |posting| {
            let row = chosen_row(posting.document as usize, documents, all)?;
            Some((row, posting.score))
        })
    })
}

/// Returns the row of a document if `chosen` of `all` documents get one; `None` for the others.
fn chosen_row(document: usize, chosen: usize, all: usize) -> Option<usize> {
    // The first document of each of `chosen` parts of about equal size.
    let row = (document * chosen).div_ceil(all);
    (row * all / chosen == document).then_some(row)
}

/// Returns the vectors of the documents, one row for each.
fn document_vectors(matrix: &SparseMatrix, directions: &Matrix) -> QuantizedRows {
    let mut vectors = QuantizedRows::new(directions.columns());
    let mut vector = vec![0.0; directions.columns()];
    for document in 0..matrix.rows() {
        vector.fill(0.0);
        matrix.add_row_product(document, directions, &mut vector);
        vectors.push_unit(&vector);
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, IndexBuilder};

    #[test]
    fn the_words_of_the_most_documents_are_chosen() {
        let mut builder = IndexBuilder::new();
        for description in ["red green blue", "red green blue", "red blue", "red alone"] {
            builder.add(&Document::new("", description, ""));
        }
        let index = builder.build();
        let chosen = |max_terms| -> Vec<&str> {
            let terms = choose_terms(&index, max_terms).into_iter();
            terms
                .map(|term| index.vocabulary.term(term as usize))
                .collect()
        };
        assert_eq!(chosen(10), ["blue", "green", "red"]);
        assert_eq!(chosen(2), ["blue", "red"]);
    }

    #[test]
    fn chosen_documents_are_spread_evenly() {
        for (chosen, all) in [(1, 1), (3, 3), (3, 10), (7, 8), (8_192, 100_000)] {
            let rows: Vec<usize> = (0..all)
                .filter_map(|document| chosen_row(document, chosen, all))
                .collect();
            assert_eq!(rows, (0..chosen).collect::<Vec<usize>>(), "{chosen} {all}");
        }
    }
}

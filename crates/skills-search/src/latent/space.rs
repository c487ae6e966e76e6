//! The space of a catalog: a vector for each document and for its terms.

use std::cmp::Reverse;

use super::LatentRanker;
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

/// A vector for each document of an index, and for the words that at least two documents contain:
/// what a [ranker by latent semantics](LatentRanker) needs.
///
/// It belongs to one index. Computing it takes as long as building that index, so compute it when it
/// is needed, and keep it: [`to_bytes`](Self::to_bytes) and [`from_bytes`](Self::from_bytes).
///
/// ```
/// use skills_search::{Document, IndexBuilder, LatentSpace, Ranker, fuse};
///
/// let mut builder = IndexBuilder::new();
/// for description in ["invoice customer", "customer payment", "payment bill", "rain wind", "wind"] {
///     builder.add(&Document::new("", description, ""));
/// }
/// let index = builder.build();
/// let space = LatentSpace::new(&index);
/// let words = index.rank("customer");
/// assert_eq!(words.len(), 2);
/// let similar = space.ranker(&index).map(|ranker| ranker.rank("customer")).unwrap_or_default();
/// // The third document does not contain the word, but one that occurs with it.
/// assert_eq!(fuse(&words, &[&similar])[2].document, 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LatentSpace {
    index_digest: [u8; 32],
    /// The numbers of the terms with a vector, ascending.
    terms: Vec<u32>,
    term_vectors: QuantizedRows,
    documents: QuantizedRows,
}

impl LatentSpace {
    /// Computes the space of an index. The same index gives the same space.
    #[must_use]
    pub fn new(index: &SearchIndex) -> Self {
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
            index_digest: *index.digest(),
            terms,
            term_vectors,
            documents,
        }
    }

    /// Returns true if this is the space of an index: of the same documents in the same order.
    #[must_use]
    pub fn is_of(&self, index: &SearchIndex) -> bool {
        self.index_digest == *index.digest()
    }

    /// Returns a ranker for the documents of an index; `None` if this is the space of another one.
    #[must_use]
    pub fn ranker<'a>(&'a self, index: &'a SearchIndex) -> Option<LatentRanker<'a>> {
        self.is_of(index).then(|| LatentRanker::new(index, self))
    }

    /// Returns the size of the vectors of terms and documents, in bytes: at most 3.2 MB for the
    /// terms, and 132 bytes for each document.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.terms.len() * size_of::<u32>() + self.term_vectors.bytes() + self.documents.bytes()
    }

    /// Creates a space from its parts; `None` if they do not match, or do not match an index.
    pub(crate) fn from_parts(
        terms: Vec<u32>,
        term_vectors: QuantizedRows,
        documents: QuantizedRows,
        index: &SearchIndex,
    ) -> Option<Self> {
        let is_valid = terms.len() == term_vectors.len()
            && terms.is_sorted_by(|a, b| a < b)
            && terms
                .last()
                .is_none_or(|last| (*last as usize) < index.vocabulary.len())
            && term_vectors.dimensions() == documents.dimensions()
            && documents.dimensions() <= DIMENSIONS;
        is_valid.then(|| Self {
            index_digest: *index.digest(),
            terms,
            term_vectors,
            documents,
        })
    }

    pub(crate) fn index_digest(&self) -> &[u8; 32] {
        &self.index_digest
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

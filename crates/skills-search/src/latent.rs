//! Latent semantics: finds documents that share no word with a query, by the words that occur
//! together in the catalog.
//!
//! The terms of a catalog span a space with one dimension each. The few directions in which its
//! documents differ most (a truncated singular value decomposition of the matrix of BM25F scores)
//! put words that occur in the same documents close to each other. Nothing but the catalog is used:
//! no model, no other text.

mod matrix;
mod quantized_rows;
mod space;
mod sparse_matrix;
mod subspace;

use crate::analysis::TermKind;
use crate::index::SearchIndex;
use crate::query::{Query, Ranked, first_of};
use crate::ranker::Ranker;

pub(crate) use quantized_rows::QuantizedRows;
pub use space::LatentSpace;

/// The number of best documents of a ranking by latent semantics. The place of a later one says
/// nothing, and sorting all of a large catalog would take most of the time of a query.
const MAX_RANKED: usize = 500;
/// A smaller cosine can be the rounding of the vectors.
const MIN_COSINE: f32 = 0.02;

/// Ranks the documents of an index by latent semantics; see [`LatentSpace`].
///
/// The score of a document is the cosine of its direction and that of the query, at most 1; those
/// below 0.02 are dropped. A ranking has the best 500 documents; it is empty if the index knows no
/// word of the query.
#[derive(Debug, Clone, Copy)]
pub struct LatentRanker<'a> {
    index: &'a SearchIndex,
    space: &'a LatentSpace,
}

impl<'a> LatentRanker<'a> {
    pub(crate) fn new(index: &'a SearchIndex, space: &'a LatentSpace) -> Self {
        Self { index, space }
    }

    /// Returns the direction of a query: the sum of those of its terms, by their rarity.
    fn direction(&self, query: &Query) -> Vec<f32> {
        let mut direction = vec![0.0; self.space.dimensions()];
        // A pair has no direction of its own; its words are terms, too.
        let words = query
            .terms
            .iter()
            .filter(|term| term.kind != TermKind::Pair);
        for term in words {
            if let Some(number) = term.number {
                let weight = term.weight() * term.rarity;
                self.space.add_term(number, weight, &mut direction);
            }
        }
        direction
    }
}

impl Ranker for LatentRanker<'_> {
    fn rank(&self, query: &str) -> Vec<Ranked> {
        let direction = self.direction(&Query::parse(self.index, query));
        let cosines = self.space.documents().cosines(&direction);
        let similar = cosines
            .enumerate()
            .filter(|(_, cosine)| *cosine > MIN_COSINE)
            .map(|(document, score)| Ranked { document, score });
        first_of(similar, MAX_RANKED)
    }
}

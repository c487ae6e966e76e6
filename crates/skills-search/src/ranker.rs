//! Rankers: what orders documents by a query.

use crate::index::SearchIndex;
use crate::query::{Query, Ranked, best_first};

/// Orders documents by how well they match a query.
///
/// [`SearchIndex`] is one. An application can implement another over the same documents, such as
/// one with embeddings, and combine both with [`fuse`].
pub trait Ranker: Send + Sync {
    /// Returns the documents that match a query at all, best first. The same documents and the same
    /// query give the same order.
    fn rank(&self, query: &str) -> Vec<Ranked>;
}

impl Ranker for SearchIndex {
    fn rank(&self, query: &str) -> Vec<Ranked> {
        Query::parse(self, query).rank(self)
    }
}

/// The constant of reciprocal rank fusion; larger values make places more equal.
const FUSION_CONSTANT: f32 = 60.0;
/// The number of first places that keep the order of the first ranking.
pub(crate) const KEPT_PLACES: usize = 5;

/// Combines rankings: the first five places are those of `first`, the rest is ordered by the sum of
/// the reciprocal places in all of them.
///
/// Words place the best match better than meaning does in a large catalog, and meaning finds more of
/// the others. Scores of the result are those of the fusion.
#[must_use]
pub fn fuse(first: &[Ranked], others: &[&[Ranked]]) -> Vec<Ranked> {
    let rankings = || std::iter::once(first).chain(others.iter().copied());
    let documents = rankings().flatten().map(|ranked| ranked.document + 1);
    let mut scores = vec![0.0; documents.max().unwrap_or_default()];
    for ranking in rankings() {
        for (place, ranked) in ranking.iter().enumerate() {
            scores[ranked.document] += 1.0 / (FUSION_CONSTANT + place as f32 + 1.0);
        }
    }
    for (place, ranked) in first.iter().take(KEPT_PLACES).enumerate() {
        // Above any sum of reciprocal places.
        scores[ranked.document] = (others.len() + 1 + KEPT_PLACES - place) as f32;
    }
    let fused = scores.into_iter().enumerate();
    let mut fused: Vec<Ranked> = fused
        .filter(|(_, score)| *score > 0.0)
        .map(|(document, score)| Ranked { document, score })
        .collect();
    fused.sort_unstable_by(best_first);
    fused
}

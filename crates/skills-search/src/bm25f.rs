//! BM25F: how much a term of a query says for a document.

use crate::document::FIELDS;

/// Weights of the fields and parameters of BM25F.
///
/// The defaults were chosen on requests for public skills, separate from those of the published
/// measurements: `cargo xtask eval`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parameters {
    /// How much one occurrence in each field counts.
    pub(crate) weights: [f32; FIELDS],
    /// How much the length of each field matters, from 0 (not at all) to 1.
    pub(crate) length: [f32; FIELDS],
    /// How fast repeated occurrences stop to matter.
    pub(crate) saturation: f32,
    /// The power of the rarity of a term in its score. Below 1, a rare word that a request has by
    /// the way counts less against several common ones.
    pub(crate) rarity_power: f32,
}

impl Parameters {
    pub(crate) const DEFAULT: Self = Self {
        weights: [2.0, 1.0, 0.25],
        length: [0.3, 0.5, 0.75],
        saturation: 1.2,
        rarity_power: 0.7,
    };

    /// Returns how much `counts` occurrences of a term say for a document, from 0 to 1, before the
    /// rarity of the term.
    pub(crate) fn saturated(&self, counts: [u16; FIELDS], relative_length: [f32; FIELDS]) -> f32 {
        let mut frequency = 0.0;
        for field in 0..FIELDS {
            let length = 1.0 - self.length[field] + self.length[field] * relative_length[field];
            frequency += self.weights[field] * f32::from(counts[field]) / length.max(0.05);
        }
        frequency / (self.saturation + frequency)
    }
}

/// Returns the rarity of a term that `containing` of `documents` contain. It is positive also for a
/// term that all of them contain.
pub(crate) fn rarity(documents: usize, containing: usize) -> f32 {
    let (documents, containing) = (documents as f32, containing as f32);
    (1.0 + (documents - containing + 0.5) / (containing + 0.5)).ln()
}

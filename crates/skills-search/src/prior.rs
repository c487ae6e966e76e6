//! Priors: what speaks for a document whatever the query is.

use crate::query::{Ranked, best_first};

/// The largest prior of a document: a tenth more than its score.
pub const MAX_PRIOR: f32 = 1.1;

/// Multiplies scores by priors, and orders by the result.
pub(crate) fn apply_prior(ranked: &mut [Ranked], prior: impl Fn(usize) -> f32) {
    for one in ranked.iter_mut() {
        one.score *= limited(prior(one.document));
    }
    ranked.sort_unstable_by(best_first);
}

/// Returns a prior within its range.
fn limited(prior: f32) -> f32 {
    if prior.is_nan() {
        return 1.0;
    }
    prior.clamp(1.0, MAX_PRIOR)
}

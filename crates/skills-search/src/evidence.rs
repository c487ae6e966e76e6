//! Whether anything fits a query. A score alone cannot tell: small talk that shares words with a
//! skill scores as high as a request.

use crate::analysis::TermKind;
use crate::index::SearchIndex;
use crate::query::{PREFIX_WEIGHT, Query, Ranked};

/// The number of best documents that are examined.
const EXAMINED: usize = 5;
/// How much a character of a script without spaces counts, in words.
const WEAK_WORD: f32 = 0.3;

/// How sure it is that some document fits a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Confidence {
    /// No document fits.
    None,
    /// Some document may fit: few words match, or common ones.
    Low,
    /// Several rare words match, or all that the query has.
    High,
}

/// What the words of a query say for one document.
#[derive(Debug, Default, Clone, Copy)]
struct Evidence {
    /// The number of words that match, and of those in the name or description.
    words: f32,
    title_words: f32,
    /// The sum of the rarities of these words, as parts of the largest one, so that it does not
    /// depend on the size of the catalog.
    rarity: f32,
    title_rarity: f32,
}

pub(crate) fn confidence(index: &SearchIndex, query: &Query, ranked: &[Ranked]) -> Confidence {
    let best = ranked.iter().take(EXAMINED);
    best.map(|ranked| Evidence::collect(index, query, ranked.document).confidence(query))
        .max()
        .unwrap_or(Confidence::None)
}

impl Evidence {
    fn collect(index: &SearchIndex, query: &Query, document: usize) -> Self {
        let mut evidence = Self::default();
        for term in &query.terms {
            let Some(count) = term.number.and_then(|term| index.count(document, term)) else {
                continue;
            };
            let weight = weight(term.kind);
            evidence.words += weight;
            evidence.rarity += weight * term.rarity / index.max_rarity();
            if count.fields.name > 0 || count.fields.description > 0 {
                evidence.title_words += weight;
                evidence.title_rarity += weight * term.rarity / index.max_rarity();
            }
        }
        evidence
    }

    fn confidence(&self, query: &Query) -> Confidence {
        let total: f32 = query.terms.iter().map(|term| weight(term.kind)).sum();
        let covers_all = self.title_words >= 0.99 * total && !query.is_conversation;
        let is_high = self.words >= 3.0 && self.title_words >= 1.0 && self.rarity >= 1.4
            || self.title_words >= 2.0 && self.title_rarity >= 0.95
            || self.words >= 5.0
            || covers_all && self.title_rarity >= 0.18;
        let is_low = self.words >= 2.0 && self.rarity >= 0.54
            || self.title_rarity >= 0.4
            || covers_all && total >= 1.0;
        match (is_high, is_low) {
            (true, _) => Confidence::High,
            (false, true) => Confidence::Low,
            (false, false) => Confidence::None,
        }
    }
}

fn weight(kind: TermKind) -> f32 {
    match kind {
        TermKind::Word => 1.0,
        TermKind::Weak => WEAK_WORD,
        // Its words are counted already.
        TermKind::Pair => 0.0,
        TermKind::Prefix => PREFIX_WEIGHT,
    }
}

//! A query: its terms, and the documents that contain them.

use crate::analysis::{Analyzer, Run, TermKind, for_each_run};
use crate::index::SearchIndex;
use crate::stop_words::is_conversation_word;
use crate::term_table::pair_text;

/// Maximum length of a query that is read, in bytes; the rest is ignored.
pub(crate) const MAX_QUERY_BYTES: usize = 4 * 1024;
/// Maximum number of terms of a query that are looked up; the rest is ignored.
const MAX_QUERY_TERMS: usize = 64;

/// The different terms of a query, in their order.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) terms: Vec<QueryTerm>,
    /// Whether it has a word with which users talk to an agent instead of naming a task.
    pub(crate) is_conversation: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    pub(crate) kind: TermKind,
    /// The number of the term in the index; `None` if no document contains it.
    pub(crate) number: Option<u32>,
    pub(crate) rarity: f32,
}

/// A document with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The number of the document.
    pub document: usize,
    /// How well it matches: positive, and only comparable within one ranking.
    pub score: f32,
}

/// How much a pair of words counts, beside its words.
const PAIR_WEIGHT: f32 = 0.5;
/// How much a word counts of which the query has the start only.
pub(crate) const PREFIX_WEIGHT: f32 = 0.5;
/// Minimum length of such a start, in characters.
const MIN_PREFIX_CHARS: usize = 4;

impl QueryTerm {
    /// Returns how much the term counts in a score.
    pub(crate) fn weight(&self) -> f32 {
        match self.kind {
            TermKind::Pair => PAIR_WEIGHT,
            TermKind::Prefix => PREFIX_WEIGHT,
            TermKind::Word | TermKind::Weak => 1.0,
        }
    }
}

impl Query {
    pub(crate) fn parse(index: &SearchIndex, text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
        let analyzer = Analyzer::new();
        let mut query = Self::default();
        let mut previous = String::new();
        for_each_run(text, |run| {
            if let Run::Spaced(word) = run {
                query.is_conversation |= is_conversation_word(&word.to_lowercase());
            }
            let is_spaced = matches!(run, Run::Spaced(_));
            analyzer.run_terms(run, &mut |text, kind| {
                query.push(index, text, kind);
                if is_spaced && !previous.is_empty() {
                    query.push(index, &pair_text(&previous, text), TermKind::Pair);
                }
                previous.clear();
                previous.push_str(if is_spaced { text } else { "" });
            });
        });
        query
    }

    fn push(&mut self, index: &SearchIndex, text: &str, kind: TermKind) {
        let is_known = self.terms.iter().any(|term| term.text == text);
        if is_known || self.terms.len() == MAX_QUERY_TERMS {
            return;
        }
        let number = index.vocabulary.find(text);
        if kind == TermKind::Word && number.is_none() {
            return self.push_unknown(index, text);
        }
        // A pair that no document has says nothing; an unknown word says that something is missing.
        if kind == TermKind::Pair && number.is_none() {
            return;
        }
        self.terms.push(QueryTerm {
            text: text.to_owned(),
            kind,
            number,
            rarity: index.rarity(number),
        });
    }

    /// Adds a word that no document contains, as the most common word that begins with it: a model
    /// may know the start of a name only.
    fn push_unknown(&mut self, index: &SearchIndex, text: &str) {
        let documents = |number: &u32| index.postings(*number).len();
        let number = (text.chars().count() >= MIN_PREFIX_CHARS)
            .then(|| {
                index
                    .vocabulary
                    .words_with_prefix(text)
                    .max_by_key(documents)
            })
            .flatten();
        self.terms.push(QueryTerm {
            text: text.to_owned(),
            kind: if number.is_some() {
                TermKind::Prefix
            } else {
                TermKind::Word
            },
            number,
            rarity: index.rarity(number),
        });
    }

    /// Returns the documents that contain a term of the query, best first. Documents with equal
    /// scores keep their order.
    pub(crate) fn rank(&self, index: &SearchIndex) -> Vec<Ranked> {
        let scored = self.score(index, |_| true);
        let mut keys: Vec<u64> = scored.map(sort_key).collect();
        keys.sort_unstable();
        keys.into_iter().map(from_sort_key).collect()
    }

    /// Returns the first `limit` documents of a ranking of those that `accepts` accepts.
    pub(crate) fn rank_first(
        &self,
        index: &SearchIndex,
        limit: usize,
        accepts: impl Fn(usize) -> bool,
    ) -> Vec<Ranked> {
        first_of(self.score(index, accepts), limit)
    }

    /// Returns the documents that contain a term of the query, in their order.
    fn score(
        &self,
        index: &SearchIndex,
        accepts: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = Ranked> {
        let mut scores = vec![0.0_f32; index.len()];
        for term in &self.terms {
            let weight = term.weight();
            for posting in term.number.map_or(&[][..], |number| index.postings(number)) {
                scores[posting.document as usize] += weight * posting.score;
            }
        }
        let scored = scores.into_iter().enumerate();
        scored
            .filter(move |(document, score)| *score > 0.0 && accepts(*document))
            .map(|(document, score)| Ranked { document, score })
    }
}

/// Returns the best `limit` documents, best first.
pub(crate) fn first_of(ranked: impl Iterator<Item = Ranked>, limit: usize) -> Vec<Ranked> {
    // Sorting or even storing all of a large catalog would take most of the time of a search.
    let capacity = limit.saturating_mul(2);
    let mut best: Vec<Ranked> = Vec::new();
    // The worst of the best so far, if there are as many as are returned.
    let mut worst: Option<Ranked> = None;
    for candidate in ranked {
        if worst.is_some_and(|worst| best_first(&worst, &candidate).is_lt()) {
            continue;
        }
        if best.len() == capacity && limit > 0 {
            best.select_nth_unstable_by(limit - 1, best_first);
            best.truncate(limit);
            worst = best.last().copied();
        }
        best.push(candidate);
    }
    best.sort_unstable_by(best_first);
    best.truncate(limit);
    best
}

/// Returns a number that orders documents as [`best_first`] does. Sorting numbers takes half of the
/// time of sorting by two fields, which is most of the time of ranking a large catalog.
fn sort_key(ranked: Ranked) -> u64 {
    // The bits of positive numbers have their order.
    u64::from(!ranked.score.to_bits()) << 32 | ranked.document as u64
}

fn from_sort_key(key: u64) -> Ranked {
    Ranked {
        document: (key & u64::from(u32::MAX)) as usize,
        score: f32::from_bits(!((key >> 32) as u32)),
    }
}

/// Orders by score, and documents of equal scores by their order.
pub(crate) fn best_first(a: &Ranked, b: &Ranked) -> std::cmp::Ordering {
    let by_score = b.score.total_cmp(&a.score);
    by_score.then(a.document.cmp(&b.document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_documents_by_score_and_place() {
        let mut sorted: Vec<Ranked> = [3.5, 0.1, 1e-30, 3.5, 700.0, f32::MIN_POSITIVE, 0.1]
            .into_iter()
            .enumerate()
            .map(|(document, score)| Ranked { document, score })
            .collect();
        let mut keys: Vec<u64> = sorted.iter().copied().map(sort_key).collect();
        sorted.sort_by(best_first);
        keys.sort_unstable();
        let from_keys: Vec<Ranked> = keys.into_iter().map(from_sort_key).collect();
        assert_eq!(from_keys, sorted);
    }

    #[test]
    fn the_first_of_a_ranking_are_those_of_the_sorted_one() {
        // Scores that repeat, in an order without pattern.
        let all: Vec<Ranked> = (0..500)
            .map(|document| Ranked {
                document,
                score: (document * 7_919 % 83) as f32,
            })
            .collect();
        let mut sorted = all.clone();
        sorted.sort_by(best_first);
        for limit in [0, 1, 2, 7, 50, 499, 500, 501] {
            let first = first_of(all.iter().copied(), limit);
            assert_eq!(first, sorted[..limit.min(500)], "{limit}");
        }
    }
}

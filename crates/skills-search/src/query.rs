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

/// A term of a query.
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
const PAIR_WEIGHT: f32 = 0.25;
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
        let mut ranked = self.score(index, |_| true);
        ranked.sort_unstable_by(best_first);
        ranked
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
    fn score(&self, index: &SearchIndex, accepts: impl Fn(usize) -> bool) -> Vec<Ranked> {
        let mut scores = vec![0.0_f32; index.len()];
        for term in &self.terms {
            let weight = term.weight();
            for posting in term.number.map_or(&[][..], |number| index.postings(number)) {
                scores[posting.document as usize] += weight * posting.score;
            }
        }
        let scored = scores.into_iter().enumerate();
        scored
            .filter(|(document, score)| *score > 0.0 && accepts(*document))
            .map(|(document, score)| Ranked { document, score })
            .collect()
    }
}

/// Returns the best `limit` documents, best first.
pub(crate) fn first_of(mut ranked: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    // Sorting all of a large catalog would take most of the time of a search.
    if ranked.len() > limit {
        ranked.select_nth_unstable_by(limit, best_first);
        ranked.truncate(limit);
    }
    ranked.sort_unstable_by(best_first);
    ranked
}

/// Orders by score, and documents of equal scores by their order.
pub(crate) fn best_first(a: &Ranked, b: &Ranked) -> std::cmp::Ordering {
    let by_score = b.score.total_cmp(&a.score);
    by_score.then(a.document.cmp(&b.document))
}

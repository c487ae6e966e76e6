//! Numbers for the terms of an index that is built.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::vocabulary::Vocabulary;

/// Gives each word a number, in the order in which they are first seen. A pair of adjacent words is
/// a term, too: it is known by the numbers of its words, and written with a space between them.
#[derive(Default)]
pub(crate) struct TermTable {
    words: HashMap<Box<str>, u32, RandomState>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Term {
    Word(u32),
    Pair(WordPair),
}

/// Two adjacent words, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WordPair {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// The places of terms in a vocabulary.
pub(crate) struct Places {
    /// By the number of a word.
    pub(crate) words: Vec<u32>,
    /// Of each pair that was passed.
    pub(crate) pairs: Vec<u32>,
}

impl TermTable {
    pub(crate) fn word(&mut self, word: &str) -> u32 {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let number = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.words.insert(word.into(), number);
        number
    }

    /// Returns a term of a vocabulary.
    pub(crate) fn term(&mut self, text: &str) -> Term {
        match text.split_once(PAIR_SEPARATOR) {
            Some((first, second)) => Term::Pair(WordPair {
                first: self.word(first),
                second: self.word(second),
            }),
            None => Term::Word(self.word(text)),
        }
    }

    /// Returns the sorted terms, and their places. Each of `pairs` may occur several times.
    pub(crate) fn into_vocabulary(
        self,
        pairs: impl ExactSizeIterator<Item = WordPair>,
    ) -> (Vocabulary, Places) {
        let words = self.words.into_iter();
        let mut words: Vec<(u64, Box<str>, u32)> = words
            .map(|(word, number)| (sort_prefix(&word), word, number))
            .collect();
        words.sort_unstable();
        let mut ranks = vec![0; words.len()];
        for (rank, (.., number)) in words.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        let mut places = Places {
            words: vec![0; words.len()],
            pairs: vec![0; pairs.len()],
        };
        // Sorted once, which costs less than a lookup of each in a table that no cache holds.
        let mut pairs: Vec<(WordPair, u32)> = (0..)
            .zip(pairs)
            .map(|(position, pair)| (pair.map(|word| ranks[word as usize]), position))
            .collect();
        pairs.sort_unstable();
        let mut pairs = pairs.into_iter().peekable();
        let mut vocabulary = Vocabulary::default();
        for (first, (_, word, number)) in (0..).zip(&words) {
            places.words[*number as usize] = vocabulary.len() as u32;
            vocabulary.push([word]);
            // A space sorts before all characters of words, so a pair follows its first word and
            // all pairs of it, and comparing the ranks of words is comparing the texts of terms.
            let mut latest = None;
            while let Some((pair, position)) = pairs.next_if(|(pair, _)| pair.first == first) {
                if latest.replace(pair) != Some(pair) {
                    vocabulary.push([word, PAIR_SEPARATOR, &words[pair.second as usize].1]);
                }
                places.pairs[position as usize] = vocabulary.len() as u32 - 1;
            }
        }
        (vocabulary, places)
    }
}

impl WordPair {
    fn map(self, word: impl Fn(u32) -> u32) -> Self {
        Self {
            first: word(self.first),
            second: word(self.second),
        }
    }
}

/// Returns the first bytes of a word as a number. Words with different numbers are in their order, so
/// that nearly all are compared without reading them.
fn sort_prefix(word: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = word.len().min(bytes.len());
    bytes[..length].copy_from_slice(&word.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

/// What is between the words of a pair.
const PAIR_SEPARATOR: &str = " ";

/// Returns the term of two adjacent words.
pub(crate) fn pair_text(first: &str, second: &str) -> String {
    [first, PAIR_SEPARATOR, second].concat()
}

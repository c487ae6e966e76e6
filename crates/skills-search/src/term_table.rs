//! Numbers for the terms of an index that is built.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::vocabulary::Vocabulary;

/// Gives each term a number, in the order in which they are first seen. A pair of adjacent words is
/// a term, too: it is known by the numbers of its words, and written with a space between them.
#[derive(Default)]
pub(crate) struct TermTable {
    words: HashMap<Box<str>, u32, RandomState>,
    /// The numbers of the words of a pair in one number, which is hashed at once.
    pairs: HashMap<u64, u32, RandomState>,
}

impl TermTable {
    pub(crate) fn word(&mut self, word: &str) -> u32 {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let number = self.next_number();
        self.words.insert(word.into(), number);
        number
    }

    pub(crate) fn pair(&mut self, first: u32, second: u32) -> u32 {
        let number = self.next_number();
        let words = u64::from(first) << 32 | u64::from(second);
        *self.pairs.entry(words).or_insert(number)
    }

    /// Returns the number of a term of a vocabulary.
    pub(crate) fn term(&mut self, text: &str) -> u32 {
        match text.split_once(PAIR_SEPARATOR) {
            Some((first, second)) => {
                let words = (self.word(first), self.word(second));
                self.pair(words.0, words.1)
            }
            None => self.word(text),
        }
    }

    fn next_number(&self) -> u32 {
        u32::try_from(self.words.len() + self.pairs.len()).unwrap_or(u32::MAX)
    }

    /// Returns the sorted terms, and the place of each number among them.
    pub(crate) fn into_vocabulary(self) -> (Vocabulary, Vec<u32>) {
        let count = self.words.len() + self.pairs.len();
        let mut words: Vec<(Box<str>, u32)> = self.words.into_iter().collect();
        words.sort_unstable();
        let mut ranks = vec![0; count];
        for (rank, (_, number)) in words.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        // A space sorts before all characters of words, so a pair follows its first word and all
        // pairs of it, and comparing the ranks of words is comparing the texts of terms.
        let single = words.iter().enumerate();
        let single = single.map(|(rank, (_, number))| (rank as u32, None, *number));
        let pairs = self.pairs.into_iter().map(|(words, number)| {
            let (first, second) = (words >> 32, words & u64::from(u32::MAX));
            let ranks = (ranks[first as usize], ranks[second as usize]);
            (ranks.0, Some(ranks.1), number)
        });
        let mut order: Vec<(u32, Option<u32>, u32)> = single.chain(pairs).collect();
        order.sort_unstable();
        let mut places = vec![0; count];
        let mut vocabulary = Vocabulary::default();
        let word = |rank: u32| &*words[rank as usize].0;
        for (place, (first, second, number)) in order.into_iter().enumerate() {
            places[number as usize] = place as u32;
            match second {
                Some(second) => vocabulary.push([word(first), PAIR_SEPARATOR, word(second)]),
                None => vocabulary.push([word(first)]),
            }
        }
        (vocabulary, places)
    }
}

/// What is between the words of a pair.
const PAIR_SEPARATOR: &str = " ";

/// Returns the term of two adjacent words.
pub(crate) fn pair_text(first: &str, second: &str) -> String {
    [first, PAIR_SEPARATOR, second].concat()
}

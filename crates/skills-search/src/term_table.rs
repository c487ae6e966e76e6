//! Numbers for the terms of an index that is built.

use std::collections::HashMap;

use crate::vocabulary::Vocabulary;

/// Gives each term a number, in the order in which they are first seen. A pair of adjacent words is
/// a term, too: it is known by the numbers of its words, and written with a space between them.
#[derive(Default)]
pub(crate) struct TermTable {
    words: HashMap<Box<str>, u32>,
    pairs: HashMap<(u32, u32), u32>,
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
        *self.pairs.entry((first, second)).or_insert(number)
    }

    /// Returns the number of a term of a vocabulary.
    pub(crate) fn term(&mut self, text: &str) -> u32 {
        match text.split_once(' ') {
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
        let mut texts: Vec<Box<str>> = vec![Box::default(); count];
        for (word, number) in self.words {
            texts[number as usize] = word;
        }
        for ((first, second), number) in self.pairs {
            let pair = pair_text(&texts[first as usize], &texts[second as usize]);
            texts[number as usize] = pair.into();
        }
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_unstable_by_key(|number| &*texts[*number as usize]);
        let mut places = vec![0; count];
        for (place, number) in order.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        let sorted = order.iter().map(|number| &*texts[*number as usize]);
        (Vocabulary::from_sorted(sorted), places)
    }
}

/// Returns the term of two adjacent words.
pub(crate) fn pair_text(first: &str, second: &str) -> String {
    format!("{first} {second}")
}

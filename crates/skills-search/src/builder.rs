//! Builds an index, and takes over what did not change from an earlier one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::analysis::{Analyzer, Run, for_each_run, unspaced_terms};
use crate::document::{Document, FIELDS, Field, SourceTag, TextDigest};
use crate::index::{FieldCounts, IndexedDocument, SearchIndex, TermCount};
use crate::term_table::{Term, TermTable, WordPair};

/// The number of terms of each field whose pairs with their neighbors are terms, too. The start of a
/// body says what a skill is for; pairs of the rest would cost more than all its words.
const MAX_PAIRED_TERMS: u32 = 100;

/// Builds a [`SearchIndex`].
///
/// [`reusing`](Self::reusing) takes over the terms of documents whose text an earlier index has, so
/// that only new and changed documents are analyzed. The result is the same in both cases.
pub struct IndexBuilder<'a> {
    analyzer: Analyzer,
    previous: Option<PreviousIndex<'a>>,
    terms: TermTable,
    words: WordTerms,
    /// The terms of one or two characters of scripts without spaces, by their bytes.
    characters: HashMap<u64, u32, RandomState>,
    documents: Vec<CountedDocument>,
    /// The words of all documents; each term is the number of a word.
    counts: Vec<TermCount>,
    pair_counts: Vec<(WordPair, FieldCounts)>,
    current: CurrentCounts,
}

/// A document with terms that have no places in the vocabulary yet.
struct CountedDocument {
    digest: TextDigest,
    tag: Option<SourceTag>,
    lengths: [u32; FIELDS],
    /// The ends of its words and pairs.
    words_end: usize,
    pairs_end: usize,
}

/// The terms of each word as it was written, which saves stemming it again.
///
/// It is looked up for each word of all texts: with a fast hash, seeded in each process, so that no
/// text has words that collide in all of them, and by small entries of a fixed size.
#[derive(Default)]
struct WordTerms {
    short: HashMap<u64, TermsOfWord, RandomState>,
    long: HashMap<[u8; MAX_KEY_BYTES], TermsOfWord, RandomState>,
    several: Vec<SmallVec<[u32; 2]>>,
}

/// Longer words are rare and not remembered: more than 24 Latin or 12 Cyrillic letters.
const MAX_KEY_BYTES: usize = 24;

/// A word, followed by zeros, which no word contains.
#[derive(Clone, Copy)]
enum WordKey {
    /// Most words have at most eight bytes: as a number they are hashed and compared at once.
    Short(u64),
    Long([u8; MAX_KEY_BYTES]),
}

#[derive(Clone, Copy)]
enum TermsOfWord {
    One(u32),
    /// The place in [`WordTerms::several`]; also for a word without terms.
    Several(u32),
}

/// The counts of the document that is added.
#[derive(Default)]
struct CurrentCounts {
    by_word: Vec<FieldCounts>,
    /// The words that have some.
    words: Vec<u32>,
    /// Each pair as often as it occurs. They are too many for a table that a cache holds.
    pairs: Vec<(WordPair, Field)>,
}

/// The terms of a field that were counted.
#[derive(Default)]
struct FieldCounter {
    /// How many they are, without pairs.
    length: u32,
    /// The word before.
    previous: Option<u32>,
}

/// An index whose terms are taken over.
struct PreviousIndex<'a> {
    index: &'a SearchIndex,
    by_digest: HashMap<TextDigest, usize>,
    by_tag: HashMap<SourceTag, usize>,
    /// What each of its terms is now, if it was taken over.
    terms: Vec<Option<Term>>,
}

impl Default for IndexBuilder<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> IndexBuilder<'a> {
    /// Creates a builder without documents.
    #[must_use]
    pub fn new() -> Self {
        Self {
            analyzer: Analyzer::new(),
            previous: None,
            terms: TermTable::default(),
            words: WordTerms::default(),
            characters: HashMap::default(),
            documents: Vec::new(),
            counts: Vec::new(),
            pair_counts: Vec::new(),
            current: CurrentCounts::default(),
        }
    }

    /// Creates a builder that takes over the terms of documents that `previous` contains.
    #[must_use]
    pub fn reusing(previous: &'a SearchIndex) -> Self {
        let documents = previous.documents.iter().enumerate();
        let tagged = documents
            .clone()
            .filter_map(|(number, document)| Some((document.tag?, number)));
        let previous = PreviousIndex {
            index: previous,
            by_digest: documents
                .map(|(number, document)| (document.digest, number))
                .collect(),
            by_tag: tagged.collect(),
            terms: vec![None; previous.vocabulary.len()],
        };
        Self {
            previous: Some(previous),
            ..Self::new()
        }
    }

    /// Adds a document and returns its number: 0 for the first, and so on.
    pub fn add(&mut self, document: &Document<'_>) -> usize {
        self.add_with_tag(document, None)
    }

    /// Adds a document with the tag of its source and returns its number. `None` is for a source
    /// that may have changed without a change of its tag.
    pub fn add_with_tag(&mut self, document: &Document<'_>, tag: Option<SourceTag>) -> usize {
        let digest = document.digest();
        let number = self.previous.as_ref().and_then(|previous| {
            let number = previous.by_digest.get(&digest);
            number.copied()
        });
        let lengths = match number.and_then(|number| self.take_over(number)) {
            Some((lengths, _)) => lengths,
            None => self.analyze(document),
        };
        self.push(digest, tag, lengths)
    }

    /// Adds the document that has this tag in the earlier index, without its text, and returns its
    /// number; `None` if there is none.
    pub fn reuse(&mut self, tag: SourceTag) -> Option<usize> {
        let number = *self.previous.as_ref()?.by_tag.get(&tag)?;
        let (lengths, digest) = self.take_over(number)?;
        Some(self.push(digest, Some(tag), lengths))
    }

    fn push(
        &mut self,
        digest: TextDigest,
        tag: Option<SourceTag>,
        lengths: [u32; FIELDS],
    ) -> usize {
        self.documents.push(CountedDocument {
            digest,
            tag,
            lengths,
            words_end: self.counts.len(),
            pairs_end: self.pair_counts.len(),
        });
        self.documents.len() - 1
    }

    /// Adds the terms of a document of the previous index.
    fn take_over(&mut self, number: usize) -> Option<([u32; FIELDS], TextDigest)> {
        let previous = self.previous.as_mut()?;
        let document = previous.index.documents.get(number)?;
        for count in previous.index.terms_of(number) {
            let known = &mut previous.terms[count.term as usize];
            let term = *known.get_or_insert_with(|| {
                let text = previous.index.vocabulary.term(count.term as usize);
                self.terms.term(text)
            });
            match term {
                Term::Word(term) => self.counts.push(TermCount { term, ..*count }),
                Term::Pair(pair) => self.pair_counts.push((pair, count.fields)),
            }
        }
        Some((document.lengths, document.digest))
    }

    fn analyze(&mut self, document: &Document<'_>) -> [u32; FIELDS] {
        let mut lengths = [0; FIELDS];
        for (field, text) in Field::ALL.into_iter().zip(document.fields()) {
            let mut counter = FieldCounter::default();
            for_each_run(text, |run| match run {
                Run::Spaced(word) => self.count_word(word, field, &mut counter),
                Run::Unspaced(characters) => self.count_unspaced(characters, field, &mut counter),
            });
            lengths[field as usize] = counter.length;
        }
        self.current.drain(&mut self.counts, &mut self.pair_counts);
        lengths
    }

    /// Counts the terms of a word, and their pairs with the words before.
    fn count_word(&mut self, word: &str, field: Field, counter: &mut FieldCounter) {
        let Some(key) = WordKey::new(word) else {
            let terms = word_terms(&self.analyzer, &mut self.terms, word);
            return counter.count(&terms, field, &mut self.current);
        };
        let known = self.words.get(key).unwrap_or_else(|| {
            let terms = word_terms(&self.analyzer, &mut self.terms, word);
            self.words.insert(key, terms)
        });
        match known {
            TermsOfWord::One(term) => counter.count(&[term], field, &mut self.current),
            TermsOfWord::Several(place) => {
                let terms = &self.words.several[place as usize];
                counter.count(terms, field, &mut self.current);
            }
        }
    }

    fn count_unspaced(&mut self, run: &[char], field: Field, counter: &mut FieldCounter) {
        counter.previous = None;
        unspaced_terms(run, &mut |term, _| {
            let mut key = [0; 8];
            key[..term.len()].copy_from_slice(term.as_bytes());
            let known = self.characters.entry(u64::from_ne_bytes(key));
            let term = known.or_insert_with(|| self.terms.word(term));
            self.current.add(*term, field);
            counter.length += 1;
        });
    }

    /// Builds the index.
    #[must_use]
    pub fn build(self) -> SearchIndex {
        let pairs = self.pair_counts.iter().map(|(pair, _)| *pair);
        let (vocabulary, places) = self.terms.into_vocabulary(pairs);
        let mut words = self.counts.iter().map(|count| TermCount {
            term: places.words[count.term as usize],
            ..*count
        });
        let pairs = places.pairs.iter().zip(&self.pair_counts);
        let mut pairs = pairs.map(|(place, (_, fields))| TermCount {
            term: *place,
            fields: *fields,
        });
        let mut counts = Vec::with_capacity(words.len() + pairs.len());
        let mut documents = Vec::with_capacity(self.documents.len());
        let (mut words_start, mut pairs_start) = (0, 0);
        for document in self.documents {
            let start = counts.len();
            counts.extend(words.by_ref().take(document.words_end - words_start));
            counts.extend(pairs.by_ref().take(document.pairs_end - pairs_start));
            (words_start, pairs_start) = (document.words_end, document.pairs_end);
            counts[start..].sort_unstable_by_key(|count| count.term);
            documents.push(IndexedDocument {
                digest: document.digest,
                tag: document.tag,
                lengths: document.lengths,
                end: u32::try_from(counts.len()).unwrap_or(u32::MAX),
            });
        }
        SearchIndex::new(vocabulary, documents, counts)
    }
}

/// Returns the numbers of the terms of a word.
fn word_terms(analyzer: &Analyzer, table: &mut TermTable, word: &str) -> SmallVec<[u32; 2]> {
    let mut terms = SmallVec::new();
    analyzer.word_terms(word, &mut |term, _| terms.push(table.word(term)));
    terms
}

impl WordTerms {
    fn get(&self, key: WordKey) -> Option<TermsOfWord> {
        let known = match &key {
            WordKey::Short(key) => self.short.get(key),
            WordKey::Long(key) => self.long.get(key),
        };
        known.copied()
    }

    fn insert(&mut self, key: WordKey, terms: SmallVec<[u32; 2]>) -> TermsOfWord {
        let terms = if let [term] = *terms {
            TermsOfWord::One(term)
        } else {
            self.several.push(terms);
            TermsOfWord::Several(self.several.len() as u32 - 1)
        };
        match key {
            WordKey::Short(key) => self.short.insert(key, terms),
            WordKey::Long(key) => self.long.insert(key, terms),
        };
        terms
    }
}

impl WordKey {
    /// Returns the key of a word; `None` if it is too long.
    fn new(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        if let Some(number) = short_key(bytes) {
            return Some(Self::Short(number));
        }
        let mut key = [0; MAX_KEY_BYTES];
        key.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self::Long(key))
    }
}

/// Returns the bytes of a word of at most eight as a number, the first in its lowest bits.
fn short_key(word: &[u8]) -> Option<u64> {
    // Two reads of a fixed length cost less than one of any length. They overlap in equal bytes.
    let (first, last, read) = match word.len() {
        4..=8 => {
            let first = u32::from_le_bytes(*word.first_chunk()?);
            let last = u32::from_le_bytes(*word.last_chunk()?);
            (u64::from(first), u64::from(last), 4)
        }
        2..=3 => {
            let first = u16::from_le_bytes(*word.first_chunk()?);
            let last = u16::from_le_bytes(*word.last_chunk()?);
            (u64::from(first), u64::from(last), 2)
        }
        1 => return Some(u64::from(word[0])),
        _ => return None,
    };
    Some(first | last << (8 * (word.len() - read)))
}

impl FieldCounter {
    /// Counts the next terms, and the pairs with those before.
    fn count(&mut self, terms: &[u32], field: Field, current: &mut CurrentCounts) {
        for term in terms {
            current.add(*term, field);
            self.length += 1;
            let previous = self.previous.replace(*term);
            if let Some(first) = previous.filter(|_| self.length <= MAX_PAIRED_TERMS) {
                let second = *term;
                current.pairs.push((WordPair { first, second }, field));
            }
        }
    }
}

impl CurrentCounts {
    fn add(&mut self, word: u32, field: Field) {
        let position = word as usize;
        if position >= self.by_word.len() {
            self.by_word.resize(position + 1, FieldCounts::default());
        }
        let counts = &mut self.by_word[position];
        if *counts == FieldCounts::default() {
            self.words.push(word);
        }
        counts.add(field);
    }

    /// Moves the counts to those of all documents.
    fn drain(&mut self, words: &mut Vec<TermCount>, pairs: &mut Vec<(WordPair, FieldCounts)>) {
        words.extend(self.words.drain(..).map(|term| TermCount {
            term,
            fields: std::mem::take(&mut self.by_word[term as usize]),
        }));
        self.pairs.sort_unstable();
        let mut occurrences = self.pairs.drain(..).peekable();
        while let Some((pair, field)) = occurrences.next() {
            let mut counts = FieldCounts::default();
            counts.add(field);
            while let Some((_, field)) = occurrences.next_if(|(next, _)| *next == pair) {
                counts.add(field);
            }
            pairs.push((pair, counts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_short_word_has_its_bytes() {
        for length in 1..=8 {
            let word = &b"abcdefgh"[..length];
            let mut bytes = [0; 8];
            bytes[..length].copy_from_slice(word);
            assert_eq!(short_key(word), Some(u64::from_le_bytes(bytes)));
        }
        assert_eq!((short_key(b""), short_key(b"abcdefghi")), (None, None));
    }
}

//! Builds an index, and takes over what did not change from an earlier one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::analysis::{Analyzer, Run, for_each_run, unspaced_terms};
use crate::document::{Document, FIELDS, SourceTag, TextDigest};
use crate::index::{IndexedDocument, SearchIndex, TermCount};
use crate::term_table::TermTable;

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
    documents: Vec<IndexedDocument>,
    counts: Vec<TermCount>,
    current: CurrentCounts,
}

/// The terms of each word as it was written, which saves stemming it again.
///
/// It is looked up for each word of all texts: with a fast hash, seeded in each process, so that no
/// text has words that collide in all of them, and by small entries of a fixed size.
#[derive(Default)]
struct WordTerms {
    by_word: HashMap<WordKey, TermsOfWord, RandomState>,
    several: Vec<SmallVec<[u32; 2]>>,
}

/// The terms of one word.
#[derive(Clone, Copy)]
enum TermsOfWord {
    One(u32),
    /// The place in [`WordTerms::several`]; also for a word without terms.
    Several(u32),
}

/// A word, followed by zeros, which no word contains.
type WordKey = [u8; 24];

/// The counts of the document that is added.
#[derive(Default)]
struct CurrentCounts {
    by_term: Vec<[u32; FIELDS]>,
    /// The terms that have some.
    terms: Vec<u32>,
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
    /// The new number of each of its terms that was taken over.
    terms: Vec<Option<u32>>,
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
        self.documents.push(IndexedDocument {
            digest,
            tag,
            lengths,
            end: u32::try_from(self.counts.len()).unwrap_or(u32::MAX),
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
            self.counts.push(TermCount { term, ..*count });
        }
        Some((document.lengths, document.digest))
    }

    fn analyze(&mut self, document: &Document<'_>) -> [u32; FIELDS] {
        let mut lengths = [0; FIELDS];
        for (field, text) in document.fields().into_iter().enumerate() {
            let mut counter = FieldCounter::default();
            for_each_run(text, |run| match run {
                Run::Spaced(word) => self.count_word(word, field, &mut counter),
                Run::Unspaced(characters) => self.count_unspaced(characters, field, &mut counter),
            });
            lengths[field] = counter.length;
        }
        self.counts.extend(self.current.drain());
        lengths
    }

    /// Counts the terms of a word, and their pairs with the words before.
    fn count_word(&mut self, word: &str, field: usize, counter: &mut FieldCounter) {
        let (current, table) = (&mut self.current, &mut self.terms);
        let mut key = WordKey::default();
        match key.get_mut(..word.len()) {
            Some(start) => {
                start.copy_from_slice(word.as_bytes());
                let words = &mut self.words;
                let known = words.by_word.entry(key).or_insert_with(|| {
                    let terms = word_terms(&self.analyzer, table, word);
                    if let [term] = *terms {
                        return TermsOfWord::One(term);
                    }
                    words.several.push(terms);
                    TermsOfWord::Several(words.several.len() as u32 - 1)
                });
                match known {
                    TermsOfWord::One(term) => counter.count(&[*term], field, current, table),
                    TermsOfWord::Several(place) => {
                        let terms = &words.several[*place as usize];
                        counter.count(terms, field, current, table);
                    }
                }
            }
            // Few words are longer: more than 24 Latin or 12 Cyrillic letters. They are not remembered.
            None => {
                let terms = word_terms(&self.analyzer, table, word);
                counter.count(&terms, field, current, table);
            }
        }
    }

    fn count_unspaced(&mut self, run: &[char], field: usize, counter: &mut FieldCounter) {
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
    pub fn build(mut self) -> SearchIndex {
        let (vocabulary, places) = self.terms.into_vocabulary();
        let mut start = 0;
        for document in &self.documents {
            let counts = &mut self.counts[start..document.end as usize];
            for count in counts.iter_mut() {
                count.term = places[count.term as usize];
            }
            counts.sort_unstable();
            start = document.end as usize;
        }
        SearchIndex::new(vocabulary, self.documents, self.counts)
    }
}

/// Returns the numbers of the terms of a word.
fn word_terms(analyzer: &Analyzer, table: &mut TermTable, word: &str) -> SmallVec<[u32; 2]> {
    let mut terms = SmallVec::new();
    analyzer.word_terms(word, &mut |term, _| terms.push(table.word(term)));
    terms
}

impl FieldCounter {
    /// Counts the next terms, and the pairs with those before.
    fn count(
        &mut self,
        terms: &[u32],
        field: usize,
        current: &mut CurrentCounts,
        table: &mut TermTable,
    ) {
        for term in terms {
            current.add(*term, field);
            self.length += 1;
            let previous = self.previous.replace(*term);
            if let Some(previous) = previous.filter(|_| self.length <= MAX_PAIRED_TERMS) {
                current.add(table.pair(previous, *term), field);
            }
        }
    }
}

impl CurrentCounts {
    fn add(&mut self, term: u32, field: usize) {
        let position = term as usize;
        if position >= self.by_term.len() {
            self.by_term.resize(position + 1, [0; FIELDS]);
        }
        let counts = &mut self.by_term[position];
        if *counts == [0; FIELDS] {
            self.terms.push(term);
        }
        counts[field] += 1;
    }

    fn drain(&mut self) -> impl Iterator<Item = TermCount> {
        self.terms.drain(..).map(|term| {
            let [name, description, body] = std::mem::take(&mut self.by_term[term as usize]);
            TermCount {
                term,
                name: u8::try_from(name).unwrap_or(u8::MAX),
                description: u8::try_from(description).unwrap_or(u8::MAX),
                body: u16::try_from(body).unwrap_or(u16::MAX),
            }
        })
    }
}

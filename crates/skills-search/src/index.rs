//! The index: the terms of all documents, and for each term its documents.

use crate::analysis::{FIRST_UNSPACED, is_unspaced_script};
use crate::bm25f::{Parameters, rarity};
use crate::document::{FIELDS, Field, SourceTag, TextDigest};
use crate::encoding::{decode, encode};
use crate::error::IndexError;
use crate::vocabulary::Vocabulary;

/// An index over documents, for ranking them by a query.
///
/// Documents are known by their position in the order in which an
/// [`IndexBuilder`](crate::IndexBuilder) added them. The index is immutable: it is prepared once,
/// shared by all searches, and replaced when documents change, which costs the analysis of the
/// changed ones only. [`to_bytes`](Self::to_bytes) and [`from_bytes`](Self::from_bytes) keep it
/// between processes.
///
/// ```
/// use skills_search::{Document, IndexBuilder};
///
/// let mut builder = IndexBuilder::new();
/// builder.add(&Document::new("pdf-forms", "Fills forms.", "Merges documents, too."));
/// builder.add(&Document::new("spreadsheets", "Edits tables.", ""));
/// let index = builder.build();
/// assert_eq!(index.rank("please merge my documents")[0].document, 0);
/// assert!(index.rank("thank you").is_empty());
/// ```
#[derive(Debug, Default)]
pub struct SearchIndex {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) documents: Vec<IndexedDocument>,
    /// The terms of all documents: those of one document together, in the order of the vocabulary.
    pub(crate) counts: Vec<TermCount>,
    /// For each term the end of its postings.
    posting_ends: Vec<u32>,
    postings: Vec<Posting>,
}

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedDocument {
    pub(crate) digest: TextDigest,
    pub(crate) tag: Option<SourceTag>,
    /// The number of terms of each field.
    pub(crate) lengths: [u32; FIELDS],
    /// The end of its terms in `counts`.
    pub(crate) end: u32,
}

/// How often a document contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TermCount {
    pub(crate) term: u32,
    pub(crate) fields: FieldCounts,
}

/// How often each field contains a term. Larger numbers are stored as the maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldCounts {
    pub(crate) name: u8,
    pub(crate) description: u8,
    pub(crate) body: u16,
}

/// A document that contains a term, and how much the term says for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) score: f32,
}

impl FieldCounts {
    pub(crate) fn to_array(self) -> [u16; FIELDS] {
        [u16::from(self.name), u16::from(self.description), self.body]
    }

    /// Counts a term of a field once more.
    pub(crate) fn add(&mut self, field: Field) {
        match field {
            Field::Name => self.name = self.name.saturating_add(1),
            Field::Description => self.description = self.description.saturating_add(1),
            Field::Body => self.body = self.body.saturating_add(1),
        }
    }
}

impl SearchIndex {
    /// Computes the postings from the terms of the documents.
    pub(crate) fn new(
        vocabulary: Vocabulary,
        documents: Vec<IndexedDocument>,
        counts: Vec<TermCount>,
    ) -> Self {
        let parameters = Parameters::DEFAULT;
        let mut next = vec![0_u32; vocabulary.len() + 1];
        for count in &counts {
            next[count.term as usize + 1] += 1;
        }
        for term in 1..next.len() {
            next[term] += next[term - 1];
        }
        let rarities: Vec<f32> = next
            .windows(2)
            .map(|pair| rarity(documents.len(), (pair[1] - pair[0]) as usize))
            .map(|rarity| rarity.powf(parameters.rarity_power))
            .collect();
        let mean = mean_lengths(&documents);
        let empty = Posting {
            document: 0,
            score: 0.0,
        };
        let mut postings = vec![empty; counts.len()];
        let mut start = 0;
        for (number, document) in documents.iter().enumerate() {
            let end = document.end as usize;
            let relative =
                std::array::from_fn(|field| document.lengths[field] as f32 / mean[field]);
            for count in &counts[start..end] {
                let term = count.term as usize;
                postings[next[term] as usize] = Posting {
                    document: number as u32,
                    score: rarities[term] * parameters.saturated(count.fields.to_array(), relative),
                };
                next[term] += 1;
            }
            start = end;
        }
        // Each start was moved to the end of its term.
        next.pop();
        Self {
            vocabulary,
            documents,
            counts,
            posting_ends: next,
            postings,
        }
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns true if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the digest of each document, in their order.
    pub fn digests(&self) -> impl ExactSizeIterator<Item = &TextDigest> {
        self.documents.iter().map(|document| &document.digest)
    }

    /// Returns the tag of each document, in their order; `None` for those without one.
    pub fn tags(&self) -> impl ExactSizeIterator<Item = Option<&SourceTag>> {
        self.documents.iter().map(|document| document.tag.as_ref())
    }

    /// Returns the share of documents with a description in a script without spaces, such as
    /// Chinese, from 0 to 1. A query finds documents of its own language only.
    #[must_use]
    pub fn unspaced_share(&self) -> f32 {
        let is_unspaced = |count: &TermCount| {
            count.fields.description > 0
                && self
                    .vocabulary
                    .term(count.term as usize)
                    .starts_with(is_unspaced_script)
        };
        let first = self
            .vocabulary
            .first_from(FIRST_UNSPACED.encode_utf8(&mut [0; 4]));
        let documents = (0..self.len()).filter(|document| {
            let terms = self.terms_of(*document);
            // Most texts have no later term.
            let start = terms.partition_point(|count| (count.term as usize) < first);
            terms[start..].iter().any(is_unspaced)
        });
        documents.count() as f32 / self.len().max(1) as f32
    }

    /// Returns the index in its form on disk, or `None` if that is larger than
    /// [`MAX_INDEX_BYTES`](crate::MAX_INDEX_BYTES). Equal indexes have equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        encode(self)
    }

    /// Reads an index from its form on disk.
    ///
    /// # Errors
    /// Fails if the bytes are of another version, too long or damaged. The index is then built
    /// again from the skills.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IndexError> {
        decode(bytes)
    }

    pub(crate) fn postings(&self, term: u32) -> &[Posting] {
        let term = term as usize;
        let start = term
            .checked_sub(1)
            .map_or(0, |term| self.posting_ends[term]);
        &self.postings[start as usize..self.posting_ends[term] as usize]
    }

    /// Returns the terms of a document, in the order of the vocabulary.
    pub(crate) fn terms_of(&self, document: usize) -> &[TermCount] {
        let start = document
            .checked_sub(1)
            .map_or(0, |before| self.documents[before].end);
        &self.counts[start as usize..self.documents[document].end as usize]
    }

    pub(crate) fn count(&self, document: usize, term: u32) -> Option<TermCount> {
        let terms = self.terms_of(document);
        let found = terms.binary_search_by_key(&term, |count| count.term);
        found.ok().map(|position| terms[position])
    }

    /// Returns the rarity of a term of one document, which is the largest of terms that match.
    pub(crate) fn max_rarity(&self) -> f32 {
        rarity(self.len(), 1)
    }

    /// Returns the rarity of a term; that of a term of no document for `None`.
    pub(crate) fn rarity(&self, term: Option<u32>) -> f32 {
        let containing = term.map_or(0, |term| self.postings(term).len());
        rarity(self.len(), containing)
    }
}

fn mean_lengths(documents: &[IndexedDocument]) -> [f32; FIELDS] {
    std::array::from_fn(|field| {
        let total: u64 = documents
            .iter()
            .map(|document| u64::from(document.lengths[field]))
            .sum();
        // A field that is empty everywhere must not divide by zero.
        (total as f32 / documents.len().max(1) as f32).max(1.0)
    })
}

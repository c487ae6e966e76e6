//! Documents with almost the same text.

use std::collections::{HashMap, HashSet};

use crate::analysis::{Run, fold_case, for_each_run};
use crate::document::Document;

/// Documents with a larger share of common text are near-duplicates.
const MIN_SIMILARITY: f32 = 0.6;
/// Maximum number of pairs that are returned.
pub const MAX_NEAR_DUPLICATES: usize = 1_000;
/// Number of adjacent words in a shingle.
const SHINGLE_WORDS: usize = 5;
/// A text of fewer words is too short to be compared.
const MIN_WORDS: usize = 20;
/// Maximum number of shingles of a document; the rest of a long text is ignored.
const MAX_SHINGLES: usize = 4_096;
/// A description of fewer words is too short to be compared alone.
const MIN_DESCRIPTION_WORDS: usize = 5;
/// Two documents are compared if they agree in all rows of a band. With these numbers that holds for
/// 98 % of the pairs with a similarity of 0.6, and for all but one of 10,000 from 0.75 on.
const BANDS: usize = 32;
const ROWS: usize = 4;
/// Number of documents with the same band that each is compared with, so that many equal documents
/// do not take quadratic time.
const MAX_COMPARED: usize = 8;

/// Two documents with almost the same text.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NearDuplicate {
    /// The number of the document that was added first.
    pub first: usize,
    /// The number of the other document.
    pub second: usize,
    /// The share of common text in the text of both, from 0 to 1: the Jaccard index of all sequences
    /// of five words.
    pub similarity: f32,
    /// Whether both have the same description, however different their bodies are.
    pub has_same_description: bool,
}

/// Finds documents with almost the same text: of which more than 60 % of the text of both is common,
/// or which have the same description.
///
/// Descriptions and bodies are compared by their words, without names, punctuation, case and
/// formatting. The time depends on the length of the texts and not on the number of pairs, which is
/// bounded. The result depends on the documents and their order only.
///
/// ```
/// use skills_search::{Document, NearDuplicates};
///
/// let body = "Open the file, read each page, and write the text of all pages to one file. Then \
///             tell the user how many pages there were and where the file is.";
/// let mut documents = NearDuplicates::default();
/// documents.add(&Document::new("pdf-text", "Extracts text.", body));
/// documents.add(&Document::new("weather", "Tells the forecast.", "Ask the service for it."));
/// documents.add(&Document::new("pdf-reader", "Extracts text.", body));
/// let pairs = documents.find();
/// assert_eq!((pairs.len(), pairs[0].first, pairs[0].second), (1, 0, 2));
/// assert_eq!(pairs[0].similarity, 1.0);
/// ```
#[derive(Debug, Default)]
pub struct NearDuplicates {
    documents: Vec<Shingles>,
}

/// A document as hashes of its parts.
#[derive(Debug)]
struct Shingles {
    /// Sorted, without repetitions; empty for a text that is too short.
    hashes: Vec<u64>,
    description: Option<u64>,
}

impl NearDuplicates {
    /// Adds a document. Its number is that of the documents before it.
    pub fn add(&mut self, document: &Document<'_>) {
        let [_, description, body] = document.fields();
        let of_description = words(description);
        let mut all = of_description.clone();
        all.extend(words(body));
        self.documents.push(Shingles {
            hashes: shingles(&all),
            description: (of_description.len() >= MIN_DESCRIPTION_WORDS)
                .then(|| combine(&of_description)),
        });
    }

    /// Returns the pairs, the most similar first: at most [`MAX_NEAR_DUPLICATES`]. Of many documents with the
    /// same text each is in some pair, but not all pairs are returned.
    #[must_use]
    pub fn find(&self) -> Vec<NearDuplicate> {
        let mut pairs: Vec<NearDuplicate> = self
            .candidates()
            .into_iter()
            .map(|(first, second)| self.compare(first, second))
            .filter(|pair| pair.similarity > MIN_SIMILARITY || pair.has_same_description)
            .collect();
        pairs.sort_by(|a, b| {
            let by_similarity = b.similarity.total_cmp(&a.similarity);
            by_similarity.then((a.first, a.second).cmp(&(b.first, b.second)))
        });
        pairs.truncate(MAX_NEAR_DUPLICATES);
        pairs
    }

    /// Returns the pairs that may be similar.
    fn candidates(&self) -> HashSet<(usize, usize)> {
        let mut buckets: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
        let mut pairs = HashSet::new();
        let mut add = |bucket: (usize, u64), document: usize| {
            let known = buckets.entry(bucket).or_default();
            pairs.extend(known.iter().map(|other| (*other, document)));
            if known.len() < MAX_COMPARED {
                known.push(document);
            }
        };
        for (number, document) in self.documents.iter().enumerate() {
            if !document.hashes.is_empty() {
                for (band, hash) in bands(&document.hashes).into_iter().enumerate() {
                    add((band, hash), number);
                }
            }
            if let Some(description) = document.description {
                add((BANDS, description), number);
            }
        }
        pairs
    }

    fn compare(&self, first: usize, second: usize) -> NearDuplicate {
        let (a, b) = (&self.documents[first], &self.documents[second]);
        NearDuplicate {
            first,
            second,
            similarity: jaccard(&a.hashes, &b.hashes),
            has_same_description: a.description.is_some() && a.description == b.description,
        }
    }
}

/// Returns the hashes of the words of a text, and of the characters of scripts without spaces.
fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    for_each_run(text, |run| match run {
        Run::Spaced(word) => words.push(hash(fold_case(word).as_bytes())),
        Run::Unspaced(characters) => {
            let hashes = characters.iter().map(|c| mix(u64::from(u32::from(*c))));
            words.extend(hashes);
        }
    });
    words
}

fn shingles(words: &[u64]) -> Vec<u64> {
    if words.len() < MIN_WORDS {
        return Vec::new();
    }
    let windows = words.windows(SHINGLE_WORDS).take(MAX_SHINGLES);
    let mut hashes: Vec<u64> = windows.map(combine).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Returns one hash for each band: of the smallest values of several permutations of the shingles.
fn bands(hashes: &[u64]) -> [u64; BANDS] {
    std::array::from_fn(|band| {
        let rows = (0..ROWS).map(|row| {
            let seed = mix((band * ROWS + row) as u64 + 1);
            let permuted = hashes.iter().map(|hash| mix(hash ^ seed));
            permuted.min().unwrap_or_default()
        });
        combine(&rows.collect::<Vec<u64>>())
    })
}

/// Returns the size of the intersection of two sorted sets as a part of the size of their union.
fn jaccard(a: &[u64], b: &[u64]) -> f32 {
    let (mut common, mut i, mut j) = (0_usize, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (common, i, j) = (common + 1, i + 1, j + 1);
            }
        }
    }
    let union = a.len() + b.len() - common;
    if union == 0 {
        return 0.0;
    }
    common as f32 / union as f32
}

/// Returns the hash of hashes in their order.
fn combine(hashes: &[u64]) -> u64 {
    let start = hashes.len() as u64;
    hashes
        .iter()
        .fold(start, |all, hash| mix(all.rotate_left(5) ^ hash))
}

/// Returns the FNV-1a hash of bytes, mixed. Texts that are made to collide only hide a duplicate.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Mixes the bits of a number, reversibly (the finalizer of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

//! The form of an index on disk.
//!
//! ```text
//! magic, version, analysis version, checksum of the rest
//! vocabulary: number of terms, bytes of their text, the length of each, the text
//! documents:  number, and for each its digest, tag, lengths, number of terms, and
//!             for each term the distance to the one before and its counts
//! ```
//!
//! All numbers but those of the header are of variable length (LEB128).

use crate::analysis::ANALYSIS_VERSION;
use crate::document::{FIELDS, SourceTag, TextDigest};
use crate::error::{IndexError, Repr};
use crate::index::{FieldCounts, IndexedDocument, SearchIndex, TermCount};
use crate::vocabulary::Vocabulary;

const MAGIC: &[u8; 8] = b"skillidx";
/// The version of the form.
const FORMAT_VERSION: u32 = 3;
const HEADER_BYTES: usize = 24;
/// Maximum size of an index that is read or written, in bytes: 256 MiB.
pub const MAX_INDEX_BYTES: usize = 256 * 1024 * 1024;

/// Returns an index in its form on disk, or `None` if that is too large.
pub(crate) fn encode(index: &SearchIndex) -> Option<Vec<u8>> {
    let mut bytes = vec![0; HEADER_BYTES];
    write_vocabulary(&mut bytes, &index.vocabulary);
    write_number(&mut bytes, index.documents.len() as u64);
    for (number, document) in index.documents.iter().enumerate() {
        bytes.extend(document.digest.0);
        bytes.push(u8::from(document.tag.is_some()));
        bytes.extend(document.tag.iter().flat_map(|tag| tag.0));
        for length in document.lengths {
            write_number(&mut bytes, u64::from(length));
        }
        write_counts(&mut bytes, index.terms_of(number));
    }
    write_header(&mut bytes);
    (bytes.len() <= MAX_INDEX_BYTES).then_some(bytes)
}

/// Reads an index from its form on disk.
pub(crate) fn decode(bytes: &[u8]) -> Result<SearchIndex, IndexError> {
    let mut reader = Reader(check_header(bytes)?);
    // The checksum finds accidents only, so each number is checked as well.
    let index = reader.index().ok_or(Repr::Damaged)?;
    Ok(index)
}

/// Replaces the first bytes with the header of the bytes after them.
fn write_header(bytes: &mut [u8]) {
    let (header, body) = bytes.split_at_mut(HEADER_BYTES);
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&ANALYSIS_VERSION.to_le_bytes());
    header[16..].copy_from_slice(&checksum(body).to_le_bytes());
}

/// Returns the bytes after the header.
fn check_header(bytes: &[u8]) -> Result<&[u8], IndexError> {
    if bytes.len() > MAX_INDEX_BYTES {
        return Err(Repr::TooLarge {
            bytes: bytes.len(),
            limit: MAX_INDEX_BYTES,
        }
        .into());
    }
    let header = bytes.split_first_chunk::<HEADER_BYTES>();
    let (header, body) = header.ok_or(Repr::Damaged)?;
    let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    let analysis = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    if !header.starts_with(MAGIC) {
        return Err(Repr::Damaged.into());
    }
    if (version, analysis) != (FORMAT_VERSION, ANALYSIS_VERSION) {
        return Err(Repr::OtherVersion.into());
    }
    if header[16..] != checksum(body).to_le_bytes() {
        return Err(Repr::Damaged.into());
    }
    Ok(body)
}

fn write_vocabulary(bytes: &mut Vec<u8>, vocabulary: &Vocabulary) {
    write_number(bytes, vocabulary.len() as u64);
    write_number(bytes, vocabulary.text().len() as u64);
    let mut start = 0;
    for end in vocabulary.ends() {
        write_number(bytes, u64::from(end - start));
        start = *end;
    }
    bytes.extend(vocabulary.text().as_bytes());
}

fn write_counts(bytes: &mut Vec<u8>, counts: &[TermCount]) {
    write_number(bytes, counts.len() as u64);
    let mut next = 0;
    for count in counts {
        let fields = count.fields;
        let is_in_body_only = fields.name == 0 && fields.description == 0;
        // Most terms are in the body only, so the first number tells whether others follow.
        write_number(
            bytes,
            u64::from(count.term - next) << 1 | u64::from(!is_in_body_only),
        );
        write_number(bytes, u64::from(fields.body));
        if !is_in_body_only {
            bytes.extend([fields.name, fields.description]);
        }
        next = count.term + 1;
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Returns the FNV-1a hash of the words of eight bytes, for the detection of accidents.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    for word in words.chain(rest.iter().map(|byte| u64::from(*byte))) {
        // The rotation lets high bits change low ones, which a product alone does not.
        hash = (hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    }
    hash
}

/// The rest of the bytes. Each function returns `None` at the end or for an invalid value.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn index(&mut self) -> Option<SearchIndex> {
        let vocabulary = self.vocabulary()?;
        let documents_count = self.count(32)?;
        let mut documents = Vec::with_capacity(documents_count);
        let mut counts = Vec::new();
        for _ in 0..documents_count {
            let digest = TextDigest(*self.take(32)?.first_chunk()?);
            let tag = match self.take(1)? {
                [0] => None,
                [1] => Some(SourceTag(*self.take(32)?.first_chunk()?)),
                _ => return None,
            };
            let mut lengths = [0; FIELDS];
            for length in &mut lengths {
                *length = self.number32()?;
            }
            self.counts(vocabulary.len(), &mut counts)?;
            documents.push(IndexedDocument {
                digest,
                tag,
                lengths,
                end: u32::try_from(counts.len()).ok()?,
            });
        }
        let is_at_end = self.0.is_empty();
        is_at_end.then(|| SearchIndex::new(vocabulary, documents, counts))
    }

    fn vocabulary(&mut self) -> Option<Vocabulary> {
        let terms = self.count(1)?;
        let text_bytes = self.count(1)?;
        let mut ends = Vec::with_capacity(terms);
        let mut end = 0_u32;
        for _ in 0..terms {
            end = end.checked_add(self.number32()?)?;
            ends.push(end);
        }
        let text = std::str::from_utf8(self.take(text_bytes)?).ok()?;
        Vocabulary::from_parts(text.to_owned(), ends)
    }

    fn counts(&mut self, terms: usize, counts: &mut Vec<TermCount>) -> Option<()> {
        let mut next = 0_u64;
        for _ in 0..self.count(2)? {
            let number = self.number()?;
            let term = next.checked_add(number >> 1)?;
            let body = u16::try_from(self.number()?).ok()?;
            let (name, description) = match (number & 1, self.0) {
                (0, _) => (0, 0),
                (_, [name, description, rest @ ..]) => {
                    self.0 = rest;
                    (*name, *description)
                }
                _ => return None,
            };
            if term >= terms as u64 {
                return None;
            }
            counts.push(TermCount {
                term: u32::try_from(term).ok()?,
                fields: FieldCounts {
                    name,
                    description,
                    body,
                },
            });
            next = term + 1;
        }
        Some(())
    }

    /// Returns a number of items of at least `min_bytes` each, which limits what is allocated for
    /// them.
    fn count(&mut self, min_bytes: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len() / min_bytes).then_some(count)
    }

    fn number32(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }
}

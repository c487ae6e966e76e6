//! An index on disk.

use proptest::prelude::*;
use skills_search::SearchIndex;

use super::index;

fn bytes() -> Vec<u8> {
    index().to_bytes().unwrap_or_default()
}

#[test]
fn an_index_that_was_read_back_is_the_same() {
    let read = SearchIndex::from_bytes(&bytes()).unwrap();
    for query in ["merge pdf", "天气", "tables and tickets"] {
        assert_eq!(read.rank(query), index().rank(query));
    }
    assert_eq!(read.to_bytes().unwrap(), bytes());
    assert!(read.digests().eq(index().digests()));
}

#[test]
fn an_empty_index_can_be_kept() {
    let bytes = SearchIndex::default().to_bytes().unwrap();
    assert!(SearchIndex::from_bytes(&bytes).unwrap().is_empty());
}

#[test]
fn other_versions_and_damage_are_errors() {
    let check = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let mut bytes = bytes();
        change(&mut bytes);
        let error = SearchIndex::from_bytes(&bytes).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(&|bytes| bytes[8] += 1, "the index is of another version");
    check(&|bytes| bytes[12] += 1, "the index is of another version");
    check(&|bytes| bytes[0] += 1, "the index is damaged");
    check(&|bytes| bytes[40] ^= 1, "the index is damaged");
    check(&|bytes| bytes.truncate(20), "the index is damaged");
    check(&|bytes| bytes.truncate(100), "the index is damaged");
    check(&|bytes| bytes.push(0), "the index is damaged");
    check(&|bytes| bytes.clear(), "the index is damaged");
}

/// Returns bytes with the header of a form, so that the rest is read.
fn with_header(form: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = form[..16].to_vec();
    bytes.extend(checksum(body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// The checksum of the format, written again: it detects accidents, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let mut mix = |word: u64| {
        hash = (hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
    rest.iter().for_each(|byte| mix(u64::from(*byte)));
    hash
}

fn search_all(index: &SearchIndex, query: &str) {
    let _ = index.search(query);
    let _ = index.rank(query);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever a file contains, reading it neither panics nor takes more memory than its size
    /// justifies, and what was read can be searched.
    #[test]
    fn forged_files_are_harmless(body in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(index) = SearchIndex::from_bytes(&with_header(&bytes(), &body)) {
            search_all(&index, "merge pdf");
        }
    }

    #[test]
    fn changed_files_are_harmless(position in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut body = bytes().split_off(24);
        let position = position.index(body.len());
        body[position] = value;
        if let Ok(index) = SearchIndex::from_bytes(&with_header(&bytes(), &body)) {
            search_all(&index, "merge pdf 天气");
        }
    }
}

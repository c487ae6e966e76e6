//! Reads bytes as a search index, behind a valid header, and searches it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use skills_search::{Document, IndexBuilder, SearchIndex};

const QUERY: &str = "please merge pdf tables 天气";

/// The index of which the header is taken.
static INDEX: LazyLock<SearchIndex> = LazyLock::new(|| {
    let mut builder = IndexBuilder::new();
    builder.add(&Document::new("pdf", "Merges PDF files.", "Rotates pages."));
    builder.add(&Document::new(
        "tables",
        "Merges tables.",
        "Of PDF files, too.",
    ));
    builder.add(&Document::new("amap", "天气查询", "地图"));
    builder.build()
});

/// The bytes of a header without its checksum.
const HEADER_BYTES: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    let form = INDEX.to_bytes().expect("the index is small");
    let header = &form[..HEADER_BYTES];
    if let Ok(index) = SearchIndex::from_bytes(&with_header(header, bytes)) {
        let result = index.search(QUERY);
        assert!(result.hits.iter().all(|hit| hit.document < index.len()));
        let _ = index.explain(QUERY, 0);
        // Damage that is not noticed is at least stable.
        let written = index.to_bytes().expect("the index is small");
        let read = SearchIndex::from_bytes(&written).expect("a written index can be read");
        assert_eq!(read.rank(QUERY), index.rank(QUERY));
        let rebuilt = IndexBuilder::reusing(&index).build();
        assert!(rebuilt.is_empty());
    }
    let _ = SearchIndex::from_bytes(bytes);
});

fn with_header(header: &[u8], body: &[u8]) -> Vec<u8> {
    [header, &checksum(body).to_le_bytes(), body].concat()
}

/// The checksum of the format, which detects accidents only.
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

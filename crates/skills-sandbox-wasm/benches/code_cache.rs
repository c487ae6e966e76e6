//! Loading modules of 200 KB and 30 MB, compared with a plain read of the same file, which verifies
//! nothing.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench creates its own files and fails by panicking"
)]

/// The module itself: loading is not part of the public API.
#[path = "../src"]
mod source {
    #[expect(
        unused,
        unreachable_pub,
        reason = "the bench uses a part of it, and includes its tests"
    )]
    pub(crate) mod code_cache;
}

use std::path::PathBuf;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use source::code_cache::{CacheKey, CodeCache, Lookup};
use tempfile::TempDir;

const SIZES: [usize; 2] = [200 << 10, 30 << 20];

fn main() {
    divan::main();
}

/// A cache with one module, and the path of its file.
fn filled(bytes: usize) -> (TempDir, CodeCache, CacheKey, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let key = CacheKey::new(&CacheKey::content_hash(b"component"), &[b"engine"]);
    let cache = CodeCache::open(parent.path().join("cache")).unwrap();
    let payload: Vec<u8> = (0..bytes).map(|index| (index * 31) as u8).collect();
    cache.store(&key, &payload).unwrap();
    let file = cache.directory().join(format!("{key}.artifact"));
    (parent, cache, key, file)
}

fn hit(cache: &CodeCache, key: &CacheKey) -> Vec<u8> {
    let payload = if let Lookup::Hit(payload) = cache.load(key).unwrap() {
        Some(payload)
    } else {
        None
    };
    payload.unwrap()
}

#[divan::bench(args = SIZES)]
fn bare_read(bencher: Bencher<'_, '_>, bytes: usize) {
    let (_parent, _cache, _key, file) = filled(bytes);
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| std::fs::read(black_box(&file)).unwrap());
}

/// As in a new process: the directory and the key are opened too.
#[divan::bench(args = SIZES)]
fn first_load(bencher: Bencher<'_, '_>, bytes: usize) {
    let (_parent, cache, key, _file) = filled(bytes);
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        hit(
            &CodeCache::open(cache.directory()).unwrap(),
            black_box(&key),
        )
    });
}

#[divan::bench(args = SIZES)]
fn later_load(bencher: Bencher<'_, '_>, bytes: usize) {
    let (_parent, cache, key, _file) = filled(bytes);
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| hit(&cache, black_box(&key)));
}

#[divan::bench(args = SIZES)]
fn hash_of_a_component(bencher: Bencher<'_, '_>, bytes: usize) {
    let content = vec![7; bytes];
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| CacheKey::content_hash(black_box(&content)));
}

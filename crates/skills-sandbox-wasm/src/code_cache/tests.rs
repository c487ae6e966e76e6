//! Tests of the cache's guarantees on real files.

#![expect(
    clippy::disallowed_methods,
    reason = "tests modify files of the cache directly, and start processes"
)]

mod files;
mod processes;
mod sharing;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::{CacheKey, CodeCache, Lookup};

const PAYLOAD: &[u8] = b"pretends to be compiled code";
/// No waiting.
const NOW: Duration = Duration::ZERO;
/// Much longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A cache in a directory that does not exist yet.
struct Fixture {
    parent: TempDir,
    cache: CodeCache,
}

impl Fixture {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(parent.path().join("deep/cache")).unwrap();
        Self { parent, cache }
    }

    /// With one module.
    fn filled() -> (Self, CacheKey) {
        let fixture = Self::new();
        let key = key("one");
        fixture.cache.store(&key, PAYLOAD).unwrap();
        (fixture, key)
    }

    fn file(&self, key: &CacheKey) -> PathBuf {
        self.cache.directory().join(format!("{key}.artifact"))
    }

    fn mac_key(&self) -> PathBuf {
        self.cache.directory().join("mac.key")
    }

    /// The cache as another process would open it.
    fn another(&self) -> CodeCache {
        CodeCache::open(self.cache.directory()).unwrap()
    }

    /// All names in the directory, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache.directory()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }
}

fn key(content: &str) -> CacheKey {
    CacheKey::new(
        &CacheKey::content_hash(content.as_bytes()),
        &[b"engine", b"version"],
    )
}

fn payload(loaded: Result<Lookup, super::CodeCacheError>) -> Vec<u8> {
    match loaded {
        Ok(Lookup::Hit(payload)) => payload,
        other => panic!("no hit but {other:?}"),
    }
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn stored_modules_are_loaded() {
    let fixture = Fixture::new();
    for length in [0, 1, 79, 80, 81, 256 << 10, (256 << 10) + 1, 3 << 20] {
        let (key, stored) = (key(&length.to_string()), vec![length as u8; length]);
        fixture.cache.store(&key, &stored).unwrap();
        assert!(payload(fixture.cache.load(&key)) == stored, "{length}");
        assert!(payload(fixture.another().load(&key)) == stored, "{length}");
    }
}

#[test]
fn nothing_is_created_before_a_module_is_stored() {
    let fixture = Fixture::new();
    assert!(matches!(fixture.cache.load(&key("one")), Ok(Lookup::Miss)));
    assert_eq!(fixture.cache.usage().unwrap(), crate::CacheUsage::default());
    assert_eq!(fixture.cache.clear().unwrap(), crate::CacheUsage::default());
    assert_eq!(fs::read_dir(fixture.parent.path()).unwrap().count(), 0);
}

#[test]
fn cache_files_are_accessible_by_this_user_only() {
    let (fixture, key) = Fixture::filled();
    assert_eq!(mode(fixture.cache.directory()), 0o700);
    assert_eq!(
        [mode(&fixture.file(&key)), mode(&fixture.mac_key())],
        [0o600; 2]
    );
    assert_eq!(
        fixture.names(),
        [format!("{key}.artifact"), "mac.key".into()]
    );
}

#[test]
fn a_different_part_gives_a_different_key() {
    let content = CacheKey::content_hash(b"content");
    let parts: [&[&[u8]]; 7] = [
        &[],
        &[b""],
        &[b"", b""],
        &[b"ab"],
        &[b"a", b"b"],
        &[b"ab", b""],
        &[b"b", b"a"],
    ];
    let mut keys: Vec<_> = parts
        .iter()
        .map(|parts| CacheKey::new(&content, parts).to_string())
        .collect();
    keys.push(CacheKey::new(&CacheKey::content_hash(b"other"), &[]).to_string());
    assert!(keys.iter().all(|key| key.len() == 64));
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), parts.len() + 1);
}

#[test]
fn relative_directories_are_rejected() {
    for path in ["", "cache", "./cache"] {
        let error = CodeCache::open(path).unwrap_err();
        assert_eq!(error.kind(), crate::CodeCacheErrorKind::Unsupported);
    }
}

#[test]
fn debug_output_omits_the_key() {
    let (fixture, _) = Fixture::filled();
    let mac_key = fs::read(fixture.mac_key()).unwrap();
    let shown = format!("{:?}", fixture.cache);
    assert!(
        shown.contains("MacKey") && !shown.contains(&format!("{mac_key:?}")),
        "{shown}"
    );
}

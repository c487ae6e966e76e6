use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use super::*;

const LONG_AGO: Duration = Duration::from_secs(3_600);

/// A skill with three files, all written before the time that `scan_start` returns.
struct Skill(TempDir);

impl Skill {
    fn new() -> Self {
        let skill = Self(tempfile::tempdir().unwrap());
        fs::create_dir(skill.path("scripts")).unwrap();
        for (path, text) in [
            ("SKILL.md", "---\nname: a\n---\n"),
            ("scripts/a.py", "print(1)\n"),
            ("scripts/b.py", ""),
        ] {
            fs::write(skill.path(path), text).unwrap();
        }
        skill
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn files(&self) -> SkillFiles {
        SkillFiles::open_directory(self.0.path()).unwrap()
    }

    fn scan_start(&self, age: Duration) -> ScanStart {
        ScanStart::after_writing(&self.path("scripts/b.py"), age)
    }
}

#[test]
fn a_file_that_was_written_before_the_last_tick_is_cached() {
    let skill = Skill::new();
    let files = skill.files();
    let scan_start = skill.scan_start(LONG_AGO);
    let mut cache = DigestCache::default();
    let first = files
        .digest_at(&mut cache, scan_start, MAX_BYTES)
        .unwrap()
        .digest;
    assert_eq!(cache.hits(), 0);
    assert_eq!(
        files
            .digest_at(&mut cache, scan_start, MAX_BYTES)
            .unwrap()
            .digest,
        first
    );
    assert_eq!(cache.hits(), 3);
    fs::write(skill.path("scripts/a.py"), "print(12)\n").unwrap();
    assert_ne!(
        files
            .digest_at(&mut cache, scan_start, MAX_BYTES)
            .unwrap()
            .digest,
        first
    );
    assert_eq!(cache.hits(), 5, "the other two files are unchanged");
}

/// A second write in the same tick of the file system's clock would not change the stamp.
#[test]
fn a_file_that_was_written_in_this_tick_is_not_cached() {
    let skill = Skill::new();
    let files = skill.files();
    let scan_start = skill.scan_start(Duration::ZERO);
    let mut cache = DigestCache::default();
    let first = files
        .digest_at(&mut cache, scan_start, MAX_BYTES)
        .unwrap()
        .digest;
    assert_eq!(files.cached_digest(&mut cache).unwrap(), None);
    assert_eq!(
        files
            .digest_at(&mut cache, scan_start, MAX_BYTES)
            .unwrap()
            .digest,
        first
    );
    let copy = tempfile::tempdir().unwrap();
    files
        .copy_at(copy.path(), u64::MAX, &mut cache, scan_start)
        .unwrap();
    assert_eq!(
        files
            .digest_at(&mut cache, scan_start, MAX_BYTES)
            .unwrap()
            .digest,
        first
    );
    assert_eq!(cache.hits(), 0);
}

#[test]
fn a_copy_fills_the_cache() {
    let skill = Skill::new();
    let files = skill.files();
    let mut cache = DigestCache::default();
    let copy = tempfile::tempdir().unwrap();
    let (copied, _) = files
        .copy_at(
            copy.path(),
            u64::MAX,
            &mut cache,
            skill.scan_start(LONG_AGO),
        )
        .unwrap();
    assert_eq!(files.digest(&mut cache).unwrap(), copied);
    assert_eq!(cache.hits(), 3);
}

#[test]
fn a_cached_digest_needs_every_file_in_the_cache() {
    let skill = Skill::new();
    let files = skill.files();
    let scan_start = skill.scan_start(LONG_AGO);
    let mut cache = DigestCache::default();
    assert_eq!(files.cached_digest(&mut cache).unwrap(), None);
    let digest = files
        .digest_at(&mut cache, scan_start, MAX_BYTES)
        .unwrap()
        .digest;
    assert_eq!(files.cached_digest(&mut cache).unwrap(), Some(digest));
    for path in ["SKILL.md", "scripts/a.py", "scripts/b.py"] {
        files.digest_at(&mut cache, scan_start, MAX_BYTES).unwrap();
        fs::write(skill.path(path), "another text").unwrap();
        assert_eq!(files.cached_digest(&mut cache).unwrap(), None, "{path}");
    }
}

#[test]
fn a_cleared_cache_is_empty() {
    let skill = Skill::new();
    let files = skill.files();
    let scan_start = skill.scan_start(LONG_AGO);
    let mut cache = DigestCache::default();
    files.digest_at(&mut cache, scan_start, MAX_BYTES).unwrap();
    // As if the generation were full, the digests of the skill become the previous ones.
    cache.previous = std::mem::take(&mut cache.files);
    let stamp = FileStamp::from_path(&skill.path("scripts/a.py")).unwrap();
    assert!(cache.get(stamp).is_some());
    assert!(!cache.files.is_empty() && !cache.previous.is_empty());
    cache.clear();
    assert_eq!(files.cached_digest(&mut cache).unwrap(), None);
    assert_eq!(cache.get(stamp), None);
}

#[test]
fn a_growing_file_is_hashed_up_to_its_length_when_opened() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("log"), [7; 200_000]).unwrap();
    let handle = open_root(directory.path()).unwrap();
    for length in [0, 1, 65_536, 65_537, 199_999, 200_000, 300_000] {
        let (file, _) = open_regular(&handle, Path::new("log"), u64::MAX).unwrap();
        let mut copied = Vec::new();
        let digest = hash_file(&file, length, |bytes| copied.write_all(bytes)).unwrap();
        assert_eq!(copied, vec![7; 200_000.min(length as usize)]);
        assert_eq!(digest, *Sha256::digest(&copied));
    }
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let directory = FileStamp::from_path(directory.path()).unwrap();
    let stamp = |number: usize| directory.with_bytes(number.try_into().unwrap());
    let mut cache = DigestCache::default();
    let used_often = stamp(0);
    cache.insert(used_often, [7; 32]);
    for number in 1..3 * MAX_CACHED {
        cache.insert(stamp(number), [0; 32]);
        if number % MAX_CACHED == 0 {
            assert_eq!(
                cache.get(used_often),
                Some([7; 32]),
                "a digest in use stays"
            );
        }
    }
    assert!(cache.files.len() + cache.previous.len() <= 2 * MAX_CACHED);
    assert_eq!(cache.get(stamp(1)), None);
}

/// Files that are read in turn would all be evicted before their next use.
#[test]
fn the_files_of_a_large_catalog_are_read_once() {
    const FILES: usize = 50_000 * 3;
    let directory = tempfile::tempdir().unwrap();
    let directory = FileStamp::from_path(directory.path()).unwrap();
    let stamp = |number: usize| directory.with_bytes(number.try_into().unwrap());
    let mut cache = DigestCache::default();
    for number in 0..FILES {
        cache.insert(stamp(number), [0; 32]);
    }
    for _ in 0..2 {
        let cached = (0..FILES).filter(|number| cache.get(stamp(*number)).is_some());
        assert_eq!(cached.count(), FILES);
    }
}

#[test]
fn a_skill_that_is_larger_than_the_limit_has_no_digest() {
    let skill = Skill::new();
    let files = skill.files();
    let bytes: u64 = ["SKILL.md", "scripts/a.py", "scripts/b.py"]
        .iter()
        .map(|path| fs::metadata(skill.path(path)).unwrap().len())
        .sum();
    let mut cache = DigestCache::default();
    let whole = files.digest(&mut cache).unwrap();
    assert_eq!(files.digest_up_to(bytes, &mut cache).unwrap(), whole);
    assert!(files.digest_up_to(bytes - 1, &mut cache).is_err());
    assert_eq!(files.digest_up_to(u64::MAX, &mut cache).unwrap(), whole);
}

//! Limits, eviction and leftovers; threads that share a cache.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::super::directory::Directory;
use super::super::temp_file::TempFile;
use super::super::{CacheKey, CodeCache, CodeCacheErrorKind, Lookup};
use super::{Fixture, NOW, PATIENCE, PAYLOAD, key, payload};

const THREADS: usize = 8;

fn stored(fixture: &Fixture, name: &str, bytes: usize) -> CacheKey {
    let key = key(name);
    fixture
        .cache
        .clone()
        .max_bytes(u64::MAX)
        .store(&key, &vec![1; bytes])
        .unwrap();
    key
}

/// Sets the last use of a module to this long ago.
fn set_age(fixture: &Fixture, key: &CacheKey, age: Duration) {
    let file = File::options().write(true).open(fixture.file(key)).unwrap();
    file.set_times(FileTimes::new().set_modified(SystemTime::now() - age))
        .unwrap();
}

fn age(fixture: &Fixture, key: &CacheKey) -> Duration {
    fs::metadata(fixture.file(key))
        .unwrap()
        .modified()
        .unwrap()
        .elapsed()
        .unwrap_or_default()
}

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn the_least_recently_used_module_is_evicted_first() {
    let fixture = Fixture::new();
    let keys: Vec<_> = (0..4)
        .map(|index| stored(&fixture, &format!("old {index}"), 1_000))
        .collect();
    for (key, hours) in keys.iter().zip([5, 9, 7, 3]) {
        set_age(&fixture, key, HOUR * hours);
    }
    // The second is the oldest, but it is used now.
    assert_eq!(payload(fixture.cache.load(&keys[1])).len(), 1_000);
    let newest = key("new");
    fixture
        .cache
        .clone()
        .max_bytes(3_500)
        .store(&newest, &[2; 1_000])
        .unwrap();
    let left: Vec<_> = keys.iter().map(|key| fixture.file(key).exists()).collect();
    assert_eq!(left, [false, true, false, true]);
    assert_eq!(payload(fixture.cache.load(&newest)), [2; 1_000]);
    let usage = fixture.cache.usage().unwrap();
    assert_eq!((usage.modules(), usage.bytes()), (3, 3 * 1_080));
}

#[test]
fn a_module_larger_than_the_cache_is_not_stored() {
    let (fixture, one) = Fixture::filled();
    let small = fixture.cache.clone().max_bytes(100);
    let error = small.store(&key("large"), &[0; 101]).unwrap_err();
    assert_eq!(error.kind(), CodeCacheErrorKind::TooLarge);
    assert!(fixture.file(&one).exists());
    // All others are evicted, but not the module that was just stored.
    small.store(&key("fits"), &[0; 100]).unwrap();
    assert!(!fixture.file(&one).exists() && fixture.file(&key("fits")).exists());
}

#[test]
fn last_use_is_updated_only_if_it_is_old() {
    let (fixture, one) = Fixture::filled();
    set_age(&fixture, &one, HOUR / 2);
    assert_eq!(payload(fixture.cache.load(&one)), PAYLOAD);
    assert!(age(&fixture, &one) > HOUR / 4);
    set_age(&fixture, &one, HOUR * 2);
    assert_eq!(payload(fixture.cache.load(&one)), PAYLOAD);
    assert!(age(&fixture, &one) < HOUR / 2);
}

#[test]
fn a_rejected_file_does_not_count_as_used() {
    let (fixture, one) = Fixture::filled();
    set_age(&fixture, &one, HOUR * 2);
    let held = File::open(fixture.file(&one)).unwrap();
    let mut bytes = fs::read(fixture.file(&one)).unwrap();
    bytes.truncate(90);
    fs::write(fixture.file(&one), bytes).unwrap();
    set_age(&fixture, &one, HOUR * 2);
    assert!(matches!(fixture.cache.load(&one), Ok(Lookup::Rejected(_))));
    assert!(
        held.metadata()
            .unwrap()
            .modified()
            .unwrap()
            .elapsed()
            .unwrap()
            > HOUR
    );
}

#[test]
fn only_leftovers_of_dead_processes_are_removed() {
    let (fixture, one) = Fixture::filled();
    let (part, lock) = ("0123456789abcdef.part", format!("{}.lock", key("dead")));
    for name in [part, &lock, "notes.txt", "Cargo.lock"] {
        let path = fixture.cache.directory().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    // Two that are in use: a lock that is held, and a file that is being written, which its writer
    // has locked.
    let held = fixture
        .cache
        .lock(&key("held"), NOW, &|| false)
        .unwrap()
        .expect("the lock is free");
    let directory = Directory::open(fixture.cache.directory()).unwrap().unwrap();
    let writing = TempFile::new(&directory).unwrap();
    fixture.another().store(&key("two"), PAYLOAD).unwrap();
    let mut expected = vec![
        format!("{one}.artifact"),
        format!("{}.artifact", key("two")),
        format!("{}.lock", key("held")),
    ];
    expected.extend([
        writing.name().to_owned(),
        "notes.txt".into(),
        "Cargo.lock".into(),
        "mac.key".into(),
    ]);
    expected.sort_unstable();
    assert_eq!(fixture.names(), expected);
    drop((writing, held));
    let cleared = fixture.cache.clear().unwrap();
    assert_eq!(
        (cleared.modules(), cleared.bytes()),
        (2, 2 * (PAYLOAD.len() as u64 + 80))
    );
    assert_eq!(fixture.names(), ["Cargo.lock", "mac.key", "notes.txt"]);
}

#[test]
fn a_released_lock_leaves_no_file() {
    let fixture = Fixture::new();
    let lock = fixture
        .cache
        .lock(&key("one"), NOW, &|| false)
        .unwrap()
        .expect("the lock is free");
    assert!(
        fixture
            .another()
            .lock(&key("one"), NOW, &|| false)
            .unwrap()
            .is_none()
    );
    assert!(
        fixture
            .cache
            .lock(&key("one"), Duration::from_millis(20), &|| false)
            .unwrap()
            .is_none()
    );
    assert!(
        fixture
            .cache
            .lock(&key("other"), NOW, &|| false)
            .unwrap()
            .is_some()
    );
    drop(lock);
    assert!(
        fixture
            .another()
            .lock(&key("one"), NOW, &|| false)
            .unwrap()
            .is_some()
    );
    assert_eq!(fixture.names(), [""; 0]);
}

#[test]
fn one_thread_at_a_time_has_the_lock() {
    let (fixture, inside, turns) = (Fixture::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..25 {
                    let lock = fixture
                        .another()
                        .lock(&key("one"), PATIENCE, &|| false)
                        .unwrap()
                        .expect("the lock is released at times");
                    assert_eq!(
                        inside.fetch_add(1, Ordering::SeqCst),
                        0,
                        "two had it at once"
                    );
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    turns.fetch_add(1, Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
    assert_eq!(turns.into_inner(), THREADS * 25);
}

#[test]
fn concurrent_threads_create_one_key() {
    for _ in 0..20 {
        let (fixture, barrier) = (Fixture::new(), Barrier::new(THREADS));
        std::thread::scope(|scope| {
            for index in 0..THREADS {
                let (fixture, barrier) = (&fixture, &barrier);
                scope.spawn(move || {
                    let cache = fixture.another();
                    barrier.wait();
                    cache.store(&key(&index.to_string()), PAYLOAD).unwrap();
                });
            }
        });
        for index in 0..THREADS {
            assert_eq!(
                payload(fixture.another().load(&key(&index.to_string()))),
                PAYLOAD
            );
        }
        assert_eq!(fixture.names().len(), THREADS + 1);
    }
}

/// Each thread writes versions that consist of one repeated byte, so a mixture of two would be
/// visible.
#[test]
fn readers_see_complete_modules_during_writes() {
    let (fixture, one) = Fixture::filled();
    let read = |cache: &CodeCache| match cache.load(&one).unwrap() {
        Lookup::Hit(payload) => payload,
        other => panic!("{other:?}"),
    };
    std::thread::scope(|scope| {
        for writer in 0..3_u8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for round in 0..30_usize {
                    fixture
                        .cache
                        .store(&one, &vec![writer; 1_000 + round * 10_000])
                        .unwrap();
                }
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let payload = read(&fixture.another());
                    assert!(payload == PAYLOAD || payload.iter().all(|byte| *byte == payload[0]));
                }
            });
        }
    });
    assert_eq!(fixture.names().len(), 2);
}

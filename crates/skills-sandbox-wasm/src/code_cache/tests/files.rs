//! Files and directories with unexpected content, type, owner or mode.

use skills_test_support::{skip, skip_part};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use super::super::error::Rejection;
use super::super::error::TrustFault;
use super::super::{CacheKey, CodeCache, CodeCacheErrorKind, Lookup};
use super::{Fixture, PAYLOAD, key, mode, payload, set_mode};

/// An unused user id on common systems; root can give files to it.
const OTHER_USER: u32 = 65_534;

/// Modifies the file of a module, then expects it to be rejected and deleted.
#[track_caller]
fn rejected(change: impl FnOnce(&Path)) -> Rejection {
    let (fixture, key) = Fixture::filled();
    change(&fixture.file(&key));
    let Ok(Lookup::Rejected(rejection)) = fixture.another().load(&key) else {
        panic!("not rejected")
    };
    assert!(
        fs::symlink_metadata(fixture.file(&key)).is_err(),
        "it is still there after {rejection}"
    );
    assert!(matches!(fixture.cache.load(&key), Ok(Lookup::Miss)));
    fixture.cache.store(&key, PAYLOAD).unwrap();
    assert_eq!(payload(fixture.cache.load(&key)), PAYLOAD);
    rejection
}

/// Expects the whole cache to be rejected, for reading and for writing, with this text in the
/// message.
#[track_caller]
fn refused(cache: &CodeCache, reason: &str) {
    let key = key("one");
    for error in [
        cache.load(&key).unwrap_err(),
        cache.store(&key, PAYLOAD).unwrap_err(),
    ] {
        assert_eq!(error.kind(), CodeCacheErrorKind::Untrusted, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[track_caller]
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("only root can give files to another user");
    }
    root
}

/// Replaces a module with these bytes, expects them to be rejected and deleted, and checks the
/// reason.
#[track_caller]
fn rejected_bytes(
    fixture: &Fixture,
    key: &CacheKey,
    bytes: &[u8],
    reason: impl FnOnce(Rejection) -> bool,
) {
    fs::write(fixture.file(key), bytes).unwrap();
    set_mode(&fixture.file(key), 0o600);
    let Ok(Lookup::Rejected(rejection)) = fixture.cache.load(key) else {
        panic!("not rejected")
    };
    assert!(reason(rejection), "{rejection}");
    assert!(
        !fixture.file(key).exists(),
        "it is still there after {rejection}"
    );
}

#[test]
fn every_flipped_byte_is_found() {
    let (fixture, key) = Fixture::filled();
    let whole = fs::read(fixture.file(&key)).unwrap();
    assert_eq!(whole.len(), PAYLOAD.len() + 80);
    for index in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[index] ^= flip;
            rejected_bytes(&fixture, &key, &bytes, |rejection| match index {
                0..8 => rejection == Rejection::UnknownFormat,
                8..16 => matches!(rejection, Rejection::LengthMismatch { .. }),
                16..48 => rejection == Rejection::KeyMismatch,
                _ => rejection == Rejection::BadMac,
            });
        }
    }
    fs::write(fixture.file(&key), whole).unwrap();
    set_mode(&fixture.file(&key), 0o600);
    assert_eq!(payload(fixture.cache.load(&key)), PAYLOAD);
}

#[test]
fn every_other_length_is_found() {
    let (fixture, key) = Fixture::filled();
    let mut bytes = fs::read(fixture.file(&key)).unwrap();
    bytes.push(0);
    let whole = bytes.len() - 1;
    for length in (0..=bytes.len()).filter(|length| *length != whole) {
        let is_told = |rejection| matches!(rejection, Rejection::LengthMismatch { actual, .. } if actual == length as u64);
        rejected_bytes(&fixture, &key, &bytes[..length], is_told);
    }
}

#[test]
fn bytes_of_other_origin_are_rejected() {
    assert_eq!(
        rejected(|file| fs::write(file, [0x5a; 4_096]).unwrap()),
        Rejection::UnknownFormat
    );
    assert_eq!(
        rejected(|file| fs::write(file, b"\x7fELF".repeat(100)).unwrap()),
        Rejection::UnknownFormat
    );
}

#[test]
fn a_file_beyond_the_maximum_size_is_not_read() {
    // A sparse file: neither disk nor memory could hold its length.
    let rejection = rejected(|file| {
        fs::OpenOptions::new()
            .write(true)
            .open(file)
            .unwrap()
            .set_len(1 << 40)
            .unwrap()
    });
    assert!(
        matches!(rejection, Rejection::TooLarge { bytes, .. } if bytes == 1 << 40),
        "{rejection}"
    );
}

#[test]
fn the_file_of_another_key_is_rejected() {
    let (fixture, one) = Fixture::filled();
    let other = key("other");
    fs::rename(fixture.file(&one), fixture.file(&other)).unwrap();
    assert!(matches!(
        fixture.cache.load(&other),
        Ok(Lookup::Rejected(Rejection::KeyMismatch))
    ));
    assert!(!fixture.file(&other).exists());
}

#[test]
fn files_authenticated_with_another_key_are_rejected() {
    let (theirs, key) = Fixture::filled();
    let (ours, _) = Fixture::filled();
    fs::copy(theirs.file(&key), ours.file(&key)).unwrap();
    assert!(matches!(
        ours.cache.load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
    // With their key in place of ours, a new process accepts their files, and no longer ours.
    ours.cache.store(&key, PAYLOAD).unwrap();
    fs::copy(theirs.mac_key(), ours.mac_key()).unwrap();
    assert!(matches!(
        ours.another().load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
}

#[test]
fn modules_are_rejected_after_the_key_is_removed() {
    let (fixture, key) = Fixture::filled();
    fs::remove_file(fixture.mac_key()).unwrap();
    assert!(matches!(
        fixture.another().load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
    assert!(!fixture.file(&key).exists() && !fixture.mac_key().exists());
}

#[test]
fn symlinks_are_not_followed() {
    let rejection = rejected(|file| {
        let moved = file.with_extension("moved");
        fs::rename(file, &moved).unwrap();
        symlink(&moved, file).unwrap();
    });
    assert_eq!(rejection, Rejection::Untrusted(TrustFault::Symlink));

    let (fixture, _) = Fixture::filled();
    let moved = fixture.parent.path().join("moved.key");
    fs::rename(fixture.mac_key(), &moved).unwrap();
    symlink(&moved, fixture.mac_key()).unwrap();
    refused(&fixture.another(), "mac.key: is a symlink");

    let (fixture, _) = Fixture::filled();
    let link = fixture.parent.path().join("link");
    symlink(fixture.cache.directory(), &link).unwrap();
    for path in [link.clone(), link.join(""), link.join(".")] {
        refused(
            &CodeCache::open(path).unwrap(),
            "is a symlink; pass the directory itself",
        );
    }
}

#[test]
fn opening_a_pipe_does_not_block() {
    let rejection = rejected(|file| {
        fs::remove_file(file).unwrap();
        pipe(file);
    });
    assert_eq!(rejection, Rejection::Untrusted(TrustFault::Kind));

    let (fixture, _) = Fixture::filled();
    fs::remove_file(fixture.mac_key()).unwrap();
    pipe(&fixture.mac_key());
    refused(&fixture.another(), "mac.key: unexpected file type");
}

fn pipe(path: &Path) {
    let status = std::process::Command::new("mkfifo")
        .arg("-m")
        .arg("600")
        .arg(path)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn modes_with_access_for_others_are_rejected() {
    assert_eq!(
        rejected(|file| set_mode(file, 0o640)),
        Rejection::Untrusted(TrustFault::Mode { mode: 0o640 })
    );
    for wide in [0o710, 0o701, 0o750, 0o777] {
        let (fixture, key) = Fixture::filled();
        set_mode(fixture.cache.directory(), wide);
        refused(
            &fixture.another(),
            &format!("accessible to other users (mode {wide:o}); run `chmod go= "),
        );
        assert!(
            fixture.file(&key).exists(),
            "a directory that is refused is left alone"
        );
        set_mode(fixture.cache.directory(), 0o700);
        assert_eq!(payload(fixture.another().load(&key)), PAYLOAD);
    }
    let (fixture, _) = Fixture::filled();
    set_mode(&fixture.mac_key(), 0o604);
    refused(
        &fixture.another(),
        "mac.key: accessible to other users (mode 604)",
    );
}

#[test]
fn a_key_of_another_length_is_rejected() {
    for length in [0, 31, 33] {
        let (fixture, _) = Fixture::filled();
        fs::write(fixture.mac_key(), vec![7; length]).unwrap();
        refused(
            &fixture.another(),
            &format!("key is {length} bytes, expected 32; remove it"),
        );
    }
}

#[test]
fn files_of_other_users_are_rejected() {
    if !is_root() {
        return;
    }
    let fault = TrustFault::Owner {
        owner: OTHER_USER,
        user: 0,
    };
    assert_eq!(
        rejected(|file| chown(file, Some(OTHER_USER), None).unwrap()),
        Rejection::Untrusted(fault)
    );
    let (fixture, _) = Fixture::filled();
    chown(fixture.mac_key(), Some(OTHER_USER), None).unwrap();
    refused(
        &fixture.another(),
        "mac.key: owned by user 65534, expected 0",
    );
    let (fixture, _) = Fixture::filled();
    chown(fixture.cache.directory(), Some(OTHER_USER), None).unwrap();
    refused(
        &fixture.another(),
        "owned by user 65534, expected 0; pass a directory that you own",
    );
}

#[test]
fn a_directory_of_root_is_rejected_for_others() {
    if rustix::process::geteuid().is_root() {
        return skip("this is root");
    }
    refused(&CodeCache::open("/").unwrap(), "owned by user 0");
}

#[test]
fn a_file_in_place_of_the_directory_is_rejected() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("cache");
    fs::write(&file, "").unwrap();
    refused(&CodeCache::open(&file).unwrap(), "unexpected file type");
}

#[test]
fn a_read_only_directory_still_serves_its_modules() {
    let (fixture, one) = Fixture::filled();
    set_mode(fixture.cache.directory(), 0o500);
    assert_eq!(payload(fixture.another().load(&one)), PAYLOAD);
    if rustix::process::geteuid().is_root() {
        skip_part("writing", "root may write everywhere");
    } else {
        for error in [
            fixture.another().store(&key("two"), PAYLOAD).unwrap_err(),
            fixture
                .another()
                .lock(&one, super::NOW, &|| false)
                .unwrap_err(),
        ] {
            assert_eq!(error.kind(), CodeCacheErrorKind::Io, "{error}");
        }
    }
    set_mode(fixture.cache.directory(), 0o700);
    assert_eq!(fixture.names().len(), 2);
}

#[test]
fn a_deleted_directory_is_recreated() {
    let (fixture, one) = Fixture::filled();
    let mac_key = fs::read(fixture.mac_key()).unwrap();
    fs::remove_dir_all(fixture.cache.directory()).unwrap();
    assert!(matches!(fixture.cache.load(&one), Ok(Lookup::Miss)));
    drop(
        fixture
            .cache
            .lock(&one, super::NOW, &|| false)
            .unwrap()
            .expect("the lock is free"),
    );
    fixture.cache.store(&one, PAYLOAD).unwrap();
    assert_eq!(payload(fixture.cache.load(&one)), PAYLOAD);
    assert_eq!(payload(fixture.another().load(&one)), PAYLOAD);
    assert_eq!(mode(fixture.cache.directory()), 0o700);
    assert_ne!(
        fs::read(fixture.mac_key()).unwrap(),
        mac_key,
        "the key is a new one"
    );
}

#[test]
fn a_module_is_replaced_and_never_modified() {
    let (fixture, one) = Fixture::filled();
    let open = fs::File::open(fixture.file(&one)).unwrap();
    let before = open.metadata().unwrap();
    fixture.cache.store(&one, b"newer").unwrap();
    assert_eq!(payload(fixture.cache.load(&one)), b"newer");
    assert_ne!(
        fs::metadata(fixture.file(&one)).unwrap().ino(),
        before.ino()
    );
    let after = open.metadata().unwrap();
    assert_eq!(
        (after.len(), after.mtime(), after.nlink()),
        (before.len(), before.mtime(), 0)
    );
}

//! Files and directories with unexpected content, type, owner or mode.

use skills_test_support::{skip, skip_part};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use super::super::error::TrustFault;
use super::super::{CacheKey, CodeCache, CodeCacheErrorKind, Lookup, Rejection};
use super::{PAYLOAD, Place, key, mode, payload, set_mode};

/// An unused user id on common systems; root can give files to it.
const OTHER_USER: u32 = 65_534;

/// Modifies the file of a module, then expects it to be rejected and deleted.
#[track_caller]
fn rejected(change: impl FnOnce(&Path)) -> Rejection {
    let (place, key) = Place::filled();
    change(&place.file(&key));
    let Ok(Lookup::Rejected(rejection)) = place.another().load(&key) else {
        panic!("not rejected")
    };
    assert!(
        fs::symlink_metadata(place.file(&key)).is_err(),
        "it is still there after {rejection}"
    );
    assert!(matches!(place.cache.load(&key), Ok(Lookup::Miss)));
    place.cache.store(&key, PAYLOAD).unwrap();
    assert_eq!(payload(place.cache.load(&key)), PAYLOAD);
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
    place: &Place,
    key: &CacheKey,
    bytes: &[u8],
    reason: impl FnOnce(Rejection) -> bool,
) {
    fs::write(place.file(key), bytes).unwrap();
    set_mode(&place.file(key), 0o600);
    let Ok(Lookup::Rejected(rejection)) = place.cache.load(key) else {
        panic!("not rejected")
    };
    assert!(reason(rejection), "{rejection}");
    assert!(
        !place.file(key).exists(),
        "it is still there after {rejection}"
    );
}

#[test]
fn every_flipped_byte_is_found() {
    let (place, key) = Place::filled();
    let whole = fs::read(place.file(&key)).unwrap();
    assert_eq!(whole.len(), PAYLOAD.len() + 80);
    for index in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[index] ^= flip;
            rejected_bytes(&place, &key, &bytes, |rejection| match index {
                0..8 => rejection == Rejection::UnknownFormat,
                8..16 => matches!(rejection, Rejection::LengthMismatch { .. }),
                16..48 => rejection == Rejection::KeyMismatch,
                _ => rejection == Rejection::BadMac,
            });
        }
    }
    fs::write(place.file(&key), whole).unwrap();
    set_mode(&place.file(&key), 0o600);
    assert_eq!(payload(place.cache.load(&key)), PAYLOAD);
}

#[test]
fn every_other_length_is_found() {
    let (place, key) = Place::filled();
    let mut bytes = fs::read(place.file(&key)).unwrap();
    bytes.push(0);
    let whole = bytes.len() - 1;
    for length in (0..=bytes.len()).filter(|length| *length != whole) {
        let is_told = |rejection| matches!(rejection, Rejection::LengthMismatch { actual, .. } if actual == length as u64);
        rejected_bytes(&place, &key, &bytes[..length], is_told);
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
    let (place, one) = Place::filled();
    let other = key("other");
    fs::rename(place.file(&one), place.file(&other)).unwrap();
    assert!(matches!(
        place.cache.load(&other),
        Ok(Lookup::Rejected(Rejection::KeyMismatch))
    ));
    assert!(!place.file(&other).exists());
}

#[test]
fn files_authenticated_with_another_key_are_rejected() {
    let (theirs, key) = Place::filled();
    let (ours, _) = Place::filled();
    fs::copy(theirs.file(&key), ours.file(&key)).unwrap();
    assert!(matches!(
        ours.cache.load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
    // With their key in place of ours, a new process accepts their files, and no longer ours.
    ours.cache.store(&key, PAYLOAD).unwrap();
    fs::copy(theirs.seal(), ours.seal()).unwrap();
    assert!(matches!(
        ours.another().load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
}

#[test]
fn modules_are_rejected_after_the_key_is_removed() {
    let (place, key) = Place::filled();
    fs::remove_file(place.seal()).unwrap();
    assert!(matches!(
        place.another().load(&key),
        Ok(Lookup::Rejected(Rejection::BadMac))
    ));
    assert!(!place.file(&key).exists() && !place.seal().exists());
}

#[test]
fn symlinks_are_not_followed() {
    let rejection = rejected(|file| {
        let moved = file.with_extension("moved");
        fs::rename(file, &moved).unwrap();
        symlink(&moved, file).unwrap();
    });
    assert_eq!(rejection, Rejection::Untrusted(TrustFault::Symlink));

    let (place, _) = Place::filled();
    let moved = place.parent.path().join("moved.key");
    fs::rename(place.seal(), &moved).unwrap();
    symlink(&moved, place.seal()).unwrap();
    refused(&place.another(), "seal.key: is a symlink");

    let (place, _) = Place::filled();
    let link = place.parent.path().join("link");
    symlink(place.cache.directory(), &link).unwrap();
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

    let (place, _) = Place::filled();
    fs::remove_file(place.seal()).unwrap();
    pipe(&place.seal());
    refused(&place.another(), "seal.key: unexpected file type");
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
        let (place, key) = Place::filled();
        set_mode(place.cache.directory(), wide);
        refused(
            &place.another(),
            &format!("accessible to other users (mode {wide:o}); run `chmod go= "),
        );
        assert!(
            place.file(&key).exists(),
            "a directory that is refused is left alone"
        );
        set_mode(place.cache.directory(), 0o700);
        assert_eq!(payload(place.another().load(&key)), PAYLOAD);
    }
    let (place, _) = Place::filled();
    set_mode(&place.seal(), 0o604);
    refused(
        &place.another(),
        "seal.key: accessible to other users (mode 604)",
    );
}

#[test]
fn a_key_of_another_length_is_rejected() {
    for length in [0, 31, 33] {
        let (place, _) = Place::filled();
        fs::write(place.seal(), vec![7; length]).unwrap();
        refused(
            &place.another(),
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
    let (place, _) = Place::filled();
    chown(place.seal(), Some(OTHER_USER), None).unwrap();
    refused(
        &place.another(),
        "seal.key: owned by user 65534, expected 0",
    );
    let (place, _) = Place::filled();
    chown(place.cache.directory(), Some(OTHER_USER), None).unwrap();
    refused(
        &place.another(),
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
    let (place, one) = Place::filled();
    set_mode(place.cache.directory(), 0o500);
    assert_eq!(payload(place.another().load(&one)), PAYLOAD);
    if rustix::process::geteuid().is_root() {
        skip_part("writing", "root may write everywhere");
    } else {
        for error in [
            place.another().store(&key("two"), PAYLOAD).unwrap_err(),
            place
                .another()
                .lock(&one, super::NOW, &|| false)
                .unwrap_err(),
        ] {
            assert_eq!(error.kind(), CodeCacheErrorKind::Io, "{error}");
        }
    }
    set_mode(place.cache.directory(), 0o700);
    assert_eq!(place.names().len(), 2);
}

#[test]
fn a_deleted_directory_is_recreated() {
    let (place, one) = Place::filled();
    let seal = fs::read(place.seal()).unwrap();
    fs::remove_dir_all(place.cache.directory()).unwrap();
    assert!(matches!(place.cache.load(&one), Ok(Lookup::Miss)));
    drop(
        place
            .cache
            .lock(&one, super::NOW, &|| false)
            .unwrap()
            .expect("the lock is free"),
    );
    place.cache.store(&one, PAYLOAD).unwrap();
    assert_eq!(payload(place.cache.load(&one)), PAYLOAD);
    assert_eq!(payload(place.another().load(&one)), PAYLOAD);
    assert_eq!(mode(place.cache.directory()), 0o700);
    assert_ne!(
        fs::read(place.seal()).unwrap(),
        seal,
        "the key is a new one"
    );
}

#[test]
fn a_module_is_replaced_and_never_modified() {
    let (place, one) = Place::filled();
    let open = fs::File::open(place.file(&one)).unwrap();
    let before = open.metadata().unwrap();
    place.cache.store(&one, b"newer").unwrap();
    assert_eq!(payload(place.cache.load(&one)), b"newer");
    assert_ne!(fs::metadata(place.file(&one)).unwrap().ino(), before.ino());
    let after = open.metadata().unwrap();
    assert_eq!(
        (after.len(), after.mtime(), after.nlink()),
        (before.len(), before.mtime(), 0)
    );
}

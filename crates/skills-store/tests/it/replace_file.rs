//! Files that are replaced.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skills_store::trusted_file::{self, TrustErrorKind};
use skills_store::{FileMode, replace_file};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
#[cfg(target_os = "linux")]
fn a_new_file_has_the_requested_mode() {
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::stat::{Mode, umask};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // This thread has an umask of its own, so other tests keep theirs.
            unshare(CloneFlags::CLONE_FS).unwrap();
            umask(Mode::S_IWGRP | Mode::S_IRWXO);
            for (wanted, found) in [
                (FileMode::Umask, 0o640),
                (FileMode::Public, 0o644),
                (FileMode::Exact(Permissions::from_mode(0o757)), 0o757),
                (FileMode::Private, 0o600),
            ] {
                let text = format!("{wanted:?}");
                replace_file(&path, text.as_bytes(), wanted).unwrap();
                assert_eq!(mode(&path), found, "{text}");
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
            }
        });
    });
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_symlink_is_replaced_and_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    let link = directory.path().join("link");
    fs::write(&target, "target").unwrap();
    for replace in [
        |path: &Path| replace_file(path, b"new", FileMode::Umask).unwrap(),
        |path: &Path| trusted_file::replace(path, b"new").unwrap(),
    ] {
        let _ = fs::remove_file(&link);
        symlink(&target, &link).unwrap();
        replace(&link);
        assert!(!link.is_symlink());
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
        assert_eq!(fs::read_to_string(&target).unwrap(), "target");
    }
}

#[test]
fn readers_see_the_whole_old_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    replace_file(&path, b"old", FileMode::Umask).unwrap();
    let mut reader = fs::File::open(&path).unwrap();
    replace_file(&path, b"new", FileMode::Umask).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
}

#[test]
fn a_failure_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("directory");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("old"), "old").unwrap();
    let below_missing = directory.path().join("missing/file");
    for path in [&path, &below_missing] {
        replace_file(path, b"new", FileMode::Umask).unwrap_err();
        trusted_file::replace(path, b"new").unwrap_err();
    }
    assert_eq!(names(directory.path()), ["directory"]);
    assert_eq!(names(&path), ["old"]);
}

#[test]
fn a_file_is_not_replaced_in_a_directory_that_others_can_change() {
    let directory = tempfile::tempdir().unwrap();
    let shared = directory.path().join("shared");
    fs::create_dir(&shared).unwrap();
    trusted_file::replace(&shared.join("file"), b"old").unwrap();
    assert_eq!(mode(&shared.join("file")), 0o600);
    // A symlink to the directory does not hide it.
    symlink(&shared, directory.path().join("link")).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
    for name in ["shared/file", "link/file"] {
        let error = trusted_file::replace(&directory.path().join(name), b"new").unwrap_err();
        assert_eq!(error.kind(), TrustErrorKind::Untrusted, "{name}");
    }
    assert_eq!(names(&shared), ["file"]);
    assert_eq!(fs::read_to_string(shared.join("file")).unwrap(), "old");
}

#[test]
fn the_leftover_of_a_killed_process_is_removed_and_no_symlink_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let other = directory.path().join("other");
    fs::write(&other, "other").unwrap();
    symlink(&other, directory.path().join("file.new")).unwrap();
    trusted_file::replace(&path, b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    assert_eq!(names(directory.path()), ["file", "other"]);
}

//! Measures directories against quotas.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skills_process::QuotaMonitor;
use skills_sandbox::{Quota, QuotaPart};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Fills a new directory and measures it against a quota of 4 MiB.
fn measured(fill: impl FnOnce(&Path)) -> (TempDir, Result<u64, QuotaPart>) {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let monitor = QuotaMonitor::open(&[Quota::new(directory.path(), 4 * MIB)]).unwrap();
    let result = monitor
        .measure()
        .map(|measured| measured[0].1)
        .map_err(|exceeded| exceeded.part);
    (directory, result)
}

fn megabytes(path: &Path, count: usize) {
    fs::write(path, vec![b'x'; count << 20]).unwrap();
}

#[test]
fn all_files_at_any_depth_count_together() {
    let deep = |top: &Path| top.join("a/b/c/d");
    let (_held, within) = measured(|top| {
        fs::create_dir_all(deep(top)).unwrap();
        megabytes(&deep(top).join("x"), 1);
        megabytes(&top.join("y"), 2);
    });
    assert!((3 * MIB..4 * MIB).contains(&within.unwrap()));
    let (_held, over) = measured(|top| {
        fs::create_dir_all(deep(top)).unwrap();
        megabytes(&deep(top).join("x"), 3);
        megabytes(&top.join("y"), 2);
    });
    assert_eq!(over, Err(QuotaPart::Bytes));
}

#[test]
fn allocated_bytes_count_and_each_file_once() {
    let (_held, sparse) = measured(|top| {
        fs::File::create(top.join("sparse"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap()
    });
    assert!(sparse.unwrap() < MIB);
    let (_held, linked) = measured(|top| {
        megabytes(&top.join("file"), 3);
        (0..10).for_each(|number| {
            fs::hard_link(top.join("file"), top.join(format!("link{number}"))).unwrap()
        });
    });
    assert!((3 * MIB..4 * MIB).contains(&linked.unwrap()));
}

#[test]
fn symlinks_are_not_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    megabytes(&elsewhere.path().join("large"), 8);
    let (_held, result) = measured(|top| {
        symlink(elsewhere.path(), top.join("directory")).unwrap();
        symlink(elsewhere.path().join("large"), top.join("file")).unwrap();
    });
    assert!(result.unwrap() < MIB);
}

#[test]
fn entries_and_depth_are_bounded() {
    let (_held, many) = measured(|top| {
        (0..=Quota::MAX_ENTRIES)
            .for_each(|number| drop(fs::File::create(top.join(number.to_string())).unwrap()))
    });
    assert_eq!(many, Err(QuotaPart::Entries));
    let levels =
        |count| move |top: &Path| fs::create_dir_all(top.join(vec!["d"; count].join("/"))).unwrap();
    assert!(measured(levels(Quota::MAX_DEPTH)).1.is_ok());
    assert_eq!(
        measured(levels(Quota::MAX_DEPTH + 1)).1,
        Err(QuotaPart::Depth)
    );
}

#[test]
fn an_unreadable_directory_exceeds_its_quota() {
    let (held, result) = measured(|top| {
        fs::create_dir(top.join("closed")).unwrap();
        fs::set_permissions(top.join("closed"), fs::Permissions::from_mode(0o0)).unwrap();
    });
    if fs::read_dir(held.path().join("closed")).is_ok() {
        return skills_test_support::skip("root lists every directory");
    }
    assert_eq!(result, Err(QuotaPart::Unreadable));
}

#[test]
fn a_directory_that_is_renamed_is_still_measured() {
    let parent = tempfile::tempdir().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    fs::create_dir(&old).unwrap();
    let monitor = QuotaMonitor::open(&[Quota::new(&old, 4 * MIB)]).unwrap();
    fs::rename(&old, &new).unwrap();
    fs::create_dir(&old).unwrap();
    megabytes(&new.join("large"), 8);
    assert_eq!(monitor.measure().unwrap_err().part, QuotaPart::Bytes);
}

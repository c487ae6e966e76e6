//! Directories that only their owner can access.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use skills_store::{PrivateDir, create_private_dir};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_private_directory_is_created_with_its_parents() {
    let directory = tempfile::tempdir().unwrap();
    let existing = directory.path().join("existing");
    fs::create_dir(&existing).unwrap();
    fs::set_permissions(&existing, Permissions::from_mode(0o755)).unwrap();
    let path = existing.join("a/b");
    for _ in 0..2 {
        create_private_dir(&path).unwrap();
    }
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&existing.join("a")), 0o700);
    assert_eq!(mode(&existing), 0o755);
    fs::write(directory.path().join("file"), "").unwrap();
    create_private_dir(&directory.path().join("file/a")).unwrap_err();
}

#[test]
fn a_temporary_directory_is_private_and_removed() {
    let parent = tempfile::tempdir().unwrap();
    let created = PrivateDir::create(parent.path(), "skills-test-").unwrap();
    let path = created.path().to_owned();
    assert_eq!(mode(&path), 0o700);
    fs::create_dir(path.join("below")).unwrap();
    drop(created);
    assert!(!path.exists());
    assert!(PrivateDir::create(&path, "skills-test-").is_err());
}

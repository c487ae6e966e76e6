//! The file of the profile.

use std::fs;
use std::os::unix::fs::symlink;

use skills_sandbox::SandboxErrorKind;

use super::{EXECUTE, Fixture};
use crate::profile_file::ProfileFile;

#[tokio::test]
async fn a_planted_symlink_is_not_touched_and_another_name_is_used() {
    let fixture = Fixture::new("", EXECUTE);
    let name = |attempt: u32| {
        fixture.path(&format!(
            "profiles/openskills-seatbelt-{}-{attempt}.sb",
            std::process::id()
        ))
    };
    fs::write(fixture.path("target"), "precious").unwrap();
    symlink(fixture.path("target"), name(0)).unwrap();
    symlink(fixture.path("nowhere"), name(1)).unwrap();
    fs::write(name(2), "another's").unwrap();
    let _ = fixture.run().await.unwrap();
    let arguments = fixture.record("arguments");
    assert_eq!(
        arguments.lines().nth(1).unwrap(),
        name(3).display().to_string()
    );
    assert_eq!(
        fs::read_to_string(fixture.path("target")).unwrap(),
        "precious"
    );
    assert_eq!(fs::read_to_string(name(2)).unwrap(), "another's");
    assert!(
        !fixture.path("nowhere").exists()
            && name(0).is_symlink()
            && name(1).is_symlink()
            && !name(3).exists()
    );
}

#[test]
fn if_all_names_exist_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<ProfileFile> = (0..1_000)
        .map(|_| ProfileFile::create(directory.path(), 7).unwrap())
        .collect();
    let error = ProfileFile::create(directory.path(), 7).unwrap_err();
    assert_eq!(error.to_string(), "all 1000 file names for a profile exist");
    assert!(files[999].path().ends_with("openskills-seatbelt-7-999.sb"));
    drop(files);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_directory_that_is_missing_is_an_error() {
    let fixture = Fixture::new("", EXECUTE);
    fs::remove_dir(fixture.path("profiles")).unwrap();
    assert_eq!(
        fixture.run().await.unwrap_err().kind(),
        SandboxErrorKind::Setup
    );
    fs::create_dir(fixture.path("profiles")).unwrap();
    fixture.assert_clean(0);
}

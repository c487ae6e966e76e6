//! The file of the profile.

use std::fs;
use std::os::unix::fs::symlink;

use skills_sandbox::SandboxErrorKind;

use super::{Bench, EXECUTE};
use crate::profile_file::ProfileFile;

#[tokio::test]
async fn a_planted_symlink_is_not_touched_and_another_name_is_used() {
    let bench = Bench::new("", EXECUTE);
    let name = |attempt: u32| {
        bench.path(&format!(
            "profiles/openskills-seatbelt-{}-{attempt}.sb",
            std::process::id()
        ))
    };
    fs::write(bench.path("target"), "precious").unwrap();
    symlink(bench.path("target"), name(0)).unwrap();
    symlink(bench.path("nowhere"), name(1)).unwrap();
    fs::write(name(2), "another's").unwrap();
    let _ = bench.run().await.unwrap();
    let arguments = bench.record("arguments");
    assert_eq!(
        arguments.lines().nth(1).unwrap(),
        name(3).display().to_string()
    );
    assert_eq!(
        fs::read_to_string(bench.path("target")).unwrap(),
        "precious"
    );
    assert_eq!(fs::read_to_string(name(2)).unwrap(), "another's");
    assert!(
        !bench.path("nowhere").exists()
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
    let bench = Bench::new("", EXECUTE);
    fs::remove_dir(bench.path("profiles")).unwrap();
    assert_eq!(
        bench.run().await.unwrap_err().kind(),
        SandboxErrorKind::Setup
    );
    fs::create_dir(bench.path("profiles")).unwrap();
    bench.assert_clean(0);
}

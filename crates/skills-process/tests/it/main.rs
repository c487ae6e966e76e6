//! Tests of supervision, of the search for interpreters, of quotas and of scratch directories.

#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
mod machine;
#[cfg(unix)]
mod quota;
#[cfg(unix)]
mod scratch;
#[cfg(unix)]
mod supervise;

use skills_process::ScratchDir;

#[test]
fn a_scratch_directory_is_private_and_removed() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = ScratchDir::new(parent.path()).unwrap();
    let path = scratch.path().to_owned();
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777,
        0o700
    );
    std::fs::create_dir(path.join("below")).unwrap();
    drop(scratch);
    assert!(!path.exists());
    assert!(ScratchDir::new(&path).is_err());
}

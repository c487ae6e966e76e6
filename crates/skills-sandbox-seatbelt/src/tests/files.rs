//! The file of the profile.

use std::fs;
use std::path::Path;

use skills_sandbox::SandboxErrorKind;

use super::{EXECUTE, Fixture};

#[tokio::test]
async fn a_run_has_a_profile_of_its_own() {
    let fixture = Fixture::new("", EXECUTE);
    let mut names = Vec::new();
    for _ in 0..2 {
        let _ = fixture.run().await.unwrap();
        let arguments = fixture.record("arguments");
        let path = arguments.lines().nth(1).unwrap();
        let name = fixture.path("profiles/openskills-seatbelt-");
        assert!(path.starts_with(name.to_str().unwrap()) && path.ends_with(".sb"));
        assert!(!Path::new(path).exists());
        names.push(path.to_owned());
    }
    assert_ne!(names[0], names[1]);
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

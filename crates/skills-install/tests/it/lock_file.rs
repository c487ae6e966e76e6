//! The text of lock files.

use std::path::Path;

use insta::assert_snapshot;
use skills_install::{InstallErrorKind, LockFile};

fn parse(text: &str) -> Result<LockFile, skills_install::InstallError> {
    LockFile::parse(text, Path::new("skills.lock"))
}

fn entry(name: &str, extra: &str) -> String {
    let digest = "0".repeat(64);
    format!(
        "[[skill]]\nname = \"{name}\"\nsource = \"acme/skills#v1//{name}\"\n{extra}content = \"sha256:{digest}\"\nfiles = 1\nbytes = 2\nsigner = \"unsigned\"\n"
    )
}

#[test]
fn a_lock_file_is_written_sorted_and_read_back() {
    let text = format!(
        "version = 1\n{}{}",
        entry("b", "asks = [\"spawn:git\"]\n"),
        entry(
            "a",
            "revision = \"git:0123\"\ncommitted = 7\nlicense = \"MIT\"\nexecutable = [\"run.sh\"]\n"
        )
    );
    let lock = parse(&text).unwrap();
    let rendered = lock.render().unwrap();
    assert_eq!(parse(&rendered).unwrap(), lock);
    assert_snapshot!(rendered);
}

#[test]
fn a_lock_file_that_is_not_understood_is_refused_with_the_line() {
    let errors: Vec<String> = [
        "version = 2\n".to_owned(),
        String::new(),
        "version = 1\n[[skill]\n".to_owned(),
        format!("version = 1\n{}{}", entry("a", ""), entry("a", "")),
        format!("version = 1\n{}", entry("a", "surprise = 1\n")),
        format!(
            "version = 1\n{}",
            entry("a", "").replace("acme/skills", "ext::sh -c id")
        ),
        format!(
            "version = 1\n{}",
            entry("a", "").replace("sha256:", "sha1:")
        ),
        format!("version = 1\n{}", entry("../a", "")),
    ]
    .iter()
    .map(|text| {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Lock);
        error.to_string()
    })
    .collect();
    assert_snapshot!(errors.join("\n"));
}

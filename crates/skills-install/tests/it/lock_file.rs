//! The text of lock files.

use std::path::Path;

use insta::assert_snapshot;
use skills_discovery::{Discovery, MAX_LOCK_BYTES, Root, Scope};
use skills_install::{InstallErrorKind, LocalEdits, LockFile, Store, Verification};

use crate::fixture::{Fixture, fetcher, words};

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

/// The content of the skill is still checked, and only its source cannot be fetched.
#[test]
fn a_source_that_cannot_be_parsed_is_an_error_of_its_skill_only() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("source/b", "");
    fixture.add("./source").unwrap();
    let path = fixture.path("skills/skills.lock");
    let text = fixture.read("skills/skills.lock");
    let sources: Vec<&str> = text.lines().filter(|l| l.starts_with("source")).collect();
    let text = text.replace(sources[0], "source = \"ext::sh -c id\"");
    fixture.file("skills/skills.lock", &text);
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    let lock = LockFile::parse(&text, &path).unwrap();
    assert_eq!(lock.render().unwrap(), text);
    assert_eq!(
        lock.skills()["a"].source().identity(),
        "unusable:ext::sh -c id"
    );

    std::fs::remove_dir_all(fixture.path("skills/a")).unwrap();
    let mut store = fixture.store();
    let plan = store.plan_restore(&fetcher(), &[], LocalEdits::Refuse, &words);
    let plan = plan.unwrap();
    let error = plan.failures()[0].error().to_string();
    assert_eq!(
        error,
        "cannot parse source `ext::sh -c id`: `ext` runs a program"
    );
}

/// What `verify` rejects makes the skills inactive in every scan, and the other way around.
#[test]
fn all_readers_reject_the_same_lock_files() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file("source/a/run.sh", "1");
    fixture.add("./source").unwrap();
    let good = fixture.read("skills/skills.lock");
    let source = good.lines().find(|l| l.starts_with("source")).unwrap();
    let edits = [
        good.replace("[[skill]]", "[[skills]]"),
        good.replace("version = 1", "version = 1\nsurprise = 1"),
        good.replace("files = 2", "files = 2\nsurprise = 1"),
        good.replace(source, ""),
        good.replace(source, "source = \"\""),
        good.replace(source, "source = \"./a\\u202e\""),
        good.replace("files = 2", "files = \"2\""),
        good.replace("files = 2", "files = -2"),
        good.replace("signer = \"unsigned\"", "signer = 1"),
        good.replace("signer = \"unsigned\"", "signer = \"unsigned\"\ntag = 1"),
        format!("{good}{}", "#".repeat(MAX_LOCK_BYTES as usize)),
    ];
    for text in edits {
        assert_ne!(text, good);
        fixture.file("skills/skills.lock", &text);
        assert_unreadable(&fixture, &text[..text.len().min(2_000)]);
    }
    let path = fixture.path("skills/skills.lock");
    std::fs::remove_file(&path).unwrap();
    fixture.fifo("skills/skills.lock");
    assert_unreadable(&fixture, "FIFO");
    std::fs::remove_file(&path).unwrap();
    fixture.symlink("/dev/zero", "skills/skills.lock");
    assert_unreadable(&fixture, "symlink to a device");
    std::fs::remove_file(&path).unwrap();
    fixture.file("skills/skills.lock", good);
    assert_eq!(fixture.states(), ["a unchanged"]);
}

fn assert_unreadable(fixture: &Fixture, what: &str) {
    let root = fixture.path("skills");
    let temporary = fixture.path("");
    for error in [
        Verification::new(&root).unwrap_err(),
        Store::open(&root).err().unwrap(),
        Store::open_read_only(&root, &temporary).err().unwrap(),
    ] {
        assert_eq!(error.kind(), InstallErrorKind::Lock, "{error}: {what}");
    }
    let catalog = Discovery::new([Root::new(root, Scope::Repo)]).scan();
    assert!(catalog.entries().is_empty(), "{what}");
    let code = catalog.inactive()[0].reason().code();
    assert_eq!(code, "lock-unreadable", "{what}");
}

#[test]
fn no_file_of_the_installer_blocks_as_a_fifo() {
    let fixture = Fixture::new();
    let path = "skills/.skills-install/lock";
    fixture.file(path, "");
    std::fs::remove_file(fixture.path(path)).unwrap();
    fixture.fifo(path);
    let error = Store::open(&fixture.path("skills")).err().unwrap();
    assert_eq!(error.kind(), InstallErrorKind::Io, "{error}");
}

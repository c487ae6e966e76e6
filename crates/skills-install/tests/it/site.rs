//! Web sites with an index of skills.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use skills_install::{InstallError, InstallErrorKind, LocalEdits};

use crate::fixture::{Fixture, TarEntry, skill_text, words};
use crate::web::loopback;
use crate::web_server::{Reply, WebServer};

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const INDEX: &str = "/.well-known/agent-skills/index.json";

fn digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Returns the bytes of an archive whose root is a skill.
fn archive(name: &str, entries: &[TarEntry<'_>]) -> Vec<u8> {
    let fixture = Fixture::new();
    let text = skill_text(name, "");
    let mut all = vec![TarEntry::file("SKILL.md", &text)];
    all.extend(entries.iter().copied());
    fixture.tar_gz("a.tar.gz", &all);
    std::fs::read(fixture.path("a.tar.gz")).unwrap()
}

/// Serves files by their paths.
fn site(files: Vec<(&str, Vec<u8>)>) -> WebServer {
    let files: BTreeMap<String, Vec<u8>> = files
        .into_iter()
        .map(|(path, content)| (path.to_owned(), content))
        .collect();
    WebServer::start(move |request| match files.get(&request.path) {
        Some(content) => Reply::ok(content.clone()),
        None => Reply::status(404),
    })
}

fn index(entries: &[String]) -> Vec<u8> {
    format!(
        r#"{{"$schema": "{SCHEMA}", "skills": [{}]}}"#,
        entries.join(",")
    )
    .into_bytes()
}

fn entry(name: &str, kind: &str, url: &str, digest: &str) -> String {
    format!(
        r#"{{"name": "{name}", "type": "{kind}", "description": "d", "url": "{url}", "digest": "{digest}"}}"#
    )
}

fn add_named(fixture: &Fixture, source: &str, names: &[&str]) -> Result<(), InstallError> {
    let mut store = fixture.store();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let spec = fixture.spec(source);
    let plan = store.plan_add(&loopback(), &spec, &names, LocalEdits::Refuse, &words)?;
    store.apply(plan)
}

#[test]
fn skills_of_a_site_are_installed_and_only_those_that_are_wanted_are_downloaded() {
    let text = skill_text("one", "");
    let run = TarEntry {
        mode: 0o755,
        ..TarEntry::file("scripts/run.sh", "echo 1\n")
    };
    let two = archive("two", &[run]);
    let entries = [
        entry("one", "skill-md", "one/SKILL.md", &digest(&text)),
        entry("two", "archive", "/files/two.tar.gz", &digest(&two)),
        entry(
            "three",
            "skill-md",
            "https://10.0.0.1/three.md",
            &digest(""),
        ),
        entry("four", "hologram", "four", "none"),
    ];
    let server = site(vec![
        (INDEX, index(&entries)),
        (
            "/.well-known/agent-skills/one/SKILL.md",
            text.clone().into_bytes(),
        ),
        ("/files/two.tar.gz", two.clone()),
    ]);
    let fixture = Fixture::new();
    let source = server.url("/");
    add_named(&fixture, &source, &["one", "two"]).unwrap();
    assert_eq!(fixture.states(), ["one unchanged", "two unchanged"]);
    let lock = fixture.read("skills/skills.lock");
    assert!(
        lock.contains(&format!("revision = \"{}\"", digest(&two))),
        "{lock}"
    );
    assert!(lock.contains("executable = [\"scripts/run.sh\"]"), "{lock}");
    assert_eq!(server.paths().len(), 3);

    add_named(&fixture, &format!("{source}/one"), &[]).unwrap();
    // The others stay installable; this one is not.
    let error = add_named(&fixture, &source, &["three"]).unwrap_err();
    assert!(
        error.to_string().contains("not a public address"),
        "{error}"
    );
    let error = add_named(&fixture, &source, &["four"]).unwrap_err();
    assert_eq!(
        error.help().unwrap(),
        "available: one, three, two; write one of them after `--skill`"
    );
}

#[test]
fn an_index_of_version_0_1_is_read_if_there_is_no_newer_one() {
    let text = skill_text("one", "");
    let index = br#"{"skills": [{"name": "one", "description": "d", "files": ["SKILL.md", "scripts/a b.sh"]}]}"#;
    let server = site(vec![
        ("/docs/.well-known/skills/index.json", index.to_vec()),
        ("/docs/.well-known/skills/one/SKILL.md", text.into_bytes()),
        (
            "/docs/.well-known/skills/one/scripts/a%20b.sh",
            b"echo 1\n".to_vec(),
        ),
    ]);
    let fixture = Fixture::new();
    add_named(&fixture, &server.url("/docs"), &[]).unwrap();
    assert_eq!(fixture.states(), ["one unchanged"]);
    assert_eq!(fixture.read("skills/one/scripts/a b.sh"), "echo 1\n");
    assert_eq!(
        server.paths()[0],
        "/docs/.well-known/agent-skills/index.json"
    );

    let fixture = Fixture::new();
    let url = server.url("/docs/.well-known/skills/index.json");
    add_named(&fixture, &url, &[]).unwrap();
    assert_eq!(fixture.states(), ["one unchanged"]);
}

#[test]
fn content_with_another_digest_than_that_of_the_index_is_refused() {
    let text = skill_text("one", "");
    let archive = archive("two", &[]);
    let files = format!(
        r#"{{"name": "three", "files": [{{"path": "SKILL.md", "digest": "{}"}}]}}"#,
        digest("other")
    );
    let entries = [
        entry("one", "skill-md", "/one", &digest("other")),
        entry("two", "archive", "/two", &digest("other")),
        files,
    ];
    let server = site(vec![
        (INDEX, index(&entries)),
        ("/one", text.clone().into_bytes()),
        ("/two", archive),
        (
            "/.well-known/agent-skills/three/SKILL.md",
            text.into_bytes(),
        ),
    ]);
    for name in ["one", "two", "three"] {
        let fixture = Fixture::new();
        let error = add_named(&fixture, &server.url("/"), &[name]).unwrap_err();
        assert!(error.to_string().contains("has the digest"), "{error}");
        assert!(error.help().unwrap().contains("report it"), "{error}");
        assert!(fixture.states().is_empty());
    }
}

#[test]
fn a_skill_with_another_name_than_in_the_index_is_refused() {
    let text = skill_text("other", "");
    let archive = archive("other", &[]);
    let entries = [
        entry("one", "skill-md", "/one", &digest(&text)),
        entry("two", "archive", "/two", &digest(&archive)),
    ];
    let server = site(vec![
        (INDEX, index(&entries)),
        ("/one", text.into_bytes()),
        ("/two", archive),
    ]);
    for name in ["one", "two"] {
        let fixture = Fixture::new();
        let error = add_named(&fixture, &server.url("/"), &[name]).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
        assert!(
            error.to_string().contains("has the name `other`"),
            "{error}"
        );
    }
}

#[test]
fn an_archive_of_a_site_follows_the_rules_of_archives() {
    for (entry_of_archive, kind) in [
        (TarEntry::file("../evil", ""), InstallErrorKind::Unsafe),
        (TarEntry::file("skill.md", ""), InstallErrorKind::Unsafe),
        (
            TarEntry::of_kind("x", tar::EntryType::Symlink, "/etc/passwd"),
            InstallErrorKind::Unsafe,
        ),
        (
            TarEntry::of_kind("x", tar::EntryType::Symlink, "../two"),
            InstallErrorKind::Unsafe,
        ),
    ] {
        let archive = archive("one", &[entry_of_archive]);
        let entries = [entry("one", "archive", "/one", &digest(&archive))];
        let server = site(vec![(INDEX, index(&entries)), ("/one", archive)]);
        let fixture = Fixture::new();
        let error = add_named(&fixture, &server.url("/"), &[]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(fixture.states().is_empty());
    }
    // More than the skill directory.
    let fixture = Fixture::new();
    let text = skill_text("one", "");
    fixture.tar_gz("a.tgz", &[TarEntry::file("deep/one/SKILL.md", &text)]);
    let archive = std::fs::read(fixture.path("a.tgz")).unwrap();
    let entries = [entry("one", "archive", "/one", &digest(&archive))];
    let server = site(vec![(INDEX, index(&entries)), ("/one", archive)]);
    let error = add_named(&fixture, &server.url("/"), &[]).unwrap_err();
    assert!(
        error.to_string().contains("no `SKILL.md` at its root"),
        "{error}"
    );
}

#[test]
fn an_index_that_is_missing_or_not_valid_is_an_error() {
    let fixture = Fixture::new();
    let server = site(vec![]);
    let error = add_named(&fixture, &server.url("/"), &[]).unwrap_err();
    assert!(error.to_string().contains("no index of skills"), "{error}");
    assert_eq!(server.paths().len(), 2);
    for (text, message) in [
        ("<html>", "not valid JSON"),
        (
            r#"{"$schema": "https://x", "skills": []}"#,
            "unknown version",
        ),
        (
            r#"{"skills": [{"name": "../x", "files": ["SKILL.md"]}]}"#,
            "not that of a skill",
        ),
        (
            r#"{"skills": [{"name": "x", "files": ["SKILL.md", "../y"]}]}"#,
            "`../y`",
        ),
        (r#"{"skills": []}"#, "no skill found"),
    ] {
        let server = site(vec![(INDEX, text.as_bytes().to_vec())]);
        let error = add_named(&fixture, &server.url("/"), &[]).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let large = WebServer::start(|_| Reply {
        declared_length: Some(1 << 30),
        ..Reply::ok("{}")
    });
    let error = add_named(&fixture, &large.url("/"), &[]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
    assert!(fixture.states().is_empty());
}

/// A site cannot make this program read its own network.
#[test]
fn urls_of_an_index_are_checked_like_that_of_the_site() {
    let fixture = Fixture::new();
    for (url, message) in [
        ("https://192.168.0.1/x", "not a public address"),
        ("http://1.1.1.1/x", "`http:` is not allowed"),
        ("file:///etc/passwd", "it has no host"),
        ("data:text/plain,x", "it has no host"),
        ("https://a:b@1.1.1.1/x", "contains a password"),
        ("//[::1", "not valid"),
    ] {
        let entries = [entry("one", "skill-md", url, &digest(""))];
        let server = site(vec![(INDEX, index(&entries))]);
        let error = add_named(&fixture, &server.url("/"), &[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(message) || text.contains("invalid"),
            "{url}: {error}"
        );
    }
}

//! Skills of a ClawHub registry.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skills_install::{Action, InstallError, InstallErrorKind, LocalEdits, SourceSpec};

use crate::fixture::{Fixture, skill_text, words};
use crate::web::loopback;
use crate::web_server::{Reply, WebServer};

/// A version of the skill `pdf`.
#[derive(Clone)]
struct Version {
    number: &'static str,
    published: u64,
    /// What the registry lists.
    listed: Vec<(String, String)>,
    /// What the archive has.
    packed: Vec<(String, String)>,
    security: &'static str,
}

impl Version {
    fn new(number: &'static str, published: u64) -> Self {
        let text = skill_text("pdf", &format!("license: {number}\n"));
        let files = vec![
            ("SKILL.md".to_owned(), text),
            ("scripts/fill.py".to_owned(), "print(1)\n".to_owned()),
        ];
        let meta = (
            "_meta.json".to_owned(),
            json!({"version": number}).to_string(),
        );
        Self {
            number,
            published,
            listed: files.clone(),
            packed: files.into_iter().chain([meta]).collect(),
            security: "clean",
        }
    }

    fn document(&self) -> Value {
        let files = self.listed.iter().map(|(path, content)| {
            let sha256 = hex::encode(Sha256::digest(content));
            json!({"path": path, "size": content.len(), "sha256": sha256})
        });
        json!({
            "skill": {"slug": "pdf", "displayName": "PDF"},
            "version": {
                "version": self.number,
                "createdAt": self.published * 1_000,
                "files": files.collect::<Vec<_>>(),
                "security": {"status": self.security},
            },
        })
    }

    fn archive(&self) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (path, content) in &self.packed {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(path.as_str(), options).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }
}

/// A registry with versions of `pdf`, of which the last one is the latest.
struct Registry {
    server: WebServer,
    versions: Arc<Mutex<Vec<Version>>>,
}

impl Registry {
    fn start(versions: Vec<Version>) -> Self {
        let versions = Arc::new(Mutex::new(versions));
        let served = Arc::clone(&versions);
        let server = WebServer::start(move |request| {
            let versions = served.lock().unwrap();
            let latest = versions.last().unwrap();
            let path = request.path.as_str();
            if path == "/hub/api/v1/skills/pdf" {
                let latest = json!({"version": latest.number});
                let document = json!({"skill": {"slug": "pdf"}, "latestVersion": latest});
                return Reply::ok(document.to_string());
            }
            if path == "/hub/api/v1/skills/old" {
                let document = json!({"skill": {"slug": "pdf"}, "latestVersion": null});
                return Reply::ok(document.to_string());
            }
            let find = |start: &str| {
                let number = path.strip_prefix(start)?;
                versions.iter().find(|version| version.number == number)
            };
            if let Some(version) = find("/hub/api/v1/skills/pdf/versions/") {
                return Reply::ok(version.document().to_string());
            }
            match find("/hub/api/v1/download?slug=pdf&version=") {
                Some(version) => Reply::ok(version.archive()),
                None => Reply::status(404),
            }
        });
        Self { server, versions }
    }

    /// Returns the source of a skill of this registry.
    fn source(&self, skill: &str) -> String {
        format!("clawhub+{}", self.server.url(&format!("/hub/{skill}")))
    }
}

fn update(fixture: &Fixture) -> (Action, Vec<String>) {
    let mut store = fixture.store();
    let plan = store
        .plan_update_all(&loopback(), &[], LocalEdits::Refuse, &words)
        .unwrap();
    assert!(
        plan.failures().is_empty(),
        "{:?}",
        plan.failures()[0].error()
    );
    let change = &plan.changes()[0];
    let trust = change.trust_changes().iter().map(ToString::to_string);
    let seen = (change.action(), trust.collect());
    store.apply(plan).unwrap();
    seen
}

fn revision(fixture: &Fixture) -> String {
    let store = fixture.store();
    store.lock_file().skills()["pdf"]
        .revision()
        .unwrap()
        .to_owned()
}

fn refused(version: Version) -> InstallError {
    let registry = Registry::start(vec![version]);
    let fixture = Fixture::new();
    let error = fixture
        .add_with(&loopback(), &registry.source("pdf"))
        .unwrap_err();
    assert!(fixture.states().is_empty());
    error
}

#[test]
fn the_latest_version_of_a_registry_is_installed_locked_and_updated() {
    let registry = Registry::start(vec![Version::new("1.0.0", 1_000)]);
    let fixture = Fixture::new();
    let source = registry.source("pdf");
    fixture.add_with(&loopback(), &source).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(revision(&fixture), "clawhub:1.0.0");
    assert_eq!(
        registry.server.paths(),
        [
            "/hub/api/v1/skills/pdf",
            "/hub/api/v1/skills/pdf/versions/1.0.0",
            "/hub/api/v1/download?slug=pdf&version=1.0.0",
        ]
    );
    let store = fixture.store();
    let locked = &store.lock_file().skills()["pdf"];
    assert_eq!(locked.source().to_string(), source);
    assert_eq!(
        locked.pinned_source().to_string(),
        format!("{source}@1.0.0")
    );
    drop(store);
    assert_eq!(update(&fixture), (Action::Keep, vec![]));

    registry
        .versions
        .lock()
        .unwrap()
        .push(Version::new("1.1.0", 2_000));
    assert_eq!(update(&fixture), (Action::Update, vec![]));
    assert_eq!(revision(&fixture), "clawhub:1.1.0");

    // What the lock file lists is restored, not the latest version.
    registry
        .versions
        .lock()
        .unwrap()
        .push(Version::new("1.2.0", 3_000));
    std::fs::remove_dir_all(fixture.path("skills/pdf")).unwrap();
    let mut store = fixture.store();
    let plan = store.plan_restore(&loopback(), &[], LocalEdits::Refuse, &words);
    store.apply(plan.unwrap()).unwrap();
    drop(store);
    assert!(
        fixture
            .read("skills/pdf/SKILL.md")
            .contains("license: 1.1.0")
    );
    assert_eq!(fixture.states(), ["pdf unchanged"]);
}

#[test]
fn a_version_of_a_source_is_never_updated() {
    let versions = vec![Version::new("1.0.0", 1_000), Version::new("1.1.0", 2_000)];
    let registry = Registry::start(versions);
    let fixture = Fixture::new();
    fixture
        .add_with(&loopback(), &registry.source("pdf@1.0.0"))
        .unwrap();
    assert_eq!(update(&fixture), (Action::Keep, vec![]));
    assert_eq!(revision(&fixture), "clawhub:1.0.0");
    let error = fixture.add_with(&loopback(), &registry.source("pdf@3.0.0"));
    assert_eq!(error.unwrap_err().kind(), InstallErrorKind::Fetch);
}

#[test]
fn a_version_with_other_content_and_an_older_latest_version_need_a_person() {
    let registry = Registry::start(vec![Version::new("1.1.0", 2_000)]);
    let fixture = Fixture::new();
    fixture
        .add_with(&loopback(), &registry.source("pdf"))
        .unwrap();
    let mut replaced = Version::new("1.1.0", 2_000);
    replaced.listed[1].1 = "print(2)\n".to_owned();
    replaced.packed[1].1 = "print(2)\n".to_owned();
    *registry.versions.lock().unwrap() = vec![replaced];
    let (action, trust) = update(&fixture);
    assert_eq!((action, trust.len()), (Action::Update, 1), "{trust:?}");
    assert!(trust[0].contains("clawhub:1.1.0"), "{trust:?}");

    *registry.versions.lock().unwrap() = vec![Version::new("1.0.0", 1_000)];
    let (action, trust) = update(&fixture);
    assert_eq!((action, trust.len()), (Action::Update, 1), "{trust:?}");
}

#[test]
fn an_archive_that_differs_from_the_list_of_the_registry_is_refused() {
    let changed = |change: fn(&mut Version)| {
        let mut version = Version::new("1.0.0", 1_000);
        change(&mut version);
        refused(version).to_string()
    };
    let other = changed(|version| version.packed[1].1.push_str("evil()\n"));
    assert!(
        other.contains("`scripts/fill.py` has the digest"),
        "{other}"
    );
    let more = changed(|version| version.packed.push(("x.sh".to_owned(), String::new())));
    assert!(more.contains("does not list `x.sh`"), "{more}");
    let less = changed(|version| drop(version.packed.remove(1)));
    assert!(less.contains("lacks `scripts/fill.py`"), "{less}");
    let none = changed(|version| version.listed.clear());
    assert!(none.contains("does not list `SKILL.md`"), "{none}");
    let path = changed(|version| version.listed[1].0 = "../x".to_owned());
    assert!(path.contains("`..`"), "{path}");
}

#[test]
fn a_malicious_version_and_a_renamed_skill_are_refused() {
    let error = refused(Version {
        security: "malicious",
        ..Version::new("1.0.0", 1_000)
    });
    assert!(error.to_string().contains("malicious"), "{error}");

    let registry = Registry::start(vec![Version::new("1.0.0", 1_000)]);
    let fixture = Fixture::new();
    let error = fixture
        .add_with(&loopback(), &registry.source("old"))
        .unwrap_err();
    assert!(
        error.to_string().contains("the skill `pdf` in its place"),
        "{error}"
    );
    let paths = registry.server.paths();
    assert_eq!(paths, ["/hub/api/v1/skills/old"]);
}

#[test]
fn a_setting_chooses_the_registry_of_a_short_source() {
    let spec = |text: &str| text.parse::<SourceSpec>().unwrap();
    let chosen = spec("clawhub:pdf@1.0.0").with_clawhub_registry("https://acme.example/hub");
    let chosen = chosen.unwrap();
    assert_eq!(
        chosen.to_string(),
        "clawhub+https://acme.example/hub/pdf@1.0.0"
    );
    assert_eq!(chosen.identity(), "clawhub:acme.example/hub/pdf");
    let other = spec("acme/skills").with_clawhub_registry("https://acme.example");
    assert_eq!(other.unwrap(), spec("acme/skills"));
    let error = spec("clawhub:pdf").with_clawhub_registry("https://user:secret@acme.example");
    let error = error.unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
}

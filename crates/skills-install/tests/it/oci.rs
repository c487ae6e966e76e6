//! Artifacts and images of OCI.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skills_install::{FetchLimits, InstallError, InstallErrorKind, LocalEdits};

use crate::fixture::{Fixture, TarEntry, fetcher, skill_text, words};
use crate::web::loopback;
use crate::web_server::{Reply, Request, WebServer};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const TAR_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const TITLE: &str = "org.opencontainers.image.title";

fn digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn archive(entries: &[TarEntry<'_>]) -> Vec<u8> {
    let fixture = Fixture::new();
    fixture.tar_gz("a.tar.gz", entries);
    std::fs::read(fixture.path("a.tar.gz")).unwrap()
}

/// Blobs by digest, and tags.
#[derive(Clone, Default)]
pub(crate) struct Artifacts {
    blobs: BTreeMap<String, Vec<u8>>,
    tags: BTreeMap<String, String>,
}

impl Artifacts {
    /// Adds a blob and returns its descriptor.
    fn blob(&mut self, media_type: &str, content: impl Into<Vec<u8>>) -> Value {
        let content = content.into();
        let descriptor =
            json!({"mediaType": media_type, "digest": digest(&content), "size": content.len()});
        self.blobs.insert(digest(&content), content);
        descriptor
    }

    /// Adds a layer that is a file with a path.
    fn file(&mut self, title: &str, content: &str) -> Value {
        let mut layer = self.blob("application/octet-stream", content);
        layer["annotations"] = json!({TITLE: title});
        layer
    }

    /// Adds a manifest with a tag and returns its digest.
    fn manifest(&mut self, tag: &str, layers: &[Value]) -> String {
        let config = self.blob("application/vnd.oci.empty.v1+json", "{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        self.document(tag, &manifest)
    }

    fn document(&mut self, tag: &str, document: &Value) -> String {
        let descriptor = self.blob(MANIFEST, document.to_string());
        let digest = descriptor["digest"].as_str().unwrap().to_owned();
        self.tags.insert(tag.to_owned(), digest.clone());
        digest
    }

    /// Writes an image layout.
    fn write(&self, fixture: &Fixture, directory: &str) {
        fixture.file(
            &format!("{directory}/oci-layout"),
            r#"{"imageLayoutVersion": "1.0.0"}"#,
        );
        for (digest, content) in &self.blobs {
            let name = digest.replacen(':', "/", 1);
            fixture.file(&format!("{directory}/blobs/{name}"), content);
        }
        let manifests = self.tags.iter().map(|(tag, digest)| {
            json!({
                "mediaType": MANIFEST, "digest": digest, "size": self.blobs[digest].len(),
                "annotations": {"org.opencontainers.image.ref.name": tag},
            })
        });
        let index = json!({"schemaVersion": 2, "manifests": manifests.collect::<Vec<_>>()});
        fixture.file(&format!("{directory}/index.json"), index.to_string());
    }

    /// Answers a request for the repository `acme/skills`.
    pub(crate) fn answer(&self, path: &str) -> Reply {
        let path = path.strip_prefix("/v2/acme/skills/").unwrap_or_default();
        let found = match path.split_once('/') {
            Some(("manifests", reference)) => {
                let digest = self.tags.get(reference).map_or(reference, String::as_str);
                self.blobs.get(digest)
            }
            Some(("blobs", digest)) => self.blobs.get(digest),
            _ => None,
        };
        found.map_or(Reply::status(404), |content| Reply::ok(content.clone()))
    }
}

/// Returns an artifact with one archive of the skill `pdf`.
pub(crate) fn single_archive() -> (Artifacts, String) {
    let mut artifacts = Artifacts::default();
    let text = skill_text("pdf", "");
    let run = TarEntry {
        mode: 0o755,
        ..TarEntry::file("pdf/scripts/run.sh", "echo 1\n")
    };
    let content = archive(&[TarEntry::file("pdf/SKILL.md", &text), run]);
    let layer = artifacts.blob(TAR_GZIP, content);
    let digest = artifacts.manifest("1.0", &[layer]);
    (artifacts, digest)
}

fn install_layout(artifacts: &Artifacts) -> Result<Fixture, InstallError> {
    let fixture = Fixture::new();
    artifacts.write(&fixture, "layout");
    fixture.add("oci:./layout")?;
    Ok(fixture)
}

fn revision(fixture: &Fixture, name: &str) -> String {
    let store = fixture.store();
    store.lock_file().skills()[name]
        .revision()
        .unwrap()
        .to_owned()
}

#[test]
fn an_image_layout_is_read_by_its_tag_or_digest() {
    let (mut artifacts, digest) = single_archive();
    let fixture = install_layout(&artifacts).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(revision(&fixture, "pdf"), format!("oci:{digest}"));
    assert!(
        fixture
            .read("skills/skills.lock")
            .contains("executable = [\"scripts/run.sh\"]")
    );

    let other = artifacts.file("SKILL.md", &skill_text("other", ""));
    artifacts.manifest("2.0", &[other]);
    let fixture = Fixture::new();
    artifacts.write(&fixture, "layout");
    let error = fixture.add("oci:./layout").unwrap_err();
    assert!(error.to_string().contains("several manifests"), "{error}");
    let error = fixture.add("oci:./layout#3.0").unwrap_err();
    assert!(error.to_string().contains("no such tag"), "{error}");
    fixture.add("oci:./layout#2.0").unwrap();
    fixture.add(&format!("oci:./layout#{digest}//pdf")).unwrap();
    assert_eq!(fixture.states(), ["other unchanged", "pdf unchanged"]);

    // A directory is recognized by its `oci-layout`.
    let (artifacts, _) = single_archive();
    let fixture = Fixture::new();
    artifacts.write(&fixture, "layout");
    fixture.add("./layout").unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
}

#[test]
fn an_artifact_with_a_layer_for_each_file_is_read_by_their_titles() {
    let mut artifacts = Artifacts::default();
    let layers = [
        artifacts.file("SKILL.md", &skill_text("pdf", "")),
        artifacts.file("references/guide.md", "Guide.\n"),
    ];
    artifacts.manifest("1.0", &layers);
    let fixture = install_layout(&artifacts).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(fixture.read("skills/pdf/references/guide.md"), "Guide.\n");
    for title in [
        "../evil",
        "/evil",
        "SKILL.md",
        "skill.md",
        ".wh.SKILL.md",
        ".git/config",
    ] {
        let mut artifacts = artifacts.clone();
        let mut layers = layers.to_vec();
        layers.push(artifacts.file(title, "x"));
        artifacts.manifest("1.0", &layers);
        let error = install_layout(&artifacts).err().unwrap();
        let kind = error.kind();
        assert!(
            matches!(kind, InstallErrorKind::Unsafe | InstallErrorKind::Fetch),
            "{title}: {error}"
        );
    }
}

#[test]
fn an_image_of_several_layers_is_read_unless_a_layer_deletes_or_replaces_files() {
    let text = skill_text("pdf", "");
    let skill = archive(&[TarEntry::file("pdf/SKILL.md", &text)]);
    let install = |second: &[TarEntry<'_>]| {
        let mut artifacts = Artifacts::default();
        let layers = [
            artifacts.blob(TAR_GZIP, skill.clone()),
            artifacts.blob(TAR_GZIP, archive(second)),
        ];
        artifacts.manifest("1.0", &layers);
        install_layout(&artifacts)
    };
    let fixture = install(&[TarEntry::file("pdf/notes.md", "x")]).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    for (path, message) in [
        ("pdf/.wh.SKILL.md", "deletes a file"),
        ("pdf/.wh..wh..opq", "deletes a file"),
        (".wh.pdf", "deletes a file"),
        ("pdf/SKILL.md", "there twice"),
        ("pdf/skill.md", "confuse"),
        ("../evil", "`..`"),
    ] {
        let error = install(&[TarEntry::file(path, "x")]).err().unwrap();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{path}: {error}");
        assert!(error.to_string().contains(message), "{path}: {error}");
    }
}

#[test]
fn an_index_of_platforms_leads_to_one_manifest_without_attestations() {
    let (mut artifacts, image) = single_archive();
    let size = artifacts.blobs[&image].len();
    let noise = artifacts.blob(MANIFEST, r#"{"layers": []}"#);
    let mut attestation = noise.clone();
    attestation["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
    let index = json!({"schemaVersion": 2, "manifests": [
        attestation,
        {"digest": image, "size": size, "platform": {"os": "linux", "architecture": "amd64"}},
    ]});
    artifacts.tags.clear();
    let digest = artifacts.document("1.0", &index);
    let fixture = install_layout(&artifacts).unwrap();
    // The digest of what the tag names, so that it can be asked for again.
    assert_eq!(revision(&fixture, "pdf"), format!("oci:{digest}"));

    artifacts.tags.clear();
    let nested = json!({"manifests": [{"digest": digest, "size": artifacts.blobs[&digest].len()}]});
    artifacts.document("1.0", &nested);
    let error = install_layout(&artifacts).err().unwrap();
    assert!(error.to_string().contains("no artifact"), "{error}");
}

#[test]
fn blobs_with_another_digest_or_size_are_refused() {
    let (artifacts, manifest) = single_archive();
    let layer = artifacts
        .blobs
        .iter()
        .find(|(_, content)| content.starts_with(&[0x1f, 0x8b]))
        .map(|(digest, _)| digest.clone())
        .unwrap();
    for changed in [&layer, &manifest] {
        let mut artifacts = artifacts.clone();
        let content = artifacts.blobs.get_mut(changed).unwrap();
        let last = content.len() - 1;
        content[last] ^= 1;
        let error = install_layout(&artifacts).err().unwrap();
        assert!(error.to_string().contains("has the digest"), "{error}");
        artifacts.blobs.get_mut(changed).unwrap().push(b' ');
        let server = WebServer::start(move |request| artifacts.answer(&request.path));
        let source = format!("oci://127.0.0.1:{}/acme/skills@{manifest}", server.port());
        let fixture = Fixture::new();
        let error = fixture.add_with(&loopback(), &source).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Fetch, "{error}");
        assert!(fixture.states().is_empty());
    }
    let fixture = Fixture::new();
    artifacts.write(&fixture, "layout");
    let name = layer.replacen(':', "/", 1);
    std::fs::remove_file(fixture.path(&format!("layout/blobs/{name}"))).unwrap();
    fixture.symlink("/etc/passwd", &format!("layout/blobs/{name}"));
    let error = fixture.add("oci:./layout").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Io, "{error}");
}

#[test]
fn a_registry_is_read_with_an_anonymous_token_only() {
    let (artifacts, digest) = single_archive();
    let port = Arc::new(Mutex::new(0));
    let own_port = Arc::clone(&port);
    let answer = move |request: &Request| {
        if request.path.starts_with("/token") {
            assert_eq!(request.header("authorization"), None);
            return Reply::ok(r#"{"token": "abc"}"#);
        }
        if request.header("authorization") != Some("Bearer abc") {
            let realm = format!("http://127.0.0.1:{}/token", own_port.lock().unwrap());
            let challenge = format!(
                "Bearer realm=\"{realm}\",service=\"registry\",scope=\"repository:other:push\""
            );
            return Reply::status(401).header("www-authenticate", challenge);
        }
        artifacts.answer(&request.path)
    };
    let server = WebServer::start(answer);
    *port.lock().unwrap() = server.port();
    let fixture = Fixture::new();
    let source = format!("oci://127.0.0.1:{}/acme/skills:1.0", server.port());
    fixture.add_with(&loopback(), &source).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(revision(&fixture, "pdf"), format!("oci:{digest}"));
    let lock = fixture.read("skills/skills.lock");
    assert!(lock.contains(&format!("{source}//pdf")), "{lock}");
    let paths = server.paths();
    assert_eq!(
        paths[1],
        "/token?service=registry&scope=repository%3Aacme%2Fskills%3Apull"
    );
    // One token for all requests.
    assert_eq!(paths.len(), 4, "{paths:?}");
    let pinned = format!("oci://127.0.0.1:{}/acme/skills@{digest}", server.port());
    fixture.add_with(&loopback(), &pinned).unwrap();
}

#[test]
fn a_token_that_expires_during_a_download_is_replaced() {
    let (artifacts, _) = single_archive();
    let tokens = Arc::new(Mutex::new(0));
    let granted = Arc::clone(&tokens);
    let server = WebServer::start(move |request| {
        let mut granted = granted.lock().unwrap();
        if request.path.starts_with("/token") {
            *granted += 1;
            return Reply::ok(format!(r#"{{"token": "t{granted}"}}"#));
        }
        // The first one expires after the manifest.
        let current = if request.path.contains("/blobs/") {
            2
        } else {
            1
        };
        if request.header("authorization") == Some(&format!("Bearer t{current}")) {
            return artifacts.answer(&request.path);
        }
        let realm = format!("http://{}/token", request.header("host").unwrap());
        Reply::status(401).header("www-authenticate", format!("Bearer realm=\"{realm}\""))
    });
    let fixture = Fixture::new();
    let source = format!("oci://127.0.0.1:{}/acme/skills:1.0", server.port());
    fixture.add_with(&loopback(), &source).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(*tokens.lock().unwrap(), 2);
}

#[test]
fn a_token_is_sent_to_its_registry_only() {
    let (artifacts, _) = single_archive();
    let store = artifacts.clone();
    let storage = WebServer::start(move |request| {
        assert_eq!(request.header("authorization"), None);
        store.answer(&request.path)
    });
    let blobs = storage.url("");
    let server = WebServer::start(move |request| {
        if request.path.starts_with("/token") {
            return Reply::ok(r#"{"access_token": "abc"}"#);
        }
        if request.header("authorization").is_none() {
            return Reply::status(401).header(
                "www-authenticate",
                format!(
                    "Bearer realm=\"http://{}/token\"",
                    request.header("host").unwrap()
                ),
            );
        }
        if request.path.contains("/blobs/") {
            return Reply::redirect(format!("{blobs}{}", request.path));
        }
        artifacts.answer(&request.path)
    });
    let fixture = Fixture::new();
    let source = format!("oci://127.0.0.1:{}/acme/skills:1.0", server.port());
    fixture.add_with(&loopback(), &source).unwrap();
    assert_eq!(storage.paths().len(), 1);
}

#[test]
fn a_registry_that_wants_more_than_an_anonymous_token_is_an_error() {
    for (challenge, message) in [
        ("Basic realm=\"x\"", "wants credentials"),
        ("Bearer service=\"x\"", "wants credentials"),
        (
            "Bearer realm=\"https://10.0.0.1/token\"",
            "not a public address",
        ),
        (
            "Bearer realm=\"http://1.1.1.1/token\"",
            "`http:` is not allowed",
        ),
        ("Bearer realm=\"file:///etc/passwd\"", "has no host"),
        ("Bearer realm=\"token\"", "relative URL"),
    ] {
        let server =
            WebServer::start(move |_| Reply::status(401).header("www-authenticate", challenge));
        let source = format!("oci://127.0.0.1:{}/acme/skills", server.port());
        let error = Fixture::new().add_with(&loopback(), &source).unwrap_err();
        assert!(error.to_string().contains(message), "{challenge}: {error}");
    }
    let server = WebServer::start(|request| match request.path.split('?').next() {
        Some("/token") => Reply::ok("{\"token\": \"a\\r\\nx-evil: 1\"}"),
        _ => Reply::status(401).header(
            "www-authenticate",
            format!(
                "Bearer realm=\"http://{}/token\"",
                request.header("host").unwrap()
            ),
        ),
    });
    let source = format!("oci://127.0.0.1:{}/acme/skills", server.port());
    let error = Fixture::new().add_with(&loopback(), &source).unwrap_err();
    assert!(error.to_string().contains("wants credentials"), "{error}");
}

#[test]
fn a_layer_larger_than_the_limit_is_refused() {
    let (artifacts, _) = single_archive();
    let mut limits = FetchLimits::default();
    limits.max_archive_bytes = 100;
    let fixture = Fixture::new();
    artifacts.write(&fixture, "layout");
    let error = fixture
        .add_with(&fetcher().limits(limits), "oci:./layout")
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
}

#[test]
fn the_locked_version_is_restored() {
    // As an image layout, and as a directory that is one.
    for source in ["oci:./layout#1.0", "oci:./layout", "./layout"] {
        let (mut artifacts, _) = single_archive();
        let fixture = Fixture::new();
        artifacts.write(&fixture, "layout");
        fixture.add(source).unwrap();
        let before = fixture.read("skills/skills.lock");
        let first = artifacts.tags.remove("1.0").unwrap();
        let text = skill_text("pdf", "license: MIT\n");
        let content = archive(&[TarEntry::file("pdf/SKILL.md", &text)]);
        let layer = artifacts.blob(TAR_GZIP, content);
        artifacts.manifest("1.0", &[layer]);
        artifacts.tags.insert("old".to_owned(), first);
        artifacts.write(&fixture, "layout");
        std::fs::remove_dir_all(fixture.path("skills/pdf")).unwrap();
        let mut store = fixture.store();
        let plan = store
            .plan_restore(&fetcher(), &[], LocalEdits::Refuse, &words)
            .unwrap();
        assert!(plan.failures().is_empty(), "{source}: {plan:?}");
        store.apply(plan).unwrap();
        drop(store);
        assert_eq!(fixture.states(), ["pdf unchanged"], "{source}");
        assert_eq!(fixture.read("skills/skills.lock"), before, "{source}");
    }
}

//! Bundles of Sigstore.

use serde_json::{Value, json};
use skills_install::{
    Fetcher, InstallErrorKind, LocalEdits, SigstoreIdentity, SigstoreRoot, TrustChange, WebOptions,
    statement,
};

use crate::fixture::{Fixture, fetcher, words};
use crate::minisign::Signer;
use crate::sigstore::{Identity, Instance, SIGNED_AT};
use crate::web::archive;
use crate::web_server::{Reply, WebServer};

const ISSUER: &str = "https://ci.example";
const WORKFLOW: &str = "https://git.example/acme/skills/release.yml@refs/tags/v1";
const RELEASE: Identity<'_> = Identity {
    issuer: ISSUER,
    name: WORKFLOW,
    logged_at: SIGNED_AT,
};
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// A name, a part of the expected message, and a change of a skill and its bundle.
type Change = (&'static str, &'static str, fn(&Fixture, &mut Value));

fn identity(text: &str) -> SigstoreIdentity {
    text.parse().unwrap()
}

fn trusting(root: &SigstoreRoot, identities: &[&str]) -> Fetcher {
    let fetcher = fetcher().web(WebOptions::new().allow_loopback());
    identities.iter().fold(fetcher, |fetcher, text| {
        fetcher.trust_identity(identity(text).root(root.clone()))
    })
}

fn exact() -> String {
    format!("{ISSUER} {WORKFLOW}")
}

fn unverified() -> String {
    let workflow = WORKFLOW.split("@refs").next().unwrap();
    format!("unverified:sigstore:{ISSUER} {workflow}")
}

fn statement_of(fixture: &Fixture) -> String {
    statement(&fixture.path("source/a")).unwrap()
}

/// Returns a skill with a bundle beside it.
fn signed_skill(instance: &Instance, identity: Identity<'_>) -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .executable("source/a/scripts/run.sh", "echo 1\n");
    sign(&fixture, instance, identity);
    fixture
}

fn sign(fixture: &Fixture, instance: &Instance, identity: Identity<'_>) {
    let bundle = instance.sign(identity, statement_of(fixture));
    fixture.file("source/a.sigstore.json", bundle.to_string());
}

fn signer_of(fixture: &Fixture, name: &str) -> String {
    fixture.store().lock_file().skills()[name]
        .signer()
        .to_owned()
}

fn refusal(fixture: &Fixture, fetcher: &Fetcher, source: &str) -> String {
    let error = fixture.add_with(fetcher, source).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Signature, "{error}");
    assert!(fixture.states().is_empty());
    error.to_string()
}

#[test]
fn a_bundle_of_a_trusted_identity_is_verified_and_locked() {
    let instance = Instance::new();
    let root = instance.root();
    let tags = WORKFLOW.replace("v1", "*");
    for trusted in [exact(), format!("{ISSUER} {tags}")] {
        let fixture = signed_skill(&instance, RELEASE);
        let required = trusting(&root, &[&trusted]).require_signature();
        fixture.add_with(&required, "./source").unwrap();
        assert_eq!(signer_of(&fixture, "a"), format!("sigstore:{trusted}"));
        assert!(!fixture.path("skills/a.sigstore.json").exists());
        assert_eq!(fixture.states(), ["a unchanged"]);
    }
    // The former name of the file, and an email address.
    let person = Identity {
        name: "ada@example.com",
        ..RELEASE
    };
    let fixture = signed_skill(&instance, person);
    let bundle = fixture.read("source/a.sigstore.json");
    std::fs::remove_file(fixture.path("source/a.sigstore.json")).unwrap();
    fixture.file("source/a.sigstore", bundle);
    let trusted = format!("{ISSUER} ada@example.com");
    let required = trusting(&root, &[&trusted]).require_signature();
    fixture.add_with(&required, "./source").unwrap();
    assert_eq!(signer_of(&fixture, "a"), format!("sigstore:{trusted}"));
}

#[test]
fn a_bundle_of_another_identity_or_issuer_satisfies_no_rule() {
    let instance = Instance::new();
    let root = instance.root();
    for trusted in [
        &[][..],
        &["https://ci.example https://git.example/acme/skills/release.yml@refs/tags/v2"],
        &["https://ci.example https://git.example/acme/skills/release.yml@refs/heads/*"],
        &["https://other.example https://git.example/acme/skills/release.yml@refs/tags/v1"],
    ] {
        let fixture = signed_skill(&instance, RELEASE);
        let message = refusal(
            &fixture,
            &trusting(&root, trusted).require_signature(),
            "./source",
        );
        assert_eq!(
            message,
            "skill `a` has no signature of a trusted key or identity"
        );
        fixture
            .add_with(&trusting(&root, trusted), "./source")
            .unwrap();
        assert_eq!(signer_of(&fixture, "a"), unverified());
        assert!(!fixture.store().lock_file().skills()["a"].is_signed());
    }
}

#[test]
fn without_a_trusted_root_a_bundle_is_not_verified() {
    let fixture = signed_skill(&Instance::new(), RELEASE);
    let rootless = || fetcher().trust_identity(identity(&exact()));
    let message = refusal(&fixture, &rootless().require_signature(), "./source");
    assert_eq!(
        message,
        "skill `a` has no signature of a trusted key, and its Sigstore bundle cannot be verified without a trusted root"
    );
    fixture.add_with(&rootless(), "./source").unwrap();
    assert_eq!(signer_of(&fixture, "a"), unverified());
}

#[test]
fn a_bundle_that_is_not_valid_for_a_trusted_identity_is_refused() {
    let instance = Instance::new();
    let root = instance.root();
    let changes: &[Change] = &[
        ("content", "digest in bundle does not match", |f, _| {
            f.executable("source/a/scripts/run.sh", "echo 2\n");
        }),
        (
            "content without digest",
            "signature verification failed",
            |f, b| {
                f.executable("source/a/scripts/run.sh", "echo 2\n");
                let signature = b["messageSignature"].as_object_mut().unwrap();
                signature.remove("messageDigest");
            },
        ),
        ("mode", "digest in bundle does not match", |f, _| {
            f.executable("source/a/SKILL.md", &f.read("source/a/SKILL.md"));
        }),
        ("signature", "signature verification failed", |_, b| {
            let text = b["messageSignature"]["signature"].as_str().unwrap();
            b["messageSignature"]["signature"] = json!(changed_base64(text));
        }),
        ("digest", "digest in bundle does not match", |_, b| {
            let text = b["messageSignature"]["messageDigest"]["digest"]
                .as_str()
                .unwrap();
            b["messageSignature"]["messageDigest"]["digest"] = json!(changed_base64(text));
        }),
        ("time", "SET verification failed", |_, b| {
            entry(b)["integratedTime"] = json!("1735689901")
        }),
        ("body", "SET verification failed", |_, b| {
            let text = entry(b)["canonicalizedBody"].as_str().unwrap().to_owned();
            entry(b)["canonicalizedBody"] = json!(changed_base64(&text));
        }),
        ("proof", "root hash mismatch", |_, b| {
            let hash = &mut entry(b)["inclusionProof"]["hashes"][0];
            *hash = json!(changed_base64(hash.as_str().unwrap()));
        }),
        ("no proof", "must have an inclusion proof", |_, b| {
            entry(b).as_object_mut().unwrap().remove("inclusionProof");
        }),
        ("checkpoint", "No valid Rekor signature", |_, b| {
            let text = entry(b)["inclusionProof"]["checkpoint"]["envelope"].clone();
            let text = text.as_str().unwrap().replace("- 1\n", "- 2\n");
            entry(b)["inclusionProof"]["checkpoint"]["envelope"] = json!(text);
        }),
        ("no log entry", "must have an inclusion proof", |_, b| {
            b["verificationMaterial"]["tlogEntries"] = json!([]);
        }),
        // Without the promise, no time at which the expired certificate was valid is known.
        ("no time", "no verified timestamp", |_, b| {
            entry(b).as_object_mut().unwrap().remove("inclusionPromise");
        }),
        ("version", "Invalid media type", |_, b| {
            b["mediaType"] = json!("application/vnd.dev.sigstore.bundle.v0.9+json");
        }),
        ("no certificate", "failed to parse certificate", |_, b| {
            b["verificationMaterial"]["certificate"]["rawBytes"] = json!("AAAA");
        }),
    ];
    let fetcher = trusting(&root, &[&exact()]);
    for (name, reason, change) in changes {
        let fixture = signed_skill(&instance, RELEASE);
        let text = fixture.read("source/a.sigstore.json");
        let mut bundle: Value = serde_json::from_str(&text).unwrap();
        change(&fixture, &mut bundle);
        fixture.file("source/a.sigstore.json", bundle.to_string());
        // Also where no signature is required.
        let result = fixture.add_with(&fetcher, "./source");
        assert!(result.is_err(), "{name}");
        let message = refusal(&fixture, &fetcher, "./source");
        assert!(
            message.starts_with("cannot verify the signature of `a`: "),
            "{name}: {message}"
        );
        assert!(message.contains(reason), "{name}: {message}");
    }
}

fn entry(bundle: &mut Value) -> &mut Value {
    &mut bundle["verificationMaterial"]["tlogEntries"][0]
}

/// Returns other bytes of the same length.
fn changed_base64(text: &str) -> String {
    let middle = text.len() / 2;
    let other = if text.as_bytes()[middle] == b'A' {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &text[..middle], &text[middle + 1..])
}

#[test]
fn text_that_is_no_bundle_is_an_error_only_if_an_identity_is_trusted() {
    let instance = Instance::new();
    let fixture = signed_skill(&instance, RELEASE);
    let bundle = fixture.read("source/a.sigstore.json");
    let padded = format!("{}{bundle}", " ".repeat(256 << 10));
    let nested = format!("{{\"mediaType\":{}", "[".repeat(100_000));
    for text in [
        &bundle[..bundle.len() / 2],
        "",
        "<html>",
        "[]",
        "{}",
        &padded,
        &nested,
    ] {
        let fixture = Fixture::new();
        fixture
            .skill("source/a", "")
            .file("source/a.sigstore.json", text);
        refusal(
            &fixture,
            &trusting(&instance.root(), &[&exact()]),
            "./source",
        );
        fixture.add_with(&fetcher(), "./source").unwrap();
        assert_eq!(signer_of(&fixture, "a"), "unsigned");
    }
}

#[test]
fn keys_of_another_instance_and_an_empty_trusted_root_verify_nothing() {
    let instance = Instance::new();
    let without = |key: &str| {
        let mut root = instance.trusted_root();
        root[key] = json!([]);
        SigstoreRoot::parse(&root.to_string()).unwrap()
    };
    let empty = json!({"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"});
    let empty = SigstoreRoot::parse(&empty.to_string()).unwrap();
    for root in [
        Instance::new().root(),
        Instance::new().with_signature_log(Instance::new()).root(),
        without("tlogs"),
        without("ctlogs"),
        without("certificateAuthorities"),
        empty,
    ] {
        let fixture = signed_skill(&instance, RELEASE);
        refusal(&fixture, &trusting(&root, &[&exact()]), "./source");
    }
    // A log that is not known, for a certificate that is.
    let other_log = Instance::new();
    let root = instance.root();
    let instance = instance.with_signature_log(other_log);
    let fixture = signed_skill(&instance, RELEASE);
    let message = refusal(&fixture, &trusting(&root, &[&exact()]), "./source");
    assert!(message.contains("log"), "{message}");

    for text in ["", "{}", "[]", "{\"mediaType\": 1}"] {
        let error = SigstoreRoot::parse(text).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot parse the trusted root: ")
        );
    }
}

#[test]
fn a_certificate_that_expired_before_the_time_of_the_log_is_refused() {
    let instance = Instance::new();
    let fetcher = trusting(&instance.root(), &[&exact()]);
    for logged_at in [SIGNED_AT + 3_600, SIGNED_AT - 3_600] {
        let late = Identity {
            logged_at,
            ..RELEASE
        };
        let fixture = signed_skill(&instance, late);
        refusal(&fixture, &fetcher, "./source");
    }
}

#[test]
fn of_two_signatures_each_of_a_trusted_signer_has_to_be_valid() {
    let instance = Instance::new();
    let key = Signer::new(1);
    let both = || {
        let fixture = signed_skill(&instance, RELEASE);
        fixture.file("source/a.minisig", key.sign(statement_of(&fixture)));
        fixture
    };
    let trusts_identity = || trusting(&instance.root(), &[&exact()]).require_signature();
    let trusts_both = || trusts_identity().trust_key(key.public_key().parse().unwrap());
    let minisign = format!("minisign:{}", key.public_key());
    let sigstore = format!("sigstore:{}", exact());
    for (fetcher, signer) in [(trusts_both(), &minisign), (trusts_identity(), &sigstore)] {
        let fixture = both();
        fixture.add_with(&fetcher, "./source").unwrap();
        assert_eq!(&signer_of(&fixture, "a"), signer);
    }
    let fixture = both();
    fixture.file("source/a.minisig", key.sign("other"));
    refusal(&fixture, &trusts_both(), "./source");
    let fixture = both();
    fixture.file("source/a/new.md", "");
    fixture.file("source/a.minisig", key.sign(statement_of(&fixture)));
    refusal(&fixture, &trusts_both(), "./source");
    // Without trust in either, the key is noted, and the reason is that of both.
    let fixture = both();
    fixture.add_with(&fetcher(), "./source").unwrap();
    assert!(signer_of(&fixture, "a").starts_with("unverified:minisign:"));
}

#[test]
fn the_identity_is_remembered_and_a_change_needs_a_person() {
    let instance = Instance::new();
    let root = instance.root();
    let fixture = signed_skill(&instance, RELEASE);
    fixture.add_with(&fetcher(), "./source").unwrap();
    let changes = |fetcher: &Fetcher| {
        let mut store = fixture.store();
        let plan = store.plan_update_all(fetcher, &[], LocalEdits::Refuse, &words);
        plan.unwrap().changes()[0].trust_changes().to_vec()
    };
    let changed = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        vec![TrustChange::Signer { from, to }]
    };
    // The next tag of the same workflow, without and with trust.
    fixture.file("source/a/references/new.md", "x");
    let next_name = WORKFLOW.replace("v1", "v2");
    let next = Identity {
        name: &next_name,
        ..RELEASE
    };
    sign(&fixture, &instance, next);
    let tags = format!("{ISSUER} {}", WORKFLOW.replace("v1", "*"));
    assert_eq!(changes(&fetcher()), []);
    assert_eq!(changes(&trusting(&root, &[&tags])), []);
    let other_name = WORKFLOW.replace("acme", "evil");
    let other = Identity {
        name: &other_name,
        ..RELEASE
    };
    sign(&fixture, &instance, other);
    let evil = unverified().replace("acme", "evil");
    assert_eq!(changes(&fetcher()), changed(&unverified(), &evil));
    let trusted = format!("{ISSUER} {other_name}");
    assert_eq!(
        changes(&trusting(&root, &[&trusted])),
        changed(&unverified(), &format!("sigstore:{trusted}"))
    );
    std::fs::remove_file(fixture.path("source/a.sigstore.json")).unwrap();
    assert_eq!(changes(&fetcher()), changed(&unverified(), "unsigned"));

    // A verified identity that is replaced by one that is not trusted.
    let fixture = signed_skill(&instance, RELEASE);
    let fetcher = trusting(&root, &[&tags]);
    fixture.add_with(&fetcher, "./source").unwrap();
    fixture.file("source/a/references/new.md", "x");
    sign(&fixture, &instance, other);
    let mut store = fixture.store();
    let plan = store.plan_update_all(&fetcher, &[], LocalEdits::Refuse, &words);
    assert!(plan.unwrap().changes()[0].needs_person());
}

#[test]
fn an_archive_is_verified_by_the_bundle_beside_it() {
    let instance = Instance::new();
    let required = trusting(&instance.root(), &[&exact()]).require_signature();
    let content = archive();
    let bundle = instance.sign(RELEASE, &content).to_string();
    let fixture = Fixture::new();
    fixture
        .file("a.tgz", &content)
        .file("a.tgz.sigstore.json", &bundle);
    fixture.add_with(&required, "./a.tgz").unwrap();
    assert_eq!(signer_of(&fixture, "pdf"), format!("sigstore:{}", exact()));

    let other = instance.sign(RELEASE, "other").to_string();
    let served = content.clone();
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/good.tgz" | "/former.tgz" | "/changed.tgz" | "/unsigned.tgz" | "/broken.tgz" => {
            Reply::ok(served.clone())
        }
        "/good.tgz.sigstore.json" | "/former.tgz.sigstore" => Reply::ok(bundle.clone()),
        "/changed.tgz.sigstore.json" => Reply::ok(other.clone()),
        "/broken.tgz.sigstore.json" => Reply::status(500),
        _ => Reply::status(404),
    });
    for (path, kind) in [
        ("/good.tgz", None),
        ("/former.tgz", None),
        ("/changed.tgz", Some(InstallErrorKind::Signature)),
        ("/unsigned.tgz", Some(InstallErrorKind::Signature)),
        ("/broken.tgz", Some(InstallErrorKind::Fetch)),
    ] {
        let result = Fixture::new().add_with(&required, &server.url(path));
        assert_eq!(result.err().map(|error| error.kind()), kind, "{path}");
    }
}

#[test]
fn of_statements_only_the_provenance_of_an_archive_is_a_signature() {
    let instance = Instance::new();
    let required = trusting(&instance.root(), &[&exact()]).require_signature();
    let content = archive();
    let attested = |kind: &str, about: &[u8]| {
        let fixture = Fixture::new();
        let bundle = instance.attest(RELEASE, kind, about).to_string();
        fixture
            .file("a.tgz", &content)
            .file("a.tgz.sigstore.json", bundle);
        fixture
    };
    let fixture = attested(PROVENANCE, &content);
    fixture.add_with(&required, "./a.tgz").unwrap();
    assert_eq!(signer_of(&fixture, "pdf"), format!("sigstore:{}", exact()));
    refusal(&attested(PROVENANCE, b"other"), &required, "./a.tgz");
    let kind = "https://in-toto.io/attestation/vulns/v0.1";
    let message = refusal(&attested(kind, &content), &required, "./a.tgz");
    assert_eq!(
        message,
        format!(
            "cannot verify the signature of `pdf`: it signs a statement `{kind}`, not the content"
        )
    );
}

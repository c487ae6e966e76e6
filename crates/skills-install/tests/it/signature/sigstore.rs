//! Bundles of Sigstore.

use skills_install::{Fetcher, InstallErrorKind, LocalEdits, TrustChange, WebOptions, statement};
use skills_signature::{SigstoreIdentity, SigstoreRoot, TrustedSigners};

use crate::fixture::{Fixture, fetcher, words};
use crate::sigstore_instance::{Identity, Instance, SIGNED_AT};
use crate::web::archive;
use crate::web_server::{Reply, WebServer};

const ISSUER: &str = "https://ci.example";
const WORKFLOW: &str = "https://git.example/acme/skills/release.yml@refs/tags/v1";
const RELEASE: Identity<'_> = Identity {
    issuer: ISSUER,
    name: WORKFLOW,
    logged_at: SIGNED_AT,
};

fn identity(text: &str) -> SigstoreIdentity {
    text.parse().unwrap()
}

fn trusting(root: &SigstoreRoot, identities: &[&str]) -> Fetcher {
    let trusted = TrustedSigners::default();
    let trusted = identities.iter().fold(trusted, |trusted, text| {
        trusted.identity(identity(text).root(root.clone()))
    });
    fetcher()
        .web(WebOptions::new().allow_loopback())
        .trust(trusted)
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
}

#[test]
fn without_a_trusted_root_a_bundle_is_not_verified() {
    let fixture = signed_skill(&Instance::new(), RELEASE);
    let rootless = || fetcher().trust(TrustedSigners::default().identity(identity(&exact())));
    let message = refusal(&fixture, &rootless().require_signature(), "./source");
    assert_eq!(
        message,
        "skill `a` has no signature of a trusted key, and its Sigstore bundle cannot be verified without a trusted root"
    );
    fixture.add_with(&rootless(), "./source").unwrap();
    assert_eq!(signer_of(&fixture, "a"), unverified());
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

    let provenance = "https://slsa.dev/provenance/v1";
    let attestation = instance.attest(RELEASE, provenance, &content).to_string();
    let other = instance.sign(RELEASE, "other").to_string();
    let served = content.clone();
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/good.tgz" | "/former.tgz" | "/attested.tgz" | "/changed.tgz" | "/unsigned.tgz"
        | "/broken.tgz" => Reply::ok(served.clone()),
        "/good.tgz.sigstore.json" | "/former.tgz.sigstore" => Reply::ok(bundle.clone()),
        "/attested.tgz.sigstore.json" => Reply::ok(attestation.clone()),
        "/changed.tgz.sigstore.json" => Reply::ok(other.clone()),
        "/broken.tgz.sigstore.json" => Reply::status(500),
        _ => Reply::status(404),
    });
    for (path, kind) in [
        ("/good.tgz", None),
        ("/former.tgz", None),
        ("/attested.tgz", None),
        ("/changed.tgz", Some(InstallErrorKind::Signature)),
        ("/unsigned.tgz", Some(InstallErrorKind::Signature)),
        ("/broken.tgz", Some(InstallErrorKind::Fetch)),
    ] {
        let result = Fixture::new().add_with(&required, &server.url(path));
        assert_eq!(result.err().map(|error| error.kind()), kind, "{path}");
    }
}

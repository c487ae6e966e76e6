//! Bundles of Sigstore.

use serde_json::{Value, json};
use skills_signature::{
    SignatureError, Signer, SigstoreIdentity, SigstoreRoot, TrustedSigners, UnverifiedReason,
    is_same_signer,
};

use crate::minisign_signer::Signer as Key;
use crate::sigstore_instance::{Identity, Instance, SIGNED_AT};
use crate::verify;

const ISSUER: &str = "https://ci.example";
const WORKFLOW: &str = "https://git.example/acme/skills/release.yml@refs/tags/v1";
const RELEASE: Identity<'_> = Identity {
    issuer: ISSUER,
    name: WORKFLOW,
    logged_at: SIGNED_AT,
};
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const CONTENT: &str = "content";

/// A name, a part of the expected message, and a change of a bundle.
type Change = (&'static str, &'static str, fn(&mut Value));

fn identity(text: &str) -> SigstoreIdentity {
    text.parse().unwrap()
}

fn trusting(root: &SigstoreRoot, identities: &[&str]) -> TrustedSigners {
    let trusted = TrustedSigners::default();
    identities.iter().fold(trusted, |trusted, text| {
        trusted.identity(identity(text).root(root.clone()))
    })
}

fn exact() -> String {
    format!("{ISSUER} {WORKFLOW}")
}

fn verify_bundle(trusted: &TrustedSigners, bundle: &str) -> Result<Option<Signer>, SignatureError> {
    verify(trusted, &[(".sigstore.json", bundle)], CONTENT)
}

fn refusal(trusted: &TrustedSigners, bundle: &Value) -> String {
    let error = verify_bundle(trusted, &bundle.to_string()).unwrap_err();
    error.to_string()
}

/// What a bundle of the workflow says about its signer if it is not verified.
fn unverified(reason: UnverifiedReason) -> Option<Signer> {
    let workflow = WORKFLOW.split("@refs").next().unwrap();
    let signer = format!("sigstore:{ISSUER} {workflow}");
    Some(Signer::Unverified { signer, reason })
}

#[test]
fn a_bundle_of_a_trusted_identity_is_verified() {
    let instance = Instance::new();
    let root = instance.root();
    let bundle = instance.sign(RELEASE, CONTENT).to_string();
    let claim = unverified(UnverifiedReason::NotTrusted)
        .unwrap()
        .to_string();
    let tags = WORKFLOW.replace("v1", "*");
    for trusted in [exact(), format!("{ISSUER} {tags}")] {
        let signers = trusting(&root, &[&trusted]);
        assert!(!signers.is_empty());
        let signer = verify_bundle(&signers, &bundle).unwrap().unwrap();
        assert!(signer.is_verified());
        assert_eq!(signer.to_string(), format!("sigstore:{trusted}"));
        assert!(is_same_signer(&claim, &signer.to_string()));
    }
    // The former name of the file, and an email address.
    let person = Identity {
        name: "ada@example.com",
        ..RELEASE
    };
    let bundle = instance.sign(person, CONTENT).to_string();
    let signers = trusting(&root, &[&format!("{ISSUER} ada@example.com")]);
    let signer = verify(&signers, &[(".sigstore", &bundle)], CONTENT).unwrap();
    assert!(signer.unwrap().is_verified());
}

#[test]
fn a_bundle_of_another_identity_or_issuer_satisfies_no_rule() {
    let instance = Instance::new();
    let root = instance.root();
    let bundle = instance.sign(RELEASE, CONTENT).to_string();
    for trusted in [
        &[][..],
        &["https://ci.example https://git.example/acme/skills/release.yml@refs/tags/v2"],
        &["https://ci.example https://git.example/acme/skills/release.yml@refs/heads/*"],
        &["https://other.example https://git.example/acme/skills/release.yml@refs/tags/v1"],
    ] {
        let signer = verify_bundle(&trusting(&root, trusted), &bundle).unwrap();
        assert_eq!(signer, unverified(UnverifiedReason::NotTrusted));
    }
    let rootless = TrustedSigners::default().identity(identity(&exact()));
    let signer = verify_bundle(&rootless, &bundle).unwrap();
    assert_eq!(signer, unverified(UnverifiedReason::NoTrustedRoot));
}

#[test]
fn a_bundle_that_is_not_valid_for_a_trusted_identity_is_refused() {
    let instance = Instance::new();
    let trusted = trusting(&instance.root(), &[&exact()]);
    let changes: &[Change] = &[
        ("signature", "signature verification failed", |b| {
            let text = b["messageSignature"]["signature"].as_str().unwrap();
            b["messageSignature"]["signature"] = json!(changed_base64(text));
        }),
        ("digest", "digest in bundle does not match", |b| {
            let text = b["messageSignature"]["messageDigest"]["digest"]
                .as_str()
                .unwrap();
            b["messageSignature"]["messageDigest"]["digest"] = json!(changed_base64(text));
        }),
        ("time", "SET verification failed", |b| {
            entry(b)["integratedTime"] = json!("1735689901")
        }),
        ("body", "SET verification failed", |b| {
            let text = entry(b)["canonicalizedBody"].as_str().unwrap().to_owned();
            entry(b)["canonicalizedBody"] = json!(changed_base64(&text));
        }),
        ("proof", "root hash mismatch", |b| {
            let hash = &mut entry(b)["inclusionProof"]["hashes"][0];
            *hash = json!(changed_base64(hash.as_str().unwrap()));
        }),
        ("no proof", "must have an inclusion proof", |b| {
            entry(b).as_object_mut().unwrap().remove("inclusionProof");
        }),
        ("checkpoint", "No valid Rekor signature", |b| {
            let text = entry(b)["inclusionProof"]["checkpoint"]["envelope"].clone();
            let text = text.as_str().unwrap().replace("- 1\n", "- 2\n");
            entry(b)["inclusionProof"]["checkpoint"]["envelope"] = json!(text);
        }),
        ("no log entry", "must have an inclusion proof", |b| {
            b["verificationMaterial"]["tlogEntries"] = json!([]);
        }),
        // Without the promise, no time at which the expired certificate was valid is known.
        ("no time", "no verified timestamp", |b| {
            entry(b).as_object_mut().unwrap().remove("inclusionPromise");
        }),
        ("version", "Invalid media type", |b| {
            b["mediaType"] = json!("application/vnd.dev.sigstore.bundle.v0.9+json");
        }),
        ("no certificate", "failed to parse certificate", |b| {
            b["verificationMaterial"]["certificate"]["rawBytes"] = json!("AAAA");
        }),
    ];
    for (name, reason, change) in changes {
        let mut bundle = instance.sign(RELEASE, CONTENT);
        change(&mut bundle);
        let message = refusal(&trusted, &bundle);
        assert!(message.contains(reason), "{name}: {message}");
    }
    let mut bundle = instance.sign(RELEASE, "other");
    let message = refusal(&trusted, &bundle);
    assert!(
        message.contains("digest in bundle does not match"),
        "{message}"
    );
    let signature = bundle["messageSignature"].as_object_mut().unwrap();
    signature.remove("messageDigest");
    let message = refusal(&trusted, &bundle);
    assert!(
        message.contains("signature verification failed"),
        "{message}"
    );
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
    let trusted = trusting(&instance.root(), &[&exact()]);
    let bundle = instance.sign(RELEASE, CONTENT).to_string();
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
        assert!(verify_bundle(&trusted, text).is_err());
        assert_eq!(
            verify_bundle(&TrustedSigners::default(), text).unwrap(),
            None
        );
    }
}

#[test]
fn keys_of_another_instance_and_an_empty_trusted_root_verify_nothing() {
    let mut instance = Instance::new();
    let without = |key: &str| {
        let mut root = instance.trusted_root();
        root[key] = json!([]);
        SigstoreRoot::parse(&root.to_string()).unwrap()
    };
    let empty = json!({"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"});
    let empty = SigstoreRoot::parse(&empty.to_string()).unwrap();
    for root in [
        Instance::new().root(),
        without("tlogs"),
        without("ctlogs"),
        without("certificateAuthorities"),
        empty,
    ] {
        let bundle = instance.sign(RELEASE, CONTENT);
        refusal(&trusting(&root, &[&exact()]), &bundle);
    }
    // A log that is not known, for a certificate that is.
    let root = instance.root();
    instance.signature_log = Instance::new().signature_log;
    let bundle = instance.sign(RELEASE, CONTENT);
    let message = refusal(&trusting(&root, &[&exact()]), &bundle);
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
    let trusted = trusting(&instance.root(), &[&exact()]);
    for logged_at in [SIGNED_AT + 3_600, SIGNED_AT - 3_600] {
        let late = Identity {
            logged_at,
            ..RELEASE
        };
        refusal(&trusted, &instance.sign(late, CONTENT));
    }
}

#[test]
fn of_two_signatures_each_of_a_trusted_signer_has_to_be_valid() {
    let instance = Instance::new();
    let key = Key::new(1);
    let trusts_identity = trusting(&instance.root(), &[&exact()]);
    let trusts_both = trusts_identity
        .clone()
        .key(key.public_key().parse().unwrap());
    let verify_both = |trusted: &TrustedSigners, by_key: &str, by_identity: &str| {
        let signature = key.sign(by_key);
        let bundle = instance.sign(RELEASE, by_identity).to_string();
        let files = [(".minisig", &*signature), (".sigstore.json", &*bundle)];
        let signer = verify(trusted, &files, CONTENT)?;
        Ok::<_, SignatureError>(signer.unwrap().to_string())
    };
    let signer = verify_both(&trusts_both, CONTENT, CONTENT).unwrap();
    assert_eq!(signer, format!("minisign:{}", key.public_key()));
    let signer = verify_both(&trusts_identity, CONTENT, CONTENT).unwrap();
    assert_eq!(signer, format!("sigstore:{}", exact()));
    assert!(verify_both(&trusts_both, "other", CONTENT).is_err());
    assert!(verify_both(&trusts_both, CONTENT, "other").is_err());
    // Without trust in either, the key is noted.
    let signer = verify_both(&TrustedSigners::default(), CONTENT, CONTENT).unwrap();
    assert!(signer.starts_with("unverified:minisign:"));
}

#[test]
fn of_statements_only_the_provenance_of_an_archive_is_a_signature() {
    let instance = Instance::new();
    let trusted = trusting(&instance.root(), &[&exact()]);
    let attested = |kind: &str, about: &str| instance.attest(RELEASE, kind, about.as_bytes());
    let bundle = attested(PROVENANCE, CONTENT).to_string();
    let signer = verify_bundle(&trusted, &bundle).unwrap().unwrap();
    assert_eq!(signer.to_string(), format!("sigstore:{}", exact()));
    refusal(&trusted, &attested(PROVENANCE, "other"));
    let kind = "https://in-toto.io/attestation/vulns/v0.1";
    assert_eq!(
        refusal(&trusted, &attested(kind, CONTENT)),
        format!("it signs a statement `{kind}`, not the content")
    );
}

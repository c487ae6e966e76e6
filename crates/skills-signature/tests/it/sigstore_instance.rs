//! An instance of Sigstore for tests: a certificate authority, a log of certificates and a log of
//! signatures, with keys of their own.

#[path = "sigstore_instance/der.rs"]
mod der;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skills_signature::SigstoreRoot;

use self::der::Certificate;

/// When everything was signed: 2025-01-01 00:05 UTC, within the ten minutes of a certificate.
pub(crate) const SIGNED_AT: i64 = 1_735_689_900;
const ISSUED_MILLISECONDS: u64 = 1_735_689_600_000;
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const IN_TOTO: &str = "application/vnd.in-toto+json";

/// The keys of an instance.
pub(crate) struct Instance {
    authority: Key,
    certificate_log: Key,
    pub(crate) signature_log: Key,
}

/// Who signs, and when that is logged.
#[derive(Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) name: &'a str,
    pub(crate) logged_at: i64,
}

pub(crate) struct Key(EcdsaKeyPair);

impl Instance {
    pub(crate) fn new() -> Self {
        Self {
            authority: Key::new(),
            certificate_log: Key::new(),
            signature_log: Key::new(),
        }
    }

    pub(crate) fn root(&self) -> SigstoreRoot {
        SigstoreRoot::parse(&self.trusted_root().to_string()).unwrap()
    }

    /// Returns the `trusted_root.json` of the instance.
    pub(crate) fn trusted_root(&self) -> Value {
        let certificate = Certificate::authority(&self.authority);
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.signature_log.trusted("https://log.example")],
            "ctlogs": [self.certificate_log.trusted("https://ct.example")],
            "certificateAuthorities": [{
                "subject": {"organization": "example", "commonName": "example"},
                "uri": "https://ca.example",
                "certChain": {"certificates": [{"rawBytes": STANDARD.encode(certificate)}]},
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            }],
            "timestampAuthorities": [],
        })
    }

    /// Returns a bundle with a signature of the content.
    pub(crate) fn sign(&self, identity: Identity<'_>, content: impl AsRef<[u8]>) -> Value {
        let content = content.as_ref();
        let signer = Key::new();
        let certificate = self.certificate(&signer, identity);
        let signature = signer.sign(content);
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": hex::encode(sha256(content))}},
                "signature": {
                    "content": STANDARD.encode(&signature),
                    "publicKey": {"content": STANDARD.encode(pem(&certificate))},
                },
            },
        });
        let mut bundle = self.bundle(&certificate, &body, identity.logged_at);
        bundle["messageSignature"] = json!({
            "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(sha256(content))},
            "signature": STANDARD.encode(signature),
        });
        bundle
    }

    /// Returns a bundle with a statement about the content.
    pub(crate) fn attest(&self, identity: Identity<'_>, kind: &str, content: &[u8]) -> Value {
        let signer = Key::new();
        let certificate = self.certificate(&signer, identity);
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "a", "digest": {"sha256": hex::encode(sha256(content))}}],
            "predicateType": kind,
            "predicate": {},
        })
        .to_string();
        let encoded = format!(
            "DSSEv1 {} {IN_TOTO} {} {statement}",
            IN_TOTO.len(),
            statement.len()
        );
        let signature = STANDARD.encode(signer.sign(encoded.as_bytes()));
        let digest = hex::encode(sha256(statement.as_bytes()));
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": digest},
                "payloadHash": {"algorithm": "sha256", "value": digest},
                "signatures": [{
                    "signature": signature,
                    "verifier": STANDARD.encode(pem(&certificate)),
                }],
            },
        });
        let mut bundle = self.bundle(&certificate, &body, identity.logged_at);
        bundle["dsseEnvelope"] = json!({
            "payload": STANDARD.encode(statement),
            "payloadType": IN_TOTO,
            "signatures": [{"sig": signature, "keyid": ""}],
        });
        bundle
    }

    fn bundle(&self, certificate: &[u8], body: &Value, logged_at: i64) -> Value {
        json!({
            "mediaType": BUNDLE,
            "verificationMaterial": {
                "certificate": {"rawBytes": STANDARD.encode(certificate)},
                "tlogEntries": [self.log(body, logged_at)],
                "timestampVerificationData": {},
            },
        })
    }

    /// Returns the certificate of a key, with the proof that it was logged.
    fn certificate(&self, key: &Key, identity: Identity<'_>) -> Vec<u8> {
        let certificate = Certificate::of_signer(key, identity);
        let tbs = certificate.tbs(None);
        let mut logged = vec![0, 0];
        logged.extend(ISSUED_MILLISECONDS.to_be_bytes());
        logged.extend([0, 1]);
        logged.extend(sha256(&self.authority.spki()));
        logged.extend(&u32::try_from(tbs.len()).unwrap().to_be_bytes()[1..]);
        logged.extend(tbs);
        logged.extend([0, 0]);
        let mut timestamp = vec![0];
        timestamp.extend(self.certificate_log.id());
        timestamp.extend(ISSUED_MILLISECONDS.to_be_bytes());
        // No extensions; ECDSA with SHA-256.
        timestamp.extend([0, 0, 4, 3]);
        timestamp.extend(with_length(&self.certificate_log.sign(&logged)));
        let list = with_length(&with_length(&timestamp));
        certificate.sign(&self.authority, Some(&list))
    }

    /// Returns the entry of the log of signatures, which has another one.
    fn log(&self, body: &Value, logged_at: i64) -> Value {
        let body = body.to_string();
        let leaf = sha256(&[&[0], body.as_bytes()].concat());
        let sibling = sha256(b"another entry");
        let root = STANDARD.encode(sha256(&[&[1], leaf.as_slice(), &sibling].concat()));
        let log = &self.signature_log;
        let checkpoint = format!("log.example - 1\n2\n{root}\n");
        let note = [&log.id()[..4], &log.sign(checkpoint.as_bytes())].concat();
        let encoded = STANDARD.encode(&body);
        let promise = format!(
            r#"{{"body":"{encoded}","integratedTime":{logged_at},"logID":"{}","logIndex":0}}"#,
            hex::encode(log.id())
        );
        let entry: Value = serde_json::from_str(&body).unwrap();
        json!({
            "logIndex": "0",
            "logId": {"keyId": STANDARD.encode(log.id())},
            "kindVersion": {"kind": entry["kind"], "version": entry["apiVersion"]},
            "integratedTime": logged_at.to_string(),
            "inclusionPromise": {
                "signedEntryTimestamp": STANDARD.encode(log.sign(promise.as_bytes())),
            },
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": root,
                "treeSize": "2",
                "hashes": [STANDARD.encode(sibling)],
                "checkpoint": {
                    "envelope": format!(
                        "{checkpoint}\n\u{2014} log.example {}\n",
                        STANDARD.encode(note)
                    ),
                },
            },
            "canonicalizedBody": encoded,
        })
    }
}

impl Key {
    fn new() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    fn sign(&self, content: &[u8]) -> Vec<u8> {
        let signature = self.0.sign(&SystemRandom::new(), content).unwrap();
        signature.as_ref().to_vec()
    }

    /// Returns the public key with its algorithm.
    fn spki(&self) -> Vec<u8> {
        der::public_key(self.0.public_key().as_ref())
    }

    /// Returns the number of a log with this key.
    fn id(&self) -> [u8; 32] {
        sha256(&self.spki())
    }

    fn trusted(&self, url: &str) -> Value {
        json!({
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": STANDARD.encode(self.spki()),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            },
            "logId": {"keyId": STANDARD.encode(self.id())},
        })
    }
}

fn sha256(content: &[u8]) -> [u8; 32] {
    Sha256::digest(content).into()
}

fn pem(certificate: &[u8]) -> String {
    let base64 = STANDARD.encode(certificate);
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

/// Returns bytes after their number in two bytes.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    [&length, bytes].concat()
}

//! Certificates in DER, as far as tests need them.

use super::{Identity, Key};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const BOOLEAN: u8 = 0x01;
/// The tags of an email address and of a URI in a subject alternative name.
const EMAIL: u8 = 0x81;
const URI: u8 = 0x86;

const ECDSA_WITH_SHA256: &str = "2a8648ce3d040302";
const EC_PUBLIC_KEY: &str = "2a8648ce3d0201";
const P256: &str = "2a8648ce3d030107";
const COMMON_NAME: &str = "550403";
const BASIC_CONSTRAINTS: &str = "551d13";
const SUBJECT_ALTERNATIVE_NAME: &str = "551d11";
const EXTENDED_KEY_USAGE: &str = "551d25";
const CODE_SIGNING: &str = "2b06010505070303";
const FULCIO_ISSUER: &str = "2b0601040183bf300108";
const SIGNED_CERTIFICATE_TIMESTAMPS: &str = "2b06010401d679020402";

/// A certificate without its signature.
pub(super) struct Certificate {
    subject: Vec<u8>,
    validity: Vec<u8>,
    key: Vec<u8>,
    extensions: Vec<Vec<u8>>,
}

impl Certificate {
    /// Returns the certificate of the authority, signed by itself.
    pub(super) fn authority(key: &Key) -> Vec<u8> {
        let constraints = sequence(&[tlv(BOOLEAN, &[0xff])]);
        let certificate = Self {
            subject: authority_name(),
            validity: validity("200101000000Z", "400101000000Z"),
            key: key.spki(),
            extensions: vec![extension(BASIC_CONSTRAINTS, true, &constraints)],
        };
        certificate.sign(key, None)
    }

    pub(super) fn of_signer(key: &Key, identity: Identity<'_>) -> Self {
        let tag = if identity.name.contains("://") {
            URI
        } else {
            EMAIL
        };
        let name = sequence(&[tlv(tag, identity.name.as_bytes())]);
        let usage = sequence(&[object(CODE_SIGNING)]);
        let issuer = tlv(UTF8_STRING, identity.issuer.as_bytes());
        Self {
            subject: sequence(&[]),
            validity: validity("250101000000Z", "250101001000Z"),
            key: key.spki(),
            extensions: vec![
                extension(EXTENDED_KEY_USAGE, false, &usage),
                extension(SUBJECT_ALTERNATIVE_NAME, true, &name),
                extension(FULCIO_ISSUER, false, &issuer),
            ],
        }
    }

    /// Returns what is signed, with the list of signed certificate timestamps.
    pub(super) fn tbs(&self, timestamps: Option<&[u8]>) -> Vec<u8> {
        let mut extensions = self.extensions.clone();
        if let Some(list) = timestamps {
            let value = tlv(OCTET_STRING, list);
            extensions.push(extension(SIGNED_CERTIFICATE_TIMESTAMPS, false, &value));
        }
        sequence(&[
            // Version 3.
            tlv(0xa0, &tlv(INTEGER, &[2])),
            tlv(INTEGER, &[1]),
            signature_algorithm(),
            authority_name(),
            self.validity.clone(),
            self.subject.clone(),
            self.key.clone(),
            tlv(0xa3, &sequence(&extensions)),
        ])
    }

    pub(super) fn sign(&self, authority: &Key, timestamps: Option<&[u8]>) -> Vec<u8> {
        let tbs = self.tbs(timestamps);
        let signature = bit_string(&authority.sign(&tbs));
        sequence(&[tbs, signature_algorithm(), signature])
    }
}

/// Returns a public key with its algorithm, from its point.
pub(super) fn public_key(point: &[u8]) -> Vec<u8> {
    let algorithm = sequence(&[object(EC_PUBLIC_KEY), object(P256)]);
    sequence(&[algorithm, bit_string(point)])
}

fn authority_name() -> Vec<u8> {
    let name = sequence(&[object(COMMON_NAME), tlv(UTF8_STRING, b"example")]);
    sequence(&[tlv(SET, &name)])
}

fn signature_algorithm() -> Vec<u8> {
    sequence(&[object(ECDSA_WITH_SHA256)])
}

fn validity(start: &str, end: &str) -> Vec<u8> {
    sequence(&[
        tlv(UTC_TIME, start.as_bytes()),
        tlv(UTC_TIME, end.as_bytes()),
    ])
}

fn extension(kind: &str, is_critical: bool, value: &[u8]) -> Vec<u8> {
    let mut parts = vec![object(kind)];
    if is_critical {
        parts.push(tlv(BOOLEAN, &[0xff]));
    }
    parts.push(tlv(OCTET_STRING, value));
    sequence(&parts)
}

fn object(identifier: &str) -> Vec<u8> {
    tlv(OBJECT_IDENTIFIER, &hex::decode(identifier).unwrap())
}

fn bit_string(bytes: &[u8]) -> Vec<u8> {
    tlv(BIT_STRING, &[&[0], bytes].concat())
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(SEQUENCE, &parts.concat())
}

/// Returns a value after its tag and length.
fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(value.len()).unwrap().to_be_bytes();
    let length = match (high, low) {
        (0, 0..0x80) => vec![low],
        (0, _) => vec![0x81, low],
        _ => vec![0x82, high, low],
    };
    [&[tag], length.as_slice(), value].concat()
}

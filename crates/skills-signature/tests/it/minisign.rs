//! Signatures of minisign.

use skills_signature::{SignatureError, Signer, TrustedSigners, UnverifiedReason, is_same_signer};

use crate::minisign_signer::Signer as Key;

fn trusting(keys: &[&Key]) -> TrustedSigners {
    let trusted = TrustedSigners::default();
    keys.iter().fold(trusted, |trusted, key| {
        trusted.key(key.public_key().parse().unwrap())
    })
}

fn verify(keys: &[&Key], signature: &str) -> Result<Option<Signer>, SignatureError> {
    crate::verify(&trusting(keys), &[(".minisig", signature)], "content")
}

/// Returns the text of the signer, if its key has this number.
fn unverified(number: u8) -> String {
    format!("unverified:minisign:{}", format!("{number:02X}").repeat(8))
}

#[test]
fn a_signature_of_a_trusted_key_is_verified() {
    let (first, second) = (Key::new(1), Key::new(2));
    assert!(trusting(&[]).is_empty() && !trusting(&[&first]).is_empty());
    // Also if another key has the same number.
    for keys in [&[&second, &first][..], &[&Key::new(3).with_id(1), &first]] {
        let signer = verify(keys, &first.sign("content")).unwrap().unwrap();
        assert!(signer.is_verified());
        assert_eq!(
            signer.to_string(),
            format!("minisign:{}", first.public_key())
        );
        assert!(is_same_signer(&unverified(1), &signer.to_string()));
        assert!(!is_same_signer(&unverified(2), &signer.to_string()));
        assert!(!is_same_signer("unsigned", &signer.to_string()));
    }
    assert_eq!(
        crate::verify(&trusting(&[&first]), &[], "content").unwrap(),
        None
    );
}

#[test]
fn a_signature_that_is_not_valid_for_a_trusted_key_is_an_error() {
    let key = Key::new(1);
    let valid = key.sign("content");
    for (name, signature) in [
        ("other content", key.sign("other")),
        ("comment", valid.replace("timestamp:0", "timestamp:1")),
        (
            "another key with the same number",
            Key::new(2).with_id(1).sign("content"),
        ),
        ("cut", valid[..valid.len() / 2].to_owned()),
        ("empty", String::new()),
        ("endless", "a".repeat(1 << 20)),
    ] {
        assert!(verify(&[&key], &signature).is_err(), "{name}");
    }
}

#[test]
fn a_signature_of_another_key_says_only_its_number() {
    let signature = Key::new(1).sign("content");
    for keys in [&[][..], &[&Key::new(2)]] {
        let signer = verify(keys, &signature).unwrap().unwrap();
        assert_eq!(signer.to_string(), unverified(1));
        let Signer::Unverified { reason, .. } = signer else {
            unreachable!("the key is not trusted");
        };
        assert_eq!(reason, UnverifiedReason::NotTrusted);
    }
    // Without a trusted key, other text counts as no signature.
    for text in ["", "<html>", "untrusted comment: x\n"] {
        assert_eq!(verify(&[], text).unwrap(), None);
    }
}

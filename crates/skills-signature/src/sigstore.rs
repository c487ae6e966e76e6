//! Bundles of Sigstore.
//!
//! A bundle has a signature, the short-lived certificate of its key with the identity of the signer,
//! and the proof that a transparency log has both. The keys of the certificate authority and of the
//! logs are those of a trusted root; nothing is downloaded.

#[cfg(feature = "sigstore")]
mod identity;
#[cfg(feature = "sigstore")]
mod provider;
#[cfg(feature = "sigstore")]
mod verify;

#[cfg(feature = "sigstore")]
pub use identity::{SigstoreIdentity, SigstoreRoot};
#[cfg(feature = "sigstore")]
pub(crate) use verify::verify;

/// What signers of Sigstore begin with. Alone it is a signer that is not known.
const SCHEME: &str = "sigstore";
/// What the media types of all versions begin with.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// What follows the identity of a workflow: the branch or tag of a version.
const REFERENCE: &str = "@refs/";

/// Returns the signer of a text that is a bundle, which this build cannot verify.
#[cfg(not(feature = "sigstore"))]
pub(crate) fn note(text: &str) -> Option<crate::Signer> {
    is_bundle(text).then(|| crate::Signer::Unverified {
        signer: SCHEME.to_owned(),
        reason: crate::UnverifiedReason::NoSigstore,
    })
}

/// Returns true if a text is a bundle, which can still be invalid.
fn is_bundle(text: &str) -> bool {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    value.is_ok_and(|value| {
        let media_type = value.get("mediaType").and_then(serde_json::Value::as_str);
        media_type.is_some_and(|media_type| media_type.starts_with(MEDIA_TYPE))
    })
}

/// Returns true if an unverified signer can be the one that is now verified.
pub(crate) fn could_claim(verified: &str, claim: &str) -> bool {
    let (Some((issuer, trusted)), Some((claimed_issuer, claimed))) =
        (parts(verified), parts(claim))
    else {
        return false;
    };
    issuer == claimed_issuer
        && match trusted.strip_suffix('*') {
            // The claim has no reference.
            Some(start) if start.contains(REFERENCE) || start.ends_with('@') => {
                without_reference(start).trim_end_matches('@') == claimed
            }
            Some(start) => claimed.starts_with(start),
            None => without_reference(trusted) == claimed,
        }
}

/// Returns issuer and identity of a signer.
fn parts(signer: &str) -> Option<(&str, &str)> {
    let text = signer.strip_prefix(SCHEME)?.strip_prefix(':')?;
    text.split_once(' ')
}

/// Returns an identity without the branch or tag, which differs between versions.
fn without_reference(identity: &str) -> &str {
    match identity.rfind(REFERENCE) {
        Some(end) => &identity[..end],
        None => identity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_compared_without_the_reference() {
        let claim = "sigstore:https://i https://host/a/x.yml";
        for (verified, is_same) in [
            ("sigstore:https://i https://host/a/x.yml@refs/tags/v1", true),
            ("sigstore:https://i https://host/a/x.yml@refs/tags/*", true),
            ("sigstore:https://i https://host/a/x.yml@*", true),
            ("sigstore:https://i https://host/a/*", true),
            ("sigstore:https://i https://host/a/x.yml", true),
            ("sigstore:https://i https://host/b/*", false),
            ("sigstore:https://i https://host/a/y.yml@*", false),
            ("sigstore:https://i https://host/a/x@*", false),
            ("sigstore:https://j https://host/a/x.yml@*", false),
            ("minisign:RWQ", false),
        ] {
            assert_eq!(could_claim(verified, claim), is_same, "{verified}");
        }
        assert!(!could_claim("sigstore:https://i a@b.example", "sigstore"));
        assert!(could_claim(
            "sigstore:i a@b.example",
            "sigstore:i a@b.example"
        ));
    }

    #[test]
    fn only_json_with_the_media_type_is_a_bundle() {
        for (text, expected) in [
            (
                r#"{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}"#,
                true,
            ),
            (
                r#"{"mediaType": "application/vnd.dev.sigstore.bundle+json;version=0.1"}"#,
                true,
            ),
            (r#"{"mediaType": "text/html"}"#, false),
            (r#"{"mediaType": 1}"#, false),
            ("[]", false),
            ("", false),
            ("<html>", false),
        ] {
            assert_eq!(is_bundle(text), expected, "{text}");
        }
    }
}

//! Verification of a bundle against the trusted identities.

use std::io::{Seek, SeekFrom};

use sigstore_verify::crypto::{CertificateInfo, SubjectAltName, parse_certificate_info};
use sigstore_verify::types::{Bundle, SignatureContent, Statement};
use sigstore_verify::{VerificationPolicy, Verifier};

use super::{SCHEME, SigstoreIdentity, SigstoreRoot, is_bundle, without_reference};
use crate::{Content, SignatureError, Signer, UnverifiedReason};

/// The statements that say of content where it was made, which is a signature of it. Others can say
/// anything, for example that a check of the content failed.
const PROVENANCE: &str = "https://slsa.dev/provenance/";
/// Maximum length of an issuer or identity that is remembered unverified.
const MAX_CLAIM_BYTES: usize = 1_024;

/// The signer that a certificate names.
struct Claim {
    issuer: String,
    identity: SubjectAltName,
}

/// Returns the trusted identity that signed, or else what the bundle says about its signer. Without
/// trusted identities, a text that is not a bundle counts as none.
///
/// Only bundles that claim a trusted identity are verified: another one can be of another instance of
/// Sigstore, whose keys are not known.
pub(crate) fn verify(
    identities: &[SigstoreIdentity],
    text: &str,
    content: &mut Content<'_>,
) -> Result<Option<Signer>, SignatureError> {
    let is_strict = !identities.is_empty();
    let parsed = parse(text);
    let (bundle, claim) = match parsed {
        Ok(parsed) => parsed,
        Err(problem) if is_strict => return Err(SignatureError::not_valid(problem)),
        Err(_) => {
            return Ok(is_bundle(text).then(|| unverified(None, UnverifiedReason::NotTrusted)));
        }
    };
    let Some(claim) = claim else {
        return Ok(Some(unverified(None, UnverifiedReason::NotTrusted)));
    };
    let trusted: Vec<&SigstoreIdentity> = identities
        .iter()
        .filter(|trusted| trusted.matches(&claim.issuer, claim.identity.as_str()))
        .collect();
    if trusted.is_empty() {
        return Ok(Some(unverified(Some(&claim), UnverifiedReason::NotTrusted)));
    }
    let mut failure = None;
    for (identity, root) in with_roots(&trusted) {
        match verify_by(root.verifier(), &bundle, &claim, content) {
            Ok(()) => return Ok(Some(Signer::Verified(format!("{SCHEME}:{identity}")))),
            Err(problem) => failure = Some(problem),
        }
    }
    match failure {
        Some(problem) => Err(SignatureError::not_valid(problem)),
        None => Ok(Some(unverified(
            Some(&claim),
            UnverifiedReason::NoTrustedRoot,
        ))),
    }
}

fn with_roots<'a>(
    identities: &'a [&'a SigstoreIdentity],
) -> impl Iterator<Item = (&'a SigstoreIdentity, &'a SigstoreRoot)> {
    let identities = identities.iter();
    identities.filter_map(|identity| Some((*identity, identity.trusted_root()?)))
}

/// Returns the bundle, and the signer that it claims. A bundle that is signed by a key has none.
fn parse(text: &str) -> Result<(Bundle, Option<Claim>), String> {
    let bundle = Bundle::from_json(text).map_err(|error| error.to_string())?;
    let Some(certificate) = bundle.signing_certificate() else {
        return Ok((bundle, None));
    };
    let facts = parse_certificate_info(certificate).map_err(|error| error.to_string())?;
    let claim = Claim::new(facts);
    Ok((bundle, claim))
}

fn verify_by(
    verifier: &Verifier,
    bundle: &Bundle,
    claim: &Claim,
    content: &mut Content<'_>,
) -> Result<(), String> {
    check_statement(bundle)?;
    // Certificate, log, time and signature. The identity is compared again, with its kind.
    let policy = VerificationPolicy::new(&claim.identity, &claim.issuer);
    let verified = match content {
        Content::File(file) => {
            let start = file.seek(SeekFrom::Start(0));
            start.map_err(|error| error.to_string())?;
            verifier.verify_reader(&mut **file, bundle, &policy)
        }
        Content::Bytes(bytes) => verifier.verify(*bytes, bundle, &policy),
    };
    verified.map(|_| ()).map_err(|error| error.to_string())
}

/// Checks that the signature is about the content itself, or about where it was made.
fn check_statement(bundle: &Bundle) -> Result<(), String> {
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
        return Ok(());
    };
    let statement: Statement =
        serde_json::from_slice(envelope.payload.as_bytes()).map_err(|error| error.to_string())?;
    if statement.predicate_type.starts_with(PROVENANCE) {
        Ok(())
    } else {
        let kind: String = statement.predicate_type.chars().take(200).collect();
        Err(format!(
            "it signs a statement `{}`, not the content",
            kind.escape_debug()
        ))
    }
}

/// Returns the signer as it is remembered: without a reference, which differs between versions.
fn unverified(claim: Option<&Claim>, reason: UnverifiedReason) -> Signer {
    let signer = match claim {
        Some(Claim { issuer, identity }) => {
            format!("{SCHEME}:{issuer} {}", without_reference(identity.as_str()))
        }
        None => SCHEME.to_owned(),
    };
    Signer::Unverified { signer, reason }
}

impl Claim {
    /// Returns the signer of a certificate, if it has one that can be written in a line.
    fn new(facts: CertificateInfo) -> Option<Self> {
        let (issuer, identity) = (facts.issuer?, facts.identity?);
        let is_word = |word: &str| {
            let is_short = (1..=MAX_CLAIM_BYTES).contains(&word.len());
            is_short && word.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let is_usable = is_word(&issuer) && is_word(identity.as_str());
        is_usable.then_some(Self { issuer, identity })
    }
}

#[cfg(test)]
mod tests {
    use sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;

    use super::*;

    /// A bundle that cosign made with the public instance; see the `README.md` beside it.
    const BUNDLE: &str = include_str!("../../tests/fixtures/sigstore/blob.txt.sigstore.json");
    const CONTENT: &str = "test content for cosign\n";
    const ISSUER: &str = "https://github.com/login/oauth";

    fn signer(identities: &[SigstoreIdentity], content: &str) -> Result<Signer, SignatureError> {
        let mut content = Content::Bytes(content.as_bytes());
        Ok(verify(identities, BUNDLE, &mut content)?.unwrap())
    }

    #[test]
    fn a_bundle_of_the_public_instance_is_verified() {
        let Signer::Unverified { signer: claim, .. } = signer(&[], CONTENT).unwrap() else {
            panic!("no identity is trusted");
        };
        let identity = claim.strip_prefix("sigstore:").unwrap();
        assert!(identity.starts_with(ISSUER), "{identity}");
        let root = SigstoreRoot::parse(SIGSTORE_PRODUCTION_TRUSTED_ROOT).unwrap();
        let trusted = [identity.parse::<SigstoreIdentity>().unwrap().root(root)];
        let verified = Signer::Verified(format!("sigstore:{identity}"));
        assert_eq!(signer(&trusted, CONTENT).unwrap(), verified);
        let error = signer(&trusted, "other").unwrap_err();
        assert!(error.to_string().contains("artifact mismatch"), "{error}");
    }
}

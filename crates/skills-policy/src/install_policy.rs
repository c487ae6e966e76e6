//! Which skills may be installed.

use std::path::PathBuf;

use serde::Serialize;

/// Which skills may be installed. Default: all.
///
/// The policy does not know sources; an installer compares its own with the patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallPolicy {
    /// Lists of patterns, one of each file with the key `sources`. A source must match one pattern
    /// of each list, so that no file can widen the list of another, and an empty list allows none.
    pub sources: Vec<Vec<String>>,
    /// Whether skills without a signature of a trusted key or identity are rejected.
    /// `require-signature` in policy files.
    pub requires_signature: bool,
    /// The public keys whose signatures count, as text; `None` if no file lists any.
    /// `signature-keys` in policy files; those of projects are ignored.
    ///
    /// If files require signatures, only the keys that each of their lists contains count, so that
    /// a user cannot add a key to those of an administrator. Otherwise the keys of all files do.
    pub signature_keys: Option<Vec<String>>,
    /// The identities of Sigstore whose signatures count, combined like the keys; `Some` if a file
    /// lists any keys or identities. `signature-identities` in policy files; those of projects are
    /// ignored.
    pub signature_identities: Option<Vec<SignatureIdentity>>,
}

/// An identity of Sigstore, and by which keys its signatures are verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SignatureIdentity {
    /// The issuer of the identity, a space, and the identity.
    pub identity: String,
    /// The `trusted_root.json` of the same policy file. Without one no signature of the identity is
    /// verified.
    pub trusted_root: Option<PathBuf>,
}

impl InstallPolicy {
    /// Combines this policy with that of another file.
    #[must_use]
    pub fn combine(mut self, other: &Self) -> Self {
        self.sources.extend(other.sources.iter().cloned());
        let required = (self.requires_signature, other.requires_signature);
        self.signature_keys = combine_signers(
            self.signature_keys.take(),
            other.signature_keys.clone(),
            required,
        );
        self.signature_identities = combine_signers(
            self.signature_identities.take(),
            other.signature_identities.clone(),
            required,
        );
        self.requires_signature |= other.requires_signature;
        self
    }
}

/// Combines the signers of two files, of which each can require signatures.
fn combine_signers<T: PartialEq>(
    signers: Option<Vec<T>>,
    others: Option<Vec<T>>,
    required: (bool, bool),
) -> Option<Vec<T>> {
    let (signers, others) = match (signers, others) {
        (None, signers) | (signers, None) => return signers,
        (Some(signers), Some(others)) => (signers.into_iter(), others),
    };
    Some(match required {
        (true, true) => signers.filter(|signer| others.contains(signer)).collect(),
        (true, false) => signers.collect(),
        (false, true) => others,
        (false, false) => signers.chain(others).collect(),
    })
}

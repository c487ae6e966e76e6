//! Who signed, and whether that was verified.

use std::fmt;

/// What the text of a signer begins with if no trusted key or identity verified the signature.
pub const UNVERIFIED: &str = "unverified:";

/// Who signed. Its text is `minisign:KEY` or `sigstore:ISSUER IDENTITY`, or for a signature that is
/// not verified `unverified:`, and as much of it as the signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// A trusted key or identity.
    Verified(String),
    /// What a signature says about its signer. A forged signature can say the same.
    Unverified {
        /// The claimed signer.
        signer: String,
        /// Why it was not verified.
        reason: UnverifiedReason,
    },
}

/// Why a signature was not verified, in the order in which reasons are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnverifiedReason {
    /// Its key or identity is not trusted.
    NotTrusted,
    /// Its identity is trusted, but without the keys of a Sigstore instance.
    NoTrustedRoot,
    /// It is a bundle of Sigstore, and this build cannot verify it.
    NoSigstore,
}

impl Signer {
    /// Returns true for a trusted key or identity.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified(_))
    }

    /// Returns the first signer, unless only the second one is verified.
    #[must_use]
    pub fn stronger(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (None, signer) | (signer, None) => signer,
            (
                Some(Self::Unverified { signer, reason }),
                Some(Self::Unverified { reason: other, .. }),
            ) => {
                let reason = reason.max(other);
                Some(Self::Unverified { signer, reason })
            }
            (Some(Self::Unverified { .. }), verified) => verified,
            (verified, _) => verified,
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified(signer) => f.write_str(signer),
            Self::Unverified { signer, .. } => write!(f, "{UNVERIFIED}{signer}"),
        }
    }
}

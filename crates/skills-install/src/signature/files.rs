//! The files with signatures, which are beside what they sign.

/// A format of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureKind {
    /// A signature by a key of minisign.
    Minisign,
    /// A bundle of Sigstore: a signature with a certificate and the proof that it was logged.
    Sigstore,
}

/// The texts of the signatures of one file or skill, at most one of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Signatures {
    minisign: Option<String>,
    sigstore: Option<String>,
}

impl SignatureKind {
    pub(crate) const ALL: [Self; 2] = [Self::Minisign, Self::Sigstore];

    /// Returns what follows the name of the signed file or directory, the preferred one first.
    pub(crate) fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Minisign => &[".minisig"],
            Self::Sigstore => &[".sigstore.json", ".sigstore"],
        }
    }

    /// Returns the maximum size of a signature, in bytes. More is not read, and a signature that is
    /// cut is not valid.
    pub(crate) fn max_bytes(self) -> u64 {
        match self {
            Self::Minisign => 4_096,
            // With the provenance of a large build; most have less than 16 KiB.
            Self::Sigstore => 256 << 10,
        }
    }
}

impl Signatures {
    /// Returns true if there is no signature.
    pub(crate) fn is_empty(&self) -> bool {
        self.minisign.is_none() && self.sigstore.is_none()
    }

    pub(crate) fn set(&mut self, kind: SignatureKind, text: String) {
        match kind {
            SignatureKind::Minisign => self.minisign = Some(text),
            SignatureKind::Sigstore => self.sigstore = Some(text),
        }
    }

    #[cfg(feature = "signatures")]
    pub(crate) fn get(&self, kind: SignatureKind) -> Option<&str> {
        match kind {
            SignatureKind::Minisign => self.minisign.as_deref(),
            SignatureKind::Sigstore => self.sigstore.as_deref(),
        }
    }
}

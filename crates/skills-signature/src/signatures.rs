//! The texts of signatures, and the files in which they are.

/// A format of signatures.
#[derive(Clone, Copy)]
pub(crate) enum SignatureKind {
    /// A signature by a key of minisign.
    Minisign,
    /// A bundle of Sigstore: a signature with a certificate and the proof that it was logged.
    Sigstore,
}

/// The texts of the signatures of one file or skill, at most one of each kind.
#[derive(Debug, Clone, Default)]
pub struct Signatures {
    minisign: Option<String>,
    sigstore: Option<String>,
}

impl SignatureKind {
    const ALL: [Self; 2] = [Self::Minisign, Self::Sigstore];

    /// Returns what follows the name of the signed file or directory, the preferred one first.
    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Minisign => &[".minisig"],
            Self::Sigstore => &[".sigstore.json", ".sigstore"],
        }
    }

    /// Returns the maximum size of a signature, in bytes. More is not read, and a signature that is
    /// cut is not valid.
    fn max_bytes(self) -> u64 {
        match self {
            Self::Minisign => 4_096,
            // With the provenance of a large build; most have less than 16 KiB.
            Self::Sigstore => 256 << 10,
        }
    }
}

impl Signatures {
    /// Returns what follows the name of the signed file or directory, for all formats.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        let kinds = SignatureKind::ALL.iter();
        kinds.flat_map(|kind| kind.extensions()).copied()
    }

    /// Reads the signatures of one file or directory. `read` gets an extension and the maximum number
    /// of bytes, and returns no text if there is no such file.
    ///
    /// # Errors
    /// Fails if `read` fails.
    pub fn read<E>(read: impl Fn(&str, u64) -> Result<Option<String>, E>) -> Result<Self, E> {
        let mut signatures = Self::default();
        for kind in SignatureKind::ALL {
            for extension in kind.extensions() {
                if let Some(text) = read(extension, kind.max_bytes())? {
                    match kind {
                        SignatureKind::Minisign => signatures.minisign = Some(text),
                        SignatureKind::Sigstore => signatures.sigstore = Some(text),
                    }
                    break;
                }
            }
        }
        Ok(signatures)
    }

    /// Returns true if there is no signature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.minisign.is_none() && self.sigstore.is_none()
    }

    pub(crate) fn get(&self, kind: SignatureKind) -> Option<&str> {
        match kind {
            SignatureKind::Minisign => self.minisign.as_deref(),
            SignatureKind::Sigstore => self.sigstore.as_deref(),
        }
    }
}

//! The texts of signatures, and the files in which they are.

/// The texts of the signatures of one file or directory, at most one of each format.
#[derive(Debug, Clone, Default)]
pub struct Signatures {
    /// A signature by a key of minisign.
    pub(crate) minisign: Option<String>,
    /// A bundle of Sigstore: a signature with a certificate and the proof that it was logged.
    pub(crate) sigstore: Option<String>,
}

struct Format {
    /// What follows the name of the signed file or directory, the preferred one first.
    extensions: &'static [&'static str],
    /// Maximum size. More is not read, and a signature that is cut is not valid.
    max_bytes: u64,
}

const MINISIGN: Format = Format {
    extensions: &[".minisig"],
    max_bytes: 4_096,
};
const SIGSTORE: Format = Format {
    extensions: &[".sigstore.json", ".sigstore"],
    // With the provenance of a large build; most have less than 16 KiB.
    max_bytes: 256 << 10,
};

impl Signatures {
    /// Returns what can follow the name of a signed file or directory.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        let formats = [MINISIGN, SIGSTORE].into_iter();
        formats.flat_map(|format| format.extensions).copied()
    }

    /// Reads the signatures of one file or directory. `read` gets an extension and the maximum number
    /// of bytes, and returns no text if there is no such file.
    ///
    /// # Errors
    /// Fails if `read` fails.
    pub fn read<E>(read: impl Fn(&str, u64) -> Result<Option<String>, E>) -> Result<Self, E> {
        Ok(Self {
            minisign: MINISIGN.read(&read)?,
            sigstore: SIGSTORE.read(&read)?,
        })
    }

    /// Returns true if there is no signature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.minisign.is_none() && self.sigstore.is_none()
    }
}

impl Format {
    fn read<E>(
        &self,
        read: impl Fn(&str, u64) -> Result<Option<String>, E>,
    ) -> Result<Option<String>, E> {
        for extension in self.extensions {
            if let Some(text) = read(extension, self.max_bytes)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

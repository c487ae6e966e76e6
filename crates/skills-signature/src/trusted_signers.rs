//! The keys and identities that are trusted.

#[cfg(feature = "sigstore")]
use crate::SigstoreIdentity;
use crate::{Content, MinisignKey, SignatureError, Signatures, Signer, minisign, sigstore};

/// The keys and identities that signatures are verified with; by default none.
#[derive(Debug, Clone, Default)]
pub struct TrustedSigners {
    keys: Vec<MinisignKey>,
    #[cfg(feature = "sigstore")]
    identities: Vec<SigstoreIdentity>,
}

impl TrustedSigners {
    /// Also trusts a key.
    #[must_use]
    pub fn key(mut self, key: MinisignKey) -> Self {
        self.keys.push(key);
        self
    }

    /// Also trusts an identity of Sigstore. Without a [`SigstoreRoot`](crate::SigstoreRoot) its
    /// bundles are not verified.
    #[cfg(feature = "sigstore")]
    #[must_use]
    pub fn identity(mut self, identity: SigstoreIdentity) -> Self {
        self.identities.push(identity);
        self
    }

    /// Returns true if no signer is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        #[cfg(feature = "sigstore")]
        if !self.identities.is_empty() {
            return false;
        }
        self.keys.is_empty()
    }

    /// Returns the signer, if a signature can be read. Of two signers a verified one comes first, then
    /// that of minisign.
    ///
    /// # Errors
    /// Fails if a signature of a trusted signer is not valid, also if another one is. With a trusted
    /// signer of its kind, a signature that cannot be parsed is an error, too.
    pub fn verify(
        &self,
        signatures: &Signatures,
        mut content: Content<'_>,
    ) -> Result<Option<Signer>, SignatureError> {
        let minisign = match &signatures.minisign {
            Some(text) => minisign::verify(&self.keys, text, &mut content)?,
            None => None,
        };
        #[cfg(feature = "sigstore")]
        let sigstore = match &signatures.sigstore {
            Some(text) => sigstore::verify(&self.identities, text, &mut content)?,
            None => None,
        };
        #[cfg(not(feature = "sigstore"))]
        let sigstore = signatures.sigstore.as_deref().and_then(sigstore::note);
        Ok(Signer::stronger(minisign, sigstore))
    }
}

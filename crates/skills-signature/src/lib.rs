//! Verifies signatures by trusted keys and identities: of minisign, and with the feature `sigstore`
//! bundles of Sigstore.
//!
//! ```text
//! content, its signatures --> TrustedSigners --> Signer: verified, or what a signature says
//!                              keys, identities       \-> SignatureError: not valid for a trusted one
//! ```
//!
//! A signature is a file beside the content, with the name of the content and an extension:
//! `.minisig`, or `.sigstore.json` or `.sigstore` for a bundle. A signature by a key or identity that
//! is not trusted is not verified, and says only who claims to have signed. A signature that is not
//! valid for a trusted key or identity is an error, never a warning.
//!
//! The crate must never know where content and signatures come from, what is signed and what follows
//! from a signer: it reads no path, no lock file and no server.
//!
//! ```
//! use skills_signature::{Content, Signatures, TrustedSigners};
//!
//! let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3".parse()?;
//! let signature = "untrusted comment: signature from minisign secret key
//! RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
//! trusted comment: timestamp:1556193335\tfile:test
//! y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
//! ";
//! let signatures = Signatures::read(|extension, _max_bytes| {
//!     Ok::<_, std::io::Error>((extension == ".minisig").then(|| signature.to_owned()))
//! })?;
//! let trusted = TrustedSigners::default().key(key);
//! let signer = trusted.verify(&signatures, Content::Bytes(b"test"))?;
//! assert!(signer.is_some_and(|signer| signer.is_verified()));
//! assert!(trusted.verify(&signatures, Content::Bytes(b"Test")).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod claim;
mod content;
mod error;
mod minisign;
mod signatures;
mod signer;
mod sigstore;
mod trusted_signers;

pub use claim::is_same_signer;
pub use content::Content;
pub use error::SignatureError;
pub use minisign::MinisignKey;
pub use signatures::Signatures;
pub use signer::{Signer, UNVERIFIED, UnverifiedReason};
#[cfg(feature = "sigstore")]
pub use sigstore::{SigstoreIdentity, SigstoreRoot};
pub use trusted_signers::TrustedSigners;

//! The content that signatures are for.

use std::fs::File;

/// Signed content.
#[derive(Debug)]
pub enum Content<'a> {
    /// All bytes.
    Bytes(&'a [u8]),
    /// A file, which is read from its start, once for each signature. Bundles of Sigstore with a key
    /// of RSA or Ed25519 cannot be verified for it.
    File(&'a mut File),
}

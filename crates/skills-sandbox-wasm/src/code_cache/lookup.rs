//! The result of a lookup.

use super::error::Rejection;

/// The maximum size of a module that is written or read. Compiled code of the largest accepted
/// component takes about a third of it.
pub(super) const MAX_MODULE_BYTES: u64 = 256 << 20;

/// The result of a cache lookup.
#[derive(Debug)]
#[must_use]
pub(crate) enum Lookup {
    /// The compiled code, with a valid MAC for this key.
    Hit(Vec<u8>),
    /// There is no module for the key.
    Miss,
    /// There was a file that is not trusted; it was deleted if possible.
    Rejected(Rejection),
}

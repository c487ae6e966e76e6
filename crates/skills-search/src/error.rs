//! The error of an index from disk.

/// An error of [`SearchIndex::from_bytes`](crate::SearchIndex::from_bytes): the bytes are not an index
/// of this version. The remedy is always to build the index again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct IndexError(Repr);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Repr {
    #[error("the index is larger than {limit} bytes ({bytes} bytes)")]
    TooLarge { bytes: usize, limit: usize },
    #[error("the index is of another version")]
    OtherVersion,
    #[error("the index is damaged")]
    Damaged,
}

impl From<Repr> for IndexError {
    fn from(repr: Repr) -> Self {
        Self(repr)
    }
}

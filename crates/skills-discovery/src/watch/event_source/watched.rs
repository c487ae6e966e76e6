//! The directories that are watched, and the state of the watches.

/// Whether everything that should be watched is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::watch) enum WatchState {
    /// Everything is watched, and was before.
    Unchanged,
    /// Everything is watched, but some of it only since now.
    Extended,
    /// Something is not watched.
    Incomplete,
}

/// Which directories a watch includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The directory, without its subdirectories.
    Single,
    /// The directory and all directories below it, also those that are created later.
    Tree,
}

//! The size of a cache.

/// The number and total size of the modules in a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct CacheUsage {
    pub(super) modules: u64,
    pub(super) bytes: u64,
}

impl CacheUsage {
    /// Returns the number of modules.
    #[must_use]
    pub fn modules(&self) -> u64 {
        self.modules
    }

    /// Returns the size of all modules together, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

//! The number of threads of a scan.

#[cfg(feature = "fs")]
use std::sync::OnceLock;

/// The number of threads of a scan. The default, which takes system calls, is determined when several
/// threads are worth it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadCount(Option<usize>);

impl ThreadCount {
    pub(crate) fn new(threads: usize) -> Self {
        Self(Some(threads.max(1)))
    }

    #[cfg(feature = "fs")]
    pub(crate) fn get(self) -> usize {
        self.0.unwrap_or_else(default_threads)
    }
}

/// Returns the default number of threads: one for each core, at most eight.
#[cfg(feature = "fs")]
pub(crate) fn default_threads() -> usize {
    const MAX_THREADS: usize = 8;
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)
    })
}

//! Progress of a fetch.

use std::fmt;
use std::sync::Arc;

/// What a fetch does; see [`Fetcher::on_progress`](crate::Fetcher::on_progress).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchProgress<'a> {
    /// Bytes are received from a server or repository.
    Received {
        /// Its address.
        from: &'a str,
        /// The number of bytes so far.
        bytes: u64,
    },
    /// The fetch has ended, successfully or not.
    Ended,
}

type Report = dyn Fn(FetchProgress<'_>) + Send + Sync;

/// Reports progress; by default nowhere.
#[derive(Clone, Default)]
pub(crate) struct Progress(Option<Arc<Report>>);

impl Progress {
    pub(crate) fn new(report: impl Fn(FetchProgress<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    pub(crate) fn received(&self, from: &str, bytes: u64) {
        self.report(FetchProgress::Received { from, bytes });
    }

    /// Reports the end of the fetch when the result is dropped.
    pub(crate) fn end_on_drop(&self) -> EndOnDrop<'_> {
        EndOnDrop(self)
    }

    fn report(&self, progress: FetchProgress<'_>) {
        if let Some(report) = &self.0 {
            report(progress);
        }
    }
}

/// Reports the end of a fetch, successful or not.
pub(crate) struct EndOnDrop<'a>(&'a Progress);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.report(FetchProgress::Ended);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

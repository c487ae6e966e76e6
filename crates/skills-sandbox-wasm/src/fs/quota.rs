//! Counts the bytes that a run writes.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use skills_policy::ResourceLimits;
use skills_process::QuotaMonitor;
use skills_sandbox::Quota as Bound;
use tokio::sync::OnceCell;

use super::error_code::FsErrorCode;

/// The cost of creating an entry: about what a file system allocates for it.
const ENTRY_BYTES: u64 = 4_096;

/// Counts what a run writes, in all directories together, and what directories with quotas contain
/// when it starts. Bytes written twice count twice, and removed ones stay counted: the sum is never
/// less than the actual use.
pub(super) struct WriteQuota {
    file_bytes: u64,
    total_bytes: u64,
    counter: Arc<Counter>,
}

/// A number of bytes, which starts with those in the directories with quotas.
#[derive(Default)]
struct Counter {
    bytes: AtomicU64,
    is_measured: OnceCell<()>,
}

/// The counters of directories with quotas that runs of this process write to.
static SHARED_COUNTERS: Mutex<BTreeMap<Vec<PathBuf>, Weak<Counter>>> = Mutex::new(BTreeMap::new());

/// What directories with quotas contain when a run starts. Concurrent runs with the same
/// directories share a counter.
pub(crate) struct StoredBytes {
    max_bytes: u64,
    counter: Arc<Counter>,
}

impl StoredBytes {
    /// Measures the directories, on a blocking thread. A directory that cannot be measured, or
    /// exceeds its quota, counts as full.
    pub(crate) async fn measure(quotas: &[Bound]) -> Self {
        let max_bytes = quotas
            .iter()
            .map(Bound::max_bytes)
            .min()
            .unwrap_or(u64::MAX);
        if quotas.is_empty() {
            return Self {
                max_bytes,
                counter: Arc::default(),
            };
        }
        // Created before measuring, so that writes of a concurrent run in between are counted.
        let counter = Counter::for_quotas(quotas);
        let measure = async {
            let quotas = quotas.to_vec();
            let measured = skills_threads::run_blocking_or_here(move || measure_bytes(&quotas))
                .await
                .ok()
                .flatten();
            counter
                .bytes
                .fetch_add(measured.unwrap_or(max_bytes), Ordering::Relaxed);
        };
        counter.is_measured.get_or_init(|| measure).await;
        Self { max_bytes, counter }
    }
}

/// Measures; `None` if that fails, or if a quota is exceeded.
fn measure_bytes(quotas: &[Bound]) -> Option<u64> {
    let monitor = QuotaMonitor::open(quotas).ok()?;
    Some(
        monitor
            .measure()
            .ok()?
            .into_iter()
            .map(|(_, bytes)| bytes)
            .sum(),
    )
}

impl Counter {
    fn for_quotas(quotas: &[Bound]) -> Arc<Self> {
        let directories: Vec<PathBuf> = quotas
            .iter()
            .map(|quota| quota.directory().to_owned())
            .collect();
        let mut shared = SHARED_COUNTERS
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Directories of finished runs must not accumulate.
        shared.retain(|_, counter| counter.strong_count() > 0);
        if let Some(counter) = shared.get(&directories).and_then(Weak::upgrade) {
            return counter;
        }
        let counter = Arc::default();
        shared.insert(directories, Arc::downgrade(&counter));
        counter
    }
}

impl WriteQuota {
    pub(super) fn new(limits: &ResourceLimits, stored: &StoredBytes) -> Arc<Self> {
        let total_bytes = limits.scratch_bytes.min(stored.max_bytes);
        Arc::new(Self {
            file_bytes: limits.file_bytes,
            total_bytes,
            counter: Arc::clone(&stored.counter),
        })
    }

    /// Counts one more entry.
    pub(super) fn count_entry(&self) -> io::Result<()> {
        self.reserve(ENTRY_BYTES)
    }

    /// Counts `length` bytes at `offset` of a file.
    pub(super) fn count_write(&self, offset: u64, length: u64) -> io::Result<()> {
        // Checked first, since rejected bytes do not count.
        self.check_file_length(offset.saturating_add(length))?;
        self.reserve(length)
    }

    /// Rejects a file that exceeds the maximum length.
    fn check_file_length(&self, end: u64) -> io::Result<()> {
        if end > self.file_bytes {
            Err(FsErrorCode::TooLarge.into())
        } else {
            Ok(())
        }
    }

    /// Counts the change of a file's length from `from` to `to` bytes.
    pub(super) fn count_resize(&self, from: u64, to: u64) -> io::Result<()> {
        self.check_file_length(to)?;
        self.reserve(to.saturating_sub(from))
    }

    /// Rejected bytes do not count.
    fn reserve(&self, bytes: u64) -> io::Result<()> {
        // In one step: concurrent runs must not exceed a shared quota together.
        match self
            .counter
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |written| {
                self.total_with(written, bytes)
            }) {
            Ok(_) => Ok(()),
            Err(_) => Err(FsErrorCode::NoSpace.into()),
        }
    }

    /// Returns the total after a write, unless it is above the limit.
    fn total_with(&self, written: u64, bytes: u64) -> Option<u64> {
        written
            .checked_add(bytes)
            .filter(|total| *total <= self.total_bytes)
    }
}

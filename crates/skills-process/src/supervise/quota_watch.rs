//! Measures quotas while a process runs.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use skills_sandbox::{Quota, QuotaExceeded, QuotaPart};
use skills_threads::run_blocking_or_here;
use tokio::time::{Instant, sleep};

use crate::QuotaMonitor;

/// The maximum expected write rate in bytes per second: the next measurement happens when the rest
/// of the quota could be used up at this rate.
const MAX_WRITE_BYTES_PER_SECOND: u64 = 2 << 30;
/// The minimum time between two measurements.
const MIN_INTERVAL: Duration = Duration::from_millis(2);
/// The maximum time between two measurements, unless these take long themselves.
const MAX_INTERVAL: Duration = Duration::from_millis(100);
/// While nothing changes, measuring takes at most one part in this many of the time.
const IDLE_SHARE: u32 = 8;

/// Measures the quotas of one run at intervals.
#[derive(Debug, Clone)]
pub struct QuotaWatch {
    monitor: Arc<QuotaMonitor>,
    group: Option<i32>,
    max_file_bytes: u64,
}

impl QuotaWatch {
    /// Creates a watch. Deleted files that processes of `group`, or of the process namespace of its leader,
    /// hold open are counted, on Linux and if there is one; `max_file_bytes` is the maximum size of a
    /// file that the run may write.
    #[must_use]
    pub fn new(monitor: Arc<QuotaMonitor>, group: Option<i32>, max_file_bytes: u64) -> Self {
        Self {
            monitor,
            group,
            max_file_bytes,
        }
    }

    /// Waits until a quota is exceeded or a disk almost full; forever if nothing is measured.
    /// Cancel safe. Must be polled inside a Tokio runtime with time enabled.
    pub async fn wait_exceeded(&self) -> QuotaExceeded {
        if self.monitor.is_empty() {
            return pending().await;
        }
        let mut last = None;
        loop {
            let began = Instant::now();
            let watch = self.clone();
            let rest = match self.run_blocking(move || watch.measure()).await {
                Ok(rest) => rest,
                Err(exceeded) => return exceeded,
            };
            let took = began.elapsed();
            // An idle run is measured less often, so that it costs little.
            let share = if last.replace(rest) == Some(rest) {
                took * IDLE_SHARE
            } else {
                took
            };
            sleep(interval(rest).max(share)).await;
        }
    }

    /// Runs a walk, which reads the disk and would block the supervision of other runs.
    async fn run_blocking<T: Send + 'static>(
        &self,
        walk: impl FnOnce() -> Result<T, QuotaExceeded> + Send + 'static,
    ) -> Result<T, QuotaExceeded> {
        // A panicked measurement has no result, so the directory may hold anything.
        run_blocking_or_here(walk)
            .await
            .unwrap_or_else(|_| Err(self.unreadable()))
    }

    /// Measures quotas once after all processes have ended, which hold no deleted files any more.
    /// Returns the first quota that is exceeded. A disk that is almost full stops no program any
    /// more.
    pub async fn final_check(&self) -> Option<QuotaExceeded> {
        self.monitor.quotas().next()?;
        let monitor = Arc::clone(&self.monitor);
        self.run_blocking(move || monitor.measure().map(drop))
            .await
            .err()
    }

    fn unreadable(&self) -> QuotaExceeded {
        let limits = self.monitor.quotas().map(Quota::max_bytes);
        let limit = limits.min();
        QuotaExceeded {
            limit_bytes: limit.unwrap_or_default(),
            // Without a quota, only disks are measured.
            part: limit.map_or(QuotaPart::DiskUnreadable, |_| QuotaPart::Unreadable),
        }
    }

    /// Returns how many bytes are left of the quota or disk that is closest to its limit.
    fn measure(&self) -> Result<u64, QuotaExceeded> {
        let mut least = self.monitor.left_of_disks()?;
        for (quota, bytes) in self.monitor.measure()? {
            let rest = self.rest(quota, bytes);
            least = least.min(rest.map_err(|part| QuotaExceeded {
                limit_bytes: quota.max_bytes(),
                part,
            })?);
        }
        Ok(least)
    }

    /// Returns how many bytes are left of a quota, given those of the files in its directory.
    fn rest(&self, quota: &Quota, bytes: u64) -> Result<u64, QuotaPart> {
        let bytes = bytes.saturating_add(self.deleted(quota.directory())?);
        let rest = quota.max_bytes().checked_sub(bytes);
        rest.ok_or(QuotaPart::Bytes)
    }

    #[cfg(target_os = "linux")]
    fn deleted(&self, directory: &std::path::Path) -> Result<u64, QuotaPart> {
        self.group.map_or(Ok(0), |group| {
            super::deleted_files::deleted_bytes(group, directory, self.max_file_bytes)
        })
    }

    /// Only Linux exposes which files a process holds open.
    #[cfg(not(target_os = "linux"))]
    fn deleted(&self, _directory: &std::path::Path) -> Result<u64, QuotaPart> {
        let _ = (self.group, self.max_file_bytes);
        Ok(0)
    }
}

/// Returns the time to the next measurement; a quota that is almost full is measured more often.
fn interval(rest: u64) -> Duration {
    let filling = Duration::from_secs_f64(rest as f64 / MAX_WRITE_BYTES_PER_SECOND as f64);
    filling.clamp(MIN_INTERVAL, MAX_INTERVAL)
}

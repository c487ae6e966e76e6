//! Measures quotas while a process runs.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use skills_sandbox::{Quota, QuotaExceeded, QuotaPart};
use tokio::task::spawn_blocking;
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

/// Measures the quotas of one run.
#[derive(Clone)]
pub(super) struct QuotaWatch {
    pub(super) monitor: Arc<QuotaMonitor>,
    /// The process group of the run.
    pub(super) group: i32,
    /// The maximum size of a file that it may write.
    pub(super) max_file_bytes: u64,
}

impl QuotaWatch {
    /// Waits until a quota is exceeded; forever without quotas.
    pub(super) async fn wait_exceeded(&self) -> QuotaExceeded {
        if self.monitor.quotas().next().is_none() {
            return pending().await;
        }
        let mut last = None;
        loop {
            let began = Instant::now();
            let watch = self.clone();
            // A walk reads the disk, which would block the supervision of other runs.
            let rest = match spawn_blocking(move || watch.measure()).await {
                Ok(Ok(rest)) => rest,
                Ok(Err(exceeded)) => return exceeded,
                // A panicked measurement has no result, so the directory may hold anything.
                Err(_) => return self.unreadable(),
            };
            let took = began.elapsed();
            // An idle run is measured less often, so that it costs little.
            let share = if last.replace(rest) == Some(rest) {
                took * IDLE_SHARE
            } else {
                took
            };
            // A quota that is almost full is measured more often.
            let filling = Duration::from_secs_f64(rest as f64 / MAX_WRITE_BYTES_PER_SECOND as f64);
            sleep(filling.clamp(MIN_INTERVAL, MAX_INTERVAL).max(share)).await;
        }
    }

    /// Measures once after all processes have ended, which hold no deleted files any more.
    pub(super) async fn final_check(&self) -> Option<QuotaExceeded> {
        self.monitor.quotas().next()?;
        let monitor = Arc::clone(&self.monitor);
        match spawn_blocking(move || monitor.measure().map(drop)).await {
            Ok(measured) => measured.err(),
            Err(_) => Some(self.unreadable()),
        }
    }

    fn unreadable(&self) -> QuotaExceeded {
        let limit_bytes = self
            .monitor
            .quotas()
            .map(Quota::max_bytes)
            .min()
            .unwrap_or_default();
        QuotaExceeded {
            limit_bytes,
            part: QuotaPart::Unreadable,
        }
    }

    /// Returns how many bytes are left of the quota that is closest to its limit.
    fn measure(&self) -> Result<u64, QuotaExceeded> {
        let mut least = u64::MAX;
        for (quota, bytes) in self.monitor.measure()? {
            let exceeded = |excess| QuotaExceeded {
                limit_bytes: quota.max_bytes(),
                part: excess,
            };
            let bytes = bytes.saturating_add(self.deleted(quota.directory()).map_err(exceeded)?);
            least = least.min(
                quota
                    .max_bytes()
                    .checked_sub(bytes)
                    .ok_or(exceeded(QuotaPart::Bytes))?,
            );
        }
        Ok(least)
    }

    #[cfg(target_os = "linux")]
    fn deleted(&self, directory: &std::path::Path) -> Result<u64, QuotaPart> {
        super::deleted_files::deleted_bytes(self.group, directory, self.max_file_bytes)
    }

    /// Only Linux exposes which files a process holds open.
    #[cfg(not(target_os = "linux"))]
    fn deleted(&self, _directory: &std::path::Path) -> Result<u64, QuotaPart> {
        let _ = (self.group, self.max_file_bytes);
        Ok(0)
    }
}

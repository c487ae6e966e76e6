//! How much a run may use.

use std::time::Duration;

/// How much a run may use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// Wall-clock time. Default 30 seconds.
    pub wall_time: Duration,
    /// Memory, in bytes. Default 256 MiB.
    pub memory_bytes: u64,
    /// Bytes kept of each of stdout and stderr: three quarters of them from the beginning and one
    /// quarter from the end; what is between is counted and thrown away. Default 1 MiB.
    pub captured_bytes: usize,
    /// Bytes of stdout or stderr after which the program is stopped. Default 64 MiB.
    pub output_limit_bytes: u64,
    /// The largest file it may write, in bytes. Default 64 MiB.
    pub file_bytes: u64,
    /// Open files. Default 256.
    pub open_files: u64,
    /// Processes and threads at once. Default 128.
    pub processes: u64,
    /// What its private scratch space holds, in bytes. Default 256 MiB.
    pub scratch_bytes: u64,
}

impl ResourceLimits {
    /// Returns the smaller of each limit.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        Self {
            wall_time: self.wall_time.min(other.wall_time),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            captured_bytes: self.captured_bytes.min(other.captured_bytes),
            output_limit_bytes: self.output_limit_bytes.min(other.output_limit_bytes),
            file_bytes: self.file_bytes.min(other.file_bytes),
            open_files: self.open_files.min(other.open_files),
            processes: self.processes.min(other.processes),
            scratch_bytes: self.scratch_bytes.min(other.scratch_bytes),
        }
    }

    /// Returns the most that rules without a ceiling of their own admit: ten minutes, 2 GiB, and
    /// eight times the other defaults.
    #[must_use]
    pub fn default_ceiling() -> Self {
        Self {
            wall_time: Duration::from_secs(600),
            memory_bytes: 2 << 30,
            captured_bytes: 8 << 20,
            output_limit_bytes: 512 << 20,
            file_bytes: 512 << 20,
            open_files: 2_048,
            processes: 1_024,
            scratch_bytes: 2 << 30,
        }
    }
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(30),
            memory_bytes: 256 << 20,
            captured_bytes: 1 << 20,
            output_limit_bytes: 64 << 20,
            file_bytes: 64 << 20,
            open_files: 256,
            processes: 128,
            scratch_bytes: 256 << 20,
        }
    }
}

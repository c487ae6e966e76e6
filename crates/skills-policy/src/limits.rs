//! Resource limits of a run.

use std::time::Duration;

/// Resource limits of a run: time, memory, output, files and processes.
///
/// The policy of a user sets those of runs that set none, a request sets them, the ceiling of the
/// policy lowers them, and the smaller value of each limit applies. Which of them a backend
/// enforces, and how, is in its enforcement report.
///
/// ```
/// use skills_policy::ResourceLimits;
///
/// let mut limits = ResourceLimits::default();
/// limits.memory_bytes = u64::MAX;
/// let effective = limits.min(&ResourceLimits::default_ceiling());
/// assert_eq!(effective.memory_bytes, u64::MAX);
/// assert_eq!(effective.wall_time.as_secs(), 30);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// Wall-clock time, after which all processes of the run are killed. Default 30 seconds.
    pub wall_time: Duration,
    /// Memory in use in bytes, for all processes together where the backend can count that. Default
    /// 2 GiB; a host application lowers it on a small machine.
    pub memory_bytes: u64,
    /// Bytes captured of each of stdout and stderr: three quarters from the beginning and one
    /// quarter from the end. The bytes between are counted and discarded. Default 1 MiB.
    pub captured_bytes: usize,
    /// Bytes of stdout or of stderr after which the program is killed. Default 64 MiB.
    pub output_limit_bytes: u64,
    /// Maximum size of a written file, in bytes. Default 64 MiB. Grants to write a file or
    /// directory that the host did not create for the run have that of the ceiling, which has none
    /// by default.
    pub file_bytes: u64,
    /// Open files per process. Default 1,024, as in most shells.
    pub open_files: u64,
    /// Concurrent processes and threads. Default 1,024: a browser has 200.
    pub processes: u64,
    /// Capacity of the private scratch directory, in bytes. Default 256 MiB.
    pub scratch_bytes: u64,
}

impl ResourceLimits {
    /// Returns the smaller value of each limit.
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

    /// The longest deadline that a skill declares or a model chooses: 10 minutes. Options, settings
    /// and policy of a user can set any.
    pub const MAX_CHOSEN_TIME: Duration = Duration::from_secs(600);

    /// Returns the larger value of each limit.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            wall_time: self.wall_time.max(other.wall_time),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            captured_bytes: self.captured_bytes.max(other.captured_bytes),
            output_limit_bytes: self.output_limit_bytes.max(other.output_limit_bytes),
            file_bytes: self.file_bytes.max(other.file_bytes),
            open_files: self.open_files.max(other.open_files),
            processes: self.processes.max(other.processes),
            scratch_bytes: self.scratch_bytes.max(other.scratch_bytes),
        }
    }

    /// Returns the ceiling used when the policy sets none: 8 MiB of captured output, which the host
    /// process keeps in memory, and no other limit.
    #[must_use]
    pub fn default_ceiling() -> Self {
        Self {
            captured_bytes: 8 << 20,
            ..Self::all(u64::MAX)
        }
    }
}

impl ResourceLimits {
    /// Returns limits that are all one number, in their units.
    pub(crate) fn all(value: u64) -> Self {
        Self {
            wall_time: Duration::from_secs(value),
            memory_bytes: value,
            captured_bytes: usize::try_from(value).unwrap_or(usize::MAX),
            output_limit_bytes: value,
            file_bytes: value,
            open_files: value,
            processes: value,
            scratch_bytes: value,
        }
    }
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(30),
            memory_bytes: 2 << 30,
            captured_bytes: 1 << 20,
            output_limit_bytes: 64 << 20,
            file_bytes: 64 << 20,
            open_files: 1_024,
            processes: 1_024,
            scratch_bytes: 256 << 20,
        }
    }
}

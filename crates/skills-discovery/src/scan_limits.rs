//! Bounds of a scan.

/// Bounds of a scan; whatever they cut off is reported in
/// [`Catalog::skipped`](crate::Catalog::skipped).
///
/// The first three defaults are those of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanLimits {
    /// How deep below a root a skill's directory may lie; the root has depth 0. Default 6.
    pub max_depth: usize,
    /// How many directories are entered per root, the root included. Default 2,000.
    pub max_directories: usize,
    /// How many directory entries are looked at per root. Default 20,000.
    pub max_entries: usize,
    /// The largest `SKILL.md`, in bytes. Default 1 MiB.
    pub max_file_bytes: u64,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self {
            max_depth: 6,
            max_directories: 2_000,
            max_entries: 20_000,
            max_file_bytes: skills_manifest::MAX_FILE_BYTES,
        }
    }
}

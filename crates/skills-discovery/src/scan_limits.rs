//! The limits of a scan.

/// The limits of a scan, for each root separately.
///
/// They bound the time and memory that a hostile or very large directory can cost. A limit that is
/// reached is reported in [`Catalog::skipped`](crate::Catalog::skipped) with the path that it
/// applies to; the skills before it stay. The first three defaults are those of Codex.
///
/// ```
/// use skills_discovery::ScanLimits;
///
/// let mut limits = ScanLimits::default();
/// assert_eq!((limits.max_depth, limits.max_directories), (6, 2_000));
/// limits.max_depth = 1;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanLimits {
    /// The maximum depth of a skill directory below its root; the root has depth 0. Default 6.
    pub max_depth: usize,
    /// The maximum number of directories that are entered per root, including the root. Default
    /// 2,000.
    pub max_directories: usize,
    /// The maximum number of directory entries that are listed per root. Default 20,000.
    pub max_entries: usize,
    /// The maximum size of a `SKILL.md` in bytes. Default 1 MiB.
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

//! The limits of a fetch.

use std::time::Duration;

/// How much of a source is read at most.
///
/// The limits bound what a hostile source can cost. A single skill has the limits of content
/// digests in addition: 10,000 files and 256 MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchLimits {
    /// Maximum number of files and directories of a source. Default 200,000.
    pub max_entries: u64,
    /// Maximum size of all files of a source, unpacked, in bytes. Default 1 GiB.
    pub max_bytes: u64,
    /// Maximum size of an archive, of the objects of a repository, and of everything that is
    /// downloaded for one source, in bytes. Default 512 MiB.
    pub max_archive_bytes: u64,
    /// Maximum ratio of the unpacked to the packed size of an archive of more than 1 MiB. Default
    /// 200.
    pub max_ratio: u64,
    /// Maximum time of one command of git, of reading one archive, and of all requests to web
    /// servers for one source.
    /// Default 10 minutes.
    pub timeout: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            max_entries: 200_000,
            max_bytes: 1 << 30,
            max_archive_bytes: 512 << 20,
            max_ratio: 200,
            timeout: Duration::from_secs(600),
        }
    }
}

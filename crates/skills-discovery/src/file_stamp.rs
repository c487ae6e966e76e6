//! File stamps: metadata of a file, to notice changes without reading it.

use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "fs")]
use cap_std::fs::{Dir, Metadata};

/// The metadata of a file or directory that changes when it is written: device, inode, size, and
/// the times of modification and change.
///
/// Equal stamps mean that nothing was written in between, as far as the clock of the file system
/// can tell. A stamp identifies no content; that is what [`ContentDigest`](crate::ContentDigest)
/// is for.
///
/// The clock ticks every few milliseconds, on some file systems every two seconds. A file that is
/// written in the tick in which its stamp is made can be written again without a change of the
/// stamp. Such a stamp is not *settled* (git calls it racy) and never counts as unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileStamp {
    stat: FileStat,
    /// Whether the tick of the last write was over when the scan began. False by default, so that a
    /// stamp of unknown age never counts as unchanged.
    settled: bool,
}

/// The fields of `stat` that a write changes. Times are in seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct FileStat {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// The time of change of the metadata (`ctime`); zero on systems without it.
    changed: (i64, i64),
}

/// The time at which a scan began, since 1970. All stamps of one scan are judged by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanStart(Duration);

impl ScanStart {
    pub(crate) fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(now.unwrap_or_default())
    }

    /// Returns the time `age` after the last write of a file.
    #[cfg(test)]
    #[cfg(unix)]
    pub(crate) fn after_writing(path: &std::path::Path, age: Duration) -> Self {
        let changed = FileStamp::from_path(path).unwrap_or_default().stat.changed;
        Self(
            Duration::new(
                changed.0.unsigned_abs(),
                u32::try_from(changed.1).unwrap_or_default(),
            ) + age,
        )
    }
}

impl FileStamp {
    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stat.bytes
    }

    /// Returns true if the file has not changed since this stamp was made: the current stamp `now`
    /// is equal, and this one is settled. Stamps from [`from_metadata`](Self::from_metadata) are
    /// never settled; those of scans, listings and [`StampSet`](crate::StampSet) can be.
    #[must_use]
    pub fn is_unchanged(self, now: Option<Self>) -> bool {
        self.settled && now == Some(self)
    }

    /// Returns the stamp as bytes, for caches on disk; `None` unless it is settled. The bytes are
    /// equal for equal stamps, and have no other meaning.
    #[must_use]
    pub fn settled_bytes(self) -> Option<[u8; 56]> {
        let FileStat {
            device,
            inode,
            bytes,
            modified,
            changed,
        } = self.stat;
        let words = [
            device.to_le_bytes(),
            inode.to_le_bytes(),
            bytes.to_le_bytes(),
            modified.0.to_le_bytes(),
            modified.1.to_le_bytes(),
            changed.0.to_le_bytes(),
            changed.1.to_le_bytes(),
        ];
        let mut all = [0; 56];
        all.copy_from_slice(words.as_flattened());
        self.settled.then_some(all)
    }

    /// Returns true if both stamps are of the same file, changed or not.
    #[cfg(all(feature = "watch", not(target_os = "linux")))]
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.stat.device, self.stat.inode) == (other.stat.device, other.stat.inode)
    }

    /// Returns the stamp of a file of another size.
    #[cfg(test)]
    #[cfg(unix)]
    pub(crate) fn with_bytes(mut self, bytes: u64) -> Self {
        self.stat.bytes = bytes;
        self
    }

    /// Returns the stamp of a listed skill, which changes with its content digest. `bytes` is the
    /// size of its `SKILL.md`.
    #[cfg(feature = "fs")]
    pub(crate) fn of_listed(digest: crate::ContentDigest, bytes: u64) -> Self {
        let (words, _) = digest.as_bytes().as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        Self {
            stat: FileStat {
                device: word(0),
                inode: word(1),
                bytes,
                modified: (word(2).cast_signed(), 0),
                changed: (word(3).cast_signed(), 0),
            },
            settled: true,
        }
    }

    /// Returns true if the clock tick of the last write was over when the scan began.
    pub(crate) fn is_settled(self) -> bool {
        self.settled
    }

    /// Decides whether the stamp is settled, by the time at which the scan began.
    pub(crate) fn with_scan_start(mut self, scan_start: ScanStart) -> Self {
        // A program can set the time of modification to any value, but not the time of change.
        let last = if self.stat.changed == (0, 0) {
            self.stat.modified
        } else {
            self.stat.changed
        };
        // Without a fraction the file system probably stores whole seconds, or two (FAT). Otherwise
        // the tick is that of the kernel, 1 to 10 ms; 50 ms leave a margin.
        let tick = if self.stat.modified.1 == 0 {
            Duration::from_secs(3)
        } else {
            Duration::from_millis(50)
        };
        // A time before 1970 becomes 1970, which is long ago as well.
        let written = Duration::new(
            u64::try_from(last.0).unwrap_or_default(),
            u32::try_from(last.1).unwrap_or_default(),
        );
        self.settled = written + tick < scan_start.0;
        self
    }
}

// Equality is that of the metadata: when a stamp was made does not matter.
impl PartialEq for FileStamp {
    fn eq(&self, other: &Self) -> bool {
        self.stat == other.stat
    }
}

impl Eq for FileStamp {}

impl Hash for FileStamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.stat.hash(state);
    }
}

#[cfg(feature = "fs")]
impl FileStamp {
    pub(crate) fn from_path(path: &std::path::Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self::from_metadata(&Metadata::from_just_metadata(metadata)))
    }

    /// Returns the stamp of an open directory, for a scan that began at `scan_start`.
    pub(crate) fn from_directory(handle: &Dir, scan_start: ScanStart) -> Option<Self> {
        let metadata = handle.dir_metadata().ok()?;
        Some(Self::from_metadata(&metadata).with_scan_start(scan_start))
    }

    /// Creates the stamp of an open file from its metadata. It is equal to the stamp of a listing
    /// if the file is the same and was not written in between. It never counts as unchanged itself.
    #[must_use]
    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            stat: FileStat::new(metadata),
            settled: false,
        }
    }
}

#[cfg(feature = "fs")]
impl FileStat {
    #[cfg(unix)]
    fn new(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn new(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map(cap_std::time::SystemTime::into_std);
        let age = modified
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .unwrap_or_default();
        Self {
            bytes: metadata.len(),
            modified: (
                i64::try_from(age.as_secs()).unwrap_or_default(),
                i64::from(age.subsec_nanos()),
            ),
            ..Self::default()
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Returns true if a file with these times, in nanoseconds since 1970, is settled at `now`.
    fn is_settled(modified: i64, changed: i64, now: i64) -> bool {
        let stat = FileStat {
            modified: parts(modified),
            changed: parts(changed),
            ..FileStat::default()
        };
        let now = ScanStart(Duration::from_nanos(now.unsigned_abs()));
        FileStamp {
            stat,
            settled: false,
        }
        .with_scan_start(now)
        .is_settled()
    }

    fn parts(time: i64) -> (i64, i64) {
        (time.div_euclid(SECOND), time.rem_euclid(SECOND))
    }

    #[test]
    fn a_stamp_is_settled_once_the_tick_of_the_last_write_is_over() {
        let (written, tick) = (100 * SECOND + 7, 50_000_000);
        assert!(!is_settled(written, written, written));
        assert!(!is_settled(written, written, written + tick));
        assert!(is_settled(written, written, written + tick + 1));
        assert!(
            !is_settled(written, written, written - 1),
            "not settled if the clock was set back"
        );
    }

    #[test]
    fn timestamps_in_whole_seconds_settle_after_a_longer_tick() {
        let (written, tick) = (100 * SECOND, 3 * SECOND);
        assert!(!is_settled(written, written, written + tick));
        assert!(is_settled(written, written, written + tick + 1));
    }

    /// A program can set the time of modification to any value, but not the time of change.
    #[test]
    fn the_change_time_takes_precedence_over_the_modification_time() {
        let (old, new) = (100 * SECOND + 7, 200 * SECOND + 7);
        assert!(!is_settled(old, new, new));
        assert!(is_settled(new, old, new));
        assert!(!is_settled(new, 0, new));
        assert!(is_settled(old, 0, new));
        assert!(
            is_settled(-old, 0, 4 * SECOND),
            "a file from before 1970 is settled"
        );
    }

    #[test]
    fn a_stamp_that_is_not_settled_never_counts_as_unchanged() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = FileStamp::from_path(file.path());
        let young = stamp
            .unwrap()
            .with_scan_start(ScanStart::after_writing(file.path(), Duration::ZERO));
        let old = stamp.unwrap().with_scan_start(ScanStart::after_writing(
            file.path(),
            Duration::from_secs(4),
        ));
        assert!(young == old, "equality ignores the time of the scan");
        assert!(!young.is_unchanged(stamp) && old.is_unchanged(stamp));
        assert!(young.settled_bytes().is_none() && old.settled_bytes().is_some());
        assert!(!old.is_unchanged(None));
        let longer = FileStamp {
            stat: FileStat {
                bytes: 1,
                ..old.stat
            },
            ..old
        };
        assert!(!old.is_unchanged(Some(longer)));
        assert_ne!(old.settled_bytes(), longer.settled_bytes());
    }
}

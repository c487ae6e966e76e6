//! What the file system says of a file without reading it.

use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the file system says of a file or directory without reading it. Two are equal when nothing
/// was written in between, as far as the file system's clock goes;
/// [`ContentDigest`](crate::ContentDigest) compares contents.
///
/// That clock ticks every few milliseconds, and on some disks every two seconds: a file that was
/// read in the tick in which it was written may change once more and look the same. A stamp knows
/// whether that can be, and then the file counts as changed at the next look.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileStamp {
    stat: FileStat,
    settled: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct FileStat {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// When a look at the disk began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanStart(Duration);

impl ScanStart {
    pub(crate) fn now() -> Self {
        Self(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        )
    }

    /// The moment `age` after the file was written.
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
    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stat.bytes
    }

    /// Says whether the file can be taken for unchanged: it looks the same, and it was not read in
    /// the tick in which it was written. A stamp that no listing made does not know that, and then
    /// it cannot.
    #[must_use]
    pub fn is_unchanged(self, now: Option<Self>) -> bool {
        self.settled && now == Some(self)
    }

    /// Says whether both are of the same file, changed or not.
    #[cfg(feature = "watch")]
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.stat.device, self.stat.inode) == (other.stat.device, other.stat.inode)
    }

    pub(crate) fn is_settled(self) -> bool {
        self.settled
    }

    /// Notes when the look began.
    pub(crate) fn with_scan_start(mut self, moment: ScanStart) -> Self {
        // The time of modification can be set to anything; where there is a time of change, that
        // counts.
        let last = if self.stat.changed == (0, 0) {
            self.stat.modified
        } else {
            self.stat.changed
        };
        // A clock without parts of a second ticks in whole ones, or in two.
        let tick = if self.stat.modified.1 == 0 {
            Duration::from_secs(3)
        } else {
            Duration::from_millis(50)
        };
        let written = Duration::new(
            u64::try_from(last.0).unwrap_or_default(),
            u32::try_from(last.1).unwrap_or_default(),
        );
        self.settled = written + tick < moment.0;
        self
    }
}

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

#[cfg(unix)]
impl FileStamp {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the widths of these fields differ from system to system"
    )]
    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        let look = FileStat {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            bytes: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        };
        Self {
            stat: look,
            settled: false,
        }
    }

    pub(crate) fn from_path(path: &std::path::Path) -> Option<Self> {
        rustix::fs::stat(path)
            .ok()
            .map(|stat| Self::from_stat(&stat))
    }

    /// Takes what a handle says of its file. It is equal to the stamp of a listing when the file is
    /// the same and looks the same.
    #[must_use]
    pub fn from_metadata(metadata: &cap_std::fs::Metadata) -> Self {
        use cap_std::fs::MetadataExt;
        let look = FileStat {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        Self {
            stat: look,
            settled: false,
        }
    }
}

#[cfg(not(unix))]
impl FileStamp {
    pub(crate) fn from_path(path: &std::path::Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self::from_parts(metadata.len(), metadata.modified().ok()))
    }

    /// Takes what a handle says of its file. It is equal to the stamp of a listing when the file is
    /// the same and looks the same.
    #[must_use]
    pub fn from_metadata(metadata: &cap_std::fs::Metadata) -> Self {
        Self::from_parts(
            metadata.len(),
            metadata
                .modified()
                .ok()
                .map(cap_std::time::SystemTime::into_std),
        )
    }

    fn from_parts(bytes: u64, modified: Option<SystemTime>) -> Self {
        let age = modified
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .unwrap_or_default();
        let modified = (
            i64::try_from(age.as_secs()).unwrap_or_default(),
            i64::from(age.subsec_nanos()),
        );
        Self {
            stat: FileStat {
                bytes,
                modified,
                ..FileStat::default()
            },
            settled: false,
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Says whether a file with these times, in nanoseconds since 1970, is settled at `now`.
    fn is_settled(modified: i64, changed: i64, now: i64) -> bool {
        let look = FileStat {
            modified: parts(modified),
            changed: parts(changed),
            ..FileStat::default()
        };
        let now = ScanStart(Duration::from_nanos(now.unsigned_abs()));
        FileStamp {
            stat: look,
            settled: false,
        }
        .with_scan_start(now)
        .is_settled()
    }

    fn parts(time: i64) -> (i64, i64) {
        (time.div_euclid(SECOND), time.rem_euclid(SECOND))
    }

    #[test]
    fn a_file_is_settled_once_the_tick_in_which_it_was_written_is_over() {
        let (written, tick) = (100 * SECOND + 7, 50_000_000);
        assert!(!is_settled(written, written, written));
        assert!(!is_settled(written, written, written + tick));
        assert!(is_settled(written, written, written + tick + 1));
        assert!(
            !is_settled(written, written, written - 1),
            "a clock that was set back decides nothing"
        );
    }

    #[test]
    fn a_clock_of_whole_seconds_has_longer_ticks() {
        let (written, tick) = (100 * SECOND, 3 * SECOND);
        assert!(!is_settled(written, written, written + tick));
        assert!(is_settled(written, written, written + tick + 1));
    }

    /// A program can set the time of modification to any value, but not the time of change.
    #[test]
    fn the_time_of_change_decides_where_there_is_one() {
        let (old, new) = (100 * SECOND + 7, 200 * SECOND + 7);
        assert!(!is_settled(old, new, new));
        assert!(is_settled(new, old, new));
        assert!(!is_settled(new, 0, new));
        assert!(is_settled(old, 0, new));
        assert!(
            is_settled(-old, 0, 4 * SECOND),
            "what was written before 1970 is old"
        );
    }

    #[test]
    fn an_unchanged_file_is_still_the_same_only_when_it_is_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = FileStamp::from_path(file.path());
        let young = stamp
            .unwrap()
            .with_scan_start(ScanStart::after_writing(file.path(), Duration::ZERO));
        let old = stamp.unwrap().with_scan_start(ScanStart::after_writing(
            file.path(),
            Duration::from_secs(4),
        ));
        assert!(young == old, "a stamp is what the file system says");
        assert!(!young.is_unchanged(stamp) && old.is_unchanged(stamp));
        assert!(!old.is_unchanged(None));
        let longer = FileStamp {
            stat: FileStat {
                bytes: 1,
                ..old.stat
            },
            ..old
        };
        assert!(!old.is_unchanged(Some(longer)));
    }
}

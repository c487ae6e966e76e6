//! The audit log in files.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use skills_store::trusted_file;

use crate::error::Repr;
use crate::record::Record;
use crate::{AuditError, AuditSink, Event};

/// An audit log in a file, one line of JSON per record.
///
/// Several processes can write at the same time: each acquires the lock on a file next to the log,
/// reads the last record and appends the next. A partial line that a crash left stays in the file;
/// the next record begins on its own line and follows the last whole one.
///
/// A process that does not release the lock cannot block the others forever: they wait for
/// [`lock_timeout`](Self::lock_timeout), then fail with
/// [`AuditErrorKind::Locked`](crate::AuditErrorKind::Locked).
///
/// ```
/// use skills_audit::{AuditLog, AuditSink, Disposition, Event, Line, Rotation, tail};
///
/// # let directory = tempfile::tempdir()?;
/// let log = AuditLog::open(directory.path().join("audit.jsonl"))?
///     .rotation(Rotation { max_bytes: 1 << 20, max_files: 4 });
/// for skill in ["a", "b"] {
///     log.record(&Event::new("2026-11-22T08:00:00Z", skill, Disposition::Granted))?;
/// }
/// let last = tail(&log.files()?, 1)?;
/// assert!(matches!(&last[..], [Line::Record { sequence: 2, event, .. }] if event.skill == "b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
    rotation: Rotation,
    lock_timeout: Duration,
}

/// Log rotation settings. Rotated files are renamed to `audit.jsonl.1`, older ones to `.2` and so
/// on, and the hash chain continues from file to file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Size in bytes from which the file is rotated before the next record, at most 128 MiB. An empty
    /// file is never rotated. Default 16 MiB.
    pub max_bytes: u64,
    /// Maximum number of rotated files, at least 1; the oldest is deleted. Default 8.
    pub max_files: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            max_files: 8,
        }
    }
}

impl AuditLog {
    /// Opens or creates a log in an existing directory. On Unix a new file is readable and writable
    /// by its owner only.
    ///
    /// # Errors
    /// Fails if the file cannot be opened for appending, is not regular or has more than 256 MiB, or if
    /// other users can change it or a directory that leads to it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, AuditError> {
        let log = Self::reader(path);
        log.open_for_append()?;
        Ok(log)
    }

    /// Sets when files are rotated. All writers of one log should use the same settings.
    #[must_use]
    pub fn rotation(self, rotation: Rotation) -> Self {
        Self { rotation, ..self }
    }

    /// Sets how long a writer waits for the lock while another one holds it. Default: 3 seconds.
    #[must_use]
    pub fn lock_timeout(self, lock_timeout: Duration) -> Self {
        Self {
            lock_timeout,
            ..self
        }
    }

    /// Opens a log for reading only. It does not access the file, which need not be writable.
    #[must_use]
    pub fn reader(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            rotation: Rotation::default(),
            lock_timeout: LOCK_TIMEOUT,
        }
    }

    /// Returns the files of the log, oldest first. The current file is the last one.
    ///
    /// # Errors
    /// Fails if it cannot be determined whether a file exists.
    pub fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let mut files = vec![self.path.clone()];
        let mut number = 1;
        // A writer that was killed during rotation leaves a gap of one number.
        while self.is_rotated(number)? || self.is_rotated(number + 1)? {
            if self.is_rotated(number)? {
                files.insert(0, self.rotated_path(number));
            }
            number += 1;
        }
        Ok(files)
    }

    fn is_rotated(&self, number: u32) -> Result<bool, AuditError> {
        let rotated = self.rotated_path(number);
        rotated
            .try_exists()
            .map_err(|error| AuditError::io(&rotated, error))
    }

    fn rotated_path(&self, number: u32) -> PathBuf {
        with_suffix(&self.path, &number.to_string())
    }

    fn open_for_append(&self) -> Result<File, AuditError> {
        let mut options = OpenOptions::new();
        // Append mode: the position is set by the kernel with each write, also after rotation.
        options.create(true).append(true).read(true);
        let file = trusted_file::open_with(&self.path, &mut options);
        file.and_then(|file| {
            trusted_file::check_size(&file, &self.path, MAX_FILE_BYTES)?;
            Ok(file)
        })
        .map_err(|error| AuditError::io(&self.path, error.into()))
    }

    /// Acquires the inter-process writer lock; released when the file is dropped.
    fn lock(&self) -> Result<File, AuditError> {
        let start = Instant::now();
        self.lock_while(|| wait_before_retry(start.elapsed(), self.lock_timeout))
    }

    /// Acquires the lock. While another writer holds it, `wait` returns whether to try again.
    fn lock_while(&self, mut wait: impl FnMut() -> bool) -> Result<File, AuditError> {
        // A file of its own, since the log itself is renamed by rotation.
        let path = with_suffix(&self.path, "lock");
        let mut options = OpenOptions::new();
        // Never truncated or deleted: another process can hold the lock on this very file.
        options.create(true).truncate(false).write(true);
        let file = trusted_file::open_with(&path, &mut options)
            .map_err(|error| AuditError::io(&path, error.into()))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if wait() => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Repr::Locked {
                        path,
                        timeout: self.lock_timeout,
                    }
                    .into());
                }
                Err(TryLockError::Error(error)) => return Err(AuditError::io(&path, error)),
            }
        }
    }

    /// Returns true if a file of this size is rotated before the next record; an empty one never
    /// is.
    fn is_full(&self, bytes: u64) -> bool {
        // Half of the limit, so that a record always fits.
        bytes >= self.rotation.max_bytes.clamp(1, MAX_FILE_BYTES / 2)
    }

    /// Rotates the files; the chain continues in the next one.
    fn rotate(&self) -> Result<(), AuditError> {
        // Files beyond the maximum are from a higher setting. They would not follow from each other
        // after this rotation; deleting the oldest first leaves no gap after a crash.
        let max_files = self.rotation.max_files.max(1);
        let first = max_files.saturating_add(1);
        let mut end = first;
        while self.is_rotated(end)? {
            end = end.saturating_add(1);
        }
        for number in (first..end).rev() {
            let old = self.rotated_path(number);
            std::fs::remove_file(&old).map_err(|error| AuditError::io(&old, error))?;
        }
        // Suffixes are shifted up to the first gap, so no file is deleted while a number is free.
        let mut last = 1;
        while last < max_files && self.is_rotated(last)? {
            last += 1;
        }
        for number in (1..=last).rev() {
            let from = if number == 1 {
                self.path.clone()
            } else {
                self.rotated_path(number - 1)
            };
            std::fs::rename(&from, self.rotated_path(number))
                .map_err(|error| AuditError::io(&from, error))?;
        }
        Ok(())
    }

    /// Returns the end of the current file, with the last whole record of the log.
    fn read_tail(&self, file: &mut File) -> Result<LogTail, AuditError> {
        let current = read_file_tail(file).map_err(|error| AuditError::io(&self.path, error))?;
        if current.record.is_some() {
            return Ok(current);
        }
        // Right after a rotation the last record is in the newest rotated file.
        let Some(rotated) = self.files()?.into_iter().rev().nth(1) else {
            return Ok(current);
        };
        let mut file = trusted_file::open_untrusted(&rotated, MAX_FILE_BYTES)
            .map_err(|error| AuditError::io(&rotated, error.into()))?;
        let previous =
            read_file_tail(&mut file).map_err(|error| AuditError::io(&rotated, error))?;
        Ok(LogTail {
            record: previous.record,
            ..current
        })
    }

    /// Appends a record and returns its number.
    fn append(&self, event: &Event) -> Result<u64, AuditError> {
        let _lock = self.lock()?;
        let mut file = self.open_for_append()?;
        // Read again for each record, since other processes append too.
        let last = self.read_tail(&mut file)?;
        // Falls back to a truncated record rather than none: a skill must not be able to suppress
        // its record by long texts.
        let line = Record::to_line(event, last.record.as_ref())
            .or_else(|_| Record::to_line(&event.truncated(), last.record.as_ref()))?;
        let is_full = self.is_full(last.bytes);
        if is_full {
            self.rotate()?;
            file = self.open_for_append()?;
        }
        let separator = if last.has_partial_line && !is_full {
            "\n"
        } else {
            ""
        };
        // A single write: a concurrent reader sees the whole line, or a partial one after a crash.
        file.write_all(format!("{separator}{line}\n").as_bytes())
            .map_err(|error| AuditError::io(&self.path, error))?;
        Ok(Record::next_sequence(last.record.as_ref()))
    }
}

impl AuditSink for AuditLog {
    /// Acquires the lock, opens the file, and rotates it if it is full, so that
    /// [`record`](Self::record) is likely to succeed after the run.
    fn check_writable(&self) -> Result<(), AuditError> {
        let _lock = self.lock()?;
        // Opening for appending shows missing permissions and a full quota of files before the run.
        let file = self.open_for_append()?;
        let bytes = file
            .metadata()
            .map_err(|error| AuditError::io(&self.path, error))?
            .len();
        if self.is_full(bytes) {
            self.rotate()?;
            self.open_for_append()?;
        }
        Ok(())
    }

    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.append(event).map(drop)
    }

    fn record_start(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        self.append(event).map(Some)
    }
}

/// Maximum size of a file of the log: a larger one, such as one with a hole, is neither read nor
/// continued.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 28;
/// Default timeout for the lock. A writer holds it for one line only, so a longer wait means that
/// the holder is stuck.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause between two attempts to acquire the lock; there is no portable blocking lock with a
/// timeout.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Number of bytes read first from the end of a file: a few records.
const TAIL_CHUNK_BYTES: u64 = 4 * 1024;

/// Sleeps before the next attempt and returns true, or returns false after the timeout.
fn wait_before_retry(elapsed: Duration, timeout: Duration) -> bool {
    let is_before_timeout = elapsed < timeout;
    if is_before_timeout {
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
    is_before_timeout
}

/// The end of a file.
struct LogTail {
    record: Option<Record>,
    bytes: u64,
    /// True if the file does not end with a newline.
    has_partial_line: bool,
}

/// Reads backwards from the end until a whole record is found, since a log can be large.
fn read_file_tail(file: &mut File) -> std::io::Result<LogTail> {
    let bytes = file.metadata()?.len();
    let mut chunk_bytes = TAIL_CHUNK_BYTES;
    loop {
        let start = bytes.saturating_sub(chunk_bytes);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(chunk_bytes).read_to_end(&mut end)?;
        let has_partial_line = end.last().is_some_and(|b| *b != b'\n');
        let mut lines = end.split(|b| *b == b'\n');
        if start > 0 {
            // The first line may be the rest of a longer one, and a record in the middle of a line
            // is not a record.
            lines.next();
        }
        let record = lines.rev().find_map(Record::parse);
        if record.is_some() || start == 0 {
            return Ok(LogTail {
                record,
                bytes,
                has_partial_line,
            });
        }
        // Growing steps keep a long partial line from taking quadratic time.
        chunk_bytes = chunk_bytes.saturating_mul(4);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_retries_until_the_lock_is_released() {
        let directory = tempfile::tempdir().unwrap();
        let log = AuditLog::open(directory.path().join("audit.jsonl")).unwrap();
        let mut held = Some(log.lock().unwrap());
        let mut attempts = 0;
        let lock = log.lock_while(|| {
            attempts += 1;
            if attempts == 3 {
                held = None;
            }
            true
        });
        assert_eq!((lock.is_ok(), attempts), (true, 3));
    }

    #[test]
    fn a_writer_stops_waiting_at_the_timeout() {
        let timeout = Duration::from_secs(3);
        assert!(
            wait_before_retry(Duration::ZERO, timeout)
                && wait_before_retry(timeout - Duration::from_nanos(1), timeout)
        );
        assert!(!wait_before_retry(timeout, timeout) && !wait_before_retry(timeout * 2, timeout));
    }
}

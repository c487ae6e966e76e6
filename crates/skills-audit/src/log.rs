//! Records in files.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Repr;
use crate::record::Record;
use crate::{AuditError, AuditSink, Event};

/// Records in a file, one line of JSON each.
///
/// Several processes may write at the same time: each takes a lock on a file beside the log, reads
/// the last line and writes the next. A line that was torn by a crash stays where it is; the next
/// record begins on a line of its own and follows the last whole one.
///
/// A process that holds the lock and does not release it cannot block the others for ever: they
/// wait for [`lock_timeout`](Self::lock_timeout), then fail with
/// [`ErrorKind::Locked`](crate::ErrorKind::Locked).
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
    rotation: Rotation,
    lock_timeout: Duration,
}

/// When a file is put aside, and how many of them are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// From so many bytes on a file is put aside as `audit.jsonl.1`, older ones as `.2` and so on.
    /// Default 16 MiB.
    pub max_bytes: u64,
    /// So many files are kept beside the current one, at least one; the oldest goes. Default 8.
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
    /// Opens or makes a log; the directory must be there. On Unix only its owner may read it.
    ///
    /// # Errors
    /// When the file cannot be opened for appending.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, AuditError> {
        let log = Self::reader(path);
        log.open_for_append()?;
        Ok(log)
    }

    /// Chooses when files are put aside.
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

    /// Names a log that is only read, wherever it lies and whoever may write there.
    #[must_use]
    pub fn reader(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            rotation: Rotation::default(),
            lock_timeout: LOCK_TIMEOUT,
        }
    }

    /// Returns the files of the log, oldest first.
    ///
    /// # Errors
    /// When a file cannot be looked at.
    pub fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let mut files = vec![self.path.clone()];
        let mut number = 1;
        // A writer that was killed while it put files aside leaves one number out.
        while self.is_rotated(number)? || self.is_rotated(number + 1)? {
            if self.is_rotated(number)? {
                files.insert(0, self.rotated_path(number));
            }
            number += 1;
        }
        Ok(files)
    }

    fn is_rotated(&self, number: u32) -> Result<bool, AuditError> {
        let aside = self.rotated_path(number);
        aside
            .try_exists()
            .map_err(|error| AuditError::io(&aside, error))
    }

    fn rotated_path(&self, number: u32) -> PathBuf {
        with_suffix(&self.path, &number.to_string())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the log is the host's own file, not a skill's"
    )]
    fn open_for_append(&self) -> Result<File, AuditError> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        owner_only(&mut options);
        options
            .open(&self.path)
            .map_err(|error| AuditError::io(&self.path, error))
    }

    /// Takes the lock that all writers share; it is released with the file.
    fn lock(&self) -> Result<File, AuditError> {
        let begun = Instant::now();
        self.lock_while(|| pauses(begun.elapsed(), self.lock_timeout))
    }

    /// Takes the lock; as long as another writer holds it, `wait` decides whether to try again.
    #[expect(
        clippy::disallowed_methods,
        reason = "the lock is the host's own file, not a skill's"
    )]
    fn lock_while(&self, mut wait: impl FnMut() -> bool) -> Result<File, AuditError> {
        let path = with_suffix(&self.path, "lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let file = options
            .open(&path)
            .map_err(|error| AuditError::io(&path, error))?;
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

    /// Whether a file of so many bytes is put aside before the next record; an empty one never is.
    fn is_full(&self, bytes: u64) -> bool {
        bytes >= self.rotation.max_bytes.max(1)
    }

    /// Puts the file aside; the chain goes on in the next.
    fn rotate(&self) -> Result<(), AuditError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| AuditError::io(&path, error)
        };
        // A log that kept more files before would have a gap in its chain; the oldest goes first,
        // so that a crash leaves none.
        let keep = self.rotation.max_files.max(1);
        let first = keep.saturating_add(1);
        let mut end = first;
        while self.is_rotated(end)? {
            end = end.saturating_add(1);
        }
        for number in (first..end).rev() {
            let old = self.rotated_path(number);
            std::fs::remove_file(&old).map_err(failed(&old))?;
        }
        // The first free number ends the moving: nothing is thrown away as long as there is one.
        let mut last = 1;
        while last < keep && self.is_rotated(last)? {
            last += 1;
        }
        for number in (1..=last).rev() {
            let from = if number == 1 {
                self.path.clone()
            } else {
                self.rotated_path(number - 1)
            };
            std::fs::rename(&from, self.rotated_path(number)).map_err(failed(&from))?;
        }
        Ok(())
    }

    /// The last whole record of the log.
    fn read_tail(&self, file: &mut File) -> Result<LogTail, AuditError> {
        let current = read_file_tail(file).map_err(|error| AuditError::io(&self.path, error))?;
        if current.record.is_some() {
            return Ok(current);
        }
        let Some(aside) = self.files()?.into_iter().rev().nth(1) else {
            return Ok(current);
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the log is the host's own file, not a skill's"
        )]
        let mut before = File::open(&aside).map_err(|error| AuditError::io(&aside, error))?;
        let before = read_file_tail(&mut before).map_err(|error| AuditError::io(&aside, error))?;
        Ok(LogTail {
            record: before.record,
            ..current
        })
    }
}

impl AuditSink for AuditLog {
    /// Takes its turn, opens the file, and puts it aside if it is time to.
    fn check_writable(&self) -> Result<(), AuditError> {
        let _lock = self.lock()?;
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
        let _lock = self.lock()?;
        let mut file = self.open_for_append()?;
        let last = self.read_tail(&mut file)?;
        // A record that says less is better than none.
        let line = Record::to_line(event, last.record.as_ref())
            .or_else(|_| Record::to_line(&event.truncated(), last.record.as_ref()))?;
        let is_full = self.is_full(last.bytes);
        if is_full {
            self.rotate()?;
            file = self.open_for_append()?;
        }
        let torn = if last.has_partial_line && !is_full {
            "\n"
        } else {
            ""
        };
        // One write: a reader sees all of it or, after a crash, a torn line.
        file.write_all(format!("{torn}{line}\n").as_bytes())
            .map_err(|error| AuditError::io(&self.path, error))
    }
}

/// How long a writer waits for the lock, unless the caller chooses otherwise. A writer holds it for
/// one line only.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a writer waits between two attempts to take the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// So much of the end of a file is read first: a few records.
const TAIL_CHUNK_BYTES: u64 = 4 * 1024;

/// Pauses before the next attempt, unless the time is up; says which.
fn pauses(elapsed: Duration, timeout: Duration) -> bool {
    let has_time = elapsed < timeout;
    if has_time {
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
    has_time
}

/// The end of a file.
struct LogTail {
    record: Option<Record>,
    bytes: u64,
    /// Whether the file does not end with a line end.
    has_partial_line: bool,
}

/// Reads back from the end until a whole record is found.
fn read_file_tail(file: &mut File) -> std::io::Result<LogTail> {
    let bytes = file.metadata()?.len();
    let mut wanted = TAIL_CHUNK_BYTES;
    loop {
        let start = bytes.saturating_sub(wanted);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(wanted).read_to_end(&mut end)?;
        let is_torn = end.last().is_some_and(|b| *b != b'\n');
        let mut lines = end.split(|b| *b == b'\n');
        if start > 0 {
            // The first of these lines may have begun before; what looks like a record in the
            // middle of a line is none.
            lines.next();
        }
        let link = lines.rev().find_map(Record::parse);
        if link.is_some() || start == 0 {
            return Ok(LogTail {
                record: link,
                bytes,
                has_partial_line: is_torn,
            });
        }
        wanted = wanted.saturating_mul(4);
    }
}

fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_tries_until_the_lock_is_released() {
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
    fn a_writer_waits_until_the_timeout_and_no_longer() {
        let timeout = Duration::from_secs(3);
        assert!(
            pauses(Duration::ZERO, timeout) && pauses(timeout - Duration::from_nanos(1), timeout)
        );
        assert!(!pauses(timeout, timeout) && !pauses(timeout * 2, timeout));
    }
}

//! The audit log in files.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use skills_store::trusted_file;

use crate::error::AuditError;
use crate::event::Event;
use crate::lock::{FileLock, with_suffix};
use crate::reader::first_record;
use crate::record::MAX_FILE_BYTES;
use crate::reservation::OpenRun;
use crate::sink::AuditSink;
use crate::writer::Writer;

/// An audit log in a file, one line of JSON per record.
///
/// Several processes can write at the same time: each acquires the lock on a file next to the log,
/// reads the last record and appends the next. If that fails, the file is truncated to its previous
/// length. An incomplete line that a crash left is removed before the next record, which contains
/// its length as `removed_bytes`.
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
    open_runs: Arc<Mutex<BTreeMap<u64, OpenRun>>>,
}

/// Log rotation settings. Rotated files are renamed to `audit.jsonl.1`, older ones to `.2` and so
/// on, and the hash chain continues from file to file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Size in bytes from which the file is rotated before the next record, at most 128 MiB. An empty
    /// file is never rotated. Default 16 MiB.
    pub max_bytes: u64,
    /// Maximum number of rotated files, at least 1; the oldest is deleted after the first record of
    /// the next file. Default 8.
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
    /// Fails if the file cannot be opened for appending or is not regular, or if other users can change
    /// it or a directory that leads to it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, AuditError> {
        let log = Self::reader(path);
        log.open_file(&log.path)?;
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
            open_runs: Arc::default(),
        }
    }

    /// Returns the files of the log, oldest first. The current file is the last one.
    ///
    /// # Errors
    /// Fails if it cannot be determined whether a file exists.
    pub fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let mut files = vec![self.path.clone()];
        files.extend(self.rotated_files(u32::MAX)?);
        files.reverse();
        Ok(files)
    }

    /// Returns the rotated files up to a number, the newest first.
    fn rotated_files(&self, max_number: u32) -> Result<Vec<PathBuf>, AuditError> {
        let mut files = Vec::new();
        let mut number = 1;
        // A writer that was killed during rotation leaves a gap of one number.
        while number <= max_number && (self.is_rotated(number)? || self.is_rotated(number + 1)?) {
            if self.is_rotated(number)? {
                files.push(self.rotated_path(number));
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

    pub(crate) fn open_file(&self, path: &Path) -> Result<File, AuditError> {
        let mut options = OpenOptions::new();
        // Append mode: the position is set by the kernel with each write, also after rotation.
        options.create(true).append(true).read(true);
        // Of any size: only its end is read, and one that is too large is rotated.
        trusted_file::open_with(path, &mut options)
            .map_err(|error| AuditError::io(path, error.into()))
    }

    /// Returns the path of the current file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Acquires the inter-process writer lock; released when the value is dropped.
    pub(crate) fn lock(&self) -> Result<FileLock, AuditError> {
        // A file of its own, since the log itself is renamed by rotation.
        FileLock::acquire(&with_suffix(&self.path, "lock"), self.lock_timeout)
    }

    /// Returns true if a file of this size is rotated before the next record; an empty one never
    /// is.
    pub(crate) fn is_full(&self, bytes: u64) -> bool {
        // Half of the limit, so that a record always fits.
        bytes >= self.rotation.max_bytes.clamp(1, MAX_FILE_BYTES / 2)
    }

    /// Renames the files, so that `next` becomes the current one. No file is deleted before a
    /// record says so; see [`delete_oldest`](Self::delete_oldest).
    pub(crate) fn rotate(&self, next: &Path) -> Result<(), AuditError> {
        // Suffixes are shifted up to the first gap, so that no file is replaced.
        let mut last = 1;
        while self.is_rotated(last)? {
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
        std::fs::rename(next, &self.path).map_err(|error| AuditError::io(next, error))
    }

    /// Returns the number of the oldest record in the rotated files that are kept.
    pub(crate) fn oldest_kept(&self) -> Result<Option<u64>, AuditError> {
        let mut oldest = None;
        for path in self.rotated_files(self.rotation.max_files.max(1))? {
            let first = first_record(&path)?;
            oldest = first.map(|record| record.sequence).or(oldest);
        }
        Ok(oldest)
    }

    /// Deletes the rotated files beyond the maximum, the oldest first: a crash leaves no gap.
    pub(crate) fn delete_oldest(&self) -> Result<(), AuditError> {
        let first = self.rotation.max_files.max(1).saturating_add(1);
        let mut end = first;
        while self.is_rotated(end)? {
            end = end.saturating_add(1);
        }
        for number in (first..end).rev() {
            let old = self.rotated_path(number);
            std::fs::remove_file(&old).map_err(|error| AuditError::io(&old, error))?;
        }
        Ok(())
    }

    /// Returns the open runs of this process, by the numbers of their start records.
    fn open_runs(&self) -> MutexGuard<'_, BTreeMap<u64, OpenRun>> {
        // The map is whole between any two operations.
        self.open_runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditSink for AuditLog {
    /// Acquires the lock, opens the file, and rotates it if it is full, so that
    /// [`record`](Self::record) is likely to succeed after the run.
    fn check_writable(&self) -> Result<(), AuditError> {
        // Opening for appending shows missing permissions and a full quota of files before the run.
        let lock = self.lock()?;
        let file = self.open_file(&self.path)?;
        if file.metadata().is_ok_and(|file| !self.is_full(file.len())) {
            return Ok(());
        }
        drop(lock);
        let mut writer = Writer::open(self)?;
        // Otherwise the next record removes the incomplete line, and says so.
        if writer.is_complete() {
            writer.rotate_if_full(writer.count_open_runs()?)?;
        }
        Ok(())
    }

    fn record(&self, event: &Event) -> Result<(), AuditError> {
        let started = event
            .start
            .and_then(|start| self.open_runs().remove(&start));
        let writer = Writer::open(self)?;
        match started {
            Some(run) => writer.append_end(event, run),
            None => writer.append(event).map(drop),
        }
    }

    /// Writes the record, and reserves the space for the record of the end, which
    /// [`record`](Self::record) writes with this log or a clone of it.
    fn record_start(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        let (sequence, run) = Writer::open(self)?.append_start(event)?;
        self.open_runs().insert(sequence, run);
        Ok(Some(sequence))
    }
}

/// Default timeout for the lock. A writer holds it for one line only, so a longer wait means that
/// the holder is stuck.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Disposition;

    #[test]
    fn a_file_is_full_at_half_of_the_size_of_files_that_are_read() {
        let log = AuditLog::reader("audit.jsonl").rotation(Rotation {
            max_bytes: u64::MAX,
            ..Rotation::default()
        });
        assert!(!log.is_full(MAX_FILE_BYTES / 2 - 1));
        assert!(log.is_full(MAX_FILE_BYTES / 2));
    }

    #[test]
    fn the_oldest_record_is_found_behind_a_gap_of_one_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap().rotation(Rotation {
            max_files: 4,
            ..Rotation::default()
        });
        assert_eq!(log.oldest_kept().unwrap(), None);
        let event = Event::new("2026-11-22T08:00:00Z", "pdf", Disposition::Granted);
        for number in [3, 2] {
            log.record(&event).unwrap();
            std::fs::copy(&path, log.rotated_path(number)).unwrap();
        }
        let first = first_record(&path).unwrap().map(|record| record.sequence);
        assert!(first.is_some());
        assert_eq!(log.oldest_kept().unwrap(), first);
        std::fs::rename(log.rotated_path(2), log.rotated_path(1)).unwrap();
        assert_eq!(log.oldest_kept().unwrap(), first);
        std::fs::remove_file(log.rotated_path(1)).unwrap();
        assert_eq!(log.oldest_kept().unwrap(), None);
    }
}

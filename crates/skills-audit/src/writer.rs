//! Appends one record.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use skills_store::trusted_file::open_untrusted;

use crate::error::AuditError;
use crate::event::Event;
use crate::lock::{FileLock, with_suffix};
use crate::log::AuditLog;
use crate::record::{Position, Record};
use crate::reservation::{OpenRun, Reserved, count_open_runs, reserve};
use crate::tail::LogTail;

/// The current file of a log, locked for one record.
pub(crate) struct Writer<'a> {
    log: &'a AuditLog,
    file: File,
    tail: LogTail,
    /// The length of the incomplete line that was removed.
    removed_bytes: Option<u64>,
    // The last field: released after the file was closed.
    _lock: FileLock,
}

impl<'a> Writer<'a> {
    /// Acquires the lock of a log and reads its end, since other processes append too.
    pub(crate) fn open(log: &'a AuditLog) -> Result<Self, AuditError> {
        let lock = log.lock()?;
        let mut file = log.open_file(log.path())?;
        let mut tail =
            LogTail::read(&mut file).map_err(|error| AuditError::io(log.path(), error))?;
        // Right after a rotation the last record is in the newest rotated file.
        if tail.record.is_none()
            && let Some(rotated) = log.files()?.into_iter().rev().nth(1)
        {
            tail.record = read_tail(&rotated)
                .map_err(|error| AuditError::io(&rotated, error))?
                .record;
        }
        Ok(Self {
            log,
            file,
            tail,
            removed_bytes: None,
            _lock: lock,
        })
    }

    /// Returns true if the file does not end within a line.
    pub(crate) fn is_complete(&self) -> bool {
        self.tail.incomplete_bytes == 0
    }

    /// Appends a record of a run that did not start, and returns its number.
    pub(crate) fn append(mut self, event: &Event) -> Result<u64, AuditError> {
        let open_runs = self.count_open_runs()?;
        // The records of other runs keep their space.
        if open_runs > 0 {
            self.reserve(open_runs)?;
        }
        self.prepare(open_runs)?;
        self.write_record(event)
    }

    /// Appends the record of a start, and reserves the space for the record of the end.
    pub(crate) fn append_start(mut self, event: &Event) -> Result<(u64, OpenRun), AuditError> {
        let mut run = OpenRun::begin(self.log.path()).map_err(|error| self.error(error))?;
        let open_runs = self.count_open_runs()?;
        if self.reserve(open_runs)? == Reserved::Unsupported {
            run.pad().map_err(|error| self.error(error))?;
        }
        self.prepare(open_runs)?;
        let sequence = self.write_record(event)?;
        Ok((sequence, run))
    }

    /// Appends the record of an end to the space that was reserved for it.
    pub(crate) fn append_end(mut self, event: &Event, mut run: OpenRun) -> Result<(), AuditError> {
        // The file is not rotated: its space is reserved here.
        self.repair()?;
        let mut written = self.write_record(event);
        if written.is_err() && run.free_padding() {
            written = self.write_record(event);
        }
        drop(run);
        // The record is written: only space is lost if the files of other runs cannot be opened now.
        if self.count_open_runs().is_ok_and(|count| count == 0) {
            self.free_reservation();
        }
        written.map(drop)
    }

    /// Removes an incomplete line, and rotates the file if it is full.
    fn prepare(&mut self, open_runs: u64) -> Result<(), AuditError> {
        self.repair()?;
        if self.removed_bytes.is_some() && open_runs > 0 {
            // Truncating freed what was reserved after the end.
            self.reserve(open_runs)?;
        }
        self.rotate_if_full(open_runs)
    }

    /// Rotates the file if it is full. The reservations of open runs move to the next file.
    pub(crate) fn rotate_if_full(&mut self, open_runs: u64) -> Result<(), AuditError> {
        if !self.log.is_full(self.tail.bytes) {
            return Ok(());
        }
        let path = with_suffix(self.log.path(), "next");
        let next = self.log.open_file(&path)?;
        let reserved = next.set_len(0).and_then(|()| match open_runs {
            0 => Ok(()),
            open_runs => reserve(&next, 0, open_runs).map(drop),
        });
        reserved.map_err(|error| AuditError::io(&path, error))?;
        self.log.rotate(&path)?;
        self.free_reservation();
        self.file = next;
        self.tail.bytes = 0;
        self.tail.lacks_newline = false;
        Ok(())
    }

    /// Removes an incomplete line at the end of the file.
    fn repair(&mut self) -> Result<(), AuditError> {
        if self.is_complete() {
            return Ok(());
        }
        let bytes = self.tail.bytes - self.tail.incomplete_bytes;
        self.file
            .set_len(bytes)
            .map_err(|error| self.error(error))?;
        self.removed_bytes = Some(std::mem::take(&mut self.tail.incomplete_bytes));
        self.tail.bytes = bytes;
        Ok(())
    }

    /// Appends a record and returns its number.
    fn write_record(&mut self, event: &Event) -> Result<u64, AuditError> {
        let last = self.tail.record.as_ref();
        let continues = self.tail.bytes == 0 && last.is_some();
        let position = Position {
            last,
            oldest: if continues {
                self.log.oldest_kept()?
            } else {
                None
            },
            removed_bytes: self.removed_bytes,
        };
        // Falls back to a truncated record rather than none: a skill must not be able to suppress
        // its record by long texts.
        let line = Record::to_line(event, position)
            .or_else(|_| Record::to_line(&event.truncated(), position))?;
        let separator = if self.tail.lacks_newline { "\n" } else { "" };
        let text = format!("{separator}{line}\n");
        let bytes = self.tail.bytes;
        // If truncating fails too, the next writer removes the incomplete line.
        write_or_undo(&mut self.file, text.as_bytes(), |file| {
            let _ = file.set_len(bytes);
        })
        .map_err(|error| self.error(error))?;
        if continues {
            // The record is written. Files that cannot be deleted now are deleted with the next.
            let _ = self.log.delete_oldest();
        }
        Ok(Record::next_sequence(last))
    }

    fn reserve(&self, open_runs: u64) -> Result<Reserved, AuditError> {
        reserve(&self.file, self.tail.bytes, open_runs).map_err(|error| self.error(error))
    }

    /// Frees allocated space after the end of the file.
    fn free_reservation(&self) {
        // It costs only space if this fails.
        let _ = self
            .file
            .metadata()
            .and_then(|file| self.file.set_len(file.len()));
    }

    pub(crate) fn count_open_runs(&self) -> Result<u64, AuditError> {
        count_open_runs(self.log.path()).map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> AuditError {
        AuditError::io(self.log.path(), error)
    }
}

fn read_tail(path: &Path) -> io::Result<LogTail> {
    // Of any size, since only the end is read.
    LogTail::read(&mut open_untrusted(path, u64::MAX)?)
}

/// Writes bytes. If that fails, undoes what was written of them.
fn write_or_undo<W: Write>(
    file: &mut W,
    bytes: &[u8],
    undo: impl FnOnce(&mut W),
) -> io::Result<()> {
    // A single write: a concurrent reader sees the whole line.
    file.write_all(bytes).inspect_err(|_| undo(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that becomes full within a line.
    struct FullDisk {
        written: Vec<u8>,
        max_bytes: usize,
    }

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.max_bytes - self.written.len();
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = room.min(bytes.len());
            self.written.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_short_write_is_undone() {
        let mut disk = FullDisk {
            written: b"one\n".to_vec(),
            max_bytes: 6,
        };
        let written = write_or_undo(&mut disk, b"two\n", |disk| disk.written.truncate(4));
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.written, b"one\n");
        disk.max_bytes = 8;
        write_or_undo(&mut disk, b"two\n", |_| panic!("nothing to undo")).unwrap();
        assert_eq!(disk.written, b"one\ntwo\n");
    }
}

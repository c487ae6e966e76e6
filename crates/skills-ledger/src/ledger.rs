//! The ledger in files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_store::create_private_dir;
use skills_store::trusted_file::{self, Privacy, TrustErrorKind};

use crate::error::LedgerError;
use crate::line::{self, MAX_LINE_BYTES, Parsed};
use crate::reader::Reader;
use crate::{Event, Summary, Timestamp};

/// Maximum size of a file that is read: a larger one has a hole, or is of no ledger.
const MAX_FILE_BYTES: u64 = 1 << 28;

/// A usage ledger: a directory with files of events, one line of JSON per event.
///
/// Events of lists and searches are in `offers.jsonl`, all others in `uses.jsonl`. The first are
/// hundreds of times as many; with files of their own they cannot push out the rare events that show
/// a skill is used once a year.
///
/// Several processes can append at the same time. A batch is one write at the end of a file, so no
/// lock is needed; only a rotation takes one, without waiting. A partial line that a crash left
/// stays in the file, and the next event begins on its own line. On a network file system the lines
/// of two writers can mix; readers skip and count such lines.
///
/// ```
/// use skills_ledger::{Activity, Event, Ledger, RunOutcome, Timestamp};
///
/// # let directory = tempfile::tempdir()?;
/// let ledger = Ledger::new(directory.path().join("ledger"));
/// let now = Timestamp::from_millis(1_764_000_000_000);
/// ledger.append(&[
///     Event::new("pdf", "user", Activity::Offered, now),
///     Event::new("pdf", "user", Activity::ScriptRun(RunOutcome::Succeeded), now),
/// ])?;
/// let summary = ledger.summarize(now)?;
/// assert_eq!(summary.events, 2);
/// assert_eq!(summary.skill("pdf", "user").unwrap().counts.runs(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ledger {
    directory: PathBuf,
    rotation: Rotation,
}

/// When the files of a ledger are rotated, and how many are kept.
///
/// Rotated files are renamed to `uses.jsonl.1`, older ones to `.2` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Size in bytes from which a file is rotated after an event. Default 8 MiB.
    pub max_bytes: u64,
    /// Age of its first event from which a file is rotated. Default 90 days.
    pub max_age: Duration,
    /// Maximum number of rotated files of lists and searches, at least 1. Default 8.
    pub max_offer_files: u32,
    /// Maximum number of rotated files of other events, at least 1. Default 12: three years, unless
    /// more than 8 MiB are recorded in 90 days.
    pub max_use_files: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            max_bytes: 8 << 20,
            max_age: Duration::from_secs(90 * 24 * 60 * 60),
            max_offer_files: 8,
            max_use_files: 12,
        }
    }
}

/// The two series of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Offers,
    Uses,
}

impl Stream {
    pub(crate) const ALL: [Self; 2] = [Self::Offers, Self::Uses];

    fn file_name(self) -> &'static str {
        match self {
            Self::Offers => "offers.jsonl",
            Self::Uses => "uses.jsonl",
        }
    }
}

impl Ledger {
    /// Refers to a ledger without accessing it. The first event creates the directory, with its
    /// parents. On Unix new directories and files are accessible to their owner only.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            rotation: Rotation::default(),
        }
    }

    /// Sets when files are rotated. All writers of one ledger should use the same settings.
    #[must_use]
    pub fn rotation(self, rotation: Rotation) -> Self {
        Self { rotation, ..self }
    }

    /// Returns the directory of the ledger.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends events, at most one write for each of the two files. Performs blocking I/O, and never
    /// waits for another process.
    ///
    /// # Errors
    /// Fails if a file cannot be opened or written; some of the events can be written then.
    pub fn append(&self, events: &[Event<'_>]) -> Result<(), LedgerError> {
        for stream in Stream::ALL {
            let belongs =
                |event: &&Event<'_>| event.activity.is_exposure() == (stream == Stream::Offers);
            let mut lines = Vec::new();
            let mut newest = Timestamp::default();
            for event in events.iter().filter(belongs) {
                line::write(event, &mut lines)?;
                newest = newest.max(event.time);
            }
            if !lines.is_empty() {
                self.append_lines(stream, &lines, newest)?;
            }
        }
        Ok(())
    }

    /// Summarizes all events in one pass. `now` is the time to which ages refer.
    ///
    /// A ledger without files has no events. Files are read while other processes append to them.
    ///
    /// # Errors
    /// Fails if a file cannot be opened or read.
    pub fn summarize(&self, now: Timestamp) -> Result<Summary, LedgerError> {
        let mut reader = Reader::new(now);
        for stream in Stream::ALL {
            reader.read_files(&self.open_files(stream, u32::MAX)?)?;
        }
        Ok(reader.finish())
    }

    /// Opens the files of a stream: the current one, and rotated ones up to a number.
    pub(crate) fn open_files(
        &self,
        stream: Stream,
        max_number: u32,
    ) -> Result<Vec<(PathBuf, File)>, LedgerError> {
        let mut files = Vec::new();
        let mut seen = Vec::new();
        // The newest first: a file that a writer renames meanwhile is then found twice, under its
        // old and its new name, but never missed.
        let mut missing = 0;
        for number in 0..=max_number {
            let path = self.path(stream, number);
            match open_existing(&path)? {
                Some(file) => {
                    let identity = file_identity(&file);
                    if identity.is_none() || !seen.contains(&identity) {
                        seen.push(identity);
                        files.push((path, file));
                    }
                    missing = 0;
                }
                // A writer that was killed during a rotation leaves a gap of one number, and right
                // a rotation leaves no current file.
                None => missing += 1,
            }
            if missing > 1 {
                break;
            }
        }
        Ok(files)
    }

    /// Returns the path of the current file, number 0, or of a rotated one.
    fn path(&self, stream: Stream, number: u32) -> PathBuf {
        let name = stream.file_name();
        match number {
            0 => self.directory.join(name),
            number => self.directory.join(format!("{name}.{number}")),
        }
    }

    fn append_lines(
        &self,
        stream: Stream,
        lines: &[u8],
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let path = self.path(stream, 0);
        let failed = |error| LedgerError::io(&path, error);
        let mut file = match open_for_append(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_private_dir(&self.directory).and_then(|()| open_for_append(&path))
            }
            opened => opened,
        }
        .map_err(failed)?;
        if has_partial_line(&file).map_err(failed)? {
            file.write_all(&[b"\n", lines].concat()).map_err(failed)?;
        } else {
            file.write_all(lines).map_err(failed)?;
        }
        if self.is_full(&file, now).map_err(failed)? {
            drop(file);
            self.rotate(stream, now)?;
        }
        Ok(())
    }

    /// Returns true if a file has reached its maximum size or age.
    fn is_full(&self, file: &File, now: Timestamp) -> io::Result<bool> {
        let bytes = file.metadata()?.len();
        if bytes == 0 {
            return Ok(false);
        }
        let first = first_time(file)?;
        let is_old = first.is_some_and(|first| first.plus(self.rotation.max_age) <= now);
        Ok(bytes >= self.rotation.max_bytes || is_old)
    }

    /// Renames the files of a stream. Does nothing if another process does it.
    fn rotate(&self, stream: Stream, now: Timestamp) -> Result<(), LedgerError> {
        let Some(_lock) = self.try_lock()? else {
            return Ok(());
        };
        // Another process may have rotated since the file was found full.
        match open_existing(&self.path(stream, 0))? {
            Some(file) if self.is_full(&file, now).unwrap_or(false) => {}
            _ => return Ok(()),
        }
        let max_files = match stream {
            Stream::Offers => self.rotation.max_offer_files,
            Stream::Uses => self.rotation.max_use_files,
        };
        let max_files = max_files.max(1);
        self.delete_from(stream, max_files + 1)?;
        // Numbers are shifted up to the first free one, so no file is replaced while one is free.
        let mut last = 1;
        while last < max_files && self.path(stream, last).exists() {
            last += 1;
        }
        for number in (1..=last).rev() {
            let from = self.path(stream, number - 1);
            std::fs::rename(&from, self.path(stream, number))
                .map_err(|error| LedgerError::io(&from, error))?;
        }
        Ok(())
    }

    /// Deletes the rotated files from a number on, which are from a higher setting.
    fn delete_from(&self, stream: Stream, first: u32) -> Result<(), LedgerError> {
        let mut number = first;
        loop {
            let path = self.path(stream, number);
            match std::fs::remove_file(&path) {
                Ok(()) => number = number.saturating_add(1),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(LedgerError::io(&path, error)),
            }
        }
    }

    /// Acquires the lock for rotations; `None` if another process holds it. Released when the file
    /// is dropped.
    fn try_lock(&self) -> Result<Option<File>, LedgerError> {
        let path = self.directory.join("lock");
        let file =
            trusted_file::open_lock(&path).map_err(|error| LedgerError::io(&path, error.into()))?;
        Ok(file.try_lock().is_ok().then_some(file))
    }
}

/// Opens or creates a file. In append mode the kernel sets the position with each write.
fn open_for_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    Ok(trusted_file::open_with(path, &mut options)?)
}

/// Opens a file for reading; `None` if it does not exist.
fn open_existing(path: &Path) -> Result<Option<File>, LedgerError> {
    let opened = trusted_file::open(path, Privacy::Readable).and_then(|file| {
        trusted_file::check_size(&file, path, MAX_FILE_BYTES)?;
        Ok(file)
    });
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == TrustErrorKind::NotFound => Ok(None),
        Err(error) => Err(LedgerError::io(path, error.into())),
    }
}

/// Returns true if a file does not end with a newline.
fn has_partial_line(mut file: &File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Returns the time of the first event of a file; `None` if its first line is not one.
fn first_time(mut file: &File) -> io::Result<Option<Timestamp>> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAX_LINE_BYTES as u64 + 1)
        .read_to_end(&mut start)?;
    let line = start.split(|byte| *byte == b'\n').next();
    Ok(match line::parse(line.unwrap_or_default()) {
        Parsed::Event(event) => Some(event.time),
        _ => None,
    })
}

#[cfg(unix)]
fn file_identity(file: &File) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Elsewhere a file that is renamed while it is read can be counted twice.
#[cfg(not(unix))]
fn file_identity(_file: &File) -> Option<(u64, u64)> {
    None
}

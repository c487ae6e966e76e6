//! The end of a log file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::record::Record;

/// The end of a file.
#[derive(Debug)]
pub(crate) struct LogTail {
    /// The last record.
    pub(crate) record: Option<Record>,
    /// The length of the file.
    pub(crate) bytes: u64,
    /// The length of an incomplete record after the last newline, which a crash left.
    pub(crate) incomplete_bytes: u64,
    /// True if the last record lacks its newline.
    pub(crate) lacks_newline: bool,
}

impl LogTail {
    /// Reads backwards from the end until a record is found, since a log can be large.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if its last 16 MiB contain no record.
    pub(crate) fn read(file: &mut File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let mut chunk_bytes = FIRST_CHUNK_BYTES;
        loop {
            let start = bytes.saturating_sub(chunk_bytes);
            file.seek(SeekFrom::Start(start))?;
            let mut end = Vec::new();
            file.take(chunk_bytes).read_to_end(&mut end)?;
            let mut lines = end.split(|b| *b == b'\n');
            if start > 0 {
                // The first line may be the rest of a longer one, and a record in the middle of a
                // line is not a record.
                lines.next();
            }
            let last = lines.next_back().unwrap_or_default();
            let unended = Record::parse(last).filter(|record| record.hash_matches);
            let lacks_newline = unended.is_some();
            let record = unended.or_else(|| lines.rev().find_map(Record::parse));
            if record.is_some() || start == 0 {
                let incomplete_bytes = if lacks_newline { 0 } else { last.len() as u64 };
                return Ok(Self {
                    record,
                    bytes,
                    incomplete_bytes,
                    lacks_newline,
                });
            }
            // The memory of a writer is bounded for any file, also for a sparse one.
            if chunk_bytes >= MAX_CHUNK_BYTES {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its last 16 MiB contain no record",
                ));
            }
            // Growing steps keep a long incomplete line from taking quadratic time.
            chunk_bytes *= 4;
        }
    }
}

/// Number of bytes read first from the end of a file: a few records.
const FIRST_CHUNK_BYTES: u64 = 4 * 1024;
/// Maximum number of bytes that are searched for the last record.
const MAX_CHUNK_BYTES: u64 = 16 << 20;

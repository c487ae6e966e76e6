//! Writes to a file, within the quota.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::quota::WriteQuota;

/// The maximum number of bytes per write.
const CHUNK_BYTES: usize = 64 * 1024;

/// Writes to one file, in place or at its end.
pub(super) struct QuotaWriter {
    file: Arc<File>,
    quota: Arc<WriteQuota>,
    position: Position,
    is_closed: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Position {
    Offset(u64),
    End,
}

impl QuotaWriter {
    pub(super) fn new(file: Arc<File>, quota: Arc<WriteQuota>, position: Position) -> Self {
        Self {
            file,
            quota,
            position,
            is_closed: false,
        }
    }

    /// Writes the first part of `bytes` and returns its length: all of it, unless it is long.
    pub(super) fn write_partial(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(CHUNK_BYTES)];
        let offset = match self.position {
            Position::Offset(offset) => offset,
            // Read for each write, since the file may have grown through another handle.
            Position::End => self.file.metadata()?.len(),
        };
        write_at(&self.file, &self.quota, bytes, offset)?;
        if let Position::Offset(offset) = &mut self.position {
            *offset = offset.saturating_add(bytes.len() as u64);
        }
        Ok(bytes.len())
    }
}

/// Writes all of `bytes` at `offset`.
pub(super) fn write_at(
    file: &File,
    quota: &WriteQuota,
    bytes: &[u8],
    offset: u64,
) -> io::Result<()> {
    // Counted before it is written: the quota is not exceeded even for a moment.
    quota.count_write(offset, bytes.len() as u64)?;
    #[cfg(unix)]
    // At an offset, since all handles of an open file share its position.
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

#[async_trait]
impl Pollable for QuotaWriter {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for QuotaWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if self.is_closed {
            return Err(StreamError::Closed);
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match self.write_partial(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) => {
                    // A stream is closed after its first error, as the interface requires.
                    self.is_closed = true;
                    return Err(StreamError::LastOperationFailed(error.into()));
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        if self.is_closed {
            Err(StreamError::Closed)
        } else {
            Ok(())
        }
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        if self.is_closed {
            Err(StreamError::Closed)
        } else {
            Ok(CHUNK_BYTES)
        }
    }
}

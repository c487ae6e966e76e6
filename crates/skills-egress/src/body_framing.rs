//! Finds the end of a request body.

use crate::close_reason::{RejectReason, malformed};
use crate::http_head::Fields;

/// The maximum number of hexadecimal digits of a chunk size, so that it fits into 64 bits.
const MAX_SIZE_DIGITS: u8 = 15;

/// The remaining part of a body. Bytes after its end do not belong to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// This many bytes.
    Length(u64),
    /// Chunks, with the current position.
    Chunked(ChunkState),
}

/// A position in `size CR LF data CR LF … 0 CR LF CR LF`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkState {
    Size { value: u64, digits: u8 },
    SizeLf { value: u64 },
    Data { remaining: u64 },
    DataCr,
    DataLf,
    LastCr,
    LastLf,
    End,
}

impl BodyFraming {
    pub(crate) const EMPTY: Self = Self::Length(0);

    /// Reads the framing from the header fields. Rejects two lengths, even equal ones, and a
    /// transfer encoding other than `chunked`.
    pub(crate) fn from_fields(fields: &Fields) -> Result<Option<Self>, RejectReason> {
        // Lengths that two parsers resolve differently would hide a second request in the body.
        match (
            fields.unique_value("content-length")?,
            fields.unique_value("transfer-encoding")?,
        ) {
            (None, None) => Ok(None),
            (Some(length), None) => parse_length(length).map(|length| Some(Self::Length(length))),
            (None, Some(encoding)) if encoding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Some(Self::Chunked(ChunkState::Size {
                    value: 0,
                    digits: 0,
                })))
            }
            // The end of a body in another encoding is known only to its decoder.
            (None, Some(_)) => Err(malformed("transfer encoding other than `chunked`")),
            (Some(_), Some(_)) => Err(malformed("both content length and transfer encoding")),
        }
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(ChunkState::End))
    }

    /// Returns how many of `bytes` belong to the body, and advances. Chunk extensions and trailers
    /// are rejected, so that there is only one way to parse chunks.
    pub(crate) fn consume(&mut self, bytes: &[u8]) -> Result<usize, RejectReason> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            match self {
                Self::Length(left) | Self::Chunked(ChunkState::Data { remaining: left })
                    if *left > 0 =>
                {
                    let step = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= step as u64;
                    at += step;
                }
                Self::Chunked(chunk) => {
                    *chunk = chunk.advance(bytes[at])?;
                    at += 1;
                }
                Self::Length(_) => break,
            }
            if let Self::Chunked(chunk @ ChunkState::Data { remaining: 0 }) = self {
                *chunk = ChunkState::DataCr;
            }
        }
        Ok(at)
    }
}

impl ChunkState {
    fn advance(self, byte: u8) -> Result<Self, RejectReason> {
        match (self, byte) {
            (Self::Size { value, digits }, _)
                if byte.is_ascii_hexdigit() && digits < MAX_SIZE_DIGITS =>
            {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                Ok(Self::Size {
                    value: value * 16 + u64::from(digit),
                    digits: digits + 1,
                })
            }
            // At least one digit: an empty size would be 0 for some parsers.
            (Self::Size { value, digits: 1.. }, b'\r') => Ok(Self::SizeLf { value }),
            (Self::SizeLf { value: 0 }, b'\n') => Ok(Self::LastCr),
            (Self::SizeLf { value }, b'\n') => Ok(Self::Data { remaining: value }),
            (Self::DataCr, b'\r') => Ok(Self::DataLf),
            (Self::DataLf, b'\n') => Ok(Self::Size {
                value: 0,
                digits: 0,
            }),
            (Self::LastCr, b'\r') => Ok(Self::LastLf),
            (Self::LastLf, b'\n') => Ok(Self::End),
            // Also extensions and trailers, which parsers treat differently.
            _ => Err(malformed("invalid chunk")),
        }
    }
}

/// Parses a length: only digits, no sign, no list, and at most 64 bits.
fn parse_length(text: &[u8]) -> Result<u64, RejectReason> {
    // `u64::from_str` accepts a sign, which servers do not.
    let digits = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or(malformed("invalid content length"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    /// Feeds a body in pieces of `size` and returns the bytes that belong to it.
    fn consumed(fields: &str, bytes: &[u8], size: usize) -> Result<(Vec<u8>, bool), RejectReason> {
        let (request, _) =
            Request::parse(format!("POST / HTTP/1.1\r\n{fields}\r\n").as_bytes())?.unwrap();
        let mut body = BodyFraming::from_fields(&request.fields)?.unwrap_or(BodyFraming::EMPTY);
        let mut all = Vec::new();
        for piece in bytes.chunks(size) {
            let length = body.consume(piece)?;
            all.extend_from_slice(&piece[..length]);
            if body.is_done() {
                break;
            }
        }
        Ok((all, body.is_done()))
    }

    #[test]
    fn bodies_end_at_their_declared_length_for_any_chunk_size() {
        for size in 1..12 {
            let check = |fields: &str, bytes: &[u8], expected: &[u8], done: bool| {
                assert_eq!(
                    consumed(fields, bytes, size),
                    Ok((expected.to_vec(), done)),
                    "{fields:?} {size}"
                );
            };
            check("", b"GET / HTTP/1.1\r\n\r\n", b"", true);
            check("Content-Length: 0\r\n", b"GET", b"", true);
            check("Content-Length: 3\r\n", b"abcGET", b"abc", true);
            check("Content-Length: 9\r\n", b"abc", b"abc", false);
            let chunks = b"3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n";
            check(
                "Transfer-Encoding: Chunked\r\n",
                &[chunks.as_slice(), b"GET / HTTP/1.1"].concat(),
                chunks,
                true,
            );
            check(
                "Transfer-Encoding: chunked\r\n",
                b"3\r\nab",
                b"3\r\nab",
                false,
            );
        }
    }

    #[test]
    fn smuggling_is_rejected() {
        for fields in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length: +3\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 0x3\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
        ] {
            assert!(consumed(fields, b"", 1).is_err(), "{fields:?}");
        }
        for bytes in [
            "3;ext=1\r\nabc\r\n0\r\n\r\n",
            "3 \r\nabc\r\n0\r\n\r\n",
            " 3\r\nabc\r\n0\r\n\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "0x3\r\nabc\r\n0\r\n\r\n",
            "-3\r\nabc\r\n0\r\n\r\n",
            "\r\nabc\r\n0\r\n\r\n",
            "0000000000000003\r\nabc\r\n0\r\n\r\n",
            "0\r\nTrailer: x\r\n\r\n",
            "0\r\n\n",
        ] {
            for size in [1, 2, 64] {
                assert!(
                    consumed("Transfer-Encoding: chunked\r\n", bytes.as_bytes(), size).is_err(),
                    "{bytes:?} {size}"
                );
            }
        }
    }
}

//! The head of an HTTP/1 message, parsed strictly: anything that two parsers could interpret
//! differently is rejected.

use crate::buffered::ParseResult;
use crate::close_reason::{RejectReason, malformed};

/// A first line and header fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) first_line: String,
    fields: Vec<Field>,
}

#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: String,
    value: Vec<u8>,
}

impl Head {
    /// Parses a head including its empty line, and returns its length too; `None` if it is
    /// incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> ParseResult<Self> {
        let Some(length) = find_end(bytes)? else {
            return Ok(None);
        };
        // Lines end in CR LF, which `end` has checked; the last two are the end of the last line
        // and the empty one.
        let mut lines = bytes[..length - 4]
            .split(|b| *b == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first_line = lines
            .next()
            .and_then(|line| std::str::from_utf8(line).ok())
            .filter(|line| line.is_ascii());
        let first_line = first_line
            .ok_or(malformed("first line is not ASCII"))?
            .to_owned();
        let fields = lines.map(parse_field).collect::<Result<_, _>>()?;
        Ok(Some((Self { first_line, fields }, length)))
    }

    /// Returns the value of a field that must not be repeated.
    pub(crate) fn unique_value(&self, name: &str) -> Result<Option<&[u8]>, RejectReason> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(malformed("duplicate field")),
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.fields
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value.as_slice())
    }

    /// Writes the end-to-end fields, without those in `except`. Hop-by-hop fields are omitted:
    /// `Connection` and the fields it names, `Keep-Alive`, `Proxy-…`, `TE`, `Trailer`, `Upgrade`.
    pub(crate) fn write_fields(&self, except: &[&str], to: &mut Vec<u8>) {
        // `Connection` can name any field as hop-by-hop.
        let named: Vec<&[u8]> = self
            .values("connection")
            .flat_map(|value| value.split(|b| *b == b','))
            .map(<[u8]>::trim_ascii)
            .collect();
        for Field { name, value } in &self.fields {
            let is = |other: &[u8]| name.as_bytes().eq_ignore_ascii_case(other);
            let is_proxys = name.len() >= 6 && name.as_bytes()[..6].eq_ignore_ascii_case(b"proxy-");
            let is_hop = [
                "connection",
                "keep-alive",
                "te",
                "trailer",
                "upgrade",
                "http2-settings",
            ]
            .iter()
            .any(|hop| is(hop.as_bytes()));
            if is_proxys
                || is_hop
                || except.iter().any(|except| is(except.as_bytes()))
                || named.iter().any(|named| is(named))
            {
                continue;
            }
            write_field(name, value, to);
        }
    }
}

pub(crate) fn write_field(name: &str, value: &[u8], to: &mut Vec<u8>) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        to.extend_from_slice(part);
    }
}

/// Returns true if a head may end in the bytes after the first `before`.
pub(crate) fn may_be_complete(bytes: &[u8], before: usize) -> bool {
    bytes
        // The end can begin in the bytes of an earlier read.
        .get(before.saturating_sub(3)..)
        .is_some_and(|read| read.windows(4).any(|four| four == b"\r\n\r\n"))
}

/// Finds the end of a head. Invalid bytes are rejected immediately, not only when the head is
/// complete.
fn find_end(bytes: &[u8]) -> Result<Option<usize>, RejectReason> {
    let mut line_start = 0;
    let mut before = 0;
    for (index, byte) in bytes.iter().copied().enumerate() {
        match (before, byte) {
            (b'\r', b'\n') if index == line_start + 1 && line_start == 0 => {
                return Err(malformed("first line is empty"));
            }
            (b'\r', b'\n') if index == line_start + 1 => return Ok(Some(index + 1)),
            (b'\r', b'\n') => line_start = index + 1,
            // A lone CR or LF is a line end for some parsers only.
            (b'\r', _) | (_, b'\n') => return Err(malformed("line does not end in CR LF")),
            (_, b'\r' | b'\t') => {}
            (_, 0..0x20 | 0x7f) => return Err(malformed("control character")),
            _ => {}
        }
        before = byte;
    }
    Ok(None)
}

/// Parses `name: value`. A continuation line has no valid name and is rejected with the rest.
fn parse_field(line: &[u8]) -> Result<Field, RejectReason> {
    let colon = line
        .iter()
        .position(|b| *b == b':')
        .ok_or(malformed("field without a colon"))?;
    let name = &line[..colon];
    // White space before the colon is ignored by some parsers, and so would hide a field.
    if name.is_empty() || !name.iter().all(|b| is_token(*b)) {
        return Err(malformed("invalid field name"));
    }
    Ok(Field {
        name: name.iter().copied().map(char::from).collect(),
        value: line[colon + 1..].trim_ascii().to_vec(),
    })
}

/// Returns true if a byte is allowed in a field name or method.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_parsed_to_their_end() {
        let text = b"GET / HTTP/1.1\r\nA: b \r\na:\tc\r\n\r\nrest";
        let (head, length) = Head::parse(text).unwrap().unwrap();
        assert_eq!(
            (head.first_line.as_str(), &text[length..]),
            ("GET / HTTP/1.1", b"rest".as_slice())
        );
        assert_eq!(head.values("A").collect::<Vec<_>>(), [b"b", b"c"]);
        assert!(head.unique_value("a").is_err());
        assert_eq!(head.unique_value("b"), Ok(None));
        for cut in 0..length {
            assert_eq!(Head::parse(&text[..cut]), Ok(None), "{cut}");
            assert!(
                may_be_complete(text, cut) && !may_be_complete(&text[..cut], 0),
                "{cut}"
            );
        }
    }

    #[test]
    fn ambiguous_heads_are_rejected() {
        for text in [
            "\r\nGET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\n\n",
            "GET / HTTP/1.1\n",
            "GET / HTTP/1.1\r\nA: b\n\r\n",
            "GET / HTTP/1.1\rA: b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\0\r\n\r\n",
            "GET /\x01",
            "GET /\x7f HTTP/1.1\r\n\r\n",
            "GET /é HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\n A: b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n\tc: d\r\n\r\n",
            "GET / HTTP/1.1\r\n: b\r\n\r\n",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            "GET / HTTP/1.1\r\nA\u{e9}: b\r\n\r\n",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn hop_by_hop_fields_are_not_forwarded() {
        let text =
            b"GET / HTTP/1.1\r\nConnection: close, X-Mine ,a\r\nconnection: b\r\nKeep-Alive: 1\r\nProxy-Authorization: x\r\nTE: t\r\n\
            Trailer: t\r\nUpgrade: h2c\r\nx-mine: 1\r\nA: 1\r\nB: 2\r\nHost: h\r\nProxyless: yes\r\nC: 3\r\n\r\n";
        let (head, _) = Head::parse(text).unwrap().unwrap();
        let mut written = Vec::new();
        head.write_fields(&["host"], &mut written);
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "Proxyless: yes\r\nC: 3\r\n"
        );
    }
}

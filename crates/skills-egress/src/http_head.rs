//! The head of an HTTP/1 message. Anything that two parsers could interpret differently is
//! rejected.
//!
//! hyper is not used: it joins equal lengths, drops a length beside an encoding, and accepts a lone
//! LF, chunk extensions and trailers, before its caller could reject them.

use httparse::{Error, Header, Status};

use crate::close_reason::{RejectReason, malformed};

/// The maximum number of header fields.
pub(crate) const MAX_FIELDS: usize = 100;

/// Header fields in their order: names, and values without white space around them.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    pub(crate) fn new(headers: &[Header<'_>]) -> Self {
        let owned = headers
            .iter()
            .map(|header| (header.name.to_owned(), header.value.to_owned()));
        Self(owned.collect())
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
        self.0
            .iter()
            .filter(move |(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// Writes the end-to-end fields, without those in `except`. Hop-by-hop fields are omitted:
    /// `Connection` and the fields it names, `Keep-Alive`, `Proxy-…`, `TE`, `Trailer`, `Upgrade`.
    pub(crate) fn write_to(&self, except: &[&str], to: &mut Vec<u8>) {
        // `Connection` can name any field as hop-by-hop.
        let named: Vec<&[u8]> = self
            .values("connection")
            .flat_map(|value| value.split(|b| *b == b','))
            .map(<[u8]>::trim_ascii)
            .collect();
        for (name, value) in &self.0 {
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

/// Checks what the library tolerates, and returns the length of the head that it has parsed; `None`
/// if the head is incomplete.
pub(crate) fn head_length(
    bytes: &[u8],
    parsed: httparse::Result<usize>,
) -> Result<Option<usize>, RejectReason> {
    let length = match parsed {
        Ok(Status::Complete(length)) => Some(length),
        Ok(Status::Partial) => None,
        Err(error) => return Err(malformed(describe(error))),
    };
    let head = length.map_or(bytes, |length| &bytes[..length]);
    // The library skips empty lines.
    if head.starts_with(b"\r") || head.starts_with(b"\n") {
        return Err(malformed("first line is empty"));
    }
    // A lone LF is a line end for some parsers only, including the library.
    if head
        .windows(2)
        .any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
    {
        return Err(malformed("line does not end in CR LF"));
    }
    Ok(length)
}

fn describe(error: Error) -> &'static str {
    match error {
        Error::HeaderName => "invalid field name",
        Error::HeaderValue => "invalid field value",
        Error::NewLine => "line does not end in CR LF",
        Error::Status => "invalid status line",
        Error::Token => "invalid method or target",
        Error::TooManyHeaders => "too many fields",
        // HTTP/2 would carry many requests on one connection.
        Error::Version => "version other than HTTP/1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    #[test]
    fn heads_are_parsed_to_their_end() {
        let text = b"GET / HTTP/1.1\r\nA: b \r\na:\tc\r\n\r\nrest";
        let (request, length) = Request::parse(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"rest");
        let fields = request.fields;
        assert_eq!(fields.values("A").collect::<Vec<_>>(), [b"b", b"c"]);
        assert!(fields.unique_value("a").is_err());
        assert_eq!(fields.unique_value("b"), Ok(None));
        for cut in 0..length {
            assert!(Request::parse(&text[..cut]).unwrap().is_none(), "{cut}");
        }
    }

    #[test]
    fn ambiguous_heads_are_rejected() {
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "A: b\r\n".repeat(MAX_FIELDS + 1)
        );
        for text in [
            "\r\nGET / HTTP/1.1\r\n\r\n",
            "\r",
            "GET / HTTP/1.1\n\n",
            "GET / HTTP/1.1\n",
            "GET / HTTP/1.1\r\nA: b\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n\n",
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
            "GET / HTTP/1.1 \r\n\r\n",
            "GET\t/ HTTP/1.1\r\n\r\n",
            &many,
        ] {
            assert!(Request::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn hop_by_hop_fields_are_not_forwarded() {
        let text =
            b"GET / HTTP/1.1\r\nConnection: close, X-Mine ,a\r\nconnection: b\r\nKeep-Alive: 1\r\nProxy-Authorization: x\r\nTE: t\r\n\
            Trailer: t\r\nUpgrade: h2c\r\nx-mine: 1\r\nA: 1\r\nB: 2\r\nHost: h\r\nProxyless: yes\r\nC: 3\r\n\r\n";
        let (request, _) = Request::parse(text).unwrap().unwrap();
        let mut written = Vec::new();
        request.fields.write_to(&["host"], &mut written);
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "Proxyless: yes\r\nC: 3\r\n"
        );
    }
}

//! The first message of TLS: the host that a client names before anything is encrypted (RFC 8446,
//! RFC 6066).

use crate::close_reason::RejectReason;

/// The type of a handshake record.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// The maximum size of a plaintext record.
const MAX_RECORD: usize = 1 << 14;
/// The maximum size of a handshake message.
const MAX_HELLO: usize = 64 * 1024;

/// Parses a `ClientHello`, which may span several records, and returns the host name in it, which
/// may be missing. Returns `None` if the message is incomplete.
pub(crate) fn parse_client_hello(bytes: &[u8]) -> Result<Option<Option<Vec<u8>>>, RejectReason> {
    let mut message = Vec::new();
    let mut rest = ByteReader(bytes);
    loop {
        if let Some(body) = handshake_body(&message)? {
            return parse_hello(ByteReader(body))
                .map(Some)
                .ok_or(RejectReason::NotTls);
        }
        let [kind, major, minor, high, low, after @ ..] = rest.0 else {
            // An incomplete record must have a valid beginning, otherwise there is nothing to wait
            // for.
            let begins_well = rest
                .0
                .iter()
                .zip([HANDSHAKE, 3])
                .all(|(byte, expected)| *byte == expected);
            return if begins_well {
                Ok(None)
            } else {
                Err(RejectReason::NotTls)
            };
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        // Versions in records are historical; TLS 1.3 still sends 1.0 or 1.2 here.
        if (*kind, *major) != (HANDSHAKE, 3) || *minor > 4 || length == 0 || length > MAX_RECORD {
            return Err(RejectReason::NotTls);
        }
        message.extend_from_slice(&after[..length.min(after.len())]);
        rest = ByteReader(after.get(length..).unwrap_or_default());
        if after.len() < length {
            // An incomplete record can cause a rejection, but cannot complete the message.
            return handshake_body(&message).and_then(|body| {
                if body.is_some() {
                    Err(RejectReason::NotTls)
                } else {
                    Ok(None)
                }
            });
        }
    }
}

/// Returns true if a message may end in the bytes after the first `before`: if a record ends there.
pub(crate) fn may_be_complete(bytes: &[u8], before: usize) -> bool {
    // Only the headers of records are read, which is cheap enough to repeat after each read.
    let mut end = 0;
    let mut rest = ByteReader(bytes);
    while let Some(_record) = rest.read_bytes(3).and_then(|_| rest.read_u16_prefixed()) {
        end = bytes.len() - rest.0.len();
    }
    end > before
}

/// Returns the body of the message if it is complete. Nothing may follow it, since the server has
/// not responded yet.
fn handshake_body(message: &[u8]) -> Result<Option<&[u8]>, RejectReason> {
    let [kind, a, b, c, body @ ..] = message else {
        return if message.first().is_none_or(|kind| *kind == CLIENT_HELLO) {
            Ok(None)
        } else {
            Err(RejectReason::NotTls)
        };
    };
    let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
    if *kind != CLIENT_HELLO || length > MAX_HELLO || body.len() > length {
        return Err(RejectReason::NotTls);
    }
    Ok((body.len() == length).then_some(body))
}

/// Parses the body of a hello; `None` if it is malformed.
fn parse_hello(mut body: ByteReader<'_>) -> Option<Option<Vec<u8>>> {
    body.read_bytes(2 + 32)?;
    let _session = body.read_u8_prefixed()?;
    let _ciphers = body.read_u16_prefixed()?;
    let _compressions = body.read_u8_prefixed()?;
    if body.0.is_empty() {
        // Old clients have no extensions.
        return Some(None);
    }
    let mut extensions = ByteReader(body.read_u16_prefixed()?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.read_u16()?;
        let extension = extensions.read_u16_prefixed()?;
        if kind == SERVER_NAME
            && name
                .replace(parse_server_name(ByteReader(extension))?)
                // With two names the server would choose which one counts.
                .is_some()
        {
            return None;
        }
    }
    body.0.is_empty().then_some(name)
}

/// Parses the only name of the extension. With a list of several, the server would choose which one
/// counts.
fn parse_server_name(mut extension: ByteReader<'_>) -> Option<Vec<u8>> {
    let mut list = ByteReader(extension.read_u16_prefixed()?);
    let kind = list.read_u8()?;
    let name = list.read_u16_prefixed()?;
    (kind == HOST_NAME && list.0.is_empty() && extension.0.is_empty()).then(|| name.to_vec())
}

/// A reader over a byte slice.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn read_bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn read_u8(&mut self) -> Option<u8> {
        self.read_bytes(1)?.first().copied()
    }

    fn read_u16(&mut self) -> Option<u16> {
        self.read_bytes(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Reads bytes with a one-byte length prefix.
    fn read_u8_prefixed(&mut self) -> Option<&'a [u8]> {
        let length = self.read_u8()?;
        self.read_bytes(length.into())
    }

    fn read_u16_prefixed(&mut self) -> Option<&'a [u8]> {
        let length = self.read_u16()?;
        self.read_bytes(length.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::buffered::BufferedStream;

    fn block16(bytes: &[u8]) -> Vec<u8> {
        [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
    }

    fn extension(kind: u16, bytes: &[u8]) -> Vec<u8> {
        [kind.to_be_bytes().as_slice(), &block16(bytes)].concat()
    }

    fn name(name: &[u8]) -> Vec<u8> {
        extension(
            SERVER_NAME,
            &block16(&[&[HOST_NAME], block16(name).as_slice()].concat()),
        )
    }

    fn message(extensions: &[u8]) -> Vec<u8> {
        let body = [
            &[3, 3],
            [7; 32].as_slice(),
            &[1, 9],
            &block16(&[0x13, 1]),
            &[1, 0],
            &block16(extensions),
        ]
        .concat();
        let [_, a, b, c] = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&[CLIENT_HELLO, a, b, c], body.as_slice()].concat()
    }

    /// Splits a message into records of `size` bytes.
    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message
            .chunks(size)
            .flat_map(|part| [&[HANDSHAKE, 3, 1], block16(part).as_slice()].concat())
            .collect()
    }

    #[test]
    fn the_name_is_found_for_any_record_size() {
        let message = message(
            &[
                extension(10, b"x"),
                name(b"A.example"),
                extension(0xff, b""),
            ]
            .concat(),
        );
        for size in [1, 2, 5, 50, 10_000] {
            let bytes = records(&message, size);
            assert_eq!(
                parse_client_hello(&bytes),
                Ok(Some(Some(b"A.example".to_vec()))),
                "{size}"
            );
            assert_eq!(
                parse_client_hello(&[bytes.as_slice(), b"early data"].concat()),
                Ok(Some(Some(b"A.example".to_vec()))),
                "{size}"
            );
            (0..bytes.len()).for_each(|cut| {
                assert_eq!(parse_client_hello(&bytes[..cut]), Ok(None), "{size} {cut}")
            });
            (0..bytes.len()).for_each(|cut| assert!(may_be_complete(&bytes, cut), "{size} {cut}"));
        }
    }

    #[tokio::test]
    async fn a_long_message_is_parsed_as_soon_as_it_is_complete() {
        let message = message(&[extension(10, &[7; 1_700]), name(b"a.example")].concat());
        let bytes = records(&message, 10_000);
        assert!(!may_be_complete(&bytes[..1_400], 0));
        let (mut client, server) = tokio::io::duplex(1_400);
        let mut server = BufferedStream::new(server);
        let parse = |bytes: &[u8]| parse_client_hello(bytes).map(|name| name.map(|name| (name, 0)));
        // The client stays connected, so the reader cannot be waiting for the end of the stream.
        let (found, written) = tokio::join!(
            server.parse_incrementally(16 * 1024, may_be_complete, parse),
            client.write_all(&bytes)
        );
        assert_eq!(
            (found, written.is_ok()),
            (Ok(Some(b"a.example".to_vec())), true)
        );
    }

    #[test]
    fn messages_without_a_name_are_parsed() {
        assert_eq!(
            parse_client_hello(&records(&message(b""), 99)),
            Ok(Some(None))
        );
        let old = [
            &[CLIENT_HELLO, 0, 0, 41, 3, 1],
            [7; 32].as_slice(),
            &[0, 0, 2, 0, 5, 1, 0],
        ]
        .concat();
        assert_eq!(parse_client_hello(&records(&old, 99)), Ok(Some(None)));
    }

    #[test]
    fn other_messages_and_two_names_are_rejected() {
        let two = block16(&[&[HOST_NAME, 0, 1, b'a'], [HOST_NAME, 0, 1, b'b'].as_slice()].concat());
        let right = message(&name(b"a"));
        for (what, bytes) in [
            ("plain text", b"GET / HTTP/1.1\r\n".to_vec()),
            ("SSH", b"SSH-2.0-x\r\n".to_vec()),
            ("one wrong byte", vec![21]),
            ("two wrong bytes", vec![HANDSHAKE, 2]),
            ("SSL 2", vec![0x80, 0x2e, 1, 3, 1, 0, 0]),
            ("an empty record", vec![HANDSHAKE, 3, 1, 0, 0]),
            ("a long record", vec![HANDSHAKE, 3, 1, 0xff, 0xff]),
            ("an alert", vec![21, 3, 1, 0, 2, 1, 0]),
            ("a server's hello", records(&[2, 0, 0, 0], 99)),
            ("a long message", records(&[CLIENT_HELLO, 0xff, 0, 0], 99)),
            (
                "two lists of names",
                records(&message(&[name(b"a"), name(b"b")].concat()), 99),
            ),
            (
                "two names",
                records(&message(&extension(SERVER_NAME, &two)), 99),
            ),
            (
                "a name of another kind",
                records(
                    &message(&extension(SERVER_NAME, &block16(&[1, 0, 1, b'a']))),
                    99,
                ),
            ),
            (
                "an empty list",
                records(&message(&extension(SERVER_NAME, &[0, 0])), 99),
            ),
            (
                "bytes after the list",
                records(
                    &message(&extension(SERVER_NAME, &[0, 4, 0, 0, 1, b'a', 9])),
                    99,
                ),
            ),
            (
                "another message after it",
                records(&[right.as_slice(), &[1]].concat(), 999),
            ),
            ("an extension cut short", records(&message(&[0, 9, 0]), 99)),
        ] {
            assert_eq!(
                parse_client_hello(&bytes),
                Err(RejectReason::NotTls),
                "{what}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_client_hello(&bytes);
            let _ = parse_client_hello(&records(&message(&bytes), 40));
            let _ = parse_client_hello(&records(&bytes, 40));
        }

        #[test]
        fn no_prefix_of_a_hello_is_complete(at in any::<prop::sample::Index>(), name_bytes in "[a-z.]{1,60}", size in 1_usize..400) {
            let bytes = records(&message(&name(name_bytes.as_bytes())), size);
            let cut = at.index(bytes.len());
            prop_assert!(!matches!(parse_client_hello(&bytes[..cut]), Ok(Some(_))));
            prop_assert_eq!(parse_client_hello(&bytes), Ok(Some(Some(name_bytes.into_bytes()))));
        }

        #[test]
        fn a_changed_byte_never_allows_two_interpretations(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = records(&message(&[name(b"a.example"), extension(10, b"abc")].concat()), 30);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            // Bytes after the message do not change the result.
            if let Ok(Some(found)) = parse_client_hello(&bytes) {
                prop_assert_eq!(parse_client_hello(&[bytes.as_slice(), &[0; 40]].concat()), Ok(Some(found)));
            }
        }
    }
}

//! The first message of TLS: the host that a client names before anything is encrypted.

use rustls::server::Acceptor;
use rustls::{Error, PeerMisbehaved};

use crate::buffered::ParseResult;
use crate::close_reason::RejectReason;

/// Parses a `ClientHello` that arrives in pieces.
#[derive(Default)]
pub(crate) struct ClientHelloParser {
    acceptor: Acceptor,
    parsed_bytes: usize,
}

impl ClientHelloParser {
    /// Parses the bytes that are new since the last call, and returns the host name in the message,
    /// which may be missing. `bytes` is everything that was read; it is not consumed, since the
    /// server needs it too.
    ///
    /// A name that is an address counts as missing, as in RFC 6066.
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> ParseResult<Option<Vec<u8>>> {
        let mut unread = bytes.get(self.parsed_bytes..).unwrap_or_default();
        self.parsed_bytes = bytes.len();
        loop {
            match self.acceptor.accept() {
                Ok(Some(accepted)) => {
                    let hello = accepted.client_hello();
                    return Ok(Some((hello.server_name().map(|name| name.into()), 0)));
                }
                Ok(None) if unread.is_empty() => return Ok(None),
                // Reads at most 4 KiB, so that the parser can reject a message before it buffers
                // the rest.
                Ok(None) => {
                    let read = self.acceptor.read_tls(&mut unread);
                    read.map_err(|_| RejectReason::NotTls)?;
                }
                Err((
                    Error::PeerMisbehaved(PeerMisbehaved::ServerNameMustContainOneHostName),
                    _,
                )) => return Err(RejectReason::HostMismatch),
                Err(_) => return Err(RejectReason::NotTls),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    const SERVER_NAME: u16 = 0;
    const SIGNATURE_ALGORITHMS: u16 = 13;
    const HOST_NAME: u8 = 0;

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

    /// A message with these extensions and the required one.
    fn message(extensions: &[u8]) -> Vec<u8> {
        let required = extension(SIGNATURE_ALGORITHMS, &block16(&[4, 3]));
        let body = [
            &[3, 3],
            [7; 32].as_slice(),
            &[1, 9],
            &block16(&[0x13, 1]),
            &[1, 0],
            &block16(&[extensions, &required].concat()),
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

    fn parse(bytes: &[u8]) -> Result<Option<Option<Vec<u8>>>, RejectReason> {
        Ok(ClientHelloParser::default()
            .parse(bytes)?
            .map(|(name, _)| name))
    }

    #[test]
    fn the_name_is_found_for_any_record_size_as_soon_as_the_message_is_complete() {
        let message = message(
            &[
                extension(0xabcd, &[7; 1_700]),
                name(b"A.example"),
                extension(0xff, b""),
            ]
            .concat(),
        );
        for size in [1, 2, 5, 50, 10_000] {
            let bytes = records(&message, size);
            let mut parser = ClientHelloParser::default();
            for cut in 0..bytes.len() {
                assert_eq!(parser.parse(&bytes[..cut]), Ok(None), "{size} {cut}");
            }
            let found = Some((Some(b"a.example".to_vec()), 0));
            assert_eq!(parser.parse(&bytes), Ok(found), "{size}");
            assert_eq!(
                parse(&[bytes.as_slice(), b"early data"].concat()),
                Ok(Some(Some(b"a.example".to_vec()))),
                "{size}"
            );
        }
    }

    #[test]
    fn messages_without_a_name_are_parsed() {
        assert_eq!(parse(&records(&message(b""), 99)), Ok(Some(None)));
        assert_eq!(
            parse(&records(&message(&name(b"192.0.2.1")), 99)),
            Ok(Some(None))
        );
    }

    #[test]
    fn invalid_names_are_rejected() {
        for invalid in [b"a.example\0".as_slice(), b"a b", b"-", b"*.example"] {
            assert_eq!(
                parse(&records(&message(&name(invalid)), 99)),
                Err(RejectReason::HostMismatch),
                "{invalid:?}"
            );
        }
    }

    #[test]
    fn other_messages_and_two_names_are_rejected() {
        let two = block16(&[&[HOST_NAME, 0, 1, b'a'], [HOST_NAME, 0, 1, b'b'].as_slice()].concat());
        let right = message(&name(b"a"));
        let without_extensions = [
            &[CLIENT_HELLO, 0, 0, 41, 3, 1],
            [7; 32].as_slice(),
            &[0, 0, 2, 0, 5, 1, 0],
        ]
        .concat();
        for (what, bytes) in [
            ("plain text", b"GET / HTTP/1.1\r\n".to_vec()),
            ("SSH", b"SSH-2.0-x\r\n".to_vec()),
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
                "an empty list",
                records(&message(&extension(SERVER_NAME, &[0, 0])), 99),
            ),
            ("an empty name", records(&message(&name(b"")), 99)),
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
            ("no extensions", records(&without_extensions, 99)),
        ] {
            assert_eq!(parse(&bytes), Err(RejectReason::NotTls), "{what}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&records(&message(&bytes), 40));
            let _ = parse(&records(&bytes, 40));
        }

        #[test]
        fn a_changed_byte_never_allows_two_interpretations(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = records(&message(&[name(b"a.example"), extension(10, b"abc")].concat()), 30);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            // Bytes after the message do not change the result.
            if let Ok(Some(found)) = parse(&bytes) {
                prop_assert_eq!(parse(&[bytes.as_slice(), &[0; 40]].concat()), Ok(Some(found)));
            }
        }
    }
}

//! The subset of SOCKS 5 (RFC 1928) that clients need: no authentication, `CONNECT`, names and
//! addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::buffered::ParseResult;
use crate::close_reason::{CloseReason, RejectReason, malformed};
use crate::host::Host;

/// The version, which is the first byte that a client sends.
pub(crate) const VERSION: u8 = 5;
/// The first byte of a SOCKS 4 client, and the response that it understands as a rejection.
pub(crate) const VERSION_4: u8 = 4;
pub(crate) const SOCKS4_REJECTED: [u8; 8] = [0, 0x5b, 0, 0, 0, 0, 0, 0];
/// The responses to a greeting: no authentication required, or no acceptable method.
pub(crate) const NO_AUTHENTICATION: [u8; 2] = [VERSION, 0];
pub(crate) const NO_ACCEPTABLE_METHOD: [u8; 2] = [VERSION, 0xff];
/// The response to an accepted request. The bound address in it is zero, since clients do not need
/// it.
pub(crate) const SUCCEEDED: [u8; 10] = reply(0);

const CONNECT: u8 = 1;
const UNSUPPORTED_COMMAND: RejectReason = malformed("SOCKS command other than CONNECT");
const UNSUPPORTED_ADDRESS_TYPE: RejectReason = malformed("unknown SOCKS address type");

/// Parses a greeting, and returns whether the client accepts no authentication.
pub(crate) fn parse_greeting(bytes: &[u8]) -> ParseResult<bool> {
    match bytes {
        [VERSION, count, rest @ ..] => {
            let methods = rest.get(..usize::from(*count));
            Ok(methods.map(|methods| (methods.contains(&0), 2 + methods.len())))
        }
        [] | [VERSION] => Ok(None),
        _ => Err(malformed("SOCKS version other than 5")),
    }
}

/// The destination of a client: the host as written, and the port.
pub(crate) type SocksTarget = (Vec<u8>, u16);

/// Parses a request.
pub(crate) fn parse_request(bytes: &[u8]) -> ParseResult<SocksTarget> {
    let [version, command, reserved, kind, rest @ ..] = bytes else {
        return Ok(None);
    };
    if (*version, *reserved) != (VERSION, 0) {
        return Err(malformed("invalid SOCKS request"));
    }
    if *command != CONNECT {
        return Err(UNSUPPORTED_COMMAND);
    }
    let (host, length) = match (kind, rest) {
        (1, [a, b, c, d, ..]) => (
            // An address goes through the same checks as one that is written as text.
            Host::from(IpAddr::from(Ipv4Addr::new(*a, *b, *c, *d)))
                .as_str()
                .into(),
            4,
        ),
        (4, [octets @ .., _, _]) if octets.len() >= 16 => {
            let Some(octets) = octets.first_chunk::<16>() else {
                return Ok(None);
            };
            (
                Host::from(IpAddr::from(Ipv6Addr::from(*octets)))
                    .as_str()
                    .into(),
                16,
            )
        }
        (3, [length, rest @ ..]) if rest.len() >= usize::from(*length) => {
            let length = usize::from(*length);
            (rest[..length].to_vec(), 1 + length)
        }
        (1 | 3 | 4, _) => return Ok(None),
        _ => return Err(UNSUPPORTED_ADDRESS_TYPE),
    };
    let Some([high, low, ..]) = rest.get(length..) else {
        return Ok(None);
    };
    Ok(Some((
        (host, u16::from_be_bytes([*high, *low])),
        4 + length + 2,
    )))
}

/// Returns the response to a rejected request.
pub(crate) fn error_reply(stop: CloseReason) -> [u8; 10] {
    reply(match stop {
        CloseReason::Rejected(UNSUPPORTED_COMMAND) => 7,
        CloseReason::Rejected(UNSUPPORTED_ADDRESS_TYPE) => 8,
        CloseReason::Rejected(RejectReason::DnsFailure) => 4,
        CloseReason::Rejected(
            RejectReason::ProxyAuthentication
            | RejectReason::ProxyRefused { .. }
            | RejectReason::ProxyUnreachable
            | RejectReason::Refused
            | RejectReason::Unreachable,
        ) => 5,
        CloseReason::Rejected(RejectReason::Malformed { .. })
        | CloseReason::LimitExceeded(_)
        | CloseReason::Disconnected => 1,
        // "Connection not allowed by ruleset" in RFC 1928.
        CloseReason::Rejected(_) => 2,
    })
}

const fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(kind: u8, address: &[u8]) -> String {
        let bytes = [&[5, 1, 0, kind], address, &[1, 187]].concat();
        let ((host, port), length) = parse_request(&bytes).unwrap().unwrap();
        assert_eq!((port, length), (443, bytes.len()));
        (0..bytes.len())
            .for_each(|cut| assert_eq!(parse_request(&bytes[..cut]), Ok(None), "{cut}"));
        assert_eq!(
            parse_request(&[bytes.as_slice(), b"more"].concat())
                .unwrap()
                .unwrap()
                .1,
            length
        );
        String::from_utf8(host).unwrap()
    }

    #[test]
    fn requests_with_every_address_type_are_parsed() {
        assert_eq!(host(1, &[1, 2, 3, 4]), "1.2.3.4");
        assert_eq!(host(3, b"\x09a.example"), "a.example");
        assert_eq!(host(3, b"\0"), "");
        assert_eq!(
            host(4, &[0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            "[2001::1]"
        );
    }

    #[test]
    fn other_commands_types_and_versions_are_rejected() {
        for (bytes, code) in [
            ([5, 2, 0, 1], 7),
            ([5, 3, 0, 1], 7),
            ([5, 1, 0, 2], 8),
            ([4, 1, 0, 1], 1),
            ([5, 1, 1, 1], 1),
        ] {
            assert_eq!(
                error_reply(parse_request(&bytes).unwrap_err().into())[1],
                code,
                "{bytes:?}"
            );
        }
        assert!(parse_greeting(&[4, 1]).is_err());
        assert_eq!(parse_greeting(&[5, 2, 0]), Ok(None));
        assert_eq!(parse_greeting(&[5, 2, 2, 0, 5]), Ok(Some((true, 4))));
        assert_eq!(parse_greeting(&[5, 1, 2]), Ok(Some((false, 3))));
        assert_eq!(parse_greeting(&[5, 0]), Ok(Some((false, 2))));
    }
}

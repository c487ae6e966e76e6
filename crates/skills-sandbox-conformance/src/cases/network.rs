//! Attempts on sockets.

use super::row::{DENIED, NOT_APPLICABLE, REJECTED, Row, SUCCEEDED, row};

pub(super) const NETWORK: &[Row] = &[
    row(
        32,
        "tcp-loopback",
        "Connect to a listener of the host on its loopback address.",
        [DENIED; 5],
    ),
    row(
        33,
        "datagrams",
        "Send datagrams, echo requests, raw and link-layer packets.",
        [DENIED; 5],
    ),
    row(
        34,
        "listen",
        "Listen where the host could connect.",
        [DENIED; 5],
    ),
    row(
        35,
        "names",
        "Resolve names with the library, the resolver daemons and a DNS server.",
        [DENIED; 5],
    ),
    row(
        36,
        "ipv6",
        "Connect to the host over IPv6 and IPv4-mapped IPv6.",
        [DENIED; 5],
    ),
    row(
        37,
        "cloud-metadata",
        "Connect to cloud metadata addresses.",
        [DENIED; 5],
    ),
    row(
        38,
        "listed-host",
        "Connect to a listed and another host, through the proxy and directly.",
        [SUCCEEDED, REJECTED, SUCCEEDED, SUCCEEDED, SUCCEEDED],
    ),
    row(
        39,
        "disguised-host",
        "Name another host so that it looks like a listed one.",
        [DENIED, REJECTED, DENIED, DENIED, DENIED],
    ),
    row(
        40,
        "private-answer",
        "Let a listed name resolve to private addresses, from the start or later.",
        [DENIED, REJECTED, DENIED, DENIED, DENIED],
    ),
    row(
        41,
        "address-notations",
        "Write addresses as one number, in octal, in hexadecimal, inside IPv6.",
        [DENIED, REJECTED, DENIED, DENIED, DENIED],
    ),
    row(
        42,
        "smuggled-request",
        "Hide a second host or request in one for a granted host; ask for other ports.",
        [DENIED, REJECTED, DENIED, DENIED, DENIED],
    ),
    row(
        43,
        "ignored-proxy",
        "Clear the variables that name the proxy and connect directly.",
        [DENIED, REJECTED, DENIED, DENIED, DENIED],
    ),
    row(
        44,
        "other-families",
        "Create sockets of other families: vsock, netlink, radio, crypto.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        45,
        "port-of-proxy",
        "Connect to the proxy's port at another address.",
        [DENIED, REJECTED, DENIED, NOT_APPLICABLE, DENIED],
    ),
];

pub(super) const LOCAL_SOCKETS: &[Row] = &[
    row(
        46,
        "abstract-socket",
        "Connect to an abstract Unix socket.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
    row(
        47,
        "socket-file",
        "Connect to local sockets of the machine: agents, containers, desktops, services.",
        [DENIED; 5],
    ),
    row(
        48,
        "passed-descriptor",
        "Let a helper that listens in a shared directory pass a descriptor in.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        49,
        "socket-pair",
        "Communicate with a process of the same run through a socket pair.",
        [SUCCEEDED, SUCCEEDED, SUCCEEDED, NOT_APPLICABLE, SUCCEEDED],
    ),
    row(
        103,
        "own-local-socket",
        "Bind a local socket in the scratch directory and connect to it from another process.",
        [SUCCEEDED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        104,
        "bind-local-socket",
        "Bind a local socket in a granted directory outside of `/tmp`, where programs of the host would connect to it.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
];

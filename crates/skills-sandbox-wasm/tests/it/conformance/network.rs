//! Sockets: cases 32 to 37 and 47.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use skills_sandbox_conformance::{AttemptResult, Observations};

use super::denied::check_denied;
use super::layout::{create_layout, words};
use crate::cases::fixture::Generation;

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        four(observations, generation).await;
        six(observations, generation).await;
        local(observations, generation).await;
    }
}

/// Returns true if no client connected: accepting or receiving would block.
pub(crate) fn no_client<T>(came: std::io::Result<T>) -> bool {
    came.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

async fn four(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    let (tcp, udp) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (stream, datagram) = (
        tcp.local_addr().unwrap().port().to_string(),
        udp.local_addr().unwrap().port().to_string(),
    );
    check_denied(
        observations,
        32,
        &fixture,
        &words(&[
            &["connect", &stream],
            &["connect", &stream, "0", "0", "0", "0"],
        ]),
    )
    .await;
    check_denied(
        observations,
        33,
        &fixture,
        &words(&[
            &["datagram", &datagram],
            &["datagram", &datagram, "0", "0", "0", "0"],
        ]),
    )
    .await;
    check_denied(observations, 34, &fixture, &words(&[&["listen"]])).await;
    let server = ["127", "0", "0", "53"];
    let asked = [["datagram", "53"].as_slice(), &server].concat();
    check_denied(
        observations,
        35,
        &fixture,
        &words(&[
            &["resolve", "localhost"],
            &["resolve", "skills.invalid"],
            &["resolve", "127.0.0.1"],
            &asked,
        ]),
    )
    .await;
    check_denied(
        observations,
        37,
        &fixture,
        &words(&[&["connect", "80", "169", "254", "169", "254"]]),
    )
    .await;
    check_denied(
        observations,
        37,
        &fixture,
        &words(&[&[
            "connect", "80", "64768", "60418", "0", "0", "0", "0", "0", "596",
        ]]),
    )
    .await;
    observations.check(32, "visits", AttemptResult::Denied, no_client(tcp.accept()));
    observations.check(
        33,
        "datagrams",
        AttemptResult::Denied,
        no_client(udp.recv(&mut [0; 16])),
    );
}

async fn six(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    // A host without IPv6 has no listener, but the attempts are made nevertheless.
    let listener = TcpListener::bind("[::1]:0").ok();
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
    let (own, mapped) = (listener.as_ref().map_or("9".to_owned(), port), port(&four));
    let attempts = [
        vec!["connect", &own, "0", "0", "0", "0", "0", "0", "0", "1"],
        vec!["datagram", &own, "0", "0", "0", "0", "0", "0", "0", "1"],
        vec![
            "connect", &mapped, "0", "0", "0", "0", "0", "65535", "32512", "1",
        ],
    ];
    check_denied(observations, 36, &fixture, &attempts).await;
    for listener in listener.iter().chain([&four]) {
        listener.set_nonblocking(true).unwrap();
        observations.check(
            36,
            "visits",
            AttemptResult::Denied,
            no_client(listener.accept()),
        );
    }
}

async fn local(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let listeners = ["workspace/socket", "skill/socket"]
        .map(|place| UnixListener::bind(fixture.path(place)).unwrap());
    for action in ["raw-read", "truncate", "create"] {
        check_denied(
            observations,
            47,
            &fixture,
            &words(&[
                &[action, "/workspace/socket"],
                &[action, "/skill/socket"],
                &[action, "/run/docker.sock"],
            ]),
        )
        .await;
    }
    for listener in listeners {
        listener.set_nonblocking(true).unwrap();
        observations.check(
            47,
            "visits",
            AttemptResult::Denied,
            no_client(listener.accept()),
        );
    }
}

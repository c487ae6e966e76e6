//! Sockets: cases 32 to 37 and 47.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use skills_sandbox::conformance::AttemptResult;

use super::answers::Answers;
use super::scene::{planted, words};
use crate::cases::lab::Generation;

pub(crate) async fn answer(answers: &mut Answers) {
    for &generation in Generation::ALL {
        four(answers, generation).await;
        six(answers, generation).await;
        local(answers, generation).await;
    }
}

/// Returns true if no client connected: accepting or receiving would block.
pub(crate) fn no_client<T>(came: std::io::Result<T>) -> bool {
    came.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

async fn four(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation);
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
    answers
        .denied(
            32,
            &lab,
            &words(&[
                &["connect", &stream],
                &["connect", &stream, "0", "0", "0", "0"],
            ]),
        )
        .await;
    answers
        .denied(
            33,
            &lab,
            &words(&[
                &["datagram", &datagram],
                &["datagram", &datagram, "0", "0", "0", "0"],
            ]),
        )
        .await;
    answers.denied(34, &lab, &words(&[&["listen"]])).await;
    let server = ["127", "0", "0", "53"];
    let asked = [["datagram", "53"].as_slice(), &server].concat();
    answers
        .denied(
            35,
            &lab,
            &words(&[
                &["resolve", "localhost"],
                &["resolve", "skills.invalid"],
                &["resolve", "127.0.0.1"],
                &asked,
            ]),
        )
        .await;
    answers
        .denied(
            37,
            &lab,
            &words(&[&["connect", "80", "169", "254", "169", "254"]]),
        )
        .await;
    answers
        .denied(
            37,
            &lab,
            &words(&[&[
                "connect", "80", "64768", "60418", "0", "0", "0", "0", "0", "596",
            ]]),
        )
        .await;
    answers.holds(32, "visits", AttemptResult::Denied, no_client(tcp.accept()));
    answers.holds(
        33,
        "datagrams",
        AttemptResult::Denied,
        no_client(udp.recv(&mut [0; 16])),
    );
}

async fn six(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation);
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
    answers.denied(36, &lab, &attempts).await;
    for listener in listener.iter().chain([&four]) {
        listener.set_nonblocking(true).unwrap();
        answers.holds(
            36,
            "visits",
            AttemptResult::Denied,
            no_client(listener.accept()),
        );
    }
}

async fn local(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let listeners = ["workspace/socket", "skill/socket"]
        .map(|place| UnixListener::bind(lab.path(place)).unwrap());
    for action in ["raw-read", "truncate", "create"] {
        answers
            .denied(
                47,
                &lab,
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
        answers.holds(
            47,
            "visits",
            AttemptResult::Denied,
            no_client(listener.accept()),
        );
    }
}

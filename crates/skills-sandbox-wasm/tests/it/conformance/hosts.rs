//! Allowed hosts, and names that resemble them: cases 38 to 43.

use std::net::{TcpListener, UdpSocket};

use skills_sandbox_conformance::{AttemptResult, Observations};

use super::network::no_client;
use crate::cases::fixture as files;
use crate::http::fixture::{Generation, HttpFixture, OK, PUBLIC};

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        listed(observations, generation).await;
        disguised(observations, generation).await;
        private(observations, generation).await;
        smuggled(observations, generation).await;
    }
    directly(observations).await;
}

async fn listed(observations: &mut Observations, generation: Generation) {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with(OK).await;
    for (authority, is_listed) in [
        ("a.example", true),
        ("A.EXAMPLE.", true),
        ("other.example", false),
        (PUBLIC, false),
    ] {
        let result = fixture.fetch(generation, &["http", authority, "/"]).await;
        let is_reached = fixture.requests().len() == 1 && result.text.starts_with("200 ");
        let connections = fixture.take_connections();
        let is_so = if is_listed {
            is_reached
        } else {
            connections == (vec![], vec![])
        };
        observations.check(
            38,
            &format!("{authority}: {result:?}"),
            AttemptResult::Succeeded,
            is_so,
        );
    }
}

const DISGUISED: &[(u8, &[&str])] = &[
    (
        39,
        &[
            "evil.example",
            "a.example.evil.example",
            "evila.example",
            "x.a.example",
            "a.example@evil.example",
            "evil.example:80@a.example",
            "a.example..",
            ".a.example",
            "*",
            "a%2eexample",
            "evil.example%00.a.example",
            "evil.example/.a.example",
            "evil.example\\.a.example",
            "evil.example?.a.example",
            "evil.example#.a.example",
            "a.example ",
            "a.example\r\nHost: evil.example",
            "\u{430}.example",
            "a\u{3002}example",
            "",
        ],
    ),
    (
        41,
        &[
            "127.0.0.1",
            "2130706433",
            "0177.0.0.1",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "0",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "::1",
            "1572395042",
        ],
    ),
    (
        42,
        &[
            "a.example:22",
            "a.example:25",
            "a.example:8080",
            "a.example:443",
            "a.example:65616",
            "a.example:080",
            "a.example:80:80",
        ],
    ),
];

async fn disguised(observations: &mut Observations, generation: Generation) {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with(OK).await;
    for (case, authorities) in DISGUISED {
        for authority in *authorities {
            let result = fixture.fetch(generation, &["http", authority, "/"]).await;
            let is_so = !result.text.starts_with("200")
                && fixture.take_connections() == (vec![], vec![])
                && fixture.requests().is_empty();
            observations.check(
                *case,
                &format!("{authority:?}: {result:?}"),
                AttemptResult::Denied,
                is_so,
            );
        }
    }
}

async fn private(observations: &mut Observations, generation: Generation) {
    let fixture = HttpFixture::new(&["*.example"]);
    fixture.respond_with(OK).await;
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "fd00:ec2::254",
    ] {
        fixture.name("inside.example", &[&[address]]);
        let result = fixture
            .fetch(generation, &["http", "inside.example", "/"])
            .await;
        let is_so =
            result.text == "DestinationIpProhibited" && fixture.take_connections().1.is_empty();
        observations.check(
            40,
            &format!("{address}: {result:?}"),
            AttemptResult::Denied,
            is_so,
        );
    }
    // A name that resolves to a public address first, and to a private one later.
    fixture.name("rebind.example", &[&["127.0.0.1", PUBLIC], &["127.0.0.1"]]);
    let result = fixture
        .fetch(generation, &["http", "rebind.example", "/", "times=2"])
        .await;
    let connected = fixture.take_connections().1;
    let is_so =
        connected == [format!("{PUBLIC}:80")] && result.text.ends_with("DestinationIpProhibited");
    observations.check(
        40,
        &format!("{connected:?} {result:?}"),
        AttemptResult::Denied,
        is_so,
    );
}

async fn smuggled(observations: &mut Observations, generation: Generation) {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture.respond_with(OK).await;
    for attempt in [
        &["/", "header=host:evil.example"][..],
        &["/ HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /"],
        &["/", "header=x:1\r\nHost: evil.example"],
        &[
            "/",
            "header=transfer-encoding:chunked",
            "header=content-length:5",
            "body=9",
        ],
        &[
            "/",
            "header=connection:upgrade",
            "header=upgrade:evil.example",
        ],
        &["http://evil.example/"],
        &["/", "method=CONNECT"],
        &[
            "/",
            "method=GET / HTTP/1.1\r\nHost: evil.example\r\n\r\nGET",
        ],
    ] {
        let result = fixture
            .fetch(generation, &[&["http", "a.example"], attempt].concat())
            .await;
        let requests = fixture.requests();
        let is_plain = |request: &String| {
            let hosts = request
                .lines()
                .filter(|line| line.to_lowercase().starts_with("host:"))
                .count();
            let is_ambiguous =
                request.contains("transfer-encoding") && request.contains("content-length");
            hosts == 1
                && request.contains("host: a.example")
                && !is_ambiguous
                && !request.contains("\r\nHost: evil")
        };
        let is_so = requests.len() < 2
            && requests.iter().all(is_plain)
            && !fixture
                .take_connections()
                .0
                .iter()
                .any(|name| name != "a.example");
        observations.check(
            42,
            &format!("{attempt:?}: {result:?} {requests:?}"),
            AttemptResult::Denied,
            is_so,
        );
    }
}

/// A program that may send requests to some hosts has no sockets nevertheless.
async fn directly(observations: &mut Observations) {
    let fixture = HttpFixture::new(&["a.example", "localhost", "127.0.0.1"]);
    let (tcp, udp) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    let (stream, datagram) = (
        tcp.local_addr().unwrap().port().to_string(),
        udp.local_addr().unwrap().port().to_string(),
    );
    for generation in files::Generation::ALL {
        for attempt in [
            &["connect", &stream][..],
            &["datagram", &datagram],
            &["resolve", "localhost"],
            &["listen"],
        ] {
            let result = fixture
                .run(fixture.job_of(generation.guest(), attempt))
                .await
                .unwrap()
                .stdout
                .text();
            observations.check(
                43,
                &format!("{attempt:?}: {result}"),
                AttemptResult::Denied,
                result.starts_with("refused: "),
            );
        }
    }
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    observations.check(
        43,
        "visits",
        AttemptResult::Denied,
        no_client(tcp.accept()) && no_client(udp.recv(&mut [0; 16])),
    );
}

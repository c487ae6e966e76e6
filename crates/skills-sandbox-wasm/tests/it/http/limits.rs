//! HTTP limits, and the errors beyond them.

use std::time::Duration;

use skills_egress::EgressLimits;
use skills_sandbox_wasm::HttpLimits;

use super::fixture::{Generation, HttpFixture, OK, Security, ServerBehavior};

const SHORT: Duration = Duration::from_millis(100);

fn connection_limits(connections: EgressLimits) -> HttpLimits {
    HttpLimits {
        connections,
        ..HttpLimits::default()
    }
}

/// Runs the guest against one server in each version.
async fn check(
    limits: HttpLimits,
    behavior: ServerBehavior,
    arguments: &[&str],
    expected: &str,
    seen: &str,
) {
    for generation in Generation::ALL {
        let fixture = HttpFixture::with_limits(&["a.example"], limits);
        fixture.serve(80, Security::Plain, behavior.clone()).await;
        let arguments = [&["http", "a.example", "/"], arguments].concat();
        let result = fixture.fetch(*generation, &arguments).await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            (expected, seen),
            "{generation:?} {arguments:?}"
        );
        // Aborted connections are closed.
        let opened = usize::from(result.network.starts_with("reached"));
        if opened == 1
            && !arguments
                .iter()
                .any(|argument| argument.starts_with("times"))
        {
            fixture.wait_for_connections(1, 1).await;
        }
    }
}

fn answer(body: &str) -> ServerBehavior {
    ServerBehavior::Respond(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn chunked(body: &str) -> ServerBehavior {
    ServerBehavior::Respond(format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    ))
}

#[tokio::test]
async fn the_number_of_requests_is_limited() {
    let expected =
        "200 [content-length=2] 2 \"hi\"\n200 [content-length=2] 2 \"hi\"\nConnectionLimitReached";
    let seen = "reached a.example (2); stopped: too many requests (1)";
    check(
        HttpLimits {
            max_requests: 2,
            ..HttpLimits::default()
        },
        ServerBehavior::Respond(OK.to_owned()),
        &["times=3"],
        expected,
        seen,
    )
    .await;
}

#[tokio::test]
async fn the_number_of_concurrent_connections_is_limited() {
    let fixture = HttpFixture::with_limits(
        &["a.example"],
        connection_limits(EgressLimits {
            max_connections: 2,
            ..EgressLimits::default()
        }),
    );
    fixture.respond_with(OK).await;
    let result = fixture
        .fetch(
            Generation::Two,
            &["http", "a.example", "/", "together=3", "times=2"],
        )
        .await;
    let mut lines: Vec<_> = result.text.lines().collect();
    lines.sort_unstable();
    let ok = "200 [content-length=2] 2 \"hi\"";
    // When responses were read, connections are available again.
    assert_eq!(
        lines,
        [
            ok,
            ok,
            ok,
            ok,
            "ConnectionLimitReached",
            "ConnectionLimitReached"
        ]
    );
    assert_eq!(
        result.network,
        "reached a.example (4); stopped: too many connections (2)"
    );
}

#[tokio::test]
async fn request_heads_are_limited() {
    let behavior = || ServerBehavior::Respond(OK.to_owned());
    let limit = connection_limits(EgressLimits {
        max_head_bytes: 1_000,
        ..EgressLimits::default()
    });
    let value = "x".repeat(1_000);
    check(
        limit,
        behavior(),
        &[&format!("header=x-a:{value}")],
        "HttpRequestHeaderSectionSize(Some(1000))",
        "stopped: head is too long (1)",
    )
    .await;
    check(
        limit,
        behavior(),
        &[&format!("header=x-a:{}", &value[..800])],
        "200 [content-length=2] 2 \"hi\"",
        "reached a.example (1)",
    )
    .await;
    let fixture = HttpFixture::with_limits(&["a.example"], limit);
    for generation in Generation::ALL {
        let result = fixture
            .fetch(*generation, &["http", "a.example", &format!("/{value}")])
            .await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            ("HttpRequestUriTooLong", "stopped: head is too long (1)")
        );
    }
}

#[tokio::test]
async fn response_heads_are_limited() {
    for (limit, length) in [
        (1_000, 1_100),
        (1_000, 20_000),
        (16 * 1_024, 17_000),
        (16 * 1_024, 1_000_000),
    ] {
        let behavior = ServerBehavior::Respond(format!(
            "HTTP/1.1 200 OK\r\nX-A: {}\r\nContent-Length: 0\r\n\r\n",
            "x".repeat(length)
        ));
        let expected = format!("HttpResponseHeaderSectionSize(Some({limit}))");
        check(
            connection_limits(EgressLimits {
                max_head_bytes: limit,
                ..EgressLimits::default()
            }),
            behavior,
            &[],
            &expected,
            "reached a.example (1); stopped: head is too long (1)",
        )
        .await;
    }
}

#[tokio::test]
async fn request_bodies_are_limited() {
    let seen = "reached a.example (1); stopped: too many bytes (1)";
    let ok = "200 [content-length=2] 2 \"hi\"";
    check(
        HttpLimits {
            max_request_body_bytes: 10_000,
            ..HttpLimits::default()
        },
        ServerBehavior::Respond(OK.to_owned()),
        &["body=10000"],
        ok,
        "reached a.example (1)",
    )
    .await;
    check(
        HttpLimits {
            max_request_body_bytes: 10_000,
            ..HttpLimits::default()
        },
        ServerBehavior::Respond(OK.to_owned()),
        &["body=10001"],
        "HttpRequestBodySize(Some(10000))",
        seen,
    )
    .await;
    check(
        HttpLimits {
            max_request_body_bytes: 10_000,
            ..HttpLimits::default()
        },
        ServerBehavior::Respond(OK.to_owned()),
        &["body=500000"],
        "HttpRequestBodySize(Some(10000))",
        seen,
    )
    .await;
    let announced = &["body=20000", "header=Content-Length:20000"];
    check(
        HttpLimits {
            max_request_body_bytes: 10_000,
            ..HttpLimits::default()
        },
        ServerBehavior::Silent,
        announced,
        "HttpRequestBodySize(Some(10000))",
        "stopped: too many bytes (1)",
    )
    .await;
}

#[tokio::test]
async fn response_bodies_are_limited() {
    let limit = HttpLimits {
        max_response_body_bytes: 1_000,
        ..HttpLimits::default()
    };
    let seen = "reached a.example (1); stopped: too many bytes (1)";
    check(
        limit,
        answer(&"y".repeat(1_001)),
        &[],
        "HttpResponseBodySize(Some(1000))",
        seen,
    )
    .await;
    check(
        limit,
        chunked(&"y".repeat(1_001)),
        &[],
        "after 0 bytes: HttpResponseBodySize(Some(1000))",
        seen,
    )
    .await;
    let ok = format!("200 [content-length=1000] 1000 {:?}", "y".repeat(80));
    check(
        limit,
        answer(&"y".repeat(1_000)),
        &[],
        &ok,
        "reached a.example (1)",
    )
    .await;
    // The length of a body that is not sent.
    let head =
        ServerBehavior::Respond("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n".to_owned());
    check(
        limit,
        head,
        &["method=HEAD"],
        "200 [content-length=1001] 0 \"\"",
        "reached a.example (1)",
    )
    .await;
}

#[tokio::test]
async fn bytes_per_direction_are_limited_across_connections() {
    let line = format!("200 [content-length=3000] 3000 {:?}", "y".repeat(80));
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n".len() as u64;
    let limit = connection_limits(EgressLimits {
        bytes_per_direction: 2 * (3_000 + head),
        ..EgressLimits::default()
    });
    for generation in Generation::ALL {
        let fixture = HttpFixture::with_limits(&["a.example"], limit);
        fixture
            .serve(80, Security::Plain, answer(&"y".repeat(3_000)))
            .await;
        let result = fixture
            .fetch(*generation, &["http", "a.example", "/", "times=3"])
            .await;
        let most = 2 * (3_000 + head);
        assert_eq!(
            result.text,
            format!("{line}\n{line}\nHttpResponseBodySize(Some({most}))"),
            "{generation:?}"
        );
        assert_eq!(
            result.network,
            "reached a.example (3); stopped: too many bytes (1)"
        );
    }
    let seen = "reached a.example (1); stopped: too many bytes (1)";
    check(
        connection_limits(EgressLimits {
            bytes_per_direction: 9_000,
            ..EgressLimits::default()
        }),
        ServerBehavior::Silent,
        &["body=100000"],
        "HttpRequestBodySize(Some(9000))",
        seen,
    )
    .await;
}

#[tokio::test]
async fn unresponsive_resolvers_and_hosts_time_out() {
    for generation in Generation::ALL {
        let fixture = HttpFixture::with_limits(
            &["*.example"],
            connection_limits(EgressLimits {
                connect_timeout: SHORT,
                ..EgressLimits::default()
            }),
        );
        fixture.name("slow.example", &[]);
        let result = fixture
            .fetch(*generation, &["http", "slow.example", "/"])
            .await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            ("ConnectionTimeout", "stopped: connecting took too long (1)"),
            "{generation:?}"
        );
        // The program may set shorter timeouts, not longer ones.
        let patient = HttpFixture::new(&["*.example"]);
        patient.name("slow.example", &[]);
        let result = patient
            .fetch(*generation, &["http", "slow.example", "/", "connect=100"])
            .await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            ("ConnectionTimeout", "no requests"),
            "{generation:?}"
        );
        let result = fixture
            .fetch(
                *generation,
                &["http", "slow.example", "/", "connect=99999999"],
            )
            .await;
        assert_eq!(
            (result.text.as_str(), result.network.as_str()),
            ("ConnectionTimeout", "stopped: connecting took too long (1)"),
            "{generation:?}"
        );
        fixture
            .serve(443, Security::Plain, ServerBehavior::Silent)
            .await;
        let result = fixture
            .fetch(*generation, &["https", "a.example", "/"])
            .await;
        assert_eq!(result.text, "ConnectionTimeout", "{generation:?}");
        assert_eq!(
            result.network,
            "reached a.example (1); stopped: connecting took too long (1)"
        );
        fixture.wait_for_connections(1, 1).await;
    }
}

#[tokio::test]
async fn idle_hosts_time_out() {
    let seen = "reached a.example (1); stopped: idle for too long (1)";
    let begin = || {
        ServerBehavior::RespondEarly("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi".to_owned())
    };
    check(
        connection_limits(EgressLimits {
            idle_timeout: SHORT,
            ..EgressLimits::default()
        }),
        ServerBehavior::Silent,
        &[],
        "ConnectionReadTimeout",
        seen,
    )
    .await;
    check(
        connection_limits(EgressLimits {
            idle_timeout: SHORT,
            ..EgressLimits::default()
        }),
        begin(),
        &[],
        "after 2 bytes: ConnectionReadTimeout",
        seen,
    )
    .await;
    // The program may set shorter timeouts, not longer ones.
    let own = "reached a.example (1)";
    check(
        HttpLimits::default(),
        ServerBehavior::Silent,
        &["first=100"],
        "ConnectionReadTimeout",
        own,
    )
    .await;
    check(
        HttpLimits::default(),
        begin(),
        &["between=100"],
        "after 2 bytes: ConnectionReadTimeout",
        own,
    )
    .await;
    check(
        connection_limits(EgressLimits {
            idle_timeout: SHORT,
            ..EgressLimits::default()
        }),
        ServerBehavior::Silent,
        &["first=99999999"],
        "ConnectionReadTimeout",
        seen,
    )
    .await;
    check(
        connection_limits(EgressLimits {
            idle_timeout: SHORT,
            ..EgressLimits::default()
        }),
        begin(),
        &["between=99999999"],
        "after 2 bytes: ConnectionReadTimeout",
        seen,
    )
    .await;
}

//! Cleanup after a run, or a response, was dropped.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use skills_egress::Connector;
use skills_sandbox::{Job, Program, Sandbox, Termination};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::fixture::{Generation, HttpFixture, OK, Security, ServerBehavior, TIMEOUT};

#[tokio::test]
async fn each_request_uses_its_own_connection() {
    for generation in Generation::ALL {
        let fixture = HttpFixture::new(&["a.example"]);
        let keeps = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi";
        fixture
            .serve(
                80,
                Security::Plain,
                ServerBehavior::RespondEarly(keeps.to_owned()),
            )
            .await;
        let result = fixture
            .fetch(*generation, &["http", "a.example", "/", "times=3"])
            .await;
        assert_eq!(result.network, "reached a.example (3)", "{generation:?}");
        fixture.wait_for_connections(3, 3).await;
        let result = fixture
            .fetch(*generation, &["http", "a.example", "/"])
            .await;
        assert_eq!(result.network, "reached a.example (1)", "{generation:?}");
        fixture.wait_for_connections(4, 4).await;
    }
}

/// Runs until a server has received a request, and then drops the run.
async fn drop_midway(
    generation: Generation,
    security: Security,
    behavior: ServerBehavior,
    arguments: &[&str],
) {
    let fixture = HttpFixture::new(&["a.example"]);
    let port = if matches!(security, Security::Plain) {
        80
    } else {
        443
    };
    fixture.serve(port, security, behavior).await;
    let scheme = if port == 80 { "http" } else { "https" };
    let job = fixture.job(
        generation,
        &[&[scheme, "a.example", "/"], arguments].concat(),
    );
    {
        let mut run = Box::pin(fixture.run(job));
        tokio::select! {
            outcome = &mut run => panic!("it ended: {outcome:?}"),
            () = fixture.wait_for_connections(1, 0) => {}
        }
        // It continues for a while, so that there is work to stop.
        let _ = timeout(Duration::from_millis(200), &mut run).await;
    }
    fixture.wait_for_connections(1, 1).await;
}

#[tokio::test]
async fn dropping_a_run_closes_its_connections() {
    for generation in Generation::ALL {
        let begin = ServerBehavior::RespondEarly(
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi".to_owned(),
        );
        drop_midway(*generation, Security::Plain, ServerBehavior::Silent, &[]).await;
        drop_midway(*generation, Security::Plain, begin.clone(), &[]).await;
        drop_midway(*generation, Security::Plain, begin.clone(), &["hang=1"]).await;
        drop_midway(*generation, Security::Tls, begin, &["hang=1"]).await;
        // The response arrives while the request is still being sent.
        let early = ServerBehavior::RespondEarly(OK.replace("Length: 2", "Length: 9"));
        drop_midway(*generation, Security::Plain, early, &["body=20000000"]).await;
    }
}

#[tokio::test]
async fn the_deadline_closes_the_connections_of_a_run() {
    for generation in Generation::ALL {
        // Compiling takes time too, and is done once.
        HttpFixture::new(&["a.example"])
            .fetch(*generation, &["http", "b.example", "/"])
            .await;
        let fixture = HttpFixture::new(&["a.example"]).wall_time(Duration::from_millis(500));
        fixture
            .serve(80, Security::Plain, ServerBehavior::Silent)
            .await;
        let outcome = fixture
            .run(fixture.job(*generation, &["http", "a.example", "/"]))
            .await
            .unwrap();
        assert_eq!(
            outcome.termination,
            Termination::TimedOut { limit_ms: 500 },
            "{generation:?}"
        );
        fixture.wait_for_connections(1, 1).await;
    }
}

/// Granted hosts do not enable sockets.
#[tokio::test]
async fn raw_sockets_are_denied_despite_allowed_hosts() {
    let fixture = HttpFixture::new(&["*"]);
    let job = fixture.job(Generation::Two, &[]);
    let program = Program::Wasm(Arc::from(
        include_bytes!("../../guest/probe.wasm").as_slice(),
    ));
    let job = Job::new(job.grants().clone(), program).arg("connect");
    let outcome = timeout(TIMEOUT, fixture.run(job)).await.unwrap().unwrap();
    assert_eq!(outcome.stdout.text(), "refused: PermissionDenied\n");
}

/// A connector that panics.
struct Fails;

impl Connector for Fails {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
        _: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        panic!("as asked")
    }

    fn connect(
        &self,
        _: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        panic!("as asked")
    }
}

#[tokio::test]
async fn case_41_a_panic_of_the_connector_ends_only_its_run() {
    for generation in Generation::ALL {
        let fixture = HttpFixture::new(&["a.example"]);
        let failing = fixture.sandbox().connector(Arc::new(Fails));
        let outcome = timeout(
            TIMEOUT,
            failing.run(fixture.job(*generation, &["http", "a.example", "/"])),
        )
        .await
        .unwrap()
        .unwrap();
        assert!(
            matches!(&outcome.termination, Termination::HostPanic { message } if message.contains("as asked")),
            "{generation:?}: {outcome:?}"
        );
        fixture.respond_with(OK).await;
        assert_eq!(
            fixture
                .fetch(*generation, &["http", "a.example", "/"])
                .await
                .network,
            "reached a.example (1)"
        );
    }
}

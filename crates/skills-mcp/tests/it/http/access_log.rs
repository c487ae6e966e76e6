//! Access log entries.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use skills_mcp::BearerToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::client::{Call, Open};
use super::probe::{Server, heard};

/// Records all events of every level, including those of dependencies, as one line each.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Returns the events of this crate, without times.
    fn own(&self) -> Vec<String> {
        let own = |line: &String| {
            line.strip_prefix("skills_mcp::")
                .map(|line| line.split(" duration_ms=").next().unwrap().to_owned())
        };
        self.0.lock().unwrap().iter().filter_map(own).collect()
    }
}

impl Lines {
    /// Waits until events are recorded: a call site that was first used on the thread of another
    /// test is disabled until its interest is evaluated again.
    async fn wake(&self, server: &Server) {
        for _ in 0..100 {
            Call::new("GET", "/healthz").send(server.address).await;
            if !self.own().is_empty() {
                break;
            }
            tracing::callsite::rebuild_interest_cache();
        }
        self.0.lock().unwrap().clear();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(String::new());
        span.record(&mut line);
        self.0.lock().unwrap().push(line.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // The duration is last, so that a test can remove it.
        let at = self
            .0
            .find(" duration_ms=")
            .filter(|_| field.name() != "duration_ms")
            .unwrap_or(self.0.len());
        let mut text = String::new();
        write!(text, " {}={value:?}", field.name()).unwrap();
        self.0.insert_str(at, &text);
    }
}

#[tokio::test]
async fn each_request_is_logged_once_without_secrets() {
    let lines = Lines::default();
    let _kept = tracing::subscriber::set_default(lines.clone());
    let token = BearerToken::generate("ci").unwrap();
    let server = Server::start(|http| http.token(token.clone())).await;
    lines.wake(&server).await;
    let mine = |call: Call| {
        call.with(
            "authorization",
            &format!("Bearer {}", token.expose_secret()),
        )
    };

    Call::new("GET", "/healthz?why=private")
        .send(server.address)
        .await;
    Call::new("BREW", "/private").send(server.address).await;
    Call::tool("whoami").send(server.address).await;
    assert_eq!(
        mine(Call::tool("whoami"))
            .send(server.address)
            .await
            .status(),
        200
    );
    let begun = mine(Call::initialize()).send(server.address).await;
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let waiting = Open::send(server.address, &mine(Call::tool("wait")).bytes()).await;
    heard(&server.probe.started).await;
    drop(waiting);
    heard(&server.probe.cancelled).await;

    let own = lines.own();
    let session_field = own
        .iter()
        .find_map(|line| line.split_once(" session="))
        .map(|(_, digest)| digest.to_owned())
        .unwrap();
    assert_eq!(
        session_field.len(),
        "\"123456789abc\"".len(),
        "a part of a digest"
    );
    let requests: Vec<_> = own
        .iter()
        .filter(|line| line.starts_with("http::access_log "))
        .map(String::as_str)
        .collect();
    let expected = [
        r#"http::access_log message=request method="GET" path="/healthz" status=200"#.to_owned(),
        r#"http::access_log message=request method="other" path="other" status=404"#.to_owned(),
        r#"http::access_log message=request method="POST" path="/mcp" status=401"#.to_owned(),
        r#"http::access_log message=request method="POST" path="/mcp" status=200 principal="ci""#
            .to_owned(),
        format!(
            r#"http::access_log message=request method="POST" path="/mcp" status=200 principal="ci" session={session_field}"#
        ),
        r#"http::access_log message=request method="POST" path="/mcp" principal="ci""#.to_owned(),
    ];
    assert_eq!(
        requests, expected,
        "the last one has no status, since its client disconnected"
    );
    for line in own {
        assert!(
            !line.contains(&session) && !line.contains("private") && !line.contains("whoami"),
            "{line}"
        );
    }
    for line in lines.0.lock().unwrap().iter() {
        assert!(!line.contains(token.expose_secret()), "{line}");
    }
}

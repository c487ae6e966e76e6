//! MCP servers with the Skills extension.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skills_install::{InstallError, InstallErrorKind, LocalEdits};

use crate::fixture::{Fixture, skill_text, words};
use crate::web::loopback;
use crate::web_server::{Pace, Reply, Request, WebServer};

/// A file of a server: URI, listed and real content.
#[derive(Clone)]
pub(crate) struct File {
    uri: String,
    listed: Vec<u8>,
    content: Vec<u8>,
}

impl File {
    pub(crate) fn new(uri: &str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        Self {
            uri: uri.to_owned(),
            listed: content.clone(),
            content,
        }
    }

    fn resource(&self) -> Value {
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(&self.listed)));
        json!({"uri": self.uri, "digest": digest, "size": self.listed.len()})
    }

    fn contents(&self) -> Value {
        match std::str::from_utf8(&self.content) {
            Ok(text) => json!([{"uri": self.uri, "text": text}]),
            Err(_) => json!([{"uri": self.uri, "blob": STANDARD.encode(&self.content)}]),
        }
    }
}

pub(crate) fn entry(name: &str, files: &[File]) -> Value {
    json!({
        "uri": files[0].uri,
        "frontmatter": {"name": name, "description": format!("About {name}.")},
        "resources": files.iter().map(File::resource).collect::<Vec<_>>(),
    })
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

fn answer(request: &Request, result: Value) -> Reply {
    let answer = json!({"jsonrpc": "2.0", "id": body(request)["id"], "result": result});
    Reply::ok(answer.to_string()).header("content-type", "application/json; charset=utf-8")
}

/// Serves skills, one on each page.
fn server(entries: Vec<Value>, files: Vec<File>) -> WebServer {
    WebServer::start(move |request| respond(request, &entries, &files))
}

pub(crate) fn respond(request: &Request, entries: &[Value], files: &[File]) -> Reply {
    let call = body(request);
    let method = call["method"].as_str().unwrap();
    assert_eq!(request.header("mcp-method"), Some(method));
    assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(
        call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    let result = match method {
        "server/discover" => {
            json!({"capabilities": {"extensions": {"io.modelcontextprotocol/skills": {}}}})
        }
        "skills/list" => {
            let page: usize = call["params"]["cursor"]
                .as_str()
                .map_or(0, |cursor| cursor.parse().unwrap());
            let next = (page + 1 < entries.len()).then(|| (page + 1).to_string());
            let skills: Vec<&Value> = entries.iter().skip(page).take(1).collect();
            json!({"skills": skills, "nextCursor": next, "resultType": "complete"})
        }
        "resources/read" => {
            let uri = call["params"]["uri"].as_str().unwrap();
            assert_eq!(request.header("mcp-name"), Some(uri));
            match files.iter().find(|file| file.uri == uri) {
                Some(file) => json!({"contents": file.contents()}),
                None => json!({"contents": []}),
            }
        }
        _ => json!({}),
    };
    answer(request, result)
}

fn source(server: &WebServer) -> String {
    format!("mcp+{}", server.url("/mcp"))
}

fn add(fixture: &Fixture, source: &str, names: &[&str]) -> Result<(), InstallError> {
    let mut store = fixture.store();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let spec = fixture.spec(source);
    let plan = store.plan_add(&loopback(), &spec, &names, LocalEdits::Refuse, &words)?;
    store.apply(plan)
}

#[test]
fn skills_of_a_server_are_installed_and_only_the_wanted_ones_are_read() {
    let refunds = [
        File::new("skill://acme/refunds/SKILL.md", skill_text("refunds", "")),
        File::new("skill://acme/refunds/logo%20a.bin", [0xff, 0, 1]),
    ];
    let pdf = [File::new("skill://pdf/SKILL.md", skill_text("pdf", ""))];
    let dynamic = json!({
        "uri": "skill://daily/SKILL.md",
        "frontmatter": {"name": "daily", "description": "d"},
        "resources": "dynamic",
    });
    let entries = vec![entry("refunds", &refunds), dynamic, entry("pdf", &pdf)];
    let files = [&refunds[..], &pdf[..]].concat();
    let server = server(entries, files);
    let fixture = Fixture::new();
    add(&fixture, &source(&server), &["refunds"]).unwrap();
    assert_eq!(fixture.states(), ["refunds unchanged"]);
    assert_eq!(
        std::fs::read(fixture.path("skills/refunds/logo a.bin")).unwrap(),
        [0xff, 0, 1]
    );
    // One discovery, three pages, two files.
    assert_eq!(server.paths().len(), 6);
    let store = fixture.store();
    let locked = store.lock_file().skills()["refunds"].source().clone();
    drop(store);
    assert_eq!(locked.path().as_str(), "acme/refunds");
    let identity = format!("insecure:127.0.0.1:{}/mcp", server.port());
    assert_eq!(locked.identity(), identity);

    let error = add(&fixture, &source(&server), &["daily"]).unwrap_err();
    assert!(error.to_string().contains("generated"), "{error}");
    add(&fixture, &format!("{}//pdf", source(&server)), &[]).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged", "refunds unchanged"]);
}

#[test]
fn an_answer_in_a_stream_of_events_is_read() {
    let pdf = vec![File::new("skill://pdf/SKILL.md", skill_text("pdf", ""))];
    let entries = vec![entry("pdf", &pdf)];
    let server = WebServer::start(move |request| {
        let reply = respond(request, &entries, &pdf);
        let event = format!(
            "data: {{\"method\": \"notifications/message\"}}\n\nevent: message\ndata: {}\n\n",
            String::from_utf8(reply.body).unwrap()
        );
        // The stream stays open; the answer is enough.
        Reply::ok(event)
            .header("content-type", "text/event-stream")
            .pace(Pace::Endless)
    });
    let fixture = Fixture::new();
    add(&fixture, &source(&server), &[]).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
}

/// The conformance scenarios of the extension: digest, size, frontmatter.
#[test]
fn content_that_is_not_that_of_the_listing_is_refused() {
    let text = skill_text("pdf", "");
    let uri = "skill://pdf/SKILL.md";
    let changed = |content: &str| File {
        content: content.as_bytes().to_vec(),
        ..File::new(uri, text.clone())
    };
    let other_byte = text.replace("Body", "Bodx");
    let good = entry("pdf", &[File::new(uri, text.clone())]);
    let mut frontmatter = good.clone();
    frontmatter["frontmatter"]["description"] = json!("Harmless.");
    let mut more = good.clone();
    more["frontmatter"]["allowed-tools"] = json!("Read");
    let mut outside = good.clone();
    outside["resources"]
        .as_array_mut()
        .unwrap()
        .push(File::new("skill://other/x", "").resource());
    for (entry, file, message) in [
        (&good, changed(&other_byte), "has the digest"),
        (&good, changed("short"), "has 5 bytes"),
        (&good, File::new("skill://other", "x"), "no content"),
        (&frontmatter, File::new(uri, text.clone()), "frontmatter"),
        (&more, File::new(uri, text.clone()), "frontmatter"),
        (
            &outside,
            File::new(uri, text.clone()),
            "not in its directory",
        ),
    ] {
        let server = server(vec![entry.clone()], vec![file]);
        let fixture = Fixture::new();
        let error = add(&fixture, &source(&server), &[]).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Fetch, "{error}");
        assert!(error.to_string().contains(message), "{message}: {error}");
        assert!(fixture.states().is_empty());
    }
}

#[test]
fn a_server_without_skills_or_that_does_not_speak_the_protocol_is_an_error() {
    let error_answer = |code: i64| {
        move |request: &Request| {
            let error = json!({"id": body(request)["id"], "error": {"code": code, "message": "\u{1b}[31mno"}});
            Reply {
                status: 404,
                ..Reply::ok(error.to_string()).header("content-type", "application/json")
            }
        }
    };
    let servers: Vec<(WebServer, &str)> = vec![
        (
            WebServer::start(|request| answer(request, json!({"capabilities": {}}))),
            "does not publish skills",
        ),
        (
            WebServer::start(error_answer(-32601)),
            "no `server/discover`",
        ),
        (
            WebServer::start(error_answer(-32000)),
            "`server/discover` fails",
        ),
        (WebServer::start(|_| Reply::ok("<html>")), "JSON-RPC"),
        (
            WebServer::start(|_| Reply::ok("{}").header("content-type", "application/json")),
            "JSON-RPC",
        ),
        (
            // The answer to another request.
            WebServer::start(|_| {
                Reply::ok(r#"{"id": 99, "result": {"capabilities": {}}}"#)
                    .header("content-type", "application/json")
            }),
            "JSON-RPC",
        ),
        (WebServer::start(|_| Reply::status(401)), "status 401"),
        (WebServer::start(|_| Reply::redirect("/other")), "redirects"),
        (server(vec![], vec![]), "no skill found"),
    ];
    for (server, message) in servers {
        let fixture = Fixture::new();
        let error = add(&fixture, &source(&server), &[]).unwrap_err();
        assert!(error.to_string().contains(message), "{message}: {error}");
    }
}

#[test]
fn a_listing_without_an_end_is_stopped() {
    let server = WebServer::start(|request| match body(request)["method"].as_str() {
        Some("skills/list") => answer(request, json!({"skills": [], "nextCursor": "again"})),
        _ => respond(request, &[], &[]),
    });
    let error = add(&Fixture::new(), &source(&server), &[]).unwrap_err();
    assert!(
        error.to_string().contains("more than 1000 pages"),
        "{error}"
    );
}

#[test]
fn a_listing_that_is_too_large_is_stopped() {
    let server = WebServer::start(|request| match body(request)["method"].as_str() {
        Some("skills/list") => {
            let filler = "x".repeat(9 << 20);
            answer(
                request,
                json!({"skills": [], "nextCursor": "again", "filler": filler}),
            )
        }
        _ => respond(request, &[], &[]),
    });
    let error = add(&Fixture::new(), &source(&server), &[]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
    assert_eq!(server.paths().len(), 5);
}

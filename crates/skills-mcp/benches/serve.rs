//! Overhead of the protocol: one call of `skills_ls` directly (the floor), over a stream and over
//! HTTP; once for a workspace with one file and 1,000 skills, once for the first page of these.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench makes its own files and fails by panicking"
)]

use std::fs;
use std::net::SocketAddr;

use divan::Bencher;
use serde_json::{Value, json};
use skills_mcp::Server;
use skills_tools::runtime::{Root, Scope, SkillRuntime};
use skills_tools::{CallContext, Mount, ToolSet};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

struct Host {
    root: TempDir,
    executor: Runtime,
}

impl Host {
    fn of(skills: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["skills", "workspace"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        for number in 0..skills {
            let directory = root.path().join(format!("skills/skill-{number}"));
            fs::create_dir(&directory).unwrap();
            fs::write(
                directory.join("SKILL.md"),
                format!("---\nname: skill-{number}\ndescription: About {number}.\n---\n"),
            )
            .unwrap();
        }
        fs::write(root.path().join("workspace/file.txt"), "x").unwrap();
        Self {
            root,
            executor: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    fn tools(&self) -> ToolSet {
        let runtime = SkillRuntime::builder()
            .root(Root::new(self.root.path().join("skills"), Scope::Custom))
            .build();
        ToolSet::builder(runtime)
            .workspace(Mount::writable(
                "workspace",
                self.root.path().join("workspace"),
            ))
            .build()
            .unwrap()
    }

    fn server(&self) -> Server {
        Server::builder(self.tools()).build().unwrap()
    }
}

fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// The listed directories.
const LISTED: [&str; 2] = ["workspace", "skills"];

fn ls(path: &str) -> String {
    request(
        "tools/call",
        json!({"name": "skills_ls", "arguments": {"path": path}}),
    )
}

fn has_entries(answer: &str, path: &str) -> bool {
    answer.contains(&format!(r#""path":"{path}/"#)) && answer.ends_with("}")
}

/// The tool without the protocol.
#[divan::bench(args = LISTED)]
fn floor(bencher: Bencher<'_, '_>, path: &str) {
    let host = Host::of(1_000);
    let tools = host.tools();
    bencher.bench_local(|| {
        let outcome = host
            .executor
            .block_on(tools.call("skills_ls", json!({"path": path}), &CallContext::default()))
            .unwrap();
        assert!(!outcome.is_error);
    });
}

struct Stream {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Stream {
    fn of(host: &Host) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let server = host.server();
        host.executor
            .spawn(async move { server.serve(reader, writer, std::future::pending()).await });
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    async fn ask(&mut self, line: &str) -> String {
        self.writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.unwrap();
        answer
    }
}

/// Over a stream.
#[divan::bench(args = LISTED)]
fn stream(bencher: Bencher<'_, '_>, path: &str) {
    let host = Host::of(1_000);
    let mut stream = Stream::of(&host);
    let line = ls(path);
    bencher.bench_local(|| {
        let answer = host.executor.block_on(stream.ask(&line));
        assert!(has_entries(answer.trim_end(), path), "{answer}");
    });
}

/// The first response of a server that has not read any skill.
#[divan::bench]
fn first_answer(bencher: Bencher<'_, '_>) {
    let host = Host::of(1_000);
    let line = request("server/discover", json!({}));
    bencher.bench_local(|| {
        let mut stream = Stream::of(&host);
        let answer = host.executor.block_on(stream.ask(&line));
        assert!(answer.contains("capabilities"), "{answer}");
    });
}

/// The first 100 skills with their digests, after they were read once.
#[divan::bench]
fn skills_list(bencher: Bencher<'_, '_>) {
    let host = Host::of(1_000);
    let mut stream = Stream::of(&host);
    let line = request("skills/list", json!({}));
    host.executor.block_on(stream.ask(&line));
    bencher.bench_local(|| {
        let answer = host.executor.block_on(stream.ask(&line));
        assert!(answer.contains("skill-188"), "{answer}");
    });
}

/// All skills with their digests, ten pages, by a server that has not read any skill. Each has two
/// files of 16 KiB.
#[divan::bench]
fn skills_list_cold(bencher: Bencher<'_, '_>) {
    const SKILLS: usize = 1_000;
    const FILE_BYTES: usize = 16 << 10;
    let host = Host::of(SKILLS);
    for number in 0..SKILLS {
        let directory = host.root.path().join(format!("skills/skill-{number}"));
        for name in ["one.md", "two.md"] {
            fs::write(directory.join(name), vec![b'x'; FILE_BYTES]).unwrap();
        }
    }
    bencher
        .counter(divan::counter::BytesCount::new(2 * SKILLS * FILE_BYTES))
        .bench_local(|| {
            let mut stream = Stream::of(&host);
            let mut params = json!({});
            let mut pages = 0;
            loop {
                let line = request("skills/list", params.clone());
                let answer = host.executor.block_on(stream.ask(&line));
                let answer: Value = serde_json::from_str(&answer).unwrap();
                pages += 1;
                match &answer["result"]["nextCursor"] {
                    Value::Null => break,
                    cursor => params = json!({"cursor": cursor}),
                }
            }
            assert_eq!(pages, SKILLS / 100);
        });
}

/// Over HTTP, on one connection.
#[cfg(feature = "http")]
#[divan::bench(args = LISTED)]
fn http(bencher: Bencher<'_, '_>, path: &str) {
    let host = Host::of(1_000);
    let (address, mut stream) = host.executor.block_on(async {
        let bound = skills_mcp::HttpServer::new("127.0.0.1:0".parse().unwrap())
            .bind()
            .await
            .unwrap();
        let (address, server) = (bound.address(), host.server());
        tokio::spawn(bound.serve(move || server.connection(), std::future::pending()));
        (address, TcpStream::connect(address).await.unwrap())
    });
    stream.set_nodelay(true).unwrap();
    let body = ls(path);
    let head = head(address, body.len());
    bencher.bench_local(|| {
        host.executor
            .block_on(post(&mut stream, &format!("{head}{body}"), path))
    });
}

#[cfg(feature = "http")]
fn head(address: SocketAddr, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: skills_ls\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Sends a request and reads its response.
#[cfg(feature = "http")]
async fn post(stream: &mut TcpStream, request: &str, path: &str) {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        stream.read_buf(&mut seen).await.unwrap();
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap()
            .parse::<usize>()
            .unwrap();
        if body.len() >= length {
            assert!(
                head.starts_with("HTTP/1.1 200") && has_entries(body, path),
                "{text}"
            );
            return;
        }
    }
}

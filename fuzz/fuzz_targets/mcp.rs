//! Sends bytes to an MCP server over a stream, in chunks: valid and invalid messages.
//!
//! An input that starts with `+` is sent after a handshake, to reach the code that requires one.
#![no_main]

use std::future::pending;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use skills_mcp::Server;
use skills_tools::ToolSet;
use skills_tools::runtime::{Root, Scope, SkillRuntime};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);
/// Size of a chunk in bytes, less than that of a message.
const CHUNK_BYTES: usize = 61;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Vec::new();
    match bytes.strip_prefix(b"+") {
        Some(rest) => input.extend([HANDSHAKE.as_bytes(), rest].concat()),
        None => input.extend_from_slice(bytes),
    }
    let output = exchange(&input);
    // Each line of the output is a message, and there are no more responses than lines of input.
    let mut lines = input
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .count();
    for line in output.split_terminator('\n') {
        let message: Value = serde_json::from_str(line).expect("the server writes JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        if message.get("method").is_none() {
            lines = lines
                .checked_sub(1)
                .unwrap_or_else(|| panic!("more responses than lines: {line}"));
        }
    }
});

/// Returns the output of the server for an input.
fn exchange(input: &[u8]) -> String {
    // A paused clock advances as soon as all tasks wait, so timeouts take no time.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let (client, host) = tokio::io::duplex(1 << 20);
        let (host_input, host_output) = tokio::io::split(host);
        let (mut from_host, mut to_host) = tokio::io::split(client);
        let serving = server().serve(host_input, host_output, pending());
        let sending = async {
            for chunk in input.chunks(CHUNK_BYTES) {
                // The server closes the connection if the first message is not part of the
                // protocol.
                if to_host.write_all(chunk).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let _ = to_host.shutdown().await;
        };
        let mut output = String::new();
        let (_, (), read) = tokio::join!(serving, sending, from_host.read_to_string(&mut output));
        read.expect("the server writes UTF-8");
        output
    })
}

fn server() -> &'static Server {
    static SERVER: OnceLock<(Server, TempDir)> = OnceLock::new();
    let (server, _) = SERVER.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        for name in ["one", "two"] {
            let skill = directory.path().join(name);
            std::fs::create_dir_all(skill.join("references")).expect("it can be written");
            std::fs::write(
                skill.join("SKILL.md"),
                format!("---\nname: {name}\ndescription: About {name}.\n---\n# {name}\n"),
            )
            .expect("it can be written");
            std::fs::write(skill.join("references/notes.md"), "Notes.\n")
                .expect("it can be written");
        }
        let runtime = SkillRuntime::builder()
            .root(Root::new(directory.path(), Scope::Custom))
            .build();
        let tools = ToolSet::builder(runtime).build().expect("there are tools");
        (
            Server::builder(tools).build().expect("there is a server"),
            directory,
        )
    });
    server
}

//! `skills mcp`: serves until the client disconnects or a signal arrives.

use std::error::Error;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use skills_mcp::{BearerToken, DirectoryReplayCache, HttpError, HttpErrorKind, HttpServer, Server};
use skills_runtime::Builder;
use skills_runtime::discovery::Trust;
use tokio::runtime::Runtime;

use super::{auth, log, stdio};
use crate::arguments::{ExecutionArgs, Serve};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;
use crate::signals;
use crate::tool_host;

/// Grace period for in-flight calls over HTTP on shutdown, two seconds less than the hard limit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

pub(crate) fn serve(
    builder: Builder,
    arguments: &Serve,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    // Standard output carries the protocol, so logs go to standard error in both transports.
    log::init_stderr_logging(arguments.log, arguments.log_format);
    match arguments.http {
        None => serve_stdio(builder, arguments, project_trust, output),
        Some(address) => serve_http(builder, arguments, address, project_trust, output),
    }
}

fn serve_stdio(
    builder: Builder,
    arguments: &Serve,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    if std::io::stdin().is_terminal() {
        output.status("note: MCP clients start this command and use its standard input and output; register it with `skills mcp install`");
    }
    // Before any other code can read or write the streams.
    let streams =
        stdio::take().context("cannot reserve standard input and output for the protocol")?;
    let server = build_server(
        builder,
        arguments,
        project_trust,
        output,
        ClientTrust::SingleUser,
    )?;
    let executor = build_async_runtime()?;
    let served = executor.block_on(async {
        let _children = signals::handle_child_signals();
        let (input, output) = streams.open()?;
        anyhow::Ok(
            server
                .serve(input, output, signals::wait_for_interrupt())
                .await?,
        )
    });
    // Pending reads of standard input are not awaited; dropping the server kills running programs.
    drop(server);
    executor.shutdown_timeout(Duration::from_secs(1));
    served.map(|()| Exit::Success)
}

fn serve_http(
    builder: Builder,
    arguments: &Serve,
    address: SocketAddr,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    let tokens = auth::load_tokens(arguments, output)?;
    // Without a token every user of this machine is a client, so no tokens count as several users.
    let callers = if tokens.len() == 1 {
        ClientTrust::SingleUser
    } else {
        ClientTrust::MultiUser
    };
    let server = build_server(builder, arguments, project_trust, output, callers)?;
    let http = http_config(arguments, address, tokens);
    let executor = build_async_runtime()?;
    executor.block_on(async {
        let _children = signals::handle_child_signals();
        let bound = http
            .bind()
            .await
            .map_err(|error| explain_bind_error(&error))?;
        let url = format!("http://{}/mcp", bound.address());
        if output.is_json() {
            // Standard output is free over HTTP, and the URL has the port that was chosen for port
            // 0.
            output.print_json(&json!({"url": url}))?;
        } else {
            output.status(&format!("serving at {url}"));
        }
        let connections = server.clone();
        anyhow::Ok(
            bound
                .serve_with_shutdown(
                    move || connections.connection(),
                    shutdown(&server),
                    drain(&server),
                )
                .await?,
        )
    })?;
    executor.shutdown_timeout(Duration::from_secs(1));
    Ok(Exit::Success)
}

/// Waits for a signal, then ends subscriptions.
async fn shutdown(server: &Server) {
    signals::wait_for_interrupt().await;
    // Subscriptions never end by themselves, and would use up the grace period.
    server.stop();
}

/// Grace period for in-flight calls; a second signal shortens it. Calls are cancelled before
/// connections are closed, so that clients receive a response.
async fn drain(server: &Server) {
    let is_second_signal = tokio::time::timeout(DRAIN_TIMEOUT, signals::wait_for_interrupt())
        .await
        .is_ok();
    server.cancel_calls();
    if !is_second_signal {
        // The hard limit of the server closes the connections, two seconds later.
        return std::future::pending().await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Whether the clients of the server belong to one user or to several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientTrust {
    /// The user who started the server, or the owner of its only token.
    SingleUser,
    /// Clients with different tokens.
    MultiUser,
}

fn build_server(
    builder: Builder,
    arguments: &Serve,
    project_trust: Trust,
    output: &Output,
    callers: ClientTrust,
) -> anyhow::Result<Server> {
    let what = ExecutionArgs {
        allow: arguments.allow.clone(),
        env_file: arguments.env_file.clone(),
        ..ExecutionArgs::default()
    };
    let tools = tool_host::callable_tools(builder, &arguments.host, what, project_trust, output)?;
    let server = Server::builder(tools).max_concurrent_calls(arguments.calls);
    // One user must not approve permanently for the others.
    let server = if callers == ClientTrust::MultiUser {
        server.multi_user()
    } else {
        server
    };
    let server = match &arguments.key_file {
        Some(path) => server
            .request_state_key(auth::read_state_key(path)?)
            // Servers with the same key accept the state of each other, so each answer must be
            // recorded where all of them look.
            .replay_cache(DirectoryReplayCache::new(replay_cache_path(path))),
        None => server,
    };
    server
        .build()
        .map_err(|error| InputError::new(error.to_string()).into())
}

/// Returns the directory in which servers that share a key record used responses.
fn replay_cache_path(key: &Path) -> std::path::PathBuf {
    // Next to the key: servers that share a key file then share its records too.
    let mut name = key.as_os_str().to_owned();
    name.push(".spent");
    name.into()
}

fn http_config(arguments: &Serve, address: SocketAddr, tokens: Vec<BearerToken>) -> HttpServer {
    let http = tokens
        .into_iter()
        .fold(HttpServer::new(address), HttpServer::token);
    let http = arguments
        .allow_host
        .iter()
        .fold(http, |http, host| http.allow_host(host));
    let http = arguments
        .allow_origin
        .iter()
        .fold(http, |http, origin| http.allow_origin(origin));
    let http = if arguments.allow_remote {
        http.allow_remote()
    } else {
        http
    };
    if arguments.no_sessions {
        // Legacy clients are then served request by request, and cannot be asked.
        http.max_sessions(0)
    } else {
        http
    }
}

/// Converts an error of the configuration to one of the options, with a hint that names them.
fn explain_bind_error(error: &HttpError) -> InputError {
    let hint = match error.kind() {
        HttpErrorKind::RemoteNotAllowed => {
            "listen on 127.0.0.1, or pass `--allow-remote` and `--allow-host HOST`"
        }
        HttpErrorKind::NoToken => {
            "generate a token, for example with `openssl rand -hex 32`, and pass it with `--token-file FILE`"
        }
        HttpErrorKind::NoHost => {
            "pass the name that clients connect to, for example `--allow-host tools.example`"
        }
        HttpErrorKind::InvalidHost => {
            "pass a host without scheme and path: `--allow-host tools.example` for any port, `--allow-host tools.example:8443` for one"
        }
        HttpErrorKind::InvalidOrigin => {
            "pass a scheme and a host without path, for example `--allow-origin https://tools.example`"
        }
        _ => return InputError::new(message(error)),
    };
    InputError::new(message(error)).with_help(hint)
}

/// Returns the message of an error, with that of its source if there is one.
fn message(error: &HttpError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn build_async_runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

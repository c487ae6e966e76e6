//! `skills mcp`: serves until the client goes or somebody ends it.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use skills_mcp::{Http, Server, SpentInDirectory, Token};
use skills_runtime::Builder;
use tokio::runtime::Runtime;

use super::{log, streams, tokens};
use crate::arguments::{Serve, What};
use crate::exit::Exit;
use crate::host;
use crate::input::InputError;
use crate::output::Output;
use crate::signals;

/// How long calls over HTTP may go on when the server is to end; two seconds less than they have.
const PATIENCE: Duration = Duration::from_secs(8);

pub(crate) fn serve(
    builder: Builder,
    arguments: &Serve,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    log::to_stderr(arguments.log, arguments.log_format);
    match arguments.http {
        None => over_streams(builder, arguments, trust_project, output),
        Some(address) => over_http(builder, arguments, address, trust_project, output),
    }
}

fn over_streams(
    builder: Builder,
    arguments: &Serve,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    if std::io::stdin().is_terminal() {
        output.note("a client starts this command and talks to it over standard input and output; `skills mcp install` tells a client so");
    }
    // Before anything else can read or write them.
    let streams =
        streams::take().context("standard input and output cannot be had for the protocol")?;
    let server = server(builder, arguments, trust_project, output, Callers::Owner)?;
    let executor = executor()?;
    let served = executor.block_on(async {
        let _children = wait_for_children();
        let (input, output) = streams.open()?;
        anyhow::Ok(server.serve(input, output, signals::interrupted()).await?)
    });
    // What still reads standard input is not waited for, and programs end with what is dropped
    // here.
    drop(server);
    executor.shutdown_timeout(Duration::from_secs(1));
    served.map(|()| Exit::Done)
}

fn over_http(
    builder: Builder,
    arguments: &Serve,
    address: SocketAddr,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let tokens = tokens::choose(arguments, output)?;
    let callers = if tokens.len() == 1 {
        Callers::Owner
    } else {
        Callers::Several
    };
    let server = server(builder, arguments, trust_project, output, callers)?;
    let http = front(arguments, address, tokens);
    let executor = executor()?;
    executor.block_on(async {
        let _children = wait_for_children();
        let bound = http
            .bind()
            .await
            .map_err(|error| InputError::new(error.to_string()))?;
        let url = format!("http://{}/mcp", bound.address());
        if output.is_json() {
            output.document(&json!({"url": url}))?;
        } else {
            output.note(&format!("serving at {url}"));
        }
        let connections = server.clone();
        anyhow::Ok(
            bound
                .serve_until(
                    move || connections.connection(),
                    ended(&server),
                    hurried(&server),
                )
                .await?,
        )
    })?;
    executor.shutdown_timeout(Duration::from_secs(1));
    Ok(Exit::Done)
}

/// Waits until somebody wants the server to end; then subscriptions end.
async fn ended(server: &Server) {
    signals::interrupted().await;
    server.stop();
}

/// Gives calls some time, and less when somebody says so again. They are given up before they are
/// cut short, so that clients are told.
async fn hurried(server: &Server) {
    let is_said_again = tokio::time::timeout(PATIENCE, signals::interrupted())
        .await
        .is_ok();
    server.cancel_calls();
    if !is_said_again {
        return std::future::pending().await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Who may call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callers {
    /// Whoever started the server, or holds its only token.
    Owner,
    Several,
}

fn server(
    builder: Builder,
    arguments: &Serve,
    trust_project: bool,
    output: &Output,
    callers: Callers,
) -> anyhow::Result<Server> {
    let what = What {
        allow: arguments.allow.clone(),
        env_file: arguments.env_file.clone(),
        ..What::default()
    };
    let tools = host::to_call(builder, &arguments.host, what, trust_project, output)?;
    let server = Server::builder(tools).calls_at_once(arguments.calls);
    let server = if callers == Callers::Several {
        server.several_callers()
    } else {
        server
    };
    let server = match &arguments.key_file {
        Some(path) => server
            .key(tokens::key(path)?)
            .spent(SpentInDirectory::new(beside(path))),
        None => server,
    };
    server
        .build()
        .map_err(|error| InputError::new(error.to_string()).into())
}

/// Where the servers that share a key remember which answers were used.
fn beside(key: &Path) -> std::path::PathBuf {
    let mut name = key.as_os_str().to_owned();
    name.push(".spent");
    name.into()
}

fn front(arguments: &Serve, address: SocketAddr, tokens: Vec<Token>) -> Http {
    let http = tokens.into_iter().fold(Http::new(address), Http::token);
    let http = arguments
        .allow_host
        .iter()
        .fold(http, |http, host| http.host(host));
    let http = arguments
        .allow_origin
        .iter()
        .fold(http, |http, origin| http.origin(origin));
    let http = if arguments.allow_remote {
        http.allow_remote()
    } else {
        http
    };
    if arguments.no_sessions {
        http.sessions(0)
    } else {
        http
    }
}

fn executor() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// Whoever started this command may have had it ignore the end of its children; with a handler they
/// can be collected.
#[cfg(unix)]
fn wait_for_children() -> Option<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child()).ok()
}

#[cfg(not(unix))]
fn wait_for_children() {}

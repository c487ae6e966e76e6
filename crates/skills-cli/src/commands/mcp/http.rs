//! `skills mcp --http`: serves over HTTP.

mod auth;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use skills_mcp::{BearerToken, DirectoryReplayCache, HttpError, HttpErrorKind, HttpServer, Server};

use super::serve::{self, Serve};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals;

/// Grace period for in-flight calls over HTTP on shutdown, two seconds less than the hard limit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

impl Serve {
    pub(super) fn serve_http(
        &self,
        address: SocketAddr,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let tokens = auth::load_tokens(self, context)?;
        let mut server = self.server(context)?;
        // One user must not approve permanently for the others. Without a token every user of this
        // machine is a client, so no tokens count as several users.
        if tokens.len() != 1 {
            server = server.multi_user();
        }
        if let Some(path) = &self.key_file {
            server = server
                .request_state_key(auth::read_state_key(path)?)
                // Servers with the same key accept the state of each other, so each answer must be
                // recorded where all of them look.
                .replay_cache(DirectoryReplayCache::new(replay_cache_path(path)));
        }
        let server = serve::build(server)?;
        let http = self.http_config(address, tokens);
        let executor = serve::build_async_runtime()?;
        executor.block_on(async {
            let _children = signals::handle_child_signals();
            let bound = http.bind().await.map_err(explain_bind_error)?;
            let url = format!("http://{}/mcp", bound.address());
            if context.output.is_json() {
                // Standard output is free over HTTP, and the URL has the port that was chosen for
                // port 0.
                context.output.print_json(&json!({"url": url}))?;
            } else {
                context.output.status(&format!("serving at {url}"));
            }
            let connections = server.clone();
            let connection = move || connections.connection();
            let served = bound.serve_with_shutdown(connection, shutdown(&server), drain(&server));
            anyhow::Ok(served.await?)
        })?;
        executor.shutdown_timeout(Duration::from_secs(1));
        Ok(Exit::Success)
    }

    fn http_config(&self, address: SocketAddr, tokens: Vec<BearerToken>) -> HttpServer {
        let mut http = tokens
            .into_iter()
            .fold(HttpServer::new(address), HttpServer::token);
        for host in &self.allow_host {
            http = http.allow_host(host);
        }
        for origin in &self.allow_origin {
            http = http.allow_origin(origin);
        }
        if self.allow_remote {
            http = http.allow_remote();
        }
        // Without sessions, legacy clients are served request by request, and cannot be asked.
        let sessions = if self.no_sessions {
            0
        } else {
            self.max_sessions
        };
        http.max_sessions(sessions)
            .max_connections(self.max_connections)
            .requests_per_second(self.requests_per_second)
            .max_concurrent_requests(self.calls)
    }
}

/// Returns the directory in which servers that share a key record used responses.
fn replay_cache_path(key: &Path) -> PathBuf {
    // Next to the key: servers that share a key file then share its records too.
    let mut name = key.as_os_str().to_owned();
    name.push(".spent");
    name.into()
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

/// Converts an error of the configuration to one of the options, with a hint that names them.
fn explain_bind_error(error: HttpError) -> CommandError {
    let hint = match error.kind() {
        HttpErrorKind::RemoteNotAllowed => {
            Some("listen on 127.0.0.1, or pass `--allow-remote` and `--allow-host HOST`")
        }
        HttpErrorKind::NoToken => Some(
            "generate a token, for example with `openssl rand -hex 32`, and pass it with `--token-file FILE`",
        ),
        HttpErrorKind::NoHost => {
            Some("pass the name that clients connect to, for example `--allow-host tools.example`")
        }
        HttpErrorKind::InvalidHost => Some(
            "pass a host without scheme and path: `--allow-host tools.example` for any port, `--allow-host tools.example:8443` for one",
        ),
        HttpErrorKind::InvalidOrigin => Some(
            "pass a scheme and a host without path, for example `--allow-origin https://tools.example`",
        ),
        _ => None,
    };
    let error = CommandError::input(format!("{:#}", anyhow::Error::from(error)));
    hint.into_iter().fold(error, CommandError::with_help)
}

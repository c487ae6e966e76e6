//! The roots of a client: directories that it works on, of which one becomes its workspace.
#![expect(
    deprecated,
    reason = "roots are deprecated since 2026-07-28, and clients of all earlier versions have them"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientResult, ListRootsRequest, Root, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use skills_tools::ToolSet;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::Server;
use crate::list_changes::ListKind;
use crate::server_info::quote_for_error;
use crate::tool_list;

/// How long a client may take to list its roots, and calls wait for the first list.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of roots that are tried.
const MAX_ROOTS: usize = 32;
/// Maximum length of the URI of a root: that of a path, percent-encoded.
const MAX_URI_BYTES: usize = 3 * 4096;

/// The roots of the client of one connection.
#[derive(Default)]
pub(crate) struct ClientRoots {
    is_declared: AtomicBool,
    /// Cancelled when the first list was applied, or is not awaited any more.
    is_settled: CancellationToken,
    /// Notified when the client reports a change; several changes are one.
    changed: Arc<Notify>,
}

/// The reason why a root is not a directory of this machine.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum RootError {
    #[error("its URI exceeds {MAX_URI_BYTES} bytes")]
    TooLong,
    #[error("invalid URI: {0}")]
    InvalidUri(#[from] url::ParseError),
    #[error("not a `file` URI")]
    OtherScheme,
    #[error("its URI has a query or a fragment; encode `?` and `#` in a path")]
    HasQuery,
    #[error("not a path of this machine")]
    NotLocal,
}

impl ClientRoots {
    /// Records that the client has roots, for which it is asked when it is initialized.
    pub(crate) fn declare(&self) {
        self.is_declared.store(true, Ordering::Relaxed);
    }

    /// Waits until the first list of roots was applied, or too long passed.
    pub(crate) async fn settle(&self) {
        let is_declared = self.is_declared.load(Ordering::Relaxed);
        if is_declared
            && timeout(ANSWER_TIMEOUT, self.is_settled.cancelled())
                .await
                .is_err()
        {
            // The next call does not wait again.
            self.is_settled.cancel();
        }
    }

    /// Records that the client reported a change of its roots.
    pub(crate) fn record_change(&self) {
        self.changed.notify_one();
    }

    /// Requests the roots, now and after each change, until the client disconnects, and makes one
    /// of them the workspace of its connection. Does nothing if the client has no roots.
    pub(crate) fn follow(
        &self,
        server: &Server,
        peer: Peer<RoleServer>,
        disconnected: CancellationToken,
    ) {
        if !self.is_declared.load(Ordering::Relaxed) {
            return;
        }
        let server = server.clone();
        let (changed, is_settled) = (Arc::clone(&self.changed), self.is_settled.clone());
        tokio::spawn(disconnected.run_until_cancelled_owned(async move {
            // One request at a time, so that a client cannot cause several.
            loop {
                match request_roots(&peer).await {
                    Ok(roots) => apply_roots(&server, roots).await,
                    Err(error) => tracing::warn!(%error, "the client did not list its roots"),
                }
                is_settled.cancel();
                changed.notified().await;
            }
        }));
    }
}

async fn request_roots(peer: &Peer<RoleServer>) -> Result<Vec<Root>, ServiceError> {
    let request = ServerRequest::ListRootsRequest(ListRootsRequest::default());
    let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
    let request = peer.send_request_with_option(request, options).await?;
    match request.await_response().await? {
        ClientResult::ListRootsResult(result) => Ok(result.roots),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

async fn apply_roots(server: &Server, roots: Vec<Root>) {
    // The workspace is opened, which blocks.
    let applied = server.run_blocking(move |server| {
        let uris = roots.iter().map(|root| root.uri.as_str());
        let selected = uris.take(MAX_ROOTS).find_map(|uri| select(server, uri));
        server.set_tools(selected.unwrap_or_else(|| server.inner.shared_tools.clone()));
        // Descriptions of tools may depend on the workspace.
        if server.inner.list_tracker.was_served(ListKind::Tools) {
            // An error is reported by the next list.
            drop(tool_list::list_and_track(server));
        }
    });
    if let Err(error) = applied.await {
        tracing::error!(%error, "cannot apply the roots of the client");
    }
}

/// Returns the tools with a root as the workspace, if it may be one.
fn select(server: &Server, uri: &str) -> Option<ToolSet> {
    let inner = &server.inner;
    let select = inner.select_workspace.as_ref()?;
    let directory = parse_root(uri).map_err(Into::into);
    let selected = directory.and_then(|directory| select(&inner.shared_tools, &directory));
    let uri = quote_for_error(uri);
    match selected {
        Ok(tools) => {
            tracing::info!("the root {uri} of the client is the workspace");
            Some(tools)
        }
        Err(error) => {
            tracing::warn!("the root {uri} of the client is not the workspace: {error}");
            None
        }
    }
}

/// Returns the path of a root. It may not exist.
fn parse_root(uri: &str) -> Result<PathBuf, RootError> {
    if uri.len() > MAX_URI_BYTES {
        return Err(RootError::TooLong);
    }
    let url = Url::parse(uri)?;
    if url.scheme() != "file" {
        return Err(RootError::OtherScheme);
    }
    // An unencoded path with these characters would be another directory.
    if url.query().is_some() || url.fragment().is_some() {
        return Err(RootError::HasQuery);
    }
    url.to_file_path().map_err(|()| RootError::NotLocal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, expected: Result<&str, RootError>) {
        assert_eq!(parse_root(uri), expected.map(PathBuf::from), "{uri}");
    }

    #[cfg(unix)]
    #[test]
    fn a_root_is_a_decoded_path_of_this_machine() {
        check("file:///srv/project", Ok("/srv/project"));
        check("file:///srv/project/", Ok("/srv/project/"));
        check("file://localhost/srv", Ok("/srv"));
        check("file:///srv/a%20b/%C3%A4", Ok("/srv/a b/\u{e4}"));
        check("file:///srv/100%25", Ok("/srv/100%"));
        check("file:///srv/a%3Fb", Ok("/srv/a?b"));
        check("file:///srv/../etc", Ok("/etc"));
        check("file:///", Ok("/"));
    }

    #[test]
    fn other_roots_are_rejected() {
        check("file://host/share", Err(RootError::NotLocal));
        check("https://example.org/a", Err(RootError::OtherScheme));
        check("vscode-remote://ssh/a", Err(RootError::OtherScheme));
        check("file:///a?b", Err(RootError::HasQuery));
        check("file:///a#b", Err(RootError::HasQuery));
        let relative = url::ParseError::RelativeUrlWithoutBase;
        check("/srv/project", Err(RootError::InvalidUri(relative)));
        check("", Err(RootError::InvalidUri(relative)));
        let long = format!("file:///{}", "a".repeat(MAX_URI_BYTES));
        check(&long, Err(RootError::TooLong));
    }
}

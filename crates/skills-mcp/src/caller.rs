//! The sender of a request, and its capabilities.

use rmcp::RoleServer;
use rmcp::model::{CacheScope, ProtocolVersion};
use rmcp::service::RequestContext;

use skills_clients::{CLIENTS, Client};

use crate::Principal;

/// The header with the session id of legacy clients.
const SESSION_HEADER: &str = "mcp-session-id";
/// Starts of the names of clients that hand their model a result as JSON, with `_meta`: Gemini CLI and
/// Qwen Code a failed one (they also parse a text that is JSON, and calls of Gemini CLI fail if it is not
/// an object), Cline each.
const CLIENTS_WITH_RAW_RESULTS: [&str; 3] =
    ["gemini-cli-mcp-client", "qwen-cli-mcp-client", "Cline"];
/// Bytes of text of a result, unless the client shows less: models pay for all of it.
const MAX_TEXT_BYTES: usize = 30_000;
/// Cache TTL of list results, in milliseconds.
pub(crate) const CACHE_TTL_MS: u64 = 5_000;

/// The sender of a request, and its capabilities.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) lifecycle: Lifecycle,
    /// The session id for tool calls; `None` if calls do not belong together.
    pub(crate) session: Option<String>,
    /// Whether the protocol version has links to resources in results.
    pub(crate) supports_resource_links: bool,
    /// Whether approval prompts can reach the user.
    pub(crate) supports_elicitation: bool,
    /// Whether the model of the client sees results as JSON.
    pub(crate) shows_raw_results: bool,
    /// How many bytes of text a result has at most.
    pub(crate) max_text_bytes: usize,
}

/// How client and server communicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// Protocol versions up to 2025-11-25: initialization by a handshake, and the server may send
    /// requests.
    Legacy,
    /// Protocol versions since 2026-07-28: requests are independent, and prompts are results of
    /// calls.
    Stateless,
}

impl Lifecycle {
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        if has_version(context, &ProtocolVersion::V_2026_07_28) {
            Self::Stateless
        } else {
            Self::Legacy
        }
    }

    /// Returns the cache TTL in milliseconds and the cache scope of list results. `None` in the
    /// legacy lifecycle; subscribers are notified of changes earlier.
    pub(crate) fn cache_hints(self) -> (Option<u64>, Option<CacheScope>) {
        match self {
            Self::Legacy => (None, None),
            Self::Stateless => (Some(CACHE_TTL_MS), Some(CacheScope::Private)),
        }
    }
}

/// Returns whether a request uses this protocol version or a later one.
fn has_version(context: &RequestContext<RoleServer>, minimum: &ProtocolVersion) -> bool {
    // Versions are dates, so their order as text is their order in time.
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= minimum.as_str())
}

/// Returns how many bytes of text a client of this name gets. A character has at least one.
fn max_text_bytes(name: &str) -> usize {
    let is_named = |client: &&Client| {
        let known = client
            .mcp_name
            .filter(|_| client.max_result_chars.is_some());
        known.is_some_and(|known| {
            let start = name.get(..known.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(known))
        })
    };
    let shown = CLIENTS
        .iter()
        .find(is_named)
        .and_then(|client| client.max_result_chars);
    shown.unwrap_or(MAX_TEXT_BYTES).min(MAX_TEXT_BYTES)
}

impl Caller {
    /// Determines the sender of a request; `session` returns the session id for tool calls.
    pub(crate) fn from_context(
        context: &RequestContext<RoleServer>,
        session: impl FnOnce() -> String,
    ) -> Self {
        let lifecycle = Lifecycle::from_context(context);
        let has_session = match context.extensions.get::<http::request::Parts>() {
            // A stream belongs to one client while it is open.
            None => true,
            // Requests over HTTP belong together only if a legacy client names a session.
            Some(head) => {
                lifecycle == Lifecycle::Legacy && head.headers.contains_key(SESSION_HEADER)
            }
        };
        let elicitation = context
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation);
        // A client that names no elicitation mode supports forms.
        let has_forms = elicitation
            .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none());
        Self {
            principal: Principal::from_extensions(&context.extensions),
            lifecycle,
            supports_resource_links: has_version(context, &ProtocolVersion::V_2025_06_18),
            session: has_session.then(session),
            max_text_bytes: context
                .client_info()
                .map_or(MAX_TEXT_BYTES, |client| max_text_bytes(&client.name)),
            shows_raw_results: context.client_info().is_some_and(|client| {
                CLIENTS_WITH_RAW_RESULTS
                    .iter()
                    .any(|name| client.name.starts_with(name))
            }),
            // Without a session, a response could not be routed back.
            supports_elicitation: has_forms && (has_session || lifecycle == Lifecycle::Stateless),
        }
    }
}

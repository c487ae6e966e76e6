//! Who calls, and what can be done with them.

use rmcp::RoleServer;
use rmcp::model::{CacheScope, ProtocolVersion};
use rmcp::service::RequestContext;

use crate::Principal;

/// The header by which older revisions name a session.
const SESSION_HEADER: &str = "mcp-session-id";
/// How long clients may take what they read for fresh, in milliseconds.
pub(crate) const CACHE_TTL_MS: u64 = 5_000;

/// Who calls, and what can be done with them.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) lifecycle: Lifecycle,
    /// What tools know the conversation by; nothing when calls do not belong together.
    pub(crate) session: Option<String>,
    /// Whether its user can be asked.
    pub(crate) supports_elicitation: bool,
}

/// How the client and the server talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// Revisions up to 2025-11-25: a handshake, and the server may ask the client.
    Legacy,
    /// 2026-07-28 and later: each request stands for itself, and questions are results.
    Stateless,
}

/// What a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind {
    /// A stream that belongs to one client for as long as it is open.
    Stream,
    /// Requests over HTTP. They belong together only where the client names a session of an older
    /// revision.
    Http,
}

impl Lifecycle {
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version();
        let is_stateless = version
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if is_stateless {
            Self::Stateless
        } else {
            Self::Legacy
        }
    }

    /// Returns for how many milliseconds a client may take what it read for fresh, and who may keep
    /// it. Older revisions know no such thing; whoever subscribes hears of a change earlier.
    pub(crate) fn cache_hints(self) -> (Option<u64>, Option<CacheScope>) {
        match self {
            Self::Legacy => (None, None),
            Self::Stateless => (Some(CACHE_TTL_MS), Some(CacheScope::Private)),
        }
    }
}

impl Caller {
    /// Says who sent a request over a connection of this kind, of which `session` is what tools
    /// know it by.
    pub(crate) fn from_context(
        context: &RequestContext<RoleServer>,
        kind: TransportKind,
        session: impl FnOnce() -> String,
    ) -> Self {
        let era = Lifecycle::from_context(context);
        let belongs_together = match kind {
            TransportKind::Stream => true,
            TransportKind::Http => era == Lifecycle::Legacy && has_session_header(context),
        };
        let elicitation = context
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation);
        // A client that names no mode has forms.
        let has_forms = elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none());
        Self {
            principal: Principal::from_extensions(&context.extensions),
            lifecycle: era,
            session: belongs_together.then(session),
            // Without a session no answer would find its way back.
            supports_elicitation: has_forms && (belongs_together || era == Lifecycle::Stateless),
        }
    }
}

fn has_session_header(context: &RequestContext<RoleServer>) -> bool {
    context
        .extensions
        .get::<http::request::Parts>()
        .is_some_and(|parts| parts.headers.contains_key(SESSION_HEADER))
}

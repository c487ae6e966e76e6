//! Who calls, and what can be done with them.

use rmcp::RoleServer;
use rmcp::model::{CacheScope, ProtocolVersion};
use rmcp::service::RequestContext;

use crate::Principal;

/// The header by which older revisions name a session.
const SESSION: &str = "mcp-session-id";
/// How long clients may take what they read for fresh, in milliseconds.
pub(crate) const FRESH_MS: u64 = 5_000;

/// Who calls, and what can be done with them.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) era: Era,
    /// What tools know the conversation by; nothing when calls do not belong together.
    pub(crate) session: Option<String>,
    /// Whether its user can be asked.
    pub(crate) answers: bool,
}

/// How the client and the server talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Revisions up to 2025-11-25: a handshake, and the server may ask the client.
    Sessions,
    /// 2026-07-28 and later: each request stands for itself, and questions are results.
    Stateless,
}

/// What a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A stream that belongs to one client for as long as it is open.
    Stream,
    /// Requests over HTTP. They belong together only where the client names a session of an older
    /// revision.
    Requests,
}

impl Era {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version();
        let is_stateless = version
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if is_stateless {
            Self::Stateless
        } else {
            Self::Sessions
        }
    }

    /// Returns for how many milliseconds a client may take what it read for fresh, and who may keep
    /// it. Older revisions know no such thing; whoever subscribes hears of a change earlier.
    pub(crate) fn hints(self) -> (Option<u64>, Option<CacheScope>) {
        match self {
            Self::Sessions => (None, None),
            Self::Stateless => (Some(FRESH_MS), Some(CacheScope::Private)),
        }
    }
}

impl Caller {
    /// Says who sent a request over a connection of this kind, of which `session` is what tools
    /// know it by.
    pub(crate) fn of(
        context: &RequestContext<RoleServer>,
        kind: Kind,
        session: impl FnOnce() -> String,
    ) -> Self {
        let era = Era::of(context);
        let belongs_together = match kind {
            Kind::Stream => true,
            Kind::Requests => era == Era::Sessions && names_session(context),
        };
        let elicitation = context
            .client_capabilities()
            .and_then(|capabilities| capabilities.elicitation);
        // A client that names no mode has forms.
        let has_forms = elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none());
        Self {
            principal: Principal::of(&context.extensions),
            era,
            session: belongs_together.then(session),
            // Without a session no answer would find its way back.
            answers: has_forms && (belongs_together || era == Era::Stateless),
        }
    }
}

fn names_session(context: &RequestContext<RoleServer>) -> bool {
    context
        .extensions
        .get::<http::request::Parts>()
        .is_some_and(|parts| parts.headers.contains_key(SESSION))
}

//! On whose behalf a request is answered.

use std::fmt;
use std::sync::Arc;

use rmcp::model::Extensions;

/// The name of the one who asks: that of a token, or of the way the server was reached.
///
/// Approvals, limits and records are kept apart by it. It is a name for people, never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Returns who sent the request that carries these extensions.
    ///
    /// A request that came over HTTP carries its head, and in it the principal that the server
    /// found. A head without one is nobody's: `unknown`. Anything else came over standard input:
    /// `stdio`.
    #[must_use]
    pub fn from_extensions(extensions: &Extensions) -> Self {
        let Some(head) = extensions.get::<::http::request::Parts>() else {
            return Self::stdio();
        };
        head.extensions
            .get::<Self>()
            .cloned()
            .unwrap_or_else(|| Self::new("unknown"))
    }

    /// Returns the one who started the server and talks to it over standard input and output.
    #[must_use]
    pub fn stdio() -> Self {
        Self::new("stdio")
    }

    /// Returns whoever reaches a server that listens on this machine alone and asks for no token.
    #[must_use]
    pub fn local() -> Self {
        Self::new("local")
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(principal: Option<Principal>) -> Extensions {
        let (mut parts, ()) = ::http::Request::new(()).into_parts();
        if let Some(principal) = principal {
            parts.extensions.insert(principal);
        }
        let mut extensions = Extensions::new();
        extensions.insert(parts);
        extensions
    }

    #[test]
    fn requests_belong_to_who_sent_them() {
        assert_eq!(
            Principal::from_extensions(&Extensions::new()),
            Principal::stdio()
        );
        assert_eq!(
            Principal::from_extensions(&head(Some(Principal::new("ci")))).as_str(),
            "ci"
        );
        assert_eq!(
            Principal::from_extensions(&head(None)).as_str(),
            "unknown",
            "a head without a principal is nobody's"
        );
    }
}

//! The principal of a request.

use std::fmt;
use std::sync::Arc;

use rmcp::model::Extensions;

/// Names the principal of a request: the owner of a bearer token, or the transport if there are no
/// tokens.
///
/// Approvals, limits and log entries are separated by principal. The name is meant to be displayed
/// and is not a secret; cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Returns the principal of the request with these extensions.
    ///
    /// Requests over HTTP carry the principal that the server authenticated; without it, the
    /// principal is `unknown`. Other requests came over standard input: `stdio`.
    #[must_use]
    pub fn from_extensions(extensions: &Extensions) -> Self {
        // Only HTTP requests have a head, so a client of a stream cannot pretend to be another
        // principal.
        let Some(head) = extensions.get::<::http::request::Parts>() else {
            return Self::stdio();
        };
        head.extensions
            .get::<Self>()
            .cloned()
            .unwrap_or_else(|| Self::new("unknown"))
    }

    /// Returns the principal of standard input and output: the user who started the server.
    #[must_use]
    pub fn stdio() -> Self {
        Self::new("stdio")
    }

    /// Returns the principal of a loopback server without tokens.
    #[must_use]
    pub fn local() -> Self {
        Self::new("local")
    }

    /// Returns the name: that of the token, or `stdio`, `local` or `unknown`.
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
    fn requests_have_the_authenticated_principal() {
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
            "a request without a principal"
        );
    }
}

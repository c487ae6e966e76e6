//! The MCP servers that a client has.

use std::collections::BTreeSet;

use skills_manifest::RequiredServer;

/// The MCP servers that a client has, by what they are and not by their names.
///
/// A server of a skill is installed if its [key](RequiredServer::key) is one of these, so that an
/// entry under another name counts.
///
/// ```
/// use skills_prompt::InstalledServers;
///
/// let servers = InstalledServers::default().url("https://docs.example/mcp").command("local-mcp");
/// assert!(servers.contains("mcp__streamable_http__https://docs.example/mcp"));
/// assert!(servers.contains("mcp__stdio__local-mcp"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledServers(BTreeSet<String>);

impl InstalledServers {
    /// Adds a server that the client connects to.
    #[must_use]
    pub fn url(mut self, url: &str) -> Self {
        self.0.insert(RequiredServer::url_key(url));
        self
    }

    /// Adds a server that the client starts, whatever its arguments.
    #[must_use]
    pub fn command(mut self, command: &str) -> Self {
        self.0.insert(RequiredServer::command_key(command));
        self
    }

    /// Adds the servers of another client or scope.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Returns true if a server with this key is installed.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains(key)
    }
}

/// Collects servers from their keys.
impl<S: Into<String>> FromIterator<S> for InstalledServers {
    fn from_iter<I: IntoIterator<Item = S>>(keys: I) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }
}

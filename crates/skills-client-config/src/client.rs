//! The clients with a configuration that this crate can edit.

use std::fmt;

use skills_clients::{CLIENTS, ServerFormat};

use crate::error::ConfigError;

/// A client with a known form of server entries: a row of the table of clients.
#[derive(Clone, Copy)]
pub struct ServerClient {
    pub(crate) row: &'static skills_clients::Client,
    pub(crate) format: &'static ServerFormat,
}

/// Whether the configuration is the user's or a project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    /// The user's configuration, for all projects.
    User,
    /// The project's configuration, shared by its users.
    Project,
}

impl ServerClient {
    /// Returns all clients, in the order of the table.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let with_format = |row: &'static skills_clients::Client| {
            let format = row.servers.as_ref()?;
            Some(Self { row, format })
        };
        CLIENTS.iter().filter_map(with_format).collect()
    }

    /// Returns the client of this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all()
            .into_iter()
            .find(|client| client.as_str() == name)
    }

    /// Returns the name of the client in options and JSON output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row.id
    }

    /// Returns the product name of the client.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row.title
    }

    /// Returns the full product name, which differs from the title of some clients.
    #[must_use]
    pub fn full_name(self) -> &'static str {
        self.row.full_name.unwrap_or(self.title())
    }

    /// Returns the environment variables that move its configuration.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        let locations = self.row.user_config.iter();
        locations
            .flat_map(|location| location.variables)
            .map(|(name, _)| *name)
    }

    /// Returns [`ConfigScope::Project`].
    ///
    /// # Errors
    /// Fails if the client has no configuration of projects.
    pub fn project_scope(self) -> Result<ConfigScope, ConfigError> {
        if self.row.project_config.is_empty() {
            return Err(ConfigError::NoProjectConfig {
                client: self.title(),
            });
        }
        Ok(ConfigScope::Project)
    }

    /// Returns true if entries can have a URL. A client that expands no variable in headers cannot
    /// have one, since a token is never written.
    #[must_use]
    pub fn supports_urls(self) -> bool {
        !self.format.http.is_empty()
    }

    /// Returns true if the client would expand a variable in this text.
    #[must_use]
    pub fn expands(self, text: &str) -> bool {
        self.format.expansion.applies_to(text)
    }

    /// Returns the variable that names the directory of the project, if the client has one.
    #[must_use]
    pub fn project_variable(self) -> Option<&'static str> {
        self.format.project_variable
    }

    /// Returns a character that names of servers cannot contain, if there is one.
    #[must_use]
    pub fn separator(self) -> Option<char> {
        self.format.separator
    }

    /// Returns what the user has to do next for the client to use the server.
    #[must_use]
    pub fn next_step(self, scope: ConfigScope) -> &'static str {
        let of_project = self.format.project_next_step;
        let of_project = of_project.filter(|_| scope == ConfigScope::Project);
        of_project.unwrap_or(self.format.next_step)
    }

    /// Returns the client with the form of entries that its file of this scope has.
    pub(crate) fn in_scope(self, scope: ConfigScope) -> Self {
        let of_project = self.format.for_project;
        let of_project = of_project.filter(|_| scope == ConfigScope::Project);
        let format = of_project.unwrap_or(self.format);
        Self { format, ..self }
    }

    /// Returns the client with the table of servers of its newer versions, if they have one.
    pub(crate) fn nested(self) -> Option<Self> {
        let format = self.format.nested?;
        Some(Self { format, ..self })
    }
}

impl fmt::Debug for ServerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

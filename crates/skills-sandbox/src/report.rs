//! Which walls stood around a run.

use std::fmt;

/// Which walls stood around a run: what the backend's mechanisms accepted, not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    backend: &'static str,
    layers: Vec<Layer>,
}

/// One wall.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Layer {
    name: &'static str,
    status: Status,
    detail: String,
}

/// How well a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// It holds all that it should.
    Enforced,
    /// It holds, but not all; the detail says what is missing.
    Partial,
    /// It does not stand; the detail says why.
    Unavailable,
}

impl Report {
    /// Starts the report of a backend.
    #[must_use]
    pub fn new(backend: &'static str) -> Self {
        Self { backend, layers: Vec::new() }
    }

    /// Adds a wall.
    #[must_use]
    pub fn layer(mut self, name: &'static str, status: Status, detail: impl Into<String>) -> Self {
        self.layers.push(Layer { name, status, detail: detail.into() });
        self
    }

    /// Adds a wall for the scratch directory when it could not be removed.
    #[must_use]
    pub fn removed(self, result: std::io::Result<()>) -> Self {
        match result {
            Ok(()) => self,
            Err(error) => self.layer("scratch", Status::Partial, format!("the scratch directory is left behind: {error}")),
        }
    }

    /// Returns the backend's name.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Returns the walls, outermost first.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

impl Layer {
    /// Returns the wall's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns how well it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns what it does, or what is missing.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            Status::Enforced => "enforced",
            Status::Partial => "partial",
            Status::Unavailable => "unavailable",
        };
        write!(f, "{} {status}: {}", self.name, self.detail)
    }
}

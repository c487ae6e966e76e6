//! Which walls stood around a run.

use std::fmt;

/// Which walls stood around a run: what the backend's mechanisms accepted, not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    backend: &'static str,
    facts: Vec<Fact>,
    layers: Vec<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

/// Something about the machine or the run that says how strong the walls are: the kernel, the tier,
/// a limit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// Its name: lower-case words with hyphens.
    pub name: &'static str,
    /// Its value, for people to read.
    pub value: String,
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
        Self {
            backend,
            facts: Vec::new(),
            layers: Vec::new(),
            degraded: None,
            hints: Vec::new(),
        }
    }

    /// Adds a wall.
    #[must_use]
    pub fn layer(mut self, name: &'static str, status: Status, detail: impl Into<String>) -> Self {
        self.layers.push(Layer {
            name,
            status,
            detail: detail.into(),
        });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push(Fact {
            name,
            value: value.into(),
        });
        self
    }

    /// Says why the walls are weaker than the backend's strongest.
    #[must_use]
    pub fn degraded(mut self, reason: impl Into<String>) -> Self {
        self.degraded = Some(reason.into());
        self
    }

    /// Adds what would make the walls stronger, in one line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a wall for the scratch directory when it could not be removed.
    #[must_use]
    pub fn removed(self, result: std::io::Result<()>) -> Self {
        self.left("scratch", result)
    }

    /// Adds a wall for something of the run that could not be removed.
    #[must_use]
    pub fn left(self, name: &'static str, result: std::io::Result<()>) -> Self {
        match result {
            Ok(()) => self,
            Err(error) => self.layer(name, Status::Partial, format!("it is left behind: {error}")),
        }
    }

    /// Returns the facts, in the order in which they were added.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Returns a fact's value.
    #[must_use]
    pub fn fact_named(&self, name: &str) -> Option<&str> {
        self.facts
            .iter()
            .find(|fact| fact.name == name)
            .map(|fact| fact.value.as_str())
    }

    /// Returns why the walls are weaker than the backend's strongest, when they are.
    #[must_use]
    pub fn why_degraded(&self) -> Option<&str> {
        self.degraded.as_deref()
    }

    /// Returns what would make them stronger.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns all of it as lines for people: facts, walls, what is weaker than it could be and
    /// what to do about it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let facts: Vec<String> = self
            .facts
            .iter()
            .map(|fact| format!("{} {}", fact.name, fact.value))
            .collect();
        let facts = (!facts.is_empty()).then(|| facts.join(", "));
        let degraded = self
            .degraded
            .iter()
            .map(|reason| format!("weaker than it could be: {reason}"));
        let hints = self.hints.iter().map(|hint| format!("to do: {hint}"));
        facts
            .into_iter()
            .chain(self.layers.iter().map(Layer::to_string))
            .chain(degraded)
            .chain(hints)
            .collect()
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

//! Which walls stood around a run.

use std::fmt;

/// Which walls stood around a run: what the backend's mechanisms accepted, not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EnforcementReport {
    backend: &'static str,
    fields: Vec<ReportField>,
    restrictions: Vec<Restriction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

/// Something about the machine or the run that says how strong the walls are: the kernel, the tier,
/// a limit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReportField {
    /// Its name: lower-case words with hyphens.
    pub name: &'static str,
    /// Its value, for people to read.
    pub value: String,
}

/// One wall.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Restriction {
    name: &'static str,
    status: EnforcementStatus,
    detail: String,
}

/// How well a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EnforcementStatus {
    /// It holds all that it should.
    Enforced,
    /// It holds, but not all; the detail says what is missing.
    Partial,
    /// It does not stand; the detail says why.
    Unavailable,
}

impl EnforcementReport {
    /// Starts the report of a backend.
    #[must_use]
    pub fn new(backend: &'static str) -> Self {
        Self {
            backend,
            fields: Vec::new(),
            restrictions: Vec::new(),
            degraded: None,
            hints: Vec::new(),
        }
    }

    /// Adds a wall.
    #[must_use]
    pub fn restriction(
        mut self,
        name: &'static str,
        status: EnforcementStatus,
        detail: impl Into<String>,
    ) -> Self {
        self.restrictions.push(Restriction {
            name,
            status,
            detail: detail.into(),
        });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push(ReportField {
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
    pub fn cleanup(self, result: std::io::Result<()>) -> Self {
        self.cleanup_of("scratch", result)
    }

    /// Adds a wall for something of the run that could not be removed.
    #[must_use]
    pub fn cleanup_of(self, name: &'static str, result: std::io::Result<()>) -> Self {
        match result {
            Ok(()) => self,
            Err(error) => self.restriction(
                name,
                EnforcementStatus::Partial,
                format!("it is left behind: {error}"),
            ),
        }
    }

    /// Returns the facts, in the order in which they were added.
    #[must_use]
    pub fn fields(&self) -> &[ReportField] {
        &self.fields
    }

    /// Returns a fact's value.
    #[must_use]
    pub fn field_value(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|fact| fact.name == name)
            .map(|fact| fact.value.as_str())
    }

    /// Returns why the walls are weaker than the backend's strongest, when they are.
    #[must_use]
    pub fn degraded_reason(&self) -> Option<&str> {
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
    pub fn to_lines(&self) -> Vec<String> {
        let facts: Vec<String> = self
            .fields
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
            .chain(self.restrictions.iter().map(Restriction::to_string))
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
    pub fn restrictions(&self) -> &[Restriction] {
        &self.restrictions
    }
}

impl Restriction {
    /// Returns the wall's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns how well it stands.
    #[must_use]
    pub fn status(&self) -> EnforcementStatus {
        self.status
    }

    /// Returns what it does, or what is missing.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            EnforcementStatus::Enforced => "enforced",
            EnforcementStatus::Partial => "partial",
            EnforcementStatus::Unavailable => "unavailable",
        };
        write!(f, "{} {status}: {}", self.name, self.detail)
    }
}

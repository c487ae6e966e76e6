//! The enforcement report of a run.

use std::fmt;

/// The restrictions in effect during a run, as accepted by the operating system (not as planned).
/// It also holds facts about host and run as [fields](Self::fields), why the sandbox is degraded,
/// and hints for a stronger one.
///
/// ```
/// use skills_sandbox::EnforcementReport;
///
/// let report = EnforcementReport::new("example")
///     .field("kernel", "6.8")
///     .enforced("files", "mount namespace")
///     .unavailable("memory", "no cgroup")
///     .hint("delegate the memory controller to this user");
/// assert_eq!(
///     report.to_lines(),
///     [
///         "kernel 6.8",
///         "files enforced: mount namespace",
///         "memory unavailable: no cgroup",
///         "help: delegate the memory controller to this user",
///     ]
/// );
/// ```
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

/// A fact about the host or the run that determines how strong the sandbox is: the kernel, the
/// isolation level, a limit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReportField {
    /// The name: lowercase words with hyphens.
    pub name: &'static str,
    /// The value, human-readable.
    pub value: String,
}

/// One restriction with its status. `detail` describes the mechanism, or what is missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Restriction {
    name: &'static str,
    status: EnforcementStatus,
    detail: String,
}

/// How completely a restriction is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EnforcementStatus {
    /// It is fully enforced.
    Enforced,
    /// It is enforced in part; the detail says what is missing.
    Partial,
    /// It is not enforced; the detail says why.
    Unavailable,
}

impl EnforcementReport {
    /// Creates an empty report for a backend.
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

    /// Adds a restriction that is fully enforced.
    #[must_use]
    pub fn enforced(self, name: &'static str, detail: impl Into<String>) -> Self {
        self.restriction(name, EnforcementStatus::Enforced, detail)
    }

    /// Adds a restriction that is enforced in part; `detail` says what is missing.
    #[must_use]
    pub fn partial(self, name: &'static str, detail: impl Into<String>) -> Self {
        self.restriction(name, EnforcementStatus::Partial, detail)
    }

    /// Adds a restriction that is not enforced; `detail` says why.
    #[must_use]
    pub fn unavailable(self, name: &'static str, detail: impl Into<String>) -> Self {
        self.restriction(name, EnforcementStatus::Unavailable, detail)
    }

    /// Adds a restriction with a status that depends on the run.
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

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push(ReportField {
            name,
            value: value.into(),
        });
        self
    }

    /// Sets why the restrictions are weaker than the strongest of the backend.
    #[must_use]
    pub fn degraded(mut self, reason: impl Into<String>) -> Self {
        self.degraded = Some(reason.into());
        self
    }

    /// Adds a hint of one line: what would make the restrictions stronger.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a `partial` restriction if the scratch directory could not be removed.
    #[must_use]
    pub fn cleanup(self, result: std::io::Result<()>) -> Self {
        self.cleanup_of("scratch", result)
    }

    /// Adds a `partial` restriction if cleanup of `name` failed.
    #[must_use]
    pub fn cleanup_of(self, name: &'static str, result: std::io::Result<()>) -> Self {
        match result {
            Ok(()) => self,
            Err(error) => self.partial(name, format!("cannot be removed: {error}")),
        }
    }

    /// Returns the fields, in the order in which they were added.
    #[must_use]
    pub fn fields(&self) -> &[ReportField] {
        &self.fields
    }

    /// Returns the value of a field.
    #[must_use]
    pub fn field_value(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .map(|field| field.value.as_str())
    }

    /// Returns why the restrictions are weaker than the strongest of the backend, if they are.
    #[must_use]
    pub fn degraded_reason(&self) -> Option<&str> {
        self.degraded.as_deref()
    }

    /// Returns the report as human-readable lines: fields, restrictions, the degraded reason and
    /// hints.
    #[must_use]
    pub fn to_lines(&self) -> Vec<String> {
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|field| format!("{} {}", field.name, field.value))
            .collect();
        let fields = (!fields.is_empty()).then(|| fields.join(", "));
        let degraded = self
            .degraded
            .iter()
            .map(|reason| format!("degraded: {reason}"));
        let hints = self.hints.iter().map(|hint| format!("help: {hint}"));
        fields
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

    /// Returns the restrictions, the outermost first.
    #[must_use]
    pub fn restrictions(&self) -> &[Restriction] {
        &self.restrictions
    }
}

impl Restriction {
    /// Returns the name of the restriction.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if it is enforced.
    #[must_use]
    pub fn status(&self) -> EnforcementStatus {
        self.status
    }

    /// Returns how it is enforced, or what is missing.
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

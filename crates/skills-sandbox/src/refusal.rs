//! Operations that a restriction stopped during a run.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use skills_policy::Target;

/// An operation that a restriction stopped during a run. It tells a user which rule would allow the
/// operation; no decision depends on it.
///
/// The name of a program, a host or a path comes from the program that tried it. Escape it before
/// showing it.
///
/// ```
/// use skills_sandbox::{Evidence, Refusal, RefusedOperation};
///
/// let git = RefusedOperation::StartProgram { name: "git".to_owned() };
/// let refusal = Refusal::new(git, Evidence::Proxy);
/// assert_eq!(refusal.operation.to_string(), "spawn `git`");
/// assert_eq!(refusal.operation.target().unwrap().to_string(), "spawn:git");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// What was tried.
    #[serde(flatten)]
    pub operation: RefusedOperation,
    /// Who observed it.
    pub evidence: Evidence,
    /// How often it was tried; at least 1.
    pub count: u32,
}

/// An operation that a restriction stopped. Serialized with its name in kebab-case as `operation`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefusedOperation {
    /// Create a process, for a program that is not known yet.
    StartProcess,
    /// Start the program of this name.
    StartProgram {
        /// The name, without its directory.
        name: String,
    },
    /// Open a network connection.
    Connect {
        /// The host name or address, if it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// Use a family of operations that no rule allows.
    NeverAllowed(NeverAllowed),
    /// Read a file or directory.
    Read {
        /// The path, as the program wrote it.
        path: String,
    },
    /// Write a file or directory.
    Write {
        /// The path, as the program wrote it.
        path: String,
    },
    /// Use more memory than the limit.
    UseMemory {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// Compile the program, before it starts, within the time limit.
    CompileInTime {
        /// The limit in milliseconds.
        limit_ms: u64,
    },
}

/// A family of operations that every run is refused, and no rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct NeverAllowed {
    /// The name of the family in kebab case.
    pub family: &'static str,
    /// What was tried, in the imperative.
    #[serde(skip)]
    pub text: &'static str,
    /// Why no rule allows it, as a clause.
    pub reason: &'static str,
    /// Whether libraries try it and do without it, so that it rarely explains a failure.
    #[serde(skip)]
    pub is_probed: bool,
}

/// Who observed a fact about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Evidence {
    /// The kernel, which refused a system call or reported it.
    Kernel,
    /// The proxy for granted hosts, or the name server of the run.
    Proxy,
    /// The host functions of WebAssembly programs.
    Wasi,
    /// The runtime itself, from files and settings of the host.
    Runtime,
    /// Only the output of the program, which can claim anything.
    ProgramOutput,
}

impl Evidence {
    /// Returns true unless only the output of the program says it.
    #[must_use]
    pub fn is_observed(self) -> bool {
        self != Self::ProgramOutput
    }
}

impl Refusal {
    /// Creates a refusal that happened once.
    #[must_use]
    pub fn new(operation: RefusedOperation, evidence: Evidence) -> Self {
        Self {
            operation,
            evidence,
            count: 1,
        }
    }

    /// Sets how often it was tried. Default: once.
    #[must_use]
    pub fn count(self, count: u32) -> Self {
        Self { count, ..self }
    }
}

impl RefusedOperation {
    /// Returns the name of the kind of operation, as it is serialized.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StartProcess => "start-process",
            Self::StartProgram { .. } => "start-program",
            Self::Connect { .. } => "connect",
            Self::NeverAllowed(_) => "never-allowed",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::UseMemory { .. } => "use-memory",
            Self::CompileInTime { .. } => "compile-in-time",
        }
    }

    /// Returns the program, host or path, if it is known, or the family of what is never allowed.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::NeverAllowed(never) => Some(never.family),
            Self::StartProgram { name: text }
            | Self::Connect { host: Some(text) }
            | Self::Read { path: text }
            | Self::Write { path: text } => Some(text),
            Self::StartProcess
            | Self::Connect { host: None }
            | Self::UseMemory { .. }
            | Self::CompileInTime { .. } => None,
        }
    }

    /// Returns true for what libraries try and do without, so that it rarely explains a failure.
    #[must_use]
    pub fn is_probed(&self) -> bool {
        matches!(self, Self::NeverAllowed(never) if never.is_probed)
    }

    /// Returns the name of the program, host or path, which can come from the program.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::StartProgram { name: text }
            | Self::Connect { host: Some(text) }
            | Self::Read { path: text }
            | Self::Write { path: text } => Some(text),
            _ => None,
        }
    }

    /// Replaces the path of reading or writing a file.
    #[must_use]
    pub fn map_path(self, replace: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Read { path } => Self::Read {
                path: replace(&path),
            },
            Self::Write { path } => Self::Write {
                path: replace(&path),
            },
            other => other,
        }
    }

    /// Returns the narrowest target of a rule that allows the operation. `None` if its host is not
    /// known, if no rule can name it, or if the run's limits decide.
    #[must_use]
    pub fn target(&self) -> Option<Target> {
        match self {
            Self::StartProcess => Some(skills_policy::Capability::Spawn.into()),
            Self::StartProgram { name } => Target::program(name.as_str()).ok(),
            Self::Connect { host } => format!("network:{}", host.as_ref()?).parse().ok(),
            Self::Read { path } => Target::read(path).ok(),
            Self::Write { path } => Target::write(path).ok(),
            Self::NeverAllowed(_) | Self::UseMemory { .. } | Self::CompileInTime { .. } => None,
        }
    }
}

impl fmt::Display for RefusedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartProcess => f.write_str("spawn another program"),
            Self::StartProgram { name } => write!(f, "spawn `{name}`"),
            Self::Connect { host: Some(host) } => write!(f, "connect to `{host}`"),
            Self::Connect { host: None } => f.write_str("open a network connection"),
            Self::NeverAllowed(never) => f.write_str(never.text),
            Self::Read { path } => write!(f, "read `{path}`"),
            Self::Write { path } => write!(f, "write `{path}`"),
            Self::UseMemory { limit_bytes } => {
                write!(f, "use more than {} MiB of memory", limit_bytes >> 20)
            }
            Self::CompileInTime { limit_ms } => {
                write!(f, "compile the program within {limit_ms} ms")
            }
        }
    }
}

/// The refusals of a run, each operation once, in the order in which they were first tried.
///
/// At most [`Refusals::MAX`] are kept; further ones are counted only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    list: Vec<Refusal>,
    /// Hashes of the operations that are not in the list: one that is tried again is not another one.
    omitted: BTreeSet<u64>,
}

/// The most operations that are counted.
const MAX_OMITTED: usize = 1_000;

impl Refusals {
    /// The maximum number of different refusals of a run.
    pub const MAX: usize = 8;

    /// Adds a refusal. One that was [observed](Evidence::is_observed) replaces an unverified one for
    /// the same operation.
    pub fn add(&mut self, refusal: Refusal) {
        let known = self
            .list
            .iter_mut()
            .find(|known| known.operation == refusal.operation);
        if let Some(known) = known {
            known.count = known.count.saturating_add(refusal.count);
            if refusal.evidence.is_observed() {
                known.evidence = refusal.evidence;
            }
            return;
        }
        if self.list.len() >= Self::MAX {
            self.make_room(&refusal);
        }
        if self.list.len() >= Self::MAX {
            self.omit(&refusal.operation);
        } else {
            self.list.push(refusal);
        }
    }

    fn omit(&mut self, operation: &RefusedOperation) {
        if self.omitted.len() < MAX_OMITTED {
            let mut hasher = DefaultHasher::new();
            operation.hash(&mut hasher);
            self.omitted.insert(hasher.finish());
        }
    }

    /// Removes the last operation that no rule allows for one that a rule can allow, and for a
    /// connection the last one that is not a connection, unless half of them are connections. A program
    /// could otherwise hide what it tried behind other operations.
    fn make_room(&mut self, new: &Refusal) {
        let is_never =
            |known: &Refusal| matches!(known.operation, RefusedOperation::NeverAllowed(_));
        let hosts = self.list.iter().filter(|known| is_connection(known));
        let is_room_for_host = is_connection(new) && hosts.count() < Self::MAX / 2;
        let position = self.list.iter().rposition(is_never);
        let position = position.filter(|_| !is_never(new)).or_else(|| {
            let mut list = self.list.iter();
            list.rposition(|known| is_room_for_host && !is_connection(known))
        });
        if let Some(position) = position {
            let removed = self.list.remove(position);
            self.omit(&removed.operation);
        }
    }

    /// Replaces refusals by others, up to the [maximum](Self::MAX) number.
    #[must_use]
    pub fn replace(
        self,
        is_replaced: impl Fn(&Refusal) -> bool,
        replacement: impl Fn(&Refusal) -> Vec<Refusal>,
    ) -> Self {
        let mut replaced = Self {
            list: Vec::new(),
            omitted: self.omitted,
        };
        for refusal in self.list {
            if is_replaced(&refusal) {
                for new in replacement(&refusal) {
                    replaced.add(new);
                }
            } else {
                replaced.add(refusal);
            }
        }
        replaced
    }

    /// Replaces the names, hosts and paths of all operations, such as to redact secrets.
    #[must_use]
    pub fn map_text(mut self, replace: impl Fn(&str) -> String) -> Self {
        for refusal in &mut self.list {
            if let Some(text) = refusal.operation.text_mut() {
                *text = replace(text);
            }
        }
        self
    }

    /// Adds a connection that was refused this often.
    pub fn add_connections(&mut self, host: Option<String>, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let operation = RefusedOperation::Connect { host };
        self.add(Refusal::new(operation, Evidence::Proxy).count(count));
    }

    /// Returns the refusals, the first one first.
    #[must_use]
    pub fn list(&self) -> &[Refusal] {
        &self.list
    }

    /// Returns how many operations are not in the list, each once, at most 1,000.
    #[must_use]
    pub fn omitted(&self) -> u32 {
        u32::try_from(self.omitted.len()).unwrap_or(u32::MAX)
    }
}

fn is_connection(refusal: &Refusal) -> bool {
    matches!(refusal.operation, RefusedOperation::Connect { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: NeverAllowed = NeverAllowed {
        family: "clock",
        text: "set the clock",
        reason: "all programs of the host use it",
        is_probed: false,
    };

    fn connect(host: &str) -> Refusal {
        let host = Some(host.to_owned());
        Refusal::new(RefusedOperation::Connect { host }, Evidence::ProgramOutput)
    }

    #[test]
    fn refusals_are_counted_once_each_and_bounded() {
        let mut refusals = Refusals::default();
        for index in 0..20 {
            refusals.add(connect(&format!("h{index}.example")));
            refusals.add(connect("h0.example"));
            refusals.add(connect("h19.example"));
        }
        assert_eq!(refusals.list().len(), Refusals::MAX);
        assert_eq!(refusals.list()[0].count, 21);
        assert_eq!(refusals.omitted(), 12);
    }

    #[test]
    fn programs_do_not_hide_the_hosts_that_were_tried() {
        let mut refusals = Refusals::default();
        for index in 0..20 {
            let name = format!("p{index}");
            let operation = RefusedOperation::StartProgram { name };
            refusals.add(Refusal::new(operation, Evidence::Proxy));
        }
        for index in 0..6 {
            refusals.add(connect(&format!("h{index}.example")));
        }
        let hosts = refusals
            .list()
            .iter()
            .filter(|refusal| is_connection(refusal));
        assert_eq!((refusals.list().len(), hosts.count()), (Refusals::MAX, 4));
        assert_eq!(refusals.omitted(), 18);
    }

    #[test]
    fn what_no_rule_allows_hides_nothing_that_one_would() {
        let mut refusals = Refusals::default();
        let families = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        for family in families {
            let never = NeverAllowed { family, ..NEVER };
            let operation = RefusedOperation::NeverAllowed(never);
            refusals.add(Refusal::new(operation, Evidence::Kernel));
        }
        refusals.add(Refusal::new(
            RefusedOperation::StartProcess,
            Evidence::Kernel,
        ));
        let mut list = refusals.list().iter();
        assert!(list.any(|refusal| refusal.operation == RefusedOperation::StartProcess));
        assert_eq!(
            (refusals.list().len(), refusals.omitted()),
            (Refusals::MAX, 2)
        );
    }

    #[test]
    fn an_observation_replaces_what_a_program_says() {
        let mut refusals = Refusals::default();
        refusals.add(connect("a.example"));
        refusals.add(Refusal {
            evidence: Evidence::Proxy,
            ..connect("a.example")
        });
        assert_eq!(refusals.list()[0].evidence, Evidence::Proxy);
        assert_eq!(refusals.list()[0].count, 2);
    }

    #[test]
    fn kinds_are_as_serialized() {
        let host = Some("a".to_owned());
        let (name, path) = ("a".to_owned(), "a".to_owned());
        for operation in [
            RefusedOperation::StartProcess,
            RefusedOperation::StartProgram { name },
            RefusedOperation::Connect { host },
            RefusedOperation::NeverAllowed(NEVER),
            RefusedOperation::Read { path: path.clone() },
            RefusedOperation::Write { path },
            RefusedOperation::UseMemory { limit_bytes: 1 },
            RefusedOperation::CompileInTime { limit_ms: 1 },
        ] {
            let value = serde_json::to_value(&operation).unwrap();
            assert_eq!(value["operation"], operation.kind());
        }
    }

    #[test]
    fn a_name_that_no_rule_can_contain_has_no_target() {
        let program = |name: &str| RefusedOperation::StartProgram {
            name: name.to_owned(),
        };
        assert_eq!(program("a b\n").target(), None);
        assert_eq!(program("git").target().unwrap().to_string(), "spawn:git");
        let path = |path: &str| RefusedOperation::Read {
            path: path.to_owned(),
        };
        assert_eq!(path("../x").target(), None);
        assert_eq!(RefusedOperation::Connect { host: None }.target(), None);
        assert_eq!(
            RefusedOperation::StartProcess.target().unwrap().to_string(),
            "spawn"
        );
    }
}

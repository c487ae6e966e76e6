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
/// let refusal = Refusal::new(git, Evidence::Observed);
/// assert_eq!(refusal.operation.to_string(), "spawn `git`");
/// assert_eq!(refusal.operation.target().unwrap().to_string(), "spawn:git");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// What was tried.
    #[serde(flatten)]
    pub operation: RefusedOperation,
    /// Whether the backend observed it or the program reported it.
    pub evidence: Evidence,
    /// How often it was tried; at least 1.
    pub count: u32,
    /// Why no rule that a user passes to the run would allow it, as a clause. `None` if one would, or
    /// if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// Why no message suggests the rule that would allow it, as a clause: it gives keys or control, or
    /// only the program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Whether only a rule with the name of the program would allow it, which is not known: another
    /// rule denies one program, and so all programs without a name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_program_name: bool,
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
    /// Be notified of changes of files.
    WatchFiles,
    /// List the network interfaces of the host, with their addresses.
    ListInterfaces,
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

/// The source of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Evidence {
    /// The restriction itself reported it.
    Observed,
    /// The program's output reports it; the program may not have tried it.
    ProgramOutput,
}

impl Refusal {
    /// Creates a refusal that happened once.
    #[must_use]
    pub fn new(operation: RefusedOperation, evidence: Evidence) -> Self {
        Self {
            operation,
            evidence,
            count: 1,
            obstacle: None,
            caution: None,
            needs_program_name: false,
        }
    }

    /// Sets how often it was tried. Default: once.
    #[must_use]
    pub fn count(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// Returns the narrowest rule that a user can pass to allow it, in the syntax of rules: that of
    /// its [target](RefusedOperation::target), or one for a path in the home directory, such as
    /// `read:~/.config/a.json`. `None` if there is an [obstacle](Self::obstacle) or a
    /// [caution](Self::caution), or if the rule [needs a name](Self::needs_program_name).
    #[must_use]
    pub fn rule(&self) -> Option<String> {
        if self.obstacle.is_some() || self.caution.is_some() || self.needs_program_name {
            return None;
        }
        let in_home = match &self.operation {
            RefusedOperation::Read { path } => ("read", path),
            RefusedOperation::Write { path } => ("write", path),
            operation => return operation.target().map(|target| target.to_string()),
        };
        match in_home {
            (access, path) if path.starts_with("~/") => Some(format!("{access}:{path}")),
            _ => self.operation.target().map(|target| target.to_string()),
        }
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
            Self::WatchFiles => "watch-files",
            Self::ListInterfaces => "list-interfaces",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::UseMemory { .. } => "use-memory",
            Self::CompileInTime { .. } => "compile-in-time",
        }
    }

    /// Returns the program, host or path, if it is known.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::StartProgram { name: text }
            | Self::Connect { host: Some(text) }
            | Self::Read { path: text }
            | Self::Write { path: text } => Some(text),
            Self::StartProcess
            | Self::WatchFiles
            | Self::ListInterfaces
            | Self::Connect { host: None }
            | Self::UseMemory { .. }
            | Self::CompileInTime { .. } => None,
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
            Self::WatchFiles
            | Self::ListInterfaces
            | Self::UseMemory { .. }
            | Self::CompileInTime { .. } => None,
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
            Self::WatchFiles => f.write_str("watch files for changes"),
            Self::ListInterfaces => f.write_str("list network interfaces"),
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

    /// Adds a refusal. One that was [observed](Evidence::Observed) replaces an unverified one for
    /// the same operation.
    pub fn add(&mut self, refusal: Refusal) {
        let known = self
            .list
            .iter_mut()
            .find(|known| known.operation == refusal.operation);
        if let Some(known) = known {
            known.count = known.count.saturating_add(refusal.count);
            if refusal.evidence == Evidence::Observed {
                known.evidence = Evidence::Observed;
            }
            return;
        }
        if self.list.len() >= Self::MAX && is_connection(&refusal) {
            self.make_room_for_host();
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

    /// Removes the last operation that is not a connection, unless half of them are connections. A
    /// program could otherwise hide the hosts that it tried behind names of programs.
    fn make_room_for_host(&mut self) {
        let hosts = self
            .list
            .iter()
            .filter(|known| is_connection(known))
            .count();
        if hosts < Self::MAX / 2
            && let Some(last) = self.list.iter().rposition(|known| !is_connection(known))
        {
            let removed = self.list.remove(last);
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

    /// Sets the [obstacle](Refusal::obstacle) of each refusal.
    #[must_use]
    pub fn with_obstacles(mut self, find: impl Fn(&Refusal) -> Option<String>) -> Self {
        for refusal in &mut self.list {
            refusal.obstacle = find(refusal);
        }
        self
    }

    /// Sets for each operation why no rule is suggested for it.
    #[must_use]
    pub fn with_cautions(mut self, find: impl Fn(&Refusal) -> Option<String>) -> Self {
        for refusal in &mut self.list {
            refusal.caution = find(refusal);
        }
        self
    }

    /// Marks the started programs whose name is not known, and has to be in a
    /// [rule](Refusal::needs_program_name).
    #[must_use]
    pub fn require_program_name(mut self) -> Self {
        for refusal in &mut self.list {
            refusal.needs_program_name =
                refusal.operation == RefusedOperation::StartProcess && refusal.obstacle.is_none();
        }
        self
    }

    /// Replaces the names, hosts and paths of all operations, such as to redact secrets.
    #[must_use]
    pub fn map_text(mut self, replace: impl Fn(&str) -> String) -> Self {
        for refusal in &mut self.list {
            if let RefusedOperation::StartProgram { name: text }
            | RefusedOperation::Connect { host: Some(text) }
            | RefusedOperation::Read { path: text }
            | RefusedOperation::Write { path: text } = &mut refusal.operation
            {
                *text = replace(text);
            }
        }
        self
    }

    /// Adds a connection that was refused this often.
    pub fn add_connections(&mut self, host: Option<String>, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let operation = RefusedOperation::Connect { host };
        self.add(Refusal::new(operation, Evidence::Observed).count(count));
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
            refusals.add(Refusal::new(operation, Evidence::Observed));
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
    fn an_observation_replaces_what_a_program_says() {
        let mut refusals = Refusals::default();
        refusals.add(connect("a.example"));
        refusals.add(Refusal {
            evidence: Evidence::Observed,
            ..connect("a.example")
        });
        assert_eq!(refusals.list()[0].evidence, Evidence::Observed);
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
            RefusedOperation::WatchFiles,
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

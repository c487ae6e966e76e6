//! One row of the table.

use std::fmt;

use super::AttemptResult;

/// An escape attempt, with its required result in each [`BackendVariant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// From 1 on, without gaps. It never changes, so newer cases have higher numbers than others of
    /// their category.
    pub number: u8,
    /// Lowercase words with hyphens, unique. It never changes.
    pub name: &'static str,
    /// The kind of attempt.
    pub category: Category,
    /// What is attempted, in one sentence.
    pub attempt: &'static str,
    pub(super) expected: [&'static [AttemptResult]; BackendVariant::ALL.len()],
    pub(super) requirement: Option<&'static str>,
}

impl Case {
    /// Returns the accepted results for a backend variant, the best one first. There is more than
    /// one only if the result depends on the host.
    #[must_use]
    pub fn expected(&self, column: BackendVariant) -> &'static [AttemptResult] {
        let [isolated, landlock, seatbelt, wasm, container] = self.expected;
        match column {
            BackendVariant::LinuxNamespaces => isolated,
            BackendVariant::LinuxLandlock => landlock,
            BackendVariant::Seatbelt => seatbelt,
            BackendVariant::Wasm => wasm,
            BackendVariant::Container => container,
        }
    }

    /// Returns what a host needs for the attempt. A case may be skipped only if that is missing.
    #[must_use]
    pub fn requirement(&self, column: BackendVariant) -> Option<&'static str> {
        // WebAssembly runs on any host, so no case may be skipped there.
        if column == BackendVariant::Wasm {
            return None;
        }
        // These cases depend on the profile alone, which any host can evaluate.
        let is_in_profile =
            matches!(self.number, 1..=14 | 16..=21 | 25 | 32..=37 | 46..=48 | 58 | 100 | 103 | 104);
        let needs_mac = column == BackendVariant::Seatbelt
            && !is_in_profile
            && self.expected(column) != [AttemptResult::NotApplicable].as_slice();
        if needs_mac {
            Some("macOS")
        } else {
            self.requirement
        }
    }
}

/// A sandbox backend, with its isolation level if it has several. A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BackendVariant {
    /// Linux with namespaces: user, file tree and process table are private to the run.
    LinuxNamespaces,
    /// Linux with Landlock and seccomp only.
    LinuxLandlock,
    /// macOS. Cases that depend only on the profile are checked on any host.
    Seatbelt,
    /// WebAssembly, on any host.
    Wasm,
    /// A container of an engine on the same Linux host, from an image for its architecture.
    Container,
}

impl BackendVariant {
    /// All backend variants, in the order of the columns.
    pub const ALL: [Self; 5] = [
        Self::LinuxNamespaces,
        Self::LinuxLandlock,
        Self::Seatbelt,
        Self::Wasm,
        Self::Container,
    ];
}

impl fmt::Display for BackendVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinuxNamespaces => "linux, namespaces",
            Self::LinuxLandlock => "linux, landlock",
            Self::Seatbelt => "seatbelt",
            Self::Wasm => "webassembly",
            Self::Container => "container",
        })
    }
}

/// A kind of attempt, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Files by path.
    Files,
    /// Symlinks, hard links and renames, including races.
    Races,
    /// procfs, sysfs and cgroups.
    Kernel,
    /// Network sockets.
    Network,
    /// Unix sockets.
    LocalSockets,
    /// Processes and signals.
    Processes,
    /// Memory, disk, time.
    Resources,
    /// Variables, secrets, descriptors, terminals.
    Environment,
    /// Output streams and termination.
    Output,
    /// Privileges and the system call interface.
    Privileges,
    /// The sandbox runtime itself.
    Runtime,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "Files",
            Self::Races => "Links and races",
            Self::Kernel => "procfs and cgroups",
            Self::Network => "Network",
            Self::LocalSockets => "Unix sockets",
            Self::Processes => "Processes and signals",
            Self::Resources => "Resources",
            Self::Environment => "Environment, secrets, descriptors, terminals",
            Self::Output => "Output and termination",
            Self::Privileges => "Privileges and the kernel",
            Self::Runtime => "Runtime",
        })
    }
}

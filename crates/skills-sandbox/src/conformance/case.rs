//! One row of the table.

use std::fmt;

use super::AttemptResult;

/// An attempt to get out, and what must come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// From 1 on, without gaps; it never changes, so newer cases have higher numbers than others of
    /// their group.
    pub number: u8,
    /// Lower-case words with hyphens, unique; it never changes.
    pub name: &'static str,
    /// What kind of attempt it is.
    pub category: Category,
    /// What is tried, in one sentence.
    pub attempt: &'static str,
    pub(super) expected: [&'static [AttemptResult]; BackendVariant::ALL.len()],
    pub(super) requirement: Option<&'static str>,
}

impl Case {
    /// Returns the answers that are right in a column, the best first. There is more than one only
    /// where what the machine offers decides.
    #[must_use]
    pub fn expected(&self, column: BackendVariant) -> &'static [AttemptResult] {
        let [isolated, landlock, seatbelt, wasm] = self.expected;
        match column {
            BackendVariant::LinuxNamespaces => isolated,
            BackendVariant::LinuxLandlock => landlock,
            BackendVariant::Seatbelt => seatbelt,
            BackendVariant::Wasm => wasm,
        }
    }

    /// Returns what a machine needs so that the attempt can be made there; where that is missing
    /// the case may be skipped, and no other may.
    #[must_use]
    pub fn requirement(&self, column: BackendVariant) -> Option<&'static str> {
        if column == BackendVariant::Wasm {
            return None;
        }
        let is_in_profile =
            matches!(self.number, 1..=14 | 16..=21 | 25 | 32..=37 | 46..=48 | 58 | 100);
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

/// A backend, and how strong its walls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BackendVariant {
    /// Linux, with a user, a file tree and a process table of the run's own.
    LinuxNamespaces,
    /// Linux, with Landlock and seccomp alone.
    LinuxLandlock,
    /// macOS. What its profile alone decides is answered on any machine.
    Seatbelt,
    /// WebAssembly, on any machine.
    Wasm,
}

impl BackendVariant {
    /// All columns, in order.
    pub const ALL: [Self; 4] = [
        Self::LinuxNamespaces,
        Self::LinuxLandlock,
        Self::Seatbelt,
        Self::Wasm,
    ];
}

impl fmt::Display for BackendVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinuxNamespaces => "linux, isolated",
            Self::LinuxLandlock => "linux, landlock",
            Self::Seatbelt => "seatbelt",
            Self::Wasm => "webassembly",
        })
    }
}

/// A kind of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Files by their paths.
    Files,
    /// Symlinks, hard links and renames, some while somebody looks away.
    Races,
    /// The kernel's files about processes and itself.
    Kernel,
    /// Sockets of the network.
    Network,
    /// Sockets of the machine.
    LocalSockets,
    /// Processes and signals.
    Processes,
    /// Memory, disk, time.
    Resources,
    /// Variables, secrets, descriptors, terminals.
    Environment,
    /// Streams and endings.
    Output,
    /// Privileges and the surface of the kernel.
    Privileges,
    /// The runtime itself.
    Runtime,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "Files",
            Self::Races => "Links and renames",
            Self::Kernel => "Files of the kernel",
            Self::Network => "Network",
            Self::LocalSockets => "Sockets of the machine",
            Self::Processes => "Processes and signals",
            Self::Resources => "Resources",
            Self::Environment => "Environment, secrets, descriptors, terminals",
            Self::Output => "Output and endings",
            Self::Privileges => "Privileges and the kernel",
            Self::Runtime => "The runtime itself",
        })
    }
}

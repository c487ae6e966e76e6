//! One row of the table.

use std::fmt;

use super::Answer;

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
    pub group: Group,
    /// What is tried, in one sentence.
    pub attempt: &'static str,
    pub(super) expected: [&'static [Answer]; Column::ALL.len()],
    pub(super) needs: Option<&'static str>,
}

impl Case {
    /// Returns the answers that are right in a column, the best first. There is more than one only
    /// where what the machine offers decides.
    #[must_use]
    pub fn expected(&self, column: Column) -> &'static [Answer] {
        let [isolated, landlock, seatbelt, wasm] = self.expected;
        match column {
            Column::Isolated => isolated,
            Column::Landlock => landlock,
            Column::Seatbelt => seatbelt,
            Column::Wasm => wasm,
        }
    }

    /// Returns what a machine needs so that the attempt can be made there; where that is missing
    /// the case may be skipped, and no other may.
    #[must_use]
    pub fn needs(&self, column: Column) -> Option<&'static str> {
        if column == Column::Wasm {
            return None;
        }
        let is_in_profile =
            matches!(self.number, 1..=14 | 16..=21 | 25 | 32..=37 | 46..=48 | 58 | 100);
        let needs_mac = column == Column::Seatbelt
            && !is_in_profile
            && self.expected(column) != [Answer::Absent].as_slice();
        if needs_mac { Some("macOS") } else { self.needs }
    }
}

/// A backend, and how strong its walls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Column {
    /// Linux, with a user, a file tree and a process table of the run's own.
    Isolated,
    /// Linux, with Landlock and seccomp alone.
    Landlock,
    /// macOS. What its profile alone decides is answered on any machine.
    Seatbelt,
    /// WebAssembly, on any machine.
    Wasm,
}

impl Column {
    /// All columns, in order.
    pub const ALL: [Self; 4] = [Self::Isolated, Self::Landlock, Self::Seatbelt, Self::Wasm];
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Isolated => "linux, isolated",
            Self::Landlock => "linux, landlock",
            Self::Seatbelt => "seatbelt",
            Self::Wasm => "webassembly",
        })
    }
}

/// A kind of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
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

impl fmt::Display for Group {
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

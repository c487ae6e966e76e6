//! The kinds of power that a tool name stands for.

use std::fmt;

/// A kind of power that a program may ask for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Capability {
    /// Read files.
    Read,
    /// Write files.
    Write,
    /// Reach hosts on the network.
    Network,
    /// Start other programs.
    Spawn,
    /// See environment variables of the host, such as secrets.
    Environment,
}

impl Capability {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Network,
        Self::Spawn,
        Self::Environment,
    ];

    /// Returns what a tool of `allowed-tools` asks for, by the table of the OpenSkills flow; names
    /// are compared exactly.
    ///
    /// A tool that is not in the table (`mcp__…`, `Task`, `*`) asks for nothing that a program
    /// could be given.
    #[must_use]
    pub fn from_tool_name(tool: &str) -> Option<Self> {
        match tool {
            "Read" | "Grep" | "Glob" | "LS" => Some(Self::Read),
            "Write" | "Edit" | "MultiEdit" => Some(Self::Write),
            "WebSearch" | "Fetch" | "WebFetch" => Some(Self::Network),
            "Bash" | "Terminal" => Some(Self::Spawn),
            _ => None,
        }
    }

    /// Says whether the OpenSkills flow asks before it gives this power: all but reading.
    #[must_use]
    pub fn is_privileged(self) -> bool {
        self != Self::Read
    }

    /// Returns the capability as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Spawn => "spawn",
            Self::Environment => "environment",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! Classes of permissions, and the tool names that stand for them.

use std::fmt;

/// A class of permissions. Serialized as one lowercase word.
///
/// Rules can name a whole class (`deny network`), and a run can be started without one
/// ([`Request::drop_capability`](crate::Request::drop_capability)). The variants are in the order
/// in which decisions are listed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Capability {
    /// Reading files and directories.
    Read,
    /// Writing files and directories, which includes reading them.
    Write,
    /// Connecting to hosts on the network.
    Network,
    /// Starting other programs.
    Spawn,
    /// Reading environment variables of the host, such as secrets.
    Environment,
    /// Installing packages of a registry for the programs of a skill.
    Packages,
}

impl Capability {
    /// All capabilities, in order.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Write,
        Self::Network,
        Self::Spawn,
        Self::Environment,
        Self::Packages,
    ];

    /// Returns the capability that a tool of `allowed-tools` stands for, by the table of the
    /// OpenSkills flow. Names are compared exactly, with case.
    ///
    /// `None` for other tools (`mcp__…`, `Task`, `*`): they are tools of the agent, and programs
    /// get nothing by them.
    ///
    /// ```
    /// use skills_policy::Capability;
    ///
    /// assert_eq!(Capability::from_tool_name("Bash"), Some(Capability::Spawn));
    /// assert_eq!(Capability::from_tool_name("bash"), None);
    /// assert_eq!(Capability::from_tool_name("*"), None);
    /// ```
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

    /// Returns true if the OpenSkills flow requests approval for it: all capabilities but reading.
    #[must_use]
    pub fn is_privileged(self) -> bool {
        self != Self::Read
    }

    /// Returns the capability as one lowercase word, as it is serialized.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Spawn => "spawn",
            Self::Environment => "environment",
            Self::Packages => "packages",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

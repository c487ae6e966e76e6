//! The answer of an approver.

use std::fmt;

/// The answer of an approver to a whole [`Question`](crate::Question).
///
/// An answer covers all subjects of the question or none, and exactly one content digest.
/// Serialized as `once`, `all-programs`, `session`, `program`, `commands`, `always` or `deny`, which is
/// also what [`Display`](fmt::Display) writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Allows this run only.
    #[serde(rename = "once")]
    AllowOnce,
    /// Allows this run only, and any program in it: a script that starts many programs is refused one of
    /// them in each attempt. Offered after a program was refused, if the policy allows any program.
    #[serde(rename = "all-programs")]
    AllowAllPrograms,
    /// Allows this content until the [session](crate::Request::session) or the process ends.
    #[serde(rename = "session")]
    AllowSession,
    /// Allows the programs of this [command](crate::Request::ad_hoc) in all commands on the same
    /// content or directory, until the session ends. For requests without a command like
    /// [`AllowSession`](Self::AllowSession).
    #[serde(rename = "program")]
    AllowProgram,
    /// Allows all programs in commands on the same content or directory, until the session ends. For
    /// requests without a command like [`AllowSession`](Self::AllowSession).
    #[serde(rename = "commands")]
    AllowCommands,
    /// Allows this content permanently, as an [`Approval`](crate::Approval) in the
    /// [store](crate::ApprovalStore).
    #[serde(rename = "always")]
    AllowAlways,
    /// Denies all that is asked.
    Deny,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllowOnce => "once",
            Self::AllowAllPrograms => "all-programs",
            Self::AllowSession => "session",
            Self::AllowProgram => "program",
            Self::AllowCommands => "commands",
            Self::AllowAlways => "always",
            Self::Deny => "deny",
        })
    }
}

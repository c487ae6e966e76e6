//! Needs for approval beyond the decisions of rules.

use serde::{Deserialize, Serialize};

/// Decides permissions that no rule decides, and those with an `ask` rule.
///
/// In policy files `strict`, `ask` or `trusted`; ordered from strict to lenient. No mode overrides
/// a `deny` rule, and none grants a protected path or a hook.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Denied, and no approver is asked: rules and stored approvals decide alone. For servers and
    /// continuous integration.
    Strict,
    /// An approver is asked; without a response they are denied.
    #[default]
    Ask,
    /// What a skill declares is granted. `deny` and `ask` rules still apply, and what the skill
    /// does not declare needs approval.
    Trusted,
}

/// Whether content that was never approved may run.
///
/// A rule such as `allow spawn:git` is written for the skills that exist at the time. This setting
/// decides whether it also applies to a skill, or to an update, that appears later. Ordered from
/// strict to lenient.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum NewContentPolicy {
    /// It needs approval before its first run, whatever it requests.
    Ask,
    /// It needs approval if a standing rule or trusted mode grants it a privilege, anything but
    /// reading. With the default grants alone it runs, as skills of low risk do in the OpenSkills
    /// flow. In policy files `ask-if-privileged`.
    #[default]
    AskIfPrivileged,
    /// It is treated like approved content.
    Allow,
}

/// Whether programs run where no audit record of them can be written, such as without a home
/// directory. Ordered from strict to lenient.
///
/// A policy only states it: the host application that writes the records refuses such a run. Files of
/// a project can require records, and never make them optional.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RecordMode {
    /// Nothing runs without a record.
    #[default]
    Required,
    /// Programs run without a record if it cannot be written.
    Optional,
}

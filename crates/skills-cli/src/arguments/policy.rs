//! Arguments of `skills policy`, `skills trust` and `skills audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run::ExecutionArgs;

#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what a skill would be granted, and why
    Check(Box<Check>),
    /// Show the effective rules and limits
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Skill name or directory
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Skill name or directory
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,

    /// List stored approvals
    #[arg(long, conflicts_with_all = ["name", "revoke"])]
    pub(crate) list: bool,

    /// Revoke all approvals of the skill
    #[arg(long)]
    pub(crate) revoke: bool,

    /// Approve without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Audit log [default: audit.jsonl in the state directory]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show recent audit records
    Tail(Tail),
    /// Show one audit record
    Show(ShowRecord),
    /// Verify the hash chain of the audit log
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Number of records
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    pub(crate) lines: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowRecord {
    /// Sequence number of the record
    pub(crate) number: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Hash of a record that the log must contain
    ///
    /// Store the hash outside the log to detect truncation. Records after it are counted.
    #[arg(long, value_name = "HASH")]
    pub(crate) last: Option<String>,
}

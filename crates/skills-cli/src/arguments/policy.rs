//! The arguments of rules, approvals and records.

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
    /// Say what a skill's program would be given, and why
    Check(Box<Check>),
    /// Print the rules that hold, and where they stand
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Name of the skill, or its directory
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Name of the skill, or its directory
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,

    /// List what was approved
    #[arg(long, conflicts_with_all = ["name", "revoke"])]
    pub(crate) list: bool,

    /// Forget what was approved for the skill
    #[arg(long)]
    pub(crate) revoke: bool,

    /// Approve without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The log [default: audit.jsonl where this command keeps its state]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print the last records, a line each
    Tail(Tail),
    /// Print one record entirely
    Show(ShowRecord),
    /// Hold the log against its hashes
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// How many records
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    pub(crate) lines: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowRecord {
    /// Number of the record
    pub(crate) number: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The hash of a record that was written down elsewhere: it must be there, and what came since
    /// is counted
    #[arg(long, value_name = "HASH")]
    pub(crate) last: Option<String>,
}

//! The arguments of the commands that install skills.

use clap::Args;
use skills_install::LocalEdits;

use crate::lint::DenyArgs;

/// Options for fetching sources.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Allow plain HTTP and the git protocol, which authenticate no server
    #[arg(long)]
    pub(super) insecure: bool,
}

/// Options for skills that were edited.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Replace skills that were edited since they were installed; the edits are lost
    #[arg(long, conflicts_with = "ours")]
    theirs: bool,

    /// Keep skills that were edited since they were installed
    #[arg(long)]
    ours: bool,
}

/// The options of every command that installs skills.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Do not ask; a person must still review a skill that may do more than before or that has a
    /// finding of high severity
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) deny: DenyArgs,

    #[command(flatten)]
    pub(crate) edits: EditArgs,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

impl EditArgs {
    pub(crate) fn edits(&self) -> LocalEdits {
        match (self.theirs, self.ours) {
            (true, _) => LocalEdits::Theirs,
            (_, true) => LocalEdits::Ours,
            _ => LocalEdits::Refuse,
        }
    }
}

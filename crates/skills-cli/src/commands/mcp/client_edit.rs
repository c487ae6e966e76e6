//! An edit of a client's configuration: its result, and the write under the lock of this command.

use std::env;
use std::fs::File;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;
use skills_client_config::{ConfigTarget, Consent, Proposal};
use skills_runtime::PrivateFile;

use crate::approver::Confirmation;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::Output;
use crate::process_environment::Environment;

/// Timeout for the lock among calls of this command, each of which holds it for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EditStatus {
    Unchanged,
    Planned,
    Written,
    Declined,
    Unanswered,
}

impl EditStatus {
    pub(super) fn exit(self) -> Exit {
        match self {
            Self::Declined | Self::Unanswered => Exit::Denied,
            _ => Exit::Success,
        }
    }
}

/// Plans the edit. If the layout of the file cannot be edited, prints the entries for its user.
fn propose(target: &ConfigTarget, output: Output) -> anyhow::Result<Proposal> {
    let proposal = target.propose().inspect_err(|_| {
        if let Some(entries) = target.manual_entries() {
            output.status_lines(entries.trim_end());
        }
    });
    Ok(proposal?)
}

/// The mode of an edit.
pub(super) enum EditMode<'a> {
    /// Plans the change and writes nothing (`--dry-run`).
    DryRun,
    /// Writes without a question (`--yes`).
    Apply,
    /// Writes if the user confirms the proposal.
    Confirm(&'a dyn Fn(&Proposal) -> Confirmation),
}

/// Shows the change that is described by `describe`, and writes it, as `mode` says. Returns the
/// result, with what was written: its position can differ from what was shown.
pub(super) fn edit(
    target: &ConfigTarget,
    mode: EditMode<'_>,
    describe: impl FnOnce(&Proposal) -> String,
    context: &Context,
) -> anyhow::Result<(EditStatus, Proposal)> {
    let output = context.output;
    let proposal = propose(target, output)?;
    if proposal.is_unchanged() {
        return Ok((EditStatus::Unchanged, proposal));
    }
    let show = || output.status_lines(&describe(&proposal));
    let agreed = match mode {
        EditMode::DryRun => return Ok((EditStatus::Planned, proposal)),
        EditMode::Apply => {
            show();
            Consent::Any
        }
        EditMode::Confirm(ask) => {
            show();
            match ask(&proposal) {
                // Other programs can change the file during the prompt, so consent is for what was
                // shown and not for any later edit.
                Confirmation::Yes => Consent::Proposal(&proposal),
                Confirmation::No => return Ok((EditStatus::Declined, proposal)),
                Confirmation::Unanswered => return Ok((EditStatus::Unanswered, proposal)),
            }
        }
    };
    write(target, agreed, &context.environment)
}

/// Applies a change that was agreed to, and returns what was written.
fn write(
    target: &ConfigTarget,
    agreed: Consent<'_>,
    environment: &Environment,
) -> anyhow::Result<(EditStatus, Proposal)> {
    // Clients take no lock. This one is for concurrent calls of this command, which could
    // otherwise lose an entry of each other.
    let lock = lock_installs(environment);
    let _lock = lock.with_context(|| format!("cannot write `{}`", target.path().display()))?;
    let proposal = target.write(agreed)?;
    let status = if proposal.is_unchanged() {
        EditStatus::Unchanged
    } else {
        EditStatus::Written
    };
    Ok((status, proposal))
}

/// Acquires the lock among all calls of this command. Returns `None` without a state directory.
fn lock_installs(environment: &Environment) -> anyhow::Result<Option<File>> {
    // Without a lock concurrent calls can lose an entry, but a single one works.
    let Some(state) = environment.state_dir() else {
        return Ok(None);
    };
    let path = state.join("mcp-install");
    let lock = PrivateFile::new(&path).lock_with_timeout(LOCK_TIMEOUT);
    lock.map(Some)
        .with_context(|| format!("cannot lock `{}.lock`", path.display()))
}

/// Returns the absolute path of this program, for the client's configuration.
///
/// # Errors
/// Fails if the program no longer exists, as after an update, or if its path is not valid Unicode.
pub(super) fn current_program() -> anyhow::Result<String> {
    let path = env::current_exe()?;
    // On Linux the path of a deleted program ends with ` (deleted)`.
    if !path.is_absolute() || !path.is_file() {
        let path = path.display();
        bail!("`{path}` no longer exists: start the new `skills` again");
    }
    path.into_os_string().into_string().map_err(|path| {
        let message = format!(
            "cannot register `{}`: the path is not valid Unicode; install this program elsewhere",
            path.display()
        );
        CommandError::input(message).into()
    })
}

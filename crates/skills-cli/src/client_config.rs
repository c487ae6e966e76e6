//! The configuration of clients: which servers it has, and edits that lose nothing else in it.
//!
//! ```text
//! Client -> ClientSpec               data: paths, language and fields of each client
//! ConfigTarget::propose -> Proposal  the new text and its difference, nothing is written
//! ConfigTarget::write                what was agreed to, under a lock, with an atomic exchange
//! ```

mod atomic_replace;
mod client;
mod client_environment;
mod client_spec;
mod client_table;
mod config_edit;
mod config_file;
mod config_language;
mod config_path;
mod diff;
mod server_entry;

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;
use similar::ChangeTag;
use skills_runtime::PrivateFile;
use skills_runtime::prompt::InstalledServers;

use self::atomic_replace::{Replacement, Snapshot};
pub(crate) use self::client::{Client, Scope};
pub(super) use self::client_environment::current_program;
use self::config_edit::ConfigEdits;
use self::config_file::ConfigFile;
use self::server_entry::ConfigEditError;
pub(super) use self::server_entry::{EntryChange, EntryOrigin, ServerEntry, Transport};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::Output;
use crate::process_environment::Environment;

/// Maximum number of attempts if other programs write the file in the meantime.
const MAX_ATTEMPTS: usize = 50;
/// Delay between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Timeout for the lock among calls of this command, each of which holds it for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Server entries, and the configuration file for them.
pub(super) struct ConfigTarget {
    client: Client,
    scope: Scope,
    entries: Vec<ServerEntry>,
    file: ConfigFile,
    on_existing: OnExisting,
}

/// An edit of the file's content at one point in time.
pub(super) struct Proposal {
    before: Snapshot,
    edit: ConfigEdits,
}

/// The changes that the user has agreed to.
#[derive(Clone, Copy)]
pub(super) enum Consent<'a> {
    /// Changes with the same effect on the entries as this one, or a part of them.
    Proposal(&'a Proposal),
    /// Every change (`--yes`).
    Any,
}

/// What to do with an existing entry.
enum OnExisting {
    /// Update or replace the one of the same name.
    Update,
    /// Keep all, and add no second entry for a server, also not for one of these.
    Keep(InstalledServers),
}

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

impl ConfigTarget {
    /// Finds the configuration file of a client for these entries.
    ///
    /// # Errors
    /// Fails if the client has no such configuration, or if it cannot be located.
    pub(super) fn find(
        client: Client,
        scope: Scope,
        entries: Vec<ServerEntry>,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            client,
            scope,
            entries,
            file: find_config_file(client, scope, environment)?,
            on_existing: OnExisting::Update,
        })
    }

    /// Keeps all existing entries, and adds none for a server that the file or `others` has.
    pub(super) fn keep_existing(mut self, others: InstalledServers) -> Self {
        self.on_existing = OnExisting::Keep(others);
        self
    }

    /// Returns the client.
    pub(super) fn client(&self) -> Client {
        self.client
    }

    /// Returns the entries.
    pub(super) fn entries(&self) -> &[ServerEntry] {
        &self.entries
    }

    /// Returns the path at which the client looks up the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the target of the symlink, if the file is one.
    pub(super) fn link(&self) -> Option<&Path> {
        self.file.link()
    }

    /// Returns what the user has to do next for the client to use the servers.
    pub(super) fn next_step(&self) -> &'static str {
        self.client.next_step(self.scope)
    }

    /// Plans the edit of the file's current content.
    ///
    /// # Errors
    /// Fails if the file cannot be read or edited.
    pub(super) fn propose(&self) -> anyhow::Result<Proposal> {
        let before = self.file.read()?;
        let edit = self
            .plan(before.text())
            .map_err(|error| self.unusable_config_error(&error))?;
        Ok(Proposal { before, edit })
    }

    /// Shows the file and its change.
    pub(super) fn describe(&self, proposal: &Proposal) -> String {
        let link = self
            .link()
            .map(|target| format!(", symlink to {}", target.display()));
        format!(
            "{} (MCP servers of {}{})\n{}",
            self.path().display(),
            self.client.title(),
            link.unwrap_or_default(),
            proposal.diff()
        )
    }

    /// Prints the entries for a file with a layout that cannot be edited.
    pub(super) fn show_manual_entries(&self, output: Output) {
        let Ok(before) = self.file.read() else { return };
        let planned = self.plan(before.text());
        if planned == Err(ConfigEditError::UnsupportedLayout)
            && let Ok(new) = self.plan(None)
        {
            output.status_lines(new.text.trim_end());
        }
    }

    /// Applies the change to the file's current content, which other programs may have changed
    /// since the prompt. Their changes are never lost.
    ///
    /// # Errors
    /// Fails without a change if the effect would not be what was agreed to, or if other programs
    /// keep writing the file.
    pub(super) fn write(
        &self,
        agreed: Consent<'_>,
        environment: &Environment,
    ) -> anyhow::Result<(EditStatus, Proposal)> {
        let path = self.path().display();
        // Clients take no lock. This one is for concurrent calls of this command, which could
        // otherwise lose an entry of each other.
        let lock = lock_installs(environment);
        let _lock = lock.with_context(|| format!("cannot write `{path}`"))?;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(RETRY_INTERVAL);
            }
            // From the current content: an edit of the content that was shown would undo what was
            // written since.
            let proposal = self.propose()?;
            if proposal.is_unchanged() {
                return Ok((EditStatus::Unchanged, proposal));
            }
            // The entries themselves are what the user has seen and confirmed.
            if let Some(changed) = agreed.changed_since(&proposal) {
                bail!(
                    "cannot write `{path}`: server `{}` in it changed during the prompt; try again",
                    self.entries[changed].name
                );
            }
            let text = &proposal.edit.text;
            let replaced = self.file.replace(&proposal.before, text, self.scope)?;
            if replaced == Replacement::Done {
                return Ok((EditStatus::Written, proposal));
            }
        }
        bail!(
            "cannot write `{path}`: another program keeps changing it; stop that program and try again"
        )
    }

    fn plan(&self, text: Option<&str>) -> Result<ConfigEdits, ConfigEditError> {
        match &self.on_existing {
            OnExisting::Update => config_edit::plan_edits(self.client, text, &self.entries),
            OnExisting::Keep(others) => {
                config_edit::plan_additions(self.client, text, &self.entries, others)
            }
        }
    }

    fn unusable_config_error(&self, error: &ConfigEditError) -> CommandError {
        let line = error.line().map(|line| format!(":{line}"));
        let path = self.path().display();
        let message = format!("{path}{}: {error}", line.unwrap_or_default());
        CommandError::input(message).with_help(match error {
            ConfigEditError::UnsupportedLayout => {
                "nothing was written; add the entry in your editor"
            }
            _ => "nothing was written; fix the file or move it away",
        })
    }
}

impl Proposal {
    /// Returns the change of each entry, in their order.
    pub(super) fn changes(&self) -> &[EntryChange] {
        &self.edit.changes
    }

    /// Returns true if the file stays as it is.
    pub(super) fn is_unchanged(&self) -> bool {
        let mut changes = self.changes().iter();
        changes.all(|change| matches!(change, EntryChange::Unchanged | EntryChange::NameTaken))
    }

    /// Returns the change of the file as a unified diff.
    pub(super) fn diff(&self) -> String {
        diff::render(self.before.text().unwrap_or_default(), &self.edit.text)
    }

    fn changed_lines(&self) -> Vec<(ChangeTag, String)> {
        diff::changed_lines(self.before.text().unwrap_or_default(), &self.edit.text)
    }
}

impl Consent<'_> {
    /// Returns the index of an entry whose change the user has not agreed to. For a new entry its
    /// position does not matter; for an updated or replaced entry, the changed lines must be the
    /// ones that were shown.
    fn changed_since(self, proposal: &Proposal) -> Option<usize> {
        let Self::Proposal(shown) = self else {
            return None;
        };
        let has_same_lines = proposal.changed_lines() == shown.changed_lines();
        let is_covered = |(new, shown): (&EntryChange, &EntryChange)| match new {
            EntryChange::Unchanged | EntryChange::NameTaken => true,
            EntryChange::Added => shown == new,
            EntryChange::Updated | EntryChange::Replaced => shown == new && has_same_lines,
        };
        let changes = proposal.changes().iter().zip(shown.changes());
        changes.into_iter().position(|changes| !is_covered(changes))
    }
}

/// Returns the servers in the configuration of a client, in one scope. A file that cannot be read
/// has none.
pub(crate) fn configured_servers(
    client: Client,
    scope: Scope,
    environment: &Environment,
) -> InstalledServers {
    let file = find_config_file(client, scope, environment);
    let content = file.and_then(|file| file.read()).ok();
    let servers = content.and_then(|content| config_edit::servers(client, content.text()).ok());
    servers.unwrap_or_default().keys()
}

fn find_config_file(
    client: Client,
    scope: Scope,
    environment: &Environment,
) -> anyhow::Result<ConfigFile> {
    let surroundings = client_environment::client_environment(client, environment);
    let paths = config_path::config_paths(client, scope, &surroundings);
    // A client that supports several names reads the one that its user has chosen.
    let existing = paths.iter().find(|path| path.symlink_metadata().is_ok());
    let path = existing.or(paths.first()).cloned().ok_or_else(|| {
        let cause = match scope {
            Scope::User => "no home directory",
            Scope::Project => "no working directory",
        };
        let title = client.title();
        CommandError::input(format!("cannot find the configuration of {title}: {cause}"))
    })?;
    // Only the content of a project is not trusted: in the home directory a symlink may lead
    // anywhere.
    let project = surroundings.project.filter(|_| scope == Scope::Project);
    ConfigFile::find(path, project.as_deref())
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

//! One configuration file, the entries for it, and its change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::ChangeTag;

use crate::atomic_replace::{Replacement, Snapshot};
use crate::client::{ConfigScope, ServerClient};
use crate::config_edit::{self, ConfigEdits, OnExisting};
use crate::config_file::ConfigFile;
use crate::config_path::{ClientEnvironment, config_paths};
use crate::diff;
use crate::error::{ConfigError, EditError};
use crate::server_entry::{EntryChange, ServerEntry};

/// Maximum number of attempts if other programs write the file in the meantime.
const MAX_ATTEMPTS: usize = 50;
/// Delay between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Server entries, and the configuration file for them.
pub struct ConfigTarget {
    client: ServerClient,
    scope: ConfigScope,
    entries: Vec<ServerEntry>,
    file: ConfigFile,
    on_existing: OnExisting,
}

/// An edit of the file's content at one point in time.
pub struct Proposal {
    before: Snapshot,
    edit: ConfigEdits,
}

/// The changes that the user has agreed to.
#[derive(Clone, Copy)]
pub enum Consent<'a> {
    /// Changes with the same effect on the entries as this one, or a part of them.
    Proposal(&'a Proposal),
    /// Every change (`--yes`).
    Any,
}

impl ConfigTarget {
    /// Finds the configuration file of a client for these entries.
    ///
    /// # Errors
    /// Fails if the client has no such configuration, or if it cannot be located.
    pub fn find(
        client: ServerClient,
        scope: ConfigScope,
        entries: Vec<ServerEntry>,
        environment: &ClientEnvironment,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            client,
            scope,
            entries,
            file: find_config_file(client, scope, environment)?,
            on_existing: OnExisting::Update,
        })
    }

    /// Keeps all existing entries, and adds none for a server that the file or `elsewhere` has: keys
    /// as of [`configured_servers`].
    #[must_use]
    pub fn keep_existing(mut self, elsewhere: BTreeSet<String>) -> Self {
        self.on_existing = OnExisting::Keep { elsewhere };
        self
    }

    /// Returns the client.
    #[must_use]
    pub fn client(&self) -> ServerClient {
        self.client
    }

    /// Returns the entries.
    #[must_use]
    pub fn entries(&self) -> &[ServerEntry] {
        &self.entries
    }

    /// Returns the path at which the client looks up the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the target of the symlink, if the file is one.
    #[must_use]
    pub fn link(&self) -> Option<&Path> {
        self.file.link()
    }

    /// Returns what the user has to do next for the client to use the servers.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        self.client.next_step(self.scope)
    }

    /// Plans the edit of the file's current content.
    ///
    /// # Errors
    /// Fails if the file cannot be read or edited.
    pub fn propose(&self) -> Result<Proposal, ConfigError> {
        let before = self.file.read()?;
        let edit = self
            .plan(before.text())
            .map_err(|error| ConfigError::Unusable {
                path: self.owned_path(),
                error,
            })?;
        Ok(Proposal { before, edit })
    }

    /// Shows the file and its change.
    #[must_use]
    pub fn describe(&self, proposal: &Proposal) -> String {
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

    /// Returns the entries as the text of a new file, for a user to add them to a file with a layout
    /// that cannot be edited. Returns `None` for any other file.
    #[must_use]
    pub fn manual_entries(&self) -> Option<String> {
        let before = self.file.read().ok()?;
        let planned = self.plan(before.text());
        if planned != Err(EditError::UnsupportedLayout) {
            return None;
        }
        let new = self.plan(None).ok()?;
        Some(new.text)
    }

    /// Applies the change to the file's current content, which other programs may have changed
    /// since the prompt. Their changes are never lost. Returns what was written; nothing was, if that
    /// [is unchanged](Proposal::is_unchanged).
    ///
    /// This takes no lock, as clients take none. Concurrent calls of the same program must hold one
    /// of theirs: otherwise they could lose an entry of each other. Waits up to half a second for
    /// other programs.
    ///
    /// # Errors
    /// Fails without a change if the effect would not be what was agreed to, if other programs keep
    /// writing the file, or if it cannot be replaced.
    pub fn write(&self, agreed: Consent<'_>) -> Result<Proposal, ConfigError> {
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(RETRY_INTERVAL);
            }
            // From the current content: an edit of the content that was shown would undo what was
            // written since.
            let proposal = self.propose()?;
            if proposal.is_unchanged() {
                return Ok(proposal);
            }
            // The entries themselves are what the user has seen and confirmed.
            if let Some(changed) = agreed.changed_since(&proposal) {
                return Err(ConfigError::Changed {
                    path: self.owned_path(),
                    server: self.entries[changed].name.clone(),
                });
            }
            let text = &proposal.edit.text;
            let replaced = self.file.replace(&proposal.before, text, self.scope)?;
            if replaced == Replacement::Done {
                return Ok(proposal);
            }
        }
        Err(ConfigError::Busy {
            path: self.owned_path(),
        })
    }

    fn plan(&self, text: Option<&str>) -> Result<ConfigEdits, EditError> {
        let client = self.client.in_scope(self.scope);
        config_edit::plan_edits(client, text, &self.entries, &self.on_existing)
    }

    fn owned_path(&self) -> PathBuf {
        self.path().to_owned()
    }
}

impl Proposal {
    /// Returns the change of each entry, in their order.
    #[must_use]
    pub fn changes(&self) -> &[EntryChange] {
        &self.edit.changes
    }

    /// Returns true if the file stays as it is.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        let mut changes = self.changes().iter();
        changes.all(|change| matches!(change, EntryChange::Unchanged | EntryChange::NameTaken))
    }

    /// Returns the change of the file as a unified diff.
    #[must_use]
    pub fn diff(&self) -> String {
        diff::render(self.before.text().unwrap_or_default(), &self.edit.text)
    }

    fn changed_lines(&self) -> Vec<(ChangeTag, String)> {
        diff::changed_lines(self.before.text().unwrap_or_default(), &self.edit.text)
    }
}

impl Consent<'_> {
    /// Returns the index of an entry with a change that the user has not approved. For a new entry
    /// its position does not matter; for an updated or replaced entry, the changed lines must be
    /// the ones that were shown.
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

/// Returns the keys of the servers in the configuration of a client, in one scope: see
/// [`RequiredServer::key`](skills_manifest::RequiredServer::key). A file that cannot be read has none.
#[must_use]
pub fn configured_servers(
    client: ServerClient,
    scope: ConfigScope,
    environment: &ClientEnvironment,
) -> BTreeSet<String> {
    let file = find_config_file(client, scope, environment);
    let content = file.and_then(|file| file.read()).ok();
    let servers = content.and_then(|content| config_edit::servers(client, content.text()).ok());
    servers.unwrap_or_default().keys()
}

fn find_config_file(
    client: ServerClient,
    scope: ConfigScope,
    environment: &ClientEnvironment,
) -> Result<ConfigFile, ConfigError> {
    let paths = config_paths(client, scope, environment);
    // A client that supports several names reads the one that its user has chosen.
    let existing = paths.iter().find(|path| path.symlink_metadata().is_ok());
    let path = existing.or(paths.first()).cloned();
    let path = path.ok_or_else(|| ConfigError::NoDirectory {
        client: client.title(),
        directory: match scope {
            ConfigScope::User => "home",
            ConfigScope::Project => "working",
        },
    })?;
    // Only the content of a project is not trusted: in the home directory a symlink may lead
    // anywhere.
    let project = environment.project.as_deref();
    ConfigFile::find(path, project.filter(|_| scope == ConfigScope::Project))
}

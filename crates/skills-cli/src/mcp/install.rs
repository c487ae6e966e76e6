//! `skills mcp install`: registers the server with a client.

mod atomic_replace;
mod client;
mod client_environment;
mod config_edit;
mod config_file;
mod config_path;
mod diff;
mod json;
mod toml;

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use serde_json::json;
use skills_runtime::PrivateFile;

pub(crate) use client::Client;

use self::atomic_replace::{Replacement, Snapshot};
use self::client::Scope;
use self::config_edit::{ConfigEdit, ConfigEditError, EntryChange, ServerEntry};
use self::config_file::ConfigFile;
use crate::approver;
use crate::arguments::{Arguments, Command, Install};
use crate::directories;
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// Maximum number of attempts if other programs write the file in the meantime.
const MAX_ATTEMPTS: usize = 50;
/// Delay between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Timeout for the lock among calls of this command, each of which holds it for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Adds the server to a client's configuration after the user has confirmed the change.
pub(crate) fn install(
    install: &Install,
    arguments: &Arguments,
    output: &Output,
) -> anyhow::Result<Exit> {
    reject_misplaced_options(arguments, install.client)?;
    let entry = server_entry(install)?;
    let scope = if install.project {
        Scope::Project
    } else {
        Scope::User
    };
    let file = find_config_file(install.client, scope)?;
    let target = InstallTarget {
        client: install.client,
        scope,
        entry,
        file,
    };
    let proposal = target.propose()?;
    let report = |outcome, proposal| {
        InstallReport {
            target: &target,
            proposal,
        }
        .finish(outcome, output)
    };
    if proposal.edit.change == EntryChange::Unchanged {
        return report(InstallStatus::Unchanged, &proposal);
    }
    if install.dry_run {
        return report(InstallStatus::Planned, &proposal);
    }
    output.status_lines(
        &InstallReport {
            target: &target,
            proposal: &proposal,
        }
        .describe(),
    );
    // Other programs can change the file during the prompt, so consent is for what was shown and
    // not for any later edit.
    let agreed = if install.yes {
        Consent::Any
    } else {
        Consent::Proposal(&proposal)
    };
    if !install.yes {
        match approver::confirm("Apply this change? [y/N]", output) {
            Some(true) => {}
            Some(false) => return report(InstallStatus::Declined, &proposal),
            None => return report(InstallStatus::Unanswered, &proposal),
        }
    }
    // The report shows what was written, which can differ from the proposal in its position.
    let (outcome, written) = target.write(agreed)?;
    report(outcome, &written)
}

/// The server entry, and the configuration file for it.
struct InstallTarget {
    client: Client,
    scope: Scope,
    entry: ServerEntry,
    file: ConfigFile,
}

/// An edit of the file's content at one point in time.
struct Proposal {
    before: Snapshot,
    edit: ConfigEdit,
}

/// The changes that the user has agreed to.
#[derive(Clone, Copy)]
enum Consent<'a> {
    /// Changes with the same effect on the entry as this one.
    Proposal(&'a Proposal),
    /// Every change (`--yes`).
    Any,
}

impl InstallTarget {
    /// Plans the edit of the file's current content.
    fn propose(&self) -> anyhow::Result<Proposal> {
        let before = self.file.read()?;
        let planned = config_edit::plan_edit(self.client, before.text(), &self.entry)
            .map_err(|error| unusable_config_error(&self.file, &error))?;
        Ok(Proposal {
            before,
            edit: planned,
        })
    }

    /// Applies the change to the file's current content, which other programs may have changed
    /// since the prompt. Their changes are never lost; if they keep writing, this fails without a
    /// change.
    fn write(&self, agreed: Consent<'_>) -> anyhow::Result<(InstallStatus, Proposal)> {
        let path = self.file.path().display();
        // Clients take no lock. This one is for concurrent calls of this command, which could
        // otherwise lose an entry of each other.
        let _lock = lock_installs().with_context(|| format!("cannot write `{path}`"))?;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(RETRY_INTERVAL);
            }
            // From the current content: an edit of the content that was shown would undo what was
            // written since.
            let proposal = self.propose()?;
            if proposal.edit.change == EntryChange::Unchanged {
                return Ok((InstallStatus::Unchanged, proposal));
            }
            // The entry itself is what the user has seen and confirmed.
            if !agreed.covers(&proposal) {
                bail!(
                    "cannot write `{path}`: server `{}` in it changed during the prompt; try again",
                    self.entry.name
                );
            }
            if self
                .file
                .replace(&proposal.before, &proposal.edit.text, self.scope)?
                == Replacement::Done
            {
                return Ok((InstallStatus::Written, proposal));
            }
        }
        bail!(
            "cannot write `{path}`: another program keeps changing it; stop that program and try again"
        )
    }
}

/// Acquires the lock among all calls of this command. Returns `None` without a state directory.
fn lock_installs() -> anyhow::Result<Option<File>> {
    // Without a lock concurrent calls can lose an entry, but a single one works.
    let Some(path) = directories::install_lock_path() else {
        return Ok(None);
    };
    let lock = PrivateFile::new(&path).lock_with_timeout(LOCK_TIMEOUT);
    lock.map(Some)
        .with_context(|| format!("cannot lock `{}.lock`", path.display()))
}

impl Proposal {
    fn diff(&self) -> String {
        diff::render_diff(self.before.text().unwrap_or_default(), &self.edit.text)
    }

    fn changed_lines(&self) -> (Vec<&str>, Vec<&str>) {
        diff::changed_lines(self.before.text().unwrap_or_default(), &self.edit.text)
    }
}

impl Consent<'_> {
    /// Returns true if the user has agreed to a change. For a new entry its position does not
    /// matter; for an updated or replaced entry, the changed lines must be the ones that were
    /// shown.
    fn covers(self, proposal: &Proposal) -> bool {
        let Self::Proposal(shown) = self else {
            return true;
        };
        let is_new = proposal.edit.change == EntryChange::Added;
        proposal.edit.change == shown.edit.change
            && (is_new || proposal.changed_lines() == shown.changed_lines())
    }
}

/// The result of `skills mcp install`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstallStatus {
    Unchanged,
    Planned,
    Written,
    Declined,
    Unanswered,
}

impl InstallStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Planned => "planned",
            Self::Written => "written",
            Self::Declined => "declined",
            Self::Unanswered => "unanswered",
        }
    }
}

/// Reports a change to the user.
struct InstallReport<'a> {
    target: &'a InstallTarget,
    proposal: &'a Proposal,
}

impl InstallReport<'_> {
    /// Describes the change for the confirmation prompt.
    fn describe(&self) -> String {
        let InstallTarget {
            client,
            entry,
            file,
            ..
        } = self.target;
        let title = client.title();
        let link = file
            .link()
            .map(|target| format!(", symlink to {}", target.display()))
            .unwrap_or_default();
        let mut text = format!(
            "{} (MCP servers of {title}{link})\n{}",
            file.path().display(),
            self.proposal.diff()
        );
        if self.proposal.edit.change == EntryChange::Replaced {
            text.push_str(&format!(
                "this replaces another server named `{}`; pass `--name` to keep both\n",
                entry.name
            ));
        }
        // The command is shown with quotes, so that an argument with spaces does not look like
        // several.
        let words: Vec<String> = entry
            .arguments
            .iter()
            .map(|word| format!(" {word:?}"))
            .collect();
        text.push_str(&format!(
            "{title} will start: {:?}{}",
            entry.command,
            words.concat()
        ));
        text
    }

    /// Prints the result and returns the exit code.
    fn finish(&self, outcome: InstallStatus, output: &Output) -> anyhow::Result<Exit> {
        let InstallTarget {
            client,
            scope,
            entry,
            file,
        } = self.target;
        let path = file.path().display();
        if output.is_json() {
            output.print_json(&json!({
                "client": client.as_str(),
                "file": file.path(),
                "leads_to": file.link(),
                "server": {"name": entry.name, "command": entry.command, "args": entry.arguments},
                "change": self.proposal.edit.change.as_str(),
                "diff": self.proposal.diff(),
                "status": outcome.as_str(),
            }))?;
        } else if outcome == InstallStatus::Planned {
            output.text(&format!("{}\n", self.describe()))?;
        }
        match outcome {
            InstallStatus::Unchanged => {
                output.status(&format!("unchanged: {path} already has this server"))
            }
            InstallStatus::Written => {
                output.status(&format!("wrote {path}; {}", client.next_step(*scope)))
            }
            InstallStatus::Declined => output.status(&format!("{path} was not changed")),
            InstallStatus::Unanswered => {
                output
                    .status("error: cannot ask for confirmation: standard input is not a terminal");
                output.status("help: pass `--yes`");
            }
            InstallStatus::Planned => {}
        }
        let is_declined = matches!(outcome, InstallStatus::Declined | InstallStatus::Unanswered);
        Ok(if is_declined {
            Exit::Denied
        } else {
            Exit::Success
        })
    }
}

/// Rejects global options, which have no effect here: the user meant them for the server.
fn reject_misplaced_options(arguments: &Arguments, client: Client) -> anyhow::Result<()> {
    let options = [
        ("--root DIR", !arguments.root.is_empty()),
        ("--profile CLIENT", arguments.profile.is_some()),
        ("--disable SKILL", !arguments.disable.is_empty()),
        ("--trust-project", arguments.trust_project),
        ("--follow-skill-links", arguments.follow_skill_links),
        (
            "--max-directories NUMBER",
            arguments.max_directories.is_some(),
        ),
        ("--max-entries NUMBER", arguments.max_entries.is_some()),
    ];
    let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let client = client.as_str();
    Err(InputError::new(format!(
        "options of the server go after `--`: `skills mcp install --client {client} -- {option}`"
    ))
    .into())
}

fn server_entry(install: &Install) -> anyhow::Result<ServerEntry> {
    let (client, title) = (install.client, install.client.title());
    if !client.takes_name(&install.name) {
        return Err(InputError::new(format!(
            "invalid server name `{}`: {title} does not support `_`; use `-`",
            install.name
        ))
        .into());
    }
    let command = client_environment::current_program()?;
    // The client would start another program than the one that was shown.
    if client.expands(&command) {
        let message = format!(
            "cannot register `{command}`: {title} expands `$` in paths; install this program elsewhere"
        );
        return Err(InputError::new(message).into());
    }
    let arguments: Vec<String> = std::iter::once("mcp".to_owned())
        .chain(install.arguments.iter().cloned())
        .collect();
    check_server_arguments(&arguments)?;
    Ok(ServerEntry {
        name: install.name.clone(),
        command,
        arguments,
    })
}

/// Parses the arguments as the server will, so that a mistake is reported now.
fn check_server_arguments(arguments: &[String]) -> anyhow::Result<()> {
    let words = std::iter::once("skills").chain(arguments.iter().map(String::as_str));
    let wrong = |error: &dyn std::fmt::Display| {
        InputError::new(format!(
            "cannot start `skills {}`: {error}",
            arguments.join(" ")
        ))
    };
    let read = Arguments::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        wrong(
            &text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: "),
        )
    })?;
    match read.command {
        // The arguments can name another subcommand, such as `install`, or select HTTP.
        Command::Mcp(mcp) if mcp.command.is_none() && mcp.serve.http.is_none() => Ok(()),
        _ => Err(wrong(&"clients need a server over standard input and output").into()),
    }
}

fn find_config_file(client: Client, scope: Scope) -> anyhow::Result<ConfigFile> {
    let surroundings = client_environment::client_environment();
    let path = config_path::config_path(client, scope, &surroundings).ok_or_else(|| {
        let what = if scope == Scope::User {
            "no home directory"
        } else {
            "no working directory"
        };
        InputError::new(format!(
            "cannot find the configuration of {}: {what}",
            client.title()
        ))
    })?;
    ConfigFile::find(
        path,
        surroundings
            .project
            .as_deref()
            // Only the content of a project is not trusted: in the home directory a symlink may
            // lead anywhere.
            .filter(|_| scope == Scope::Project),
    )
}

fn unusable_config_error(file: &ConfigFile, error: &ConfigEditError) -> InputError {
    let line = error
        .line()
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    InputError::new(format!("{}{line}: {error}", file.path().display()))
        .with_help("nothing was written; fix the file or move it away")
}

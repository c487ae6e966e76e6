//! `skills mcp install`.

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

use self::atomic_replace::Replacement;
use self::client::Scope;
use self::config_edit::{ConfigEdit, ConfigEditError, EntryChange, ServerEntry};
use self::config_file::{ConfigFile, Snapshot};
use crate::approver;
use crate::arguments::{Arguments, Command, Install};
use crate::directories;
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// How often the change is made anew because others wrote the file meanwhile.
const MAX_ATTEMPTS: usize = 50;
/// The time between two of these attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// How long other calls of this command are waited for, each of which takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Writes this command into a client's configuration, once whoever owns that has seen the change.
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
    let agreed = if install.yes {
        Consent::Any
    } else {
        Consent::Proposal(&proposal)
    };
    if !install.yes {
        match approver::confirm("Write this? y: yes, anything else: no", output) {
            Some(true) => {}
            Some(false) => return report(InstallStatus::Declined, &proposal),
            None => return report(InstallStatus::Unanswered, &proposal),
        }
    }
    let (outcome, written) = target.write(agreed)?;
    report(outcome, &written)
}

/// What goes where.
struct InstallTarget {
    client: Client,
    scope: Scope,
    entry: ServerEntry,
    file: ConfigFile,
}

/// A change to what the file held at one moment.
struct Proposal {
    before: Snapshot,
    edit: ConfigEdit,
}

/// The changes that may be made without another question.
#[derive(Clone, Copy)]
enum Consent<'a> {
    /// Those that do the same to the entry as this one.
    Proposal(&'a Proposal),
    Any,
}

impl InstallTarget {
    /// Plans the change to what the file holds now.
    fn propose(&self) -> anyhow::Result<Proposal> {
        let before = self.file.read()?;
        let planned = config_edit::plan_edit(self.client, before.text(), &self.entry)
            .map_err(|error| unusable_config_error(&self.file, &error))?;
        Ok(Proposal {
            before,
            edit: planned,
        })
    }

    /// Makes the change to what the file holds now, which others may have written since it was
    /// shown. Nothing that they write is lost; where they write without a pause, nothing is
    /// written.
    fn write(&self, agreed: Consent<'_>) -> anyhow::Result<(InstallStatus, Proposal)> {
        let path = self.file.path().display();
        let _lock = lock_installs().with_context(|| format!("cannot write {path}"))?;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(RETRY_INTERVAL);
            }
            let proposal = self.propose()?;
            if proposal.edit.change == EntryChange::Unchanged {
                return Ok((InstallStatus::Unchanged, proposal));
            }
            if !agreed.covers(&proposal) {
                bail!(
                    "cannot write {path}: the server {:?} in it changed while you were asked; do it again",
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
            "cannot write {path}: another program changes it all the time; end that, and do it again"
        )
    }
}

/// Takes the lock among all calls of this command. Without a directory for state there is none.
fn lock_installs() -> anyhow::Result<Option<File>> {
    let Some(path) = directories::install_lock_path() else {
        return Ok(None);
    };
    let lock = PrivateFile::new(&path).lock_with_timeout(LOCK_TIMEOUT);
    lock.map(Some)
        .with_context(|| format!("cannot take the lock {}.lock", path.display()))
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
    /// Whether a change was agreed to. A new entry is the same wherever it is put; of one that is
    /// changed or replaced, the lines that go are to be those that were shown.
    fn covers(self, proposal: &Proposal) -> bool {
        let Self::Proposal(shown) = self else {
            return true;
        };
        let is_new = proposal.edit.change == EntryChange::Added;
        proposal.edit.change == shown.edit.change
            && (is_new || proposal.changed_lines() == shown.changed_lines())
    }
}

/// How it ended.
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

/// What is told of a change.
struct InstallReport<'a> {
    target: &'a InstallTarget,
    proposal: &'a Proposal,
}

impl InstallReport<'_> {
    /// Describes the change for whoever decides.
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
            .map(|leads| format!(", a link to {}", leads.display()))
            .unwrap_or_default();
        let mut text = format!(
            "{} (servers of {title}{link})\n{}",
            file.path().display(),
            self.proposal.diff()
        );
        if self.proposal.edit.change == EntryChange::Replaced {
            text.push_str(&format!(
                "another server is called {:?}, and goes; --name gives this one another name\n",
                entry.name
            ));
        }
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

    /// Tells how it ended.
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
                output.status(&format!("nothing to do: {path} has this server already"))
            }
            InstallStatus::Written => {
                output.status(&format!("{path} is written; {}", client.next_step(*scope)))
            }
            InstallStatus::Declined => output.status(&format!("{path} stays as it is")),
            InstallStatus::Unanswered => {
                output.status("error: there is no terminal to ask on; --yes writes it")
            }
            InstallStatus::Planned => {}
        }
        let is_refused = matches!(outcome, InstallStatus::Declined | InstallStatus::Unanswered);
        Ok(if is_refused {
            Exit::Denied
        } else {
            Exit::Success
        })
    }
}

/// Options of all commands mean nothing to a client; whoever wrote them here meant the server.
fn reject_misplaced_options(arguments: &Arguments, client: Client) -> anyhow::Result<()> {
    let given = [
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
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let client = client.as_str();
    Err(InputError::new(format!(
        "options of the server stand behind `--`: skills mcp install --client {client} -- {option}"
    ))
    .into())
}

fn server_entry(install: &Install) -> anyhow::Result<ServerEntry> {
    let (client, title) = (install.client, install.client.title());
    if !client.takes_name(&install.name) {
        return Err(InputError::new(format!(
            "--name {}: {title} wants names without `_`; write `-`",
            install.name
        ))
        .into());
    }
    let command = client_environment::current_program()?;
    if client.expands(&command) {
        let message = format!(
            "{title} would put something else in the place of the `$` in {command}: install this program elsewhere"
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

/// Reads what the client will start as it will be read then, so that a mistake is told now.
fn check_server_arguments(arguments: &[String]) -> anyhow::Result<()> {
    let words = std::iter::once("skills").chain(arguments.iter().map(String::as_str));
    let wrong = |error: &dyn std::fmt::Display| {
        InputError::new(format!(
            "`skills {}` cannot be started: {error}",
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
        Command::Mcp(mcp) if mcp.command.is_none() && mcp.serve.http.is_none() => Ok(()),
        _ => Err(wrong(&"a client talks to it over standard input and output").into()),
    }
}

fn find_config_file(client: Client, scope: Scope) -> anyhow::Result<ConfigFile> {
    let surroundings = client_environment::client_environment();
    let path = config_path::config_path(client, scope, &surroundings).ok_or_else(|| {
        let what = if scope == Scope::User {
            "there is no home directory"
        } else {
            "there is no working directory"
        };
        InputError::new(format!(
            "{what}, and so no configuration of {}",
            client.title()
        ))
    })?;
    ConfigFile::find(
        path,
        surroundings
            .project
            .as_deref()
            .filter(|_| scope == Scope::Project),
    )
}

fn unusable_config_error(file: &ConfigFile, error: &ConfigEditError) -> InputError {
    let line = error
        .line()
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    InputError::new(format!(
        "{}{line}: {error}; nothing was written, mend the file or move it away",
        file.path().display()
    ))
}

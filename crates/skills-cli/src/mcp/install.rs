//! `skills mcp install`.

mod client;
mod diff;
mod file;
mod here;
mod json;
mod place;
mod plan;
mod swap;
mod toml;

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use serde_json::json;
use skills_runtime::PrivateFile;

pub(crate) use client::Client;

use self::client::Scope;
use self::file::{ConfigFile, Snapshot};
use self::plan::{Change, Entry, PlanError, Planned};
use self::swap::Replacement;
use crate::approver;
use crate::arguments::{Arguments, Command, Install};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;
use crate::state;

/// How often the change is made anew because others wrote the file meanwhile.
const MAX_ATTEMPTS: usize = 50;
/// The time between two of these attempts.
const PAUSE: Duration = Duration::from_millis(10);
/// How long other calls of this command are waited for, each of which takes milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Writes this command into a client's configuration, once whoever owns that has seen the change.
pub(crate) fn install(
    install: &Install,
    arguments: &Arguments,
    output: &Output,
) -> anyhow::Result<Exit> {
    refuse_misplaced(arguments, install.client)?;
    let entry = entry(install)?;
    let scope = if install.project {
        Scope::Project
    } else {
        Scope::User
    };
    let file = find(install.client, scope)?;
    let target = Target {
        client: install.client,
        scope,
        entry,
        file,
    };
    let proposal = target.propose()?;
    let report = |outcome, proposal| {
        Report {
            target: &target,
            proposal,
        }
        .end(outcome, output)
    };
    if proposal.planned.change == Change::Nothing {
        return report(Outcome::Unchanged, &proposal);
    }
    if install.dry_run {
        return report(Outcome::Planned, &proposal);
    }
    output.notes(
        &Report {
            target: &target,
            proposal: &proposal,
        }
        .text(),
    );
    let agreed = if install.yes {
        Agreed::ToAny
    } else {
        Agreed::To(&proposal)
    };
    if !install.yes {
        match approver::confirm("Write this? y: yes, anything else: no", output) {
            Some(true) => {}
            Some(false) => return report(Outcome::Declined, &proposal),
            None => return report(Outcome::Unanswered, &proposal),
        }
    }
    let (outcome, written) = target.write(agreed)?;
    report(outcome, &written)
}

/// What goes where.
struct Target {
    client: Client,
    scope: Scope,
    entry: Entry,
    file: ConfigFile,
}

/// A change to what the file held at one moment.
struct Proposal {
    before: Snapshot,
    planned: Planned,
}

/// The changes that may be made without another question.
#[derive(Clone, Copy)]
enum Agreed<'a> {
    /// Those that do the same to the entry as this one.
    To(&'a Proposal),
    ToAny,
}

impl Target {
    /// Plans the change to what the file holds now.
    fn propose(&self) -> anyhow::Result<Proposal> {
        let before = self.file.read()?;
        let planned = plan::plan(self.client, before.text(), &self.entry)
            .map_err(|error| unusable(&self.file, &error))?;
        Ok(Proposal { before, planned })
    }

    /// Makes the change to what the file holds now, which others may have written since it was
    /// shown. Nothing that they write is lost; where they write without a pause, nothing is
    /// written.
    fn write(&self, agreed: Agreed<'_>) -> anyhow::Result<(Outcome, Proposal)> {
        let path = self.file.path().display();
        let _lock = lock().with_context(|| format!("cannot write {path}"))?;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let proposal = self.propose()?;
            if proposal.planned.change == Change::Nothing {
                return Ok((Outcome::Unchanged, proposal));
            }
            if !agreed.covers(&proposal) {
                bail!(
                    "cannot write {path}: the server {:?} in it changed while you were asked; do it again",
                    self.entry.name
                );
            }
            if self
                .file
                .replace(&proposal.before, &proposal.planned.text, self.scope)?
                == Replacement::Done
            {
                return Ok((Outcome::Written, proposal));
            }
        }
        bail!(
            "cannot write {path}: another program changes it all the time; end that, and do it again"
        )
    }
}

/// Takes the lock among all calls of this command. Without a directory for state there is none.
fn lock() -> anyhow::Result<Option<File>> {
    let Some(path) = state::install_lock() else {
        return Ok(None);
    };
    let lock = PrivateFile::new(&path).lock_within(MAX_WAIT);
    lock.map(Some)
        .with_context(|| format!("cannot take the lock {}.lock", path.display()))
}

impl Proposal {
    fn diff(&self) -> String {
        diff::show(self.before.text().unwrap_or_default(), &self.planned.text)
    }

    fn changed(&self) -> (Vec<&str>, Vec<&str>) {
        diff::changed(self.before.text().unwrap_or_default(), &self.planned.text)
    }
}

impl Agreed<'_> {
    /// Whether a change was agreed to. A new entry is the same wherever it is put; of one that is
    /// changed or replaced, the lines that go are to be those that were shown.
    fn covers(self, proposal: &Proposal) -> bool {
        let Self::To(shown) = self else { return true };
        let is_new = proposal.planned.change == Change::Added;
        proposal.planned.change == shown.planned.change
            && (is_new || proposal.changed() == shown.changed())
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unchanged,
    Planned,
    Written,
    Declined,
    Unanswered,
}

impl Outcome {
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
struct Report<'a> {
    target: &'a Target,
    proposal: &'a Proposal,
}

impl Report<'_> {
    /// Describes the change for whoever decides.
    fn text(&self) -> String {
        let Target {
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
        if self.proposal.planned.change == Change::Replaced {
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
    fn end(&self, outcome: Outcome, output: &Output) -> anyhow::Result<Exit> {
        let Target {
            client,
            scope,
            entry,
            file,
        } = self.target;
        let path = file.path().display();
        if output.is_json() {
            output.document(&json!({
                "client": client.as_str(),
                "file": file.path(),
                "leads_to": file.link(),
                "server": {"name": entry.name, "command": entry.command, "args": entry.arguments},
                "change": self.proposal.planned.change.as_str(),
                "diff": self.proposal.diff(),
                "status": outcome.as_str(),
            }))?;
        } else if outcome == Outcome::Planned {
            output.text(&format!("{}\n", self.text()))?;
        }
        match outcome {
            Outcome::Unchanged => {
                output.note(&format!("nothing to do: {path} has this server already"))
            }
            Outcome::Written => output.note(&format!(
                "{path} is written; {}",
                client.what_is_next(*scope)
            )),
            Outcome::Declined => output.note(&format!("{path} stays as it is")),
            Outcome::Unanswered => {
                output.note("error: there is no terminal to ask on; --yes writes it")
            }
            Outcome::Planned => {}
        }
        let is_refused = matches!(outcome, Outcome::Declined | Outcome::Unanswered);
        Ok(if is_refused { Exit::Denied } else { Exit::Done })
    }
}

/// Options of all commands mean nothing to a client; whoever wrote them here meant the server.
fn refuse_misplaced(arguments: &Arguments, client: Client) -> anyhow::Result<()> {
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

fn entry(install: &Install) -> anyhow::Result<Entry> {
    let (client, title) = (install.client, install.client.title());
    if !client.takes_name(&install.name) {
        return Err(InputError::new(format!(
            "--name {}: {title} wants names without `_`; write `-`",
            install.name
        ))
        .into());
    }
    let command = here::program()?;
    if client.expands(&command) {
        let message = format!(
            "{title} would put something else in the place of the `$` in {command}: install this program elsewhere"
        );
        return Err(InputError::new(message).into());
    }
    let arguments: Vec<String> = std::iter::once("mcp".to_owned())
        .chain(install.arguments.iter().cloned())
        .collect();
    check(&arguments)?;
    Ok(Entry {
        name: install.name.clone(),
        command,
        arguments,
    })
}

/// Reads what the client will start as it will be read then, so that a mistake is told now.
fn check(arguments: &[String]) -> anyhow::Result<()> {
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

fn find(client: Client, scope: Scope) -> anyhow::Result<ConfigFile> {
    let surroundings = here::surroundings();
    let path = place::place(client, scope, &surroundings).ok_or_else(|| {
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

fn unusable(file: &ConfigFile, error: &PlanError) -> InputError {
    let line = error
        .line()
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    InputError::new(format!(
        "{}{line}: {error}; nothing was written, mend the file or move it away",
        file.path().display()
    ))
}

//! `skills mcp install`.

mod client;
mod diff;
mod file;
mod here;
mod json;
mod place;
mod plan;
mod toml;

use anyhow::anyhow;
use clap::Parser;
use serde_json::json;

pub(crate) use client::Client;

use self::client::Scope;
use self::file::ConfigFile;
use self::plan::{Change, Entry, PlanError, Planned};
use crate::approver;
use crate::arguments::{Arguments, Command, Install};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::Output;

/// Writes this command into a client's configuration, once whoever owns that has seen the change.
pub(crate) fn install(install: &Install, arguments: &Arguments, output: &Output) -> anyhow::Result<Exit> {
    refuse_misplaced(arguments, install.client)?;
    let entry = entry(install)?;
    let scope = if install.project { Scope::Project } else { Scope::User };
    let file = find(install.client, scope)?;
    let before = file.read()?;
    let planned = plan::plan(install.client, before.as_deref(), &entry).map_err(|error| unusable(&file, &error))?;
    let diff = diff::show(before.as_deref().unwrap_or_default(), &planned.text);
    let report = Report { client: install.client, scope, entry, file: &file, planned: &planned, diff };
    if planned.change == Change::Nothing {
        return report.end(Outcome::Unchanged, output);
    }
    if install.dry_run {
        return report.end(Outcome::Planned, output);
    }
    output.notes(&report.text());
    if !install.yes {
        match approver::confirm("Write this? y: yes, anything else: no", output) {
            Some(true) => {}
            Some(false) => return report.end(Outcome::Declined, output),
            None => return report.end(Outcome::Unanswered, output),
        }
    }
    // Clients write their files too, and a question may stand for long.
    if file.read()? != before {
        return Err(anyhow!("{} changed meanwhile; nothing was written, do it again", file.path().display()));
    }
    file.write(&planned.text, scope)?;
    report.end(Outcome::Written, output)
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
    client: Client,
    scope: Scope,
    entry: Entry,
    file: &'a ConfigFile,
    planned: &'a Planned,
    diff: String,
}

impl Report<'_> {
    /// Describes the change for whoever decides.
    fn text(&self) -> String {
        let title = self.client.title();
        let link = self.file.link().map(|leads| format!(", a link to {}", leads.display())).unwrap_or_default();
        let mut text = format!("{} (servers of {title}{link})\n{}", self.file.path().display(), self.diff);
        if self.planned.change == Change::Replaced {
            text.push_str(&format!("another server is called {:?}, and goes; --name gives this one another name\n", self.entry.name));
        }
        let words: Vec<String> = self.entry.arguments.iter().map(|word| format!(" {word:?}")).collect();
        text.push_str(&format!("{title} will start: {:?}{}", self.entry.command, words.concat()));
        text
    }

    /// Tells how it ended.
    fn end(&self, outcome: Outcome, output: &Output) -> anyhow::Result<Exit> {
        let path = self.file.path().display();
        if output.is_json() {
            output.document(&json!({
                "client": self.client.as_str(),
                "file": self.file.path(),
                "leads_to": self.file.link(),
                "server": {"name": self.entry.name, "command": self.entry.command, "args": self.entry.arguments},
                "change": self.planned.change.as_str(),
                "diff": self.diff,
                "status": outcome.as_str(),
            }))?;
        } else if outcome == Outcome::Planned {
            output.text(&format!("{}\n", self.text()))?;
        }
        match outcome {
            Outcome::Unchanged => output.note(&format!("nothing to do: {path} has this server already")),
            Outcome::Written => output.note(&format!("{path} is written; {}", self.client.what_is_next(self.scope))),
            Outcome::Declined => output.note(&format!("{path} stays as it is")),
            Outcome::Unanswered => output.note("error: there is no terminal to ask on; --yes writes it"),
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
        ("--max-directories NUMBER", arguments.max_directories.is_some()),
        ("--max-entries NUMBER", arguments.max_entries.is_some()),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let client = client.as_str();
    Err(InputError::new(format!("options of the server stand behind `--`: skills mcp install --client {client} -- {option}")).into())
}

fn entry(install: &Install) -> anyhow::Result<Entry> {
    let (client, title) = (install.client, install.client.title());
    if !client.takes_name(&install.name) {
        return Err(InputError::new(format!("--name {}: {title} wants names without `_`; write `-`", install.name)).into());
    }
    let command = here::program()?;
    if client.expands(&command) {
        let message = format!("{title} would put something else in the place of the `$` in {command}: install this program elsewhere");
        return Err(InputError::new(message).into());
    }
    let arguments: Vec<String> = std::iter::once("mcp".to_owned()).chain(install.arguments.iter().cloned()).collect();
    check(&arguments)?;
    Ok(Entry { name: install.name.clone(), command, arguments })
}

/// Reads what the client will start as it will be read then, so that a mistake is told now.
fn check(arguments: &[String]) -> anyhow::Result<()> {
    let words = std::iter::once("skills").chain(arguments.iter().map(String::as_str));
    let wrong = |error: &dyn std::fmt::Display| InputError::new(format!("`skills {}` cannot be started: {error}", arguments.join(" ")));
    let read = Arguments::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        wrong(&text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    match read.command {
        Command::Mcp(mcp) if mcp.command.is_none() && mcp.serve.http.is_none() => Ok(()),
        _ => Err(wrong(&"a client talks to it over standard input and output").into()),
    }
}

fn find(client: Client, scope: Scope) -> anyhow::Result<ConfigFile> {
    let surroundings = here::surroundings();
    let path = place::place(client, scope, &surroundings).ok_or_else(|| {
        let what = if scope == Scope::User { "there is no home directory" } else { "there is no working directory" };
        InputError::new(format!("{what}, and so no configuration of {}", client.title()))
    })?;
    ConfigFile::find(path, surroundings.project.as_deref().filter(|_| scope == Scope::Project))
}

fn unusable(file: &ConfigFile, error: &PlanError) -> InputError {
    let line = error.line().map(|line| format!(":{line}")).unwrap_or_default();
    InputError::new(format!("{}{line}: {error}; nothing was written, mend the file or move it away", file.path().display()))
}

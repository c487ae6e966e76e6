//! `skills mcp install`: registers the server with a client.

mod atomic_replace;
mod client;
mod client_environment;
mod config_edit;
mod config_file;
mod config_path;
mod diff;
mod server_entry;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{ArgMatches, Args};
use serde::Serialize;
use serde_json::json;
use similar::ChangeTag;
use skills_runtime::PrivateFile;

use self::atomic_replace::{Replacement, Snapshot};
use self::client::{Client, Scope};
use self::config_edit::ConfigEdit;
use self::config_file::ConfigFile;
use self::server_entry::{ConfigEditError, EntryChange, ServerEntry};
use crate::approver::{self, Confirmation};
use crate::context::Context;
use crate::error::{CommandError, first_line};
use crate::exit::Exit;
use crate::global_options::GlobalOptions;
use crate::input;
use crate::output::Output;
use crate::process_environment::Environment;

/// Maximum number of attempts if other programs write the file in the meantime.
const MAX_ATTEMPTS: usize = 50;
/// Delay between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Timeout for the lock among calls of this command, each of which holds it for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Register the server with a client
///
/// Shows the change to the client's configuration and writes it after confirmation. Everything
/// else in the file is preserved. Arguments after `--` are options of `skills mcp`; use absolute
/// paths, because the working directory of the server depends on the client.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Client to register with
    #[arg(long, value_enum, value_name = "CLIENT")]
    client: Client,

    /// Write the project's configuration instead of the user's
    #[arg(long)]
    project: bool,

    /// Directory that programs work on [default: the project with --project, else none]
    ///
    /// Programs can write it. With --project and without this option, the entry names the directory
    /// as the client does, so that all users of the project can share it.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Write no workspace
    #[arg(long, conflicts_with = "workspace")]
    no_workspace: bool,

    /// Server name in the client: letters, digits, - and _
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = parse_server_name)]
    name: String,

    /// Show the change without writing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Write without asking
    #[arg(long)]
    yes: bool,

    /// Options of `skills mcp`
    #[arg(last = true, value_name = "OPTION")]
    arguments: Vec<String>,
}

impl Install {
    /// Adds the server to a client's configuration after the user has confirmed the change.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        // Registration reads no skills; it gets the global options only to reject them.
        self.reject_misplaced_options(&context.options)?;
        let target = self.target(context)?;
        let proposal = target.propose()?;
        let output = context.output;
        if proposal.edit.change == EntryChange::Unchanged {
            return target.report(InstallStatus::Unchanged, &proposal, output);
        }
        if self.dry_run {
            return target.report(InstallStatus::Planned, &proposal, output);
        }
        output.status_lines(&target.describe(&proposal));
        let agreed = if self.yes {
            Consent::Any
        } else {
            match approver::confirm("Apply this change? [y/N]", output) {
                // Other programs can change the file during the prompt, so consent is for what was
                // shown and not for any later edit.
                Confirmation::Yes => Consent::Proposal(&proposal),
                Confirmation::No => {
                    return target.report(InstallStatus::Declined, &proposal, output);
                }
                Confirmation::Unanswered => {
                    return target.report(InstallStatus::Unanswered, &proposal, output);
                }
            }
        };
        // The report shows what was written, which can differ from the proposal in its position.
        let (status, written) = target.write(agreed, &context.environment)?;
        target.report(status, &written, output)
    }

    /// Rejects global options, which have no effect here: the user meant them for the server.
    fn reject_misplaced_options(&self, options: &GlobalOptions) -> anyhow::Result<()> {
        let options = [
            ("--root DIR", !options.root.is_empty()),
            ("--add-root DIR", !options.add_root.is_empty()),
            ("--profile CLIENT", options.profile.is_some()),
            ("--disable SKILL", !options.disable.is_empty()),
            ("--trust-project", options.trust_project),
            ("--follow-skill-links", options.follow_skill_links),
            (
                "--max-directories NUMBER",
                options.max_directories.is_some(),
            ),
            ("--max-entries NUMBER", options.max_entries.is_some()),
        ];
        let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let client = self.client.as_str();
        bail!(CommandError::input(format!(
            "options of the server go after `--`: `skills mcp install --client {client} -- {option}`"
        )))
    }

    fn target(&self, context: &Context) -> anyhow::Result<InstallTarget> {
        let environment = &context.environment;
        let (client, title) = (self.client, self.client.title());
        if !client.takes_name(&self.name) {
            bail!(CommandError::input(format!(
                "invalid server name `{}`: {title} does not support `_`; use `-`",
                self.name
            )));
        }
        let command = client_environment::current_program()?;
        // The client would start another program than the one that was shown.
        if client.expands(&command) {
            bail!(CommandError::input(format!(
                "cannot register `{command}`: {title} expands `$` in paths; install this program elsewhere"
            )));
        }
        let scope = if self.project {
            Scope::Project
        } else {
            Scope::User
        };
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(workspace) = self.workspace(scope)? {
            arguments.extend(["--workspace".to_owned(), workspace]);
        }
        arguments.extend(self.arguments.iter().cloned());
        check_server_arguments(&arguments, context)?;
        Ok(InstallTarget {
            client,
            scope,
            entry: ServerEntry {
                name: self.name.clone(),
                command,
                arguments,
            },
            file: find_config_file(client, scope, environment)?,
        })
    }
}

impl Install {
    /// Returns the workspace of the entry: the given directory, else the project.
    fn workspace(&self, scope: Scope) -> anyhow::Result<Option<String>> {
        let is_argument = |word: &String| word == "--workspace" || word.starts_with("--workspace=");
        if self.no_workspace || self.arguments.iter().any(is_argument) {
            return Ok(None);
        }
        let Some(directory) = &self.workspace else {
            let project = (scope == Scope::Project).then(|| self.client.project_directory());
            return Ok(project.map(str::to_owned));
        };
        let directory = input::resolve_directory(directory)?;
        let text = directory.to_str().ok_or_else(|| {
            let path = directory.display();
            CommandError::input(format!("invalid path `{path}`: not valid UTF-8"))
        })?;
        // The client would pass another directory than the one that was shown.
        if self.client.expands(text) {
            let title = self.client.title();
            bail!(CommandError::input(format!(
                "cannot register the workspace `{text}`: {title} expands `$` in paths"
            )));
        }
        Ok(Some(text.to_owned()))
    }
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
        let edit = config_edit::plan_edit(self.client, before.text(), &self.entry)
            .map_err(|error| unusable_config_error(&self.file, &error))?;
        Ok(Proposal { before, edit })
    }

    /// Applies the change to the file's current content, which other programs may have changed
    /// since the prompt. Their changes are never lost; if they keep writing, this fails without a
    /// change.
    fn write(
        &self,
        agreed: Consent<'_>,
        environment: &Environment,
    ) -> anyhow::Result<(InstallStatus, Proposal)> {
        let path = self.file.path().display();
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
            let text = &proposal.edit.text;
            let replaced = self.file.replace(&proposal.before, text, self.scope)?;
            if replaced == Replacement::Done {
                return Ok((InstallStatus::Written, proposal));
            }
        }
        bail!(
            "cannot write `{path}`: another program keeps changing it; stop that program and try again"
        )
    }

    /// Describes the change for the confirmation prompt.
    fn describe(&self, proposal: &Proposal) -> String {
        let Self {
            client,
            entry,
            file,
            ..
        } = self;
        let title = client.title();
        let link = file
            .link()
            .map(|target| format!(", symlink to {}", target.display()));
        let mut text = format!(
            "{} (MCP servers of {title}{})\n{}",
            file.path().display(),
            link.unwrap_or_default(),
            proposal.diff()
        );
        if proposal.edit.change == EntryChange::Replaced {
            text.push_str(&format!(
                "this replaces another server named `{}`; pass `--name` to keep both\n",
                entry.name
            ));
        }
        text.push_str(&format!("{title} will start: {:?}", entry.command));
        // The command is shown with quotes, so that an argument with spaces does not look like
        // several.
        for word in &entry.arguments {
            text.push_str(&format!(" {word:?}"));
        }
        text
    }

    /// Prints the result and returns the exit code.
    fn report(
        &self,
        status: InstallStatus,
        proposal: &Proposal,
        output: Output,
    ) -> anyhow::Result<Exit> {
        let Self {
            client,
            scope,
            entry,
            file,
        } = self;
        let path = file.path().display();
        if output.is_json() {
            output.print_json(&json!({
                "client": client.as_str(),
                "file": file.path(),
                "leads_to": file.link(),
                "server": {"name": entry.name, "command": entry.command, "args": entry.arguments},
                "change": proposal.edit.change,
                "diff": proposal.diff(),
                "status": status,
            }))?;
        }
        match status {
            InstallStatus::Unchanged => {
                output.status(&format!("unchanged: {path} already has this server"));
            }
            InstallStatus::Written => {
                output.status(&format!("wrote {path}; {}", client.next_step(*scope)));
            }
            InstallStatus::Declined => output.status(&format!("{path} was not changed")),
            InstallStatus::Planned if !output.is_json() => {
                output.lines([self.describe(proposal)])?
            }
            // `approver::confirm` has reported that there is no terminal.
            InstallStatus::Planned | InstallStatus::Unanswered => {}
        }
        Ok(match status {
            InstallStatus::Declined | InstallStatus::Unanswered => Exit::Denied,
            _ => Exit::Success,
        })
    }
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

impl Proposal {
    fn diff(&self) -> String {
        diff::render(self.before.text().unwrap_or_default(), &self.edit.text)
    }

    fn changed_lines(&self) -> Vec<(ChangeTag, String)> {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum InstallStatus {
    Unchanged,
    Planned,
    Written,
    Declined,
    Unanswered,
}

/// Parses the arguments as the server will, so that a mistake is reported now.
fn check_server_arguments(arguments: &[String], context: &Context) -> anyhow::Result<()> {
    let words = std::iter::once("skills").chain(arguments.iter().map(String::as_str));
    let problem = match (context.command_line)().try_get_matches_from(words) {
        Err(error) => first_line(&error),
        // The arguments can name another subcommand, such as `install`, or select HTTP.
        Ok(matches) if is_stdio_server(&matches) => return Ok(()),
        Ok(_) => "clients need a server over standard input and output".to_owned(),
    };
    let command = arguments.join(" ");
    bail!(CommandError::input(format!(
        "cannot start `skills {command}`: {problem}"
    )))
}

/// Returns true if the arguments start a server over standard input and output.
fn is_stdio_server(matches: &ArgMatches) -> bool {
    matches.subcommand().is_some_and(|(name, mcp)| {
        name == "mcp" && mcp.subcommand_name().is_none() && !mcp.contains_id("http")
    })
}

fn find_config_file(
    client: Client,
    scope: Scope,
    environment: &Environment,
) -> anyhow::Result<ConfigFile> {
    let surroundings = client_environment::client_environment(environment);
    let path = config_path::config_path(client, scope, &surroundings).ok_or_else(|| {
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

fn unusable_config_error(file: &ConfigFile, error: &ConfigEditError) -> CommandError {
    let line = error
        .line()
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    CommandError::input(format!("{}{line}: {error}", file.path().display()))
        .with_help("nothing was written; fix the file or move it away")
}

/// Parses a server name that every client accepts.
fn parse_server_name(text: &str) -> Result<String, String> {
    const MAX_NAME_BYTES: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.chars().all(is_plain) {
        return Err(format!(
            "expected 1 to {MAX_NAME_BYTES} letters, digits, `-` or `_`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_are_accepted_by_every_client() {
        assert_eq!(
            parse_server_name("my-skills_2"),
            Ok("my-skills_2".to_owned())
        );
        for wrong in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(parse_server_name(wrong).is_err(), "{wrong}");
        }
    }
}

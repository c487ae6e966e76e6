//! `skills mcp install`: registers the server with a client.

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
use self::server_entry::{ConfigEditError, EntryChange, ServerEntry, Transport};
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
/// paths, because the working directory of the server depends on the client. The workspace of the
/// server is the directory in which the client starts it, which is the project, without any option.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Client to register with
    #[arg(long, value_enum, value_name = "CLIENT")]
    client: Client,

    /// Write the project's configuration instead of the user's
    #[arg(long)]
    project: bool,

    /// Directory that programs work on [default: that in which the client starts the server]
    ///
    /// Programs can write it. With --project and without this option, the entry of a client that
    /// has a variable for the project names it, so that all users of the project can share it.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Start the server without a workspace
    #[arg(long, conflicts_with = "workspace")]
    no_workspace: bool,

    /// Connect to a server over HTTP instead of starting one
    ///
    /// The entry has the URL and the name of a variable with the token, never the token itself.
    /// Only for clients that replace variables in headers.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = "http://127.0.0.1:8640/mcp",
        value_parser = parse_url,
        conflicts_with_all = ["workspace", "no_workspace", "arguments"]
    )]
    http: Option<String>,

    /// Environment variable of the client with the token for --http
    #[arg(
        long,
        value_name = "NAME",
        default_value = "SKILLS_MCP_TOKEN",
        value_parser = parse_variable_name,
        requires = "http"
    )]
    token_variable: String,

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
        let output = context.output;
        let proposal = target
            .propose()
            .inspect_err(|_| target.show_manual_entry(output))?;
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
        let separator = client.spec().separator;
        if let Some(separator) = separator.filter(|separator| self.name.contains(*separator)) {
            bail!(CommandError::input(format!(
                "invalid server name `{}`: {title} does not support `{separator}`; use `-`",
                self.name
            )));
        }
        let scope = if self.project {
            Scope::Project
        } else {
            Scope::User
        };
        if scope == Scope::Project && client.spec().project.is_empty() {
            let message = format!("{title} has no configuration of projects");
            bail!(CommandError::input(message).with_help("register without `--project`"));
        }
        let transport = match &self.http {
            Some(url) => self.http_transport(url)?,
            None => self.stdio_transport(scope, context)?,
        };
        Ok(InstallTarget {
            client,
            scope,
            entry: ServerEntry {
                name: self.name.clone(),
                transport,
            },
            file: find_config_file(client, scope, environment)?,
        })
    }

    fn http_transport(&self, url: &str) -> anyhow::Result<Transport> {
        if self.client.spec().http.is_empty() {
            let title = self.client.title();
            let message = format!("cannot register a URL: {title} replaces no variable in headers");
            // An entry with the token would be readable in a file that is shared or backed up.
            bail!(CommandError::input(message).with_help("register without `--http`"));
        }
        Ok(Transport::Http {
            url: url.to_owned(),
            token_variable: self.token_variable.clone(),
        })
    }

    fn stdio_transport(&self, scope: Scope, context: &Context) -> anyhow::Result<Transport> {
        let command = client_environment::current_program()?;
        // The client would start another program than the one that was shown.
        if self.client.expands(&command) {
            let title = self.client.title();
            bail!(CommandError::input(format!(
                "cannot register `{command}`: {title} expands variables in paths; install this program elsewhere"
            )));
        }
        let mut arguments = vec!["mcp".to_owned()];
        arguments.extend(self.workspace_arguments(scope)?);
        arguments.extend(self.arguments.iter().cloned());
        check_server_arguments(&arguments, context)?;
        Ok(Transport::Stdio { command, arguments })
    }

    /// Returns the options for the workspace of the entry. Without any, the server works on the
    /// directory in which the client starts it.
    fn workspace_arguments(&self, scope: Scope) -> anyhow::Result<Vec<String>> {
        let is_given = |word: &String| {
            matches!(word.as_str(), "--workspace" | "--no-workspace")
                || word.starts_with("--workspace=")
        };
        if self.arguments.iter().any(is_given) {
            return Ok(Vec::new());
        }
        if self.no_workspace {
            return Ok(vec!["--no-workspace".to_owned()]);
        }
        let Some(directory) = &self.workspace else {
            let project = self.client.spec().project_variable;
            let project = project.filter(|_| scope == Scope::Project);
            let arguments = project.map(|project| ["--workspace".to_owned(), project.to_owned()]);
            return Ok(arguments.into_iter().flatten().collect());
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
                "cannot register the workspace `{text}`: {title} expands variables in paths"
            )));
        }
        Ok(vec!["--workspace".to_owned(), text.to_owned()])
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
            .map_err(|error| self.unusable_config_error(&error))?;
        Ok(Proposal { before, edit })
    }

    fn unusable_config_error(&self, error: &ConfigEditError) -> CommandError {
        let line = error.line().map(|line| format!(":{line}"));
        let path = self.file.path().display();
        let message = format!("{path}{}: {error}", line.unwrap_or_default());
        CommandError::input(message).with_help(match error {
            ConfigEditError::UnsupportedLayout => {
                "nothing was written; add the entry in your editor"
            }
            _ => "nothing was written; fix the file or move it away",
        })
    }

    /// Prints the entry for a file with a layout that cannot be edited.
    fn show_manual_entry(&self, output: Output) {
        let Ok(before) = self.file.read() else { return };
        let planned = config_edit::plan_edit(self.client, before.text(), &self.entry);
        if planned == Err(ConfigEditError::UnsupportedLayout)
            && let Ok(new) = config_edit::plan_edit(self.client, None, &self.entry)
        {
            output.status_lines(new.text.trim_end());
        }
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
        match &entry.transport {
            Transport::Stdio { command, arguments } => {
                text.push_str(&format!("{title} will start: {command:?}"));
                // The command is shown with quotes, so that an argument with spaces does not look
                // like several.
                for word in arguments {
                    text.push_str(&format!(" {word:?}"));
                }
            }
            Transport::Http {
                url,
                token_variable,
            } => text.push_str(&format!(
                "{title} will connect to {url} with the token in `{token_variable}`"
            )),
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
                "server": entry.to_json(),
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
                if let Transport::Http { token_variable, .. } = &entry.transport {
                    output.status(&format!(
                        "set `{token_variable}` to the token of the server in the environment of {}; `skills mcp token --show` prints it",
                        client.title()
                    ));
                }
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

/// Parses a URL that every client uses as it is written.
fn parse_url(text: &str) -> Result<String, String> {
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    // Clients replace variables, and a password in the URL would be stored in the file.
    let is_plain =
        |c: char| c.is_ascii_graphic() && !matches!(c, '$' | '{' | '}' | '"' | '\'' | '\\');
    match host {
        Some(host) if !host.is_empty() && !host.contains('@') && text.chars().all(is_plain) => {
            Ok(text.to_owned())
        }
        _ => {
            Err("expected a URL such as `http://127.0.0.1:8640/mcp`, without a password".to_owned())
        }
    }
}

/// Parses the name of an environment variable.
fn parse_variable_name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.is_empty()
        || text.starts_with(|c: char| c.is_ascii_digit())
        || !text.chars().all(is_name)
    {
        return Err("expected letters, digits and `_`; a digit cannot come first".to_owned());
    }
    Ok(text.to_owned())
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
    fn urls_have_no_password_and_no_variable() {
        for url in ["http://127.0.0.1:8640/mcp", "https://tools.example/mcp?a=b"] {
            assert_eq!(parse_url(url).as_deref(), Ok(url));
        }
        for wrong in [
            "",
            "http://",
            "ftp://a/mcp",
            "http://u:p@a/mcp",
            "http://a/${X}",
            "http://a/{env:X}",
            "http://a/ b",
        ] {
            assert!(parse_url(wrong).is_err(), "{wrong}");
        }
        assert!(parse_variable_name("A_1").is_ok());
        for wrong in ["", "1A", "A-B", "A}"] {
            assert!(parse_variable_name(wrong).is_err(), "{wrong}");
        }
    }

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

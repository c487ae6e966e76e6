//! `skills mcp install`: registers the server with a client.

use std::path::PathBuf;

use anyhow::bail;
use clap::{ArgMatches, Args};
use serde_json::json;
use skills_client_config::{
    ConfigScope, ConfigTarget, EntryChange, EntryOrigin, Proposal, ServerClient, ServerEntry,
    Transport,
};

use super::client_edit::{self, EditMode, EditStatus};
use crate::approver;
use crate::client_config::{client_environment, client_parser};
use crate::context::Context;
use crate::error::{CommandError, usage_message};
use crate::exit::Exit;
use crate::global_options::GlobalOptions;
use crate::input;
use crate::output::Output;

/// Register the server with a client
///
/// Shows the change to the client's configuration and writes it after confirmation. Everything
/// else in the file is preserved. Arguments after `--` are options of `skills mcp`; use absolute
/// paths, because the working directory of the server depends on the client. The workspace of the
/// server is the directory in which the client starts it, which is the project, without any option.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Client to register with
    #[arg(long, value_parser = client_parser(), value_name = "CLIENT")]
    client: ServerClient,

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
        let ask = |_: &Proposal| approver::confirm("Apply this change? [y/N]", output);
        let mode = if self.dry_run {
            EditMode::DryRun
        } else if self.yes {
            EditMode::Apply
        } else {
            EditMode::Confirm(&ask)
        };
        let describe = |proposal: &Proposal| describe(&target, proposal);
        let (status, proposal) = client_edit::edit(&target, mode, describe, context)?;
        report(&target, status, &proposal, output)
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

    fn target(&self, context: &Context) -> anyhow::Result<ConfigTarget> {
        let (client, title) = (self.client, self.client.title());
        let separator = client.separator();
        if let Some(separator) = separator.filter(|separator| self.name.contains(*separator)) {
            bail!(CommandError::input(format!(
                "invalid server name `{}`: {title} does not support `{separator}`; use `-`",
                self.name
            )));
        }
        let scope = if self.project {
            client.project_scope()?
        } else {
            ConfigScope::User
        };
        let transport = match &self.http {
            Some(url) => self.http_transport(url)?,
            None => self.stdio_transport(scope, context)?,
        };
        let entry = ServerEntry {
            name: self.name.clone(),
            transport,
            origin: EntryOrigin::ThisProgram,
        };
        let environment = client_environment(client, &context.environment);
        Ok(ConfigTarget::find(
            client,
            scope,
            vec![entry],
            &environment,
        )?)
    }

    fn http_transport(&self, url: &str) -> anyhow::Result<Transport> {
        if !self.client.supports_urls() {
            let title = self.client.title();
            let message = format!("cannot register a URL: {title} replaces no variable in headers");
            // An entry with the token would be readable in a file that is shared or backed up.
            bail!(CommandError::input(message).with_help("register without `--http`"));
        }
        Ok(Transport::Http {
            url: url.to_owned(),
            token_variable: Some(self.token_variable.clone()),
        })
    }

    fn stdio_transport(&self, scope: ConfigScope, context: &Context) -> anyhow::Result<Transport> {
        let command = client_edit::current_program()?;
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
    fn workspace_arguments(&self, scope: ConfigScope) -> anyhow::Result<Vec<String>> {
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
            let project = self.client.project_variable();
            let project = project.filter(|_| scope == ConfigScope::Project);
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

/// Describes the change for the confirmation prompt.
fn describe(target: &ConfigTarget, proposal: &Proposal) -> String {
    let title = target.client().title();
    let mut text = target.describe(proposal);
    for (entry, change) in target.entries().iter().zip(proposal.changes()) {
        if *change == EntryChange::Replaced {
            text.push_str(&format!(
                "this replaces another server named `{}`; pass `--name` to keep both\n",
                entry.name
            ));
        }
        text.push_str(&entry.describe_use(title));
    }
    text
}

/// Prints the result and returns the exit code.
fn report(
    target: &ConfigTarget,
    status: EditStatus,
    proposal: &Proposal,
    output: Output,
) -> anyhow::Result<Exit> {
    let path = target.path().display();
    let client = target.client();
    let servers = target.entries().iter().zip(proposal.changes());
    for (entry, change) in servers.clone().filter(|_| output.is_json()) {
        output.print_json(&json!({
            "client": client.as_str(),
            "file": target.path(),
            "leads_to": target.link(),
            "server": entry.to_json(),
            "change": change,
            "diff": proposal.diff(),
            "status": status,
        }))?;
    }
    match status {
        EditStatus::Unchanged => {
            output.status(&format!("unchanged: {path} already has this server"));
        }
        EditStatus::Written => {
            output.status(&format!("wrote {path}; {}", target.next_step()));
            for (entry, _) in servers {
                if let Some(variable) = entry.token_variable() {
                    output.status(&format!(
                        "set `{variable}` to the token of the server in the environment of {}; `skills mcp token --show` prints it",
                        client.title()
                    ));
                }
            }
        }
        EditStatus::Declined => output.status(&format!("{path} was not changed")),
        EditStatus::Planned if !output.is_json() => {
            output.lines([describe(target, proposal)])?;
        }
        // `approver::confirm` has reported that no terminal is available.
        EditStatus::Planned | EditStatus::Unanswered => {}
    }
    Ok(status.exit())
}

/// Parses the arguments as the server will, so that a mistake is reported now.
fn check_server_arguments(arguments: &[String], context: &Context) -> anyhow::Result<()> {
    let words = std::iter::once("skills").chain(arguments.iter().map(String::as_str));
    let problem = match (context.command_line)().try_get_matches_from(words) {
        Err(error) => usage_message(&error),
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

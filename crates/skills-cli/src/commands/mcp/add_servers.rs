//! `skills mcp add-servers`: adds the MCP servers that skills require to a client.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};
use skills_client_config::{
    ConfigScope, ConfigTarget, EntryChange, EntryOrigin, Proposal, ServerClient, ServerEntry,
    Transport, configured_servers,
};
use skills_runtime::prompt::{MissingRequirements, MissingServer, RequirementSession};
use skills_runtime::{Entry, SkillRuntime};

use super::client_edit::{self, EditMode, EditStatus};
use crate::approver::{self, Confirmation};
use crate::client_config::{client_environment, client_parser};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::{Output, line};
use crate::requirements::server_to_json;

/// Maximum length of a server name in a configuration.
const MAX_NAME_CHARS: usize = 64;

/// Add the MCP servers that skills require to a client
///
/// Reads the servers from `agents/openai.yaml` of the skills, shows the change to the client's
/// configuration, and writes it after confirmation. A server that the client has under any name is
/// not added again, and no existing entry is changed. A server can be a command, which the client
/// starts outside of any sandbox: a person at a terminal must agree to it, also with --yes.
#[derive(Debug, Args)]
pub(crate) struct AddServers {
    /// Client to configure
    #[arg(long, value_parser = client_parser(), value_name = "CLIENT")]
    client: ServerClient,

    /// Write the project's configuration instead of the user's
    #[arg(long)]
    project: bool,

    /// Add only the server that the skill calls NAME (repeatable)
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,

    /// Show the change without writing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Write servers with a URL without asking
    #[arg(long)]
    yes: bool,

    /// Skill name or directory
    #[arg(required = true, value_name = "SKILL")]
    skills: Vec<String>,
}

/// The servers of the skills, and those of them that the client can have.
struct Plan {
    target: ConfigTarget,
    /// The servers of the entries of the target, in their order.
    servers: Vec<MissingServer>,
    /// Servers that the client cannot have, with the reason.
    rejected: Vec<(MissingServer, String)>,
}

impl AddServers {
    /// Adds the servers to a client's configuration after the user has confirmed the change.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let required = self.required_servers(&runtime, output)?;
        let plan = self.plan(required, context)?;
        let ask = |proposal: &Proposal| self.confirm(&plan, proposal, output);
        let mode = if self.dry_run {
            EditMode::DryRun
        } else {
            EditMode::Confirm(&ask)
        };
        let describe = |proposal: &Proposal| plan.describe(proposal);
        let (status, proposal) = client_edit::edit(&plan.target, mode, describe, context)?;
        plan.report(status, &proposal, output)
    }

    /// Returns the servers that the skills declare, each once with its first name, and reports
    /// declarations that cannot be used.
    fn required_servers(
        &self,
        runtime: &SkillRuntime,
        output: Output,
    ) -> anyhow::Result<Vec<MissingServer>> {
        let catalog = runtime.library().catalog();
        let mut entries: Vec<&Entry> = Vec::new();
        for name in &self.skills {
            // Fails for a skill that is not active, such as one of an untrusted project.
            let skill = lookup::get_skill(runtime, &input::resolve_skill_name(name))?;
            entries.extend(lookup::find_entry(&catalog, &skill));
        }
        // A runtime has no servers, so all that the skills declare are missing.
        let missing = runtime.library().missing_requirements(entries);
        for invalid in &missing.invalid {
            let (skill, reason) = (&invalid.skill, &invalid.reason);
            output.status(&format!("warning: skill `{skill}`: {reason}"));
        }
        self.check_selection(&missing.servers)?;
        let is_selected = |required: &MissingServer| {
            self.server.is_empty() || self.server.contains(&required.server.name)
        };
        Ok(missing.servers.into_iter().filter(is_selected).collect())
    }

    /// Rejects the name of a server that no skill requires.
    fn check_selection(&self, required: &[MissingServer]) -> Result<(), CommandError> {
        let names: Vec<&str> = required
            .iter()
            .map(|required| required.server.name.as_str())
            .collect();
        let Some(unknown) = self
            .server
            .iter()
            .find(|name| !names.contains(&name.as_str()))
        else {
            return Ok(());
        };
        let error = CommandError::input(format!("no skill requires a server `{unknown}`"));
        if names.is_empty() {
            return Err(error);
        }
        Err(error.with_help(format!("required servers: {}", names.join(", "))))
    }

    fn plan(&self, required: Vec<MissingServer>, context: &Context) -> anyhow::Result<Plan> {
        let client = self.client;
        let scope = if self.project {
            client.project_scope()?
        } else {
            ConfigScope::User
        };
        let mut entries = Vec::new();
        let mut servers = Vec::new();
        let mut rejected = Vec::new();
        for server in required {
            match entry_for(client, &server) {
                Ok(entry) => {
                    entries.push(entry);
                    servers.push(server);
                }
                Err(reason) => rejected.push((server, reason)),
            }
        }
        // The client has the servers of the user in each project.
        let environment = client_environment(client, &context.environment);
        let others = match scope {
            ConfigScope::User => BTreeSet::new(),
            ConfigScope::Project => configured_servers(client, ConfigScope::User, &environment),
        };
        let target = ConfigTarget::find(client, scope, entries, &environment)?;
        Ok(Plan {
            target: target.keep_existing(others),
            servers,
            rejected,
        })
    }

    /// Asks the question of Codex. `--yes` answers it for servers with a URL only.
    fn confirm(&self, plan: &Plan, proposal: &Proposal, output: Output) -> Confirmation {
        let added: Vec<&MissingServer> = plan.added(proposal).map(|(server, _)| server).collect();
        let programs: Vec<&str> = added
            .iter()
            .filter(|required| required.server.is_program())
            .map(|required| required.server.name.as_str())
            .collect();
        if programs.is_empty() && self.yes {
            return Confirmation::Yes;
        }
        // A script could otherwise let a skill choose a program of the user.
        if !programs.is_empty() && !approver::is_terminal() {
            let names = programs.join("`, `");
            output.status(&format!(
                "error: a person must agree to the command of `{names}` at a terminal; `--yes` is not enough"
            ));
            output.status("help: run this at a terminal, or select other servers with `--server`");
            return Confirmation::Unanswered;
        }
        approver::confirm(&format!("{} [y/N]", question(added)), output)
    }
}

impl Plan {
    /// Returns the servers that the proposal adds, with their entries.
    fn added<'a>(
        &'a self,
        proposal: &'a Proposal,
    ) -> impl Iterator<Item = (&'a MissingServer, &'a ServerEntry)> {
        let rows = self.rows(proposal);
        rows.filter(|(_, _, change)| *change == EntryChange::Added)
            .map(|(server, entry, _)| (server, entry))
    }

    fn rows<'a>(
        &'a self,
        proposal: &'a Proposal,
    ) -> impl Iterator<Item = (&'a MissingServer, &'a ServerEntry, EntryChange)> {
        let entries = self.servers.iter().zip(self.target.entries());
        entries
            .zip(proposal.changes())
            .map(|((server, entry), change)| (server, entry, *change))
    }

    /// Describes the change for the confirmation prompt.
    fn describe(&self, proposal: &Proposal) -> String {
        let title = self.target.client().title();
        let mut text = self.target.describe(proposal);
        for (required, entry) in self.added(proposal) {
            let (name, skills) = (&required.server.name, required.skills.join(", "));
            let effect = entry.describe_use(title);
            let sandbox = if required.server.is_program() {
                ", outside of any sandbox"
            } else {
                ""
            };
            let row = line(&format!(
                "`{name}`, required by {skills}: {effect}{sandbox}"
            ));
            text.push_str(&row);
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Prints the result and returns the exit code: failed, if a server could not be added.
    fn report(
        &self,
        status: EditStatus,
        proposal: &Proposal,
        output: Output,
    ) -> anyhow::Result<Exit> {
        let path = self.target.path().display();
        if output.is_json() {
            output.print_json(&self.to_json(status, proposal))?;
        }
        let title = self.target.client().title();
        for (required, entry, change) in self.rows(proposal) {
            let name = &required.server.name;
            match change {
                EntryChange::Unchanged => {
                    output.status(&format!("{title} has the server `{name}` already"));
                }
                EntryChange::NameTaken => output.status(&format!(
                    "`{name}` was not added: {path} has another server named `{}`",
                    entry.name
                )),
                _ => {}
            }
        }
        for (required, reason) in &self.rejected {
            let name = &required.server.name;
            output.status(&format!("`{name}` was not added: {reason}"));
        }
        if self.servers.is_empty() && self.rejected.is_empty() {
            output.status("the skills require no MCP server");
        }
        match status {
            EditStatus::Written => output.status(&format!(
                "wrote {path}; {}; log in there if a server requires it",
                self.target.next_step()
            )),
            EditStatus::Declined => output.status(&format!("{path} was not changed")),
            EditStatus::Planned if !output.is_json() => {
                output.lines([self.describe(proposal)])?;
            }
            EditStatus::Planned | EditStatus::Unchanged | EditStatus::Unanswered => {}
        }
        let is_taken = |change: &EntryChange| *change == EntryChange::NameTaken;
        let is_incomplete = !self.rejected.is_empty() || proposal.changes().iter().any(is_taken);
        Ok(match status.exit() {
            Exit::Success if is_incomplete => Exit::Failed,
            exit => exit,
        })
    }

    fn to_json(&self, status: EditStatus, proposal: &Proposal) -> Value {
        let rows = self.rows(proposal).map(|(server, entry, change)| {
            let mut row = server_to_json(server);
            row["entry"] = entry.to_json();
            row["change"] = json!(change);
            row
        });
        let rejected = self.rejected.iter().map(|(server, reason)| {
            let mut row = server_to_json(server);
            row["change"] = json!("rejected");
            row["message"] = json!(reason);
            row
        });
        json!({
            "client": self.target.client().as_str(),
            "file": self.target.path(),
            "leads_to": self.target.link(),
            "servers": rows.chain(rejected).collect::<Vec<_>>(),
            "diff": proposal.diff(),
            "status": status,
        })
    }
}

/// Returns the entry for a server of a skill, or why the client cannot have it.
fn entry_for(client: ServerClient, required: &MissingServer) -> Result<ServerEntry, String> {
    let server = &required.server;
    let title = client.title();
    let locator = server.locator.clone();
    // The client would use another server than the one that was shown.
    if client.expands(&locator) {
        return Err(format!("{title} expands variables in `{locator}`"));
    }
    let transport = if server.is_program() {
        Transport::Stdio {
            command: locator,
            arguments: Vec::new(),
        }
    } else if !client.supports_urls() {
        return Err(format!(
            "{title} has no known entry for a URL; add {locator} there"
        ));
    } else {
        Transport::Http {
            url: locator,
            token_variable: None,
        }
    };
    Ok(ServerEntry {
        name: entry_name(client, &server.name),
        transport,
        origin: EntryOrigin::Requirement,
    })
}

/// Returns a name that the client accepts: letters, digits, `-` and `_`.
fn entry_name(client: ServerClient, name: &str) -> String {
    let separator = client.separator();
    let is_plain =
        |c: char| (c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) && separator != Some(c);
    let plain: String = name
        .chars()
        .take(MAX_NAME_CHARS)
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() {
        return "server".to_owned();
    }
    plain.to_owned()
}

/// Returns the question of Codex about these servers.
fn question(servers: Vec<&MissingServer>) -> String {
    let mut missing = MissingRequirements::default();
    missing.servers = servers.into_iter().cloned().collect();
    let prompts = RequirementSession::default().prompts(&missing, "1");
    prompts.into_iter().map(|prompt| prompt.text).collect()
}

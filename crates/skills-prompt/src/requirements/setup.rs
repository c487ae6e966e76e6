//! Asks for what is missing, each thing once in a session.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{MissingRequirements, MissingServer};
use crate::sanitize::escape_line;

/// The answer that installs servers.
const INSTALL_OPTION: &str = "Install";
/// The answer that does not.
const CONTINUE_OPTION: &str = "Continue anyway";
/// What Codex puts before text that a user typed.
const USER_NOTE_PREFIX: &str = "user_note:";

/// What a session knows: what was asked, and the secrets that it was given. Nothing of it is ever
/// written anywhere.
#[derive(Debug, Clone, Default)]
pub struct RequirementSession {
    asked: BTreeSet<String>,
    secrets: BTreeMap<String, Secret>,
}

/// A value that nobody sees by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A question for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetupPrompt {
    /// Which call it belongs to: `mcp-deps-{turn}` or `skill-deps-{turn}`.
    pub call_id: String,
    /// What it is about: `skill_mcp_dependency_install`, or the name of a variable.
    pub id: String,
    /// A few words above it.
    pub header: String,
    /// The question, in the words of Codex.
    pub text: String,
    /// What else the user should see before answering: where each server is. One line each.
    pub details: Vec<String>,
    /// The answers to choose from; none for a secret, which is typed.
    pub options: Vec<&'static str>,
    /// Whether what is typed must not be shown.
    pub is_secret: bool,
    /// The keys of the servers that it is about.
    servers: Vec<String>,
}

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptResponse {
    /// Install these servers.
    Install(Vec<MissingServer>),
    /// The session has the secret now.
    Stored,
    /// Go on without.
    Declined,
}

/// Whether users are asked before servers are installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptPolicy {
    /// They are.
    #[default]
    Ask,
    /// They said beforehand that everything is allowed (Codex's full access); secrets are asked for
    /// nevertheless.
    AssumeYes,
}

/// Who can ask users and install servers.
pub trait Prompter {
    /// Asks; nothing when there is no answer.
    fn ask(&mut self, question: &SetupPrompt) -> Option<String>;
    /// Installs a server.
    ///
    /// # Errors
    /// In one sentence, why it could not be done; the turn goes on without.
    fn install(&mut self, server: &MissingServer) -> Result<(), String>;
}

impl RequirementSession {
    /// Returns the questions that this session has not asked yet, and notes that it has: first
    /// those for variables, then the one for all servers. `turn` tells calls apart.
    pub fn prompts(&mut self, needs: &MissingRequirements, turn: &str) -> Vec<SetupPrompt> {
        let mut questions = Vec::new();
        for variable in needs
            .variables
            .iter()
            .filter(|variable| variable.is_required && !self.secrets.contains_key(&variable.name))
        {
            if !self.asked.insert(format!("env_var__{}", variable.name)) {
                continue;
            }
            let skill = variable
                .skills
                .first()
                .map(|skill| escape_line(skill))
                .unwrap_or_default();
            let purpose = variable
                .description
                .as_ref()
                .map(|text| format!(" ({})", escape_line(text)))
                .unwrap_or_default();
            questions.push(SetupPrompt {
                call_id: format!("skill-deps-{turn}"),
                id: variable.name.clone(),
                header: "Skill requires environment variable".to_owned(),
                text: format!(
                    "The skill \"{skill}\" requires \"{}\" to be set{purpose}. This is an experimental internal feature. The value is stored in \
                     memory for this session only.",
                    variable.name
                ),
                details: Vec::new(),
                options: Vec::new(),
                is_secret: true,
                servers: Vec::new(),
            });
        }
        let servers = self.unasked_servers(needs);
        if !servers.is_empty() {
            questions.push(server_prompt(&servers, turn));
        }
        questions
    }

    /// The servers that this session has not asked for yet.
    fn unasked_servers<'a>(&mut self, needs: &'a MissingRequirements) -> Vec<&'a MissingServer> {
        needs
            .servers
            .iter()
            .filter(|server| self.asked.insert(server.server.key.clone()))
            .collect()
    }

    /// Takes the answer to a question; none, a blank one and an unknown one decline.
    pub fn record_response(
        &mut self,
        question: &SetupPrompt,
        needs: &MissingRequirements,
        answer: Option<&str>,
    ) -> PromptResponse {
        let answer = answer.map(str::trim).filter(|answer| !answer.is_empty());
        match answer {
            Some(answer) if question.is_secret => {
                let value = answer
                    .strip_prefix(USER_NOTE_PREFIX)
                    .unwrap_or(answer)
                    .trim();
                if value.is_empty() {
                    return PromptResponse::Declined;
                }
                self.secrets
                    .insert(question.id.clone(), Secret(value.to_owned()));
                PromptResponse::Stored
            }
            Some(INSTALL_OPTION) => {
                let is_asked =
                    |server: &&MissingServer| question.servers.contains(&server.server.key);
                PromptResponse::Install(needs.servers.iter().filter(is_asked).cloned().collect())
            }
            _ => PromptResponse::Declined,
        }
    }

    /// Returns the names of the variables that the session was given.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }

    /// Returns the value of a variable that the session was given.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }
}

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Shows the value, to give it to the program that it is for.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn server_prompt(servers: &[&MissingServer], turn: &str) -> SetupPrompt {
    let mut names: Vec<String> = servers
        .iter()
        .map(|server| escape_line(&server.server.name))
        .collect();
    names.sort();
    let detail = |server: &&MissingServer| {
        format!(
            "{}: {} {}",
            escape_line(&server.server.name),
            server.server.transport,
            escape_line(&server.server.locator)
        )
    };
    SetupPrompt {
        call_id: format!("mcp-deps-{turn}"),
        id: "skill_mcp_dependency_install".to_owned(),
        header: "Install MCP servers?".to_owned(),
        text: format!(
            "The following MCP servers are required by the selected skills but are not installed yet: {}. Install them now?",
            names.join(", ")
        ),
        details: servers.iter().map(detail).collect(),
        options: vec![INSTALL_OPTION, CONTINUE_OPTION],
        is_secret: false,
        servers: servers
            .iter()
            .map(|server| server.server.key.clone())
            .collect(),
    }
}

/// Asks for everything that is missing and was not asked before, and installs what the user agrees
/// to. Returns what went wrong, one sentence each; nothing of it ends the turn.
pub fn resolve_requirements(
    session: &mut RequirementSession,
    needs: &MissingRequirements,
    turn: &str,
    approval: PromptPolicy,
    host: &mut dyn Prompter,
) -> Vec<String> {
    let mut failures = Vec::new();
    let mut install = |servers: &[MissingServer], host: &mut dyn Prompter| {
        for server in servers {
            if let Err(reason) = host.install(server) {
                failures.push(format!(
                    "the MCP server {} is not installed: {reason}",
                    escape_line(&server.server.name)
                ));
            }
        }
    };
    for question in session.prompts(needs, turn) {
        if approval == PromptPolicy::AssumeYes && !question.is_secret {
            let servers: Vec<MissingServer> = needs
                .servers
                .iter()
                .filter(|server| question.servers.contains(&server.server.key))
                .cloned()
                .collect();
            install(&servers, host);
            continue;
        }
        let answer = host.ask(&question);
        if let PromptResponse::Install(servers) =
            session.record_response(&question, needs, answer.as_deref())
        {
            install(&servers, host);
        }
    }
    failures
}

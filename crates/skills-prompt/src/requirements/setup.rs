//! Asks the user for unmet requirements, once per session.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{MissingRequirements, MissingServer, MissingVariable};
use crate::sanitize::escape_tags;

/// The option that installs servers.
const INSTALL_OPTION: &str = "Install";
/// The option that installs nothing.
const CONTINUE_OPTION: &str = "Continue anyway";
/// The prefix that Codex adds to text that a user typed.
const USER_NOTE_PREFIX: &str = "user_note:";

/// The state of a session: what the user was asked, and the secrets that the user entered.
///
/// It is kept in memory only. Keep one value per session, so that each question is asked at most
/// once in it, whatever the answer was.
///
/// ```
/// use skills_prompt::{MissingRequirements, RequirementSession};
///
/// let mut session = RequirementSession::default();
/// assert!(session.prompts(&MissingRequirements::default(), "turn-1").is_empty());
/// assert_eq!(session.variables().count(), 0);
/// ```
#[derive(Clone, Default)]
pub struct RequirementSession {
    asked: BTreeSet<String>,
    secrets: BTreeMap<String, String>,
}

/// A question to the user about unmet requirements: one variable, or all MCP servers.
///
/// A client shows [`text`](Self::text), [`details`](Self::details) and [`options`](Self::options);
/// names in them are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetupPrompt {
    /// The id of the call that asks: `mcp-deps-{turn}` or `skill-deps-{turn}`.
    pub call_id: String,
    /// The id of the question: `skill_mcp_dependency_install`, or the name of a variable.
    pub id: String,
    /// A short heading.
    pub header: String,
    /// The text of the question, as Codex words it.
    pub text: String,
    /// Facts that the user should see before answering, one per line: transport and locator of
    /// each server.
    pub details: Vec<String>,
    /// The options to choose from; none for a secret, which is typed.
    pub options: Vec<&'static str>,
    /// Whether the input must not be echoed.
    pub is_secret: bool,
    /// The keys of the servers in question.
    servers: Vec<String>,
}

/// The result of recording the answer to a [`SetupPrompt`].
///
/// [`resolve_requirements`] handles it; only a host application with a dialog of its own needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptResponse {
    /// The user agreed to install these servers.
    Install(Vec<MissingServer>),
    /// The session stored the secret.
    Stored,
    /// The user declined or did not answer; the turn continues without the requirement.
    Declined,
}

/// Whether the user is asked before MCP servers are installed.
///
/// The default asks. The policy belongs to the user and must not come from a skill or project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptPolicy {
    /// The user is asked.
    #[default]
    Ask,
    /// The user has agreed in advance to servers with a URL (the full access of Codex). Secrets are
    /// asked for nevertheless, and so are servers that the client starts: their commands run
    /// outside of any sandbox, so a person sees each of them.
    AssumeYes,
}

/// The result of [`resolve_requirements`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedRequirements {
    /// The servers that were installed. The client has to connect to them before the turn uses
    /// them.
    pub installed: Vec<MissingServer>,
    /// The failed installations, one message each.
    pub failures: Vec<String>,
}

/// Asks the user and installs MCP servers; implemented by the host application.
///
/// Both methods may block. They are called on the thread of [`resolve_requirements`], one at a
/// time.
pub trait Prompter {
    /// Asks the user, and returns the chosen option or the typed text; `None` without an answer,
    /// which declines.
    fn ask(&mut self, prompt: &SetupPrompt) -> Option<String>;
    /// Installs a server.
    ///
    /// # Errors
    /// Returns the cause, as a phrase that can follow a colon. The turn continues without the
    /// server.
    fn install(&mut self, server: &MissingServer) -> Result<(), String>;
}

impl RequirementSession {
    /// Returns the prompts that this session has not returned before: first one for each required
    /// variable, then one for all MCP servers.
    ///
    /// `turn` makes the call ids unique.
    pub fn prompts(&mut self, missing: &MissingRequirements, turn: &str) -> Vec<SetupPrompt> {
        let mut prompts = Vec::new();
        for variable in &missing.variables {
            let is_needed = variable.is_required && !self.secrets.contains_key(&variable.name);
            // Marked before the answer is known, so that a user who declines is not asked again.
            if is_needed && self.asked.insert(format!("env_var__{}", variable.name)) {
                prompts.push(variable_prompt(variable, turn));
            }
        }
        let servers: Vec<&MissingServer> = missing
            .servers
            .iter()
            .filter(|server| self.asked.insert(server.server.key.clone()))
            .collect();
        if !servers.is_empty() {
            prompts.push(server_prompt(&servers, turn));
        }
        prompts
    }

    /// Creates the state of a session in which these questions were asked before, for applications
    /// that keep [`asked`](Self::asked) in another place.
    pub fn with_asked<S: Into<String>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self {
            asked: keys.into_iter().map(Into::into).collect(),
            secrets: BTreeMap::new(),
        }
    }

    /// Returns what the user was asked for, sorted: keys of servers, and `env_var__NAME` for
    /// variables.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(String::as_str)
    }

    /// Returns true if the user was asked for a server with this [key](skills_manifest::RequiredServer::key).
    #[must_use]
    pub fn was_asked_for(&self, key: &str) -> bool {
        self.asked.contains(key)
    }

    /// Returns the servers that are installed without a question under
    /// [`PromptPolicy::AssumeYes`], and marks them as asked for.
    fn claim_servers_with_url(&mut self, missing: &MissingRequirements) -> Vec<MissingServer> {
        let with_url = missing
            .servers
            .iter()
            .filter(|server| !server.server.is_program());
        with_url
            .filter(|server| self.asked.insert(server.server.key.clone()))
            .cloned()
            .collect()
    }

    /// Records the answer to a prompt and returns what follows from it. No answer, a blank one and
    /// an unknown option decline.
    pub fn record_response(
        &mut self,
        prompt: &SetupPrompt,
        missing: &MissingRequirements,
        answer: Option<&str>,
    ) -> PromptResponse {
        // A terminal adds a line end to the answer.
        let answer = answer.map(str::trim).filter(|answer| !answer.is_empty());
        match answer {
            Some(answer) if prompt.is_secret => self.store_secret(&prompt.id, answer),
            Some(INSTALL_OPTION) => {
                // Only the servers of this prompt: the user has not agreed to others.
                let is_asked =
                    |server: &&MissingServer| prompt.servers.contains(&server.server.key);
                PromptResponse::Install(missing.servers.iter().filter(is_asked).cloned().collect())
            }
            _ => PromptResponse::Declined,
        }
    }

    fn store_secret(&mut self, name: &str, answer: &str) -> PromptResponse {
        let value = answer.strip_prefix(USER_NOTE_PREFIX).unwrap_or(answer);
        if value.trim().is_empty() {
            return PromptResponse::Declined;
        }
        self.secrets
            .insert(name.to_owned(), value.trim().to_owned());
        PromptResponse::Stored
    }

    /// Returns the names of the variables that the user entered, sorted.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }

    /// Returns the secret value of a variable, if the user entered it. Pass it only to the program
    /// that needs it.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(String::as_str)
    }
}

/// Prints the names of variables, but not their values.
impl fmt::Debug for RequirementSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequirementSession")
            .field("asked", &self.asked)
            .field("variables", &self.secrets.keys())
            .finish()
    }
}

fn variable_prompt(variable: &MissingVariable, turn: &str) -> SetupPrompt {
    let skill = variable
        .skills
        .first()
        .map(|skill| escape_tags(skill))
        .unwrap_or_default();
    let purpose = variable
        .description
        .as_ref()
        .map(|text| format!(" ({})", escape_tags(text)))
        .unwrap_or_default();
    SetupPrompt {
        call_id: format!("skill-deps-{turn}"),
        id: variable.name.clone(),
        header: "Skill requires environment variable".to_owned(),
        text: format!(
            "The skill \"{skill}\" requires \"{}\" to be set{purpose}. This is an experimental \
             internal feature. The value is stored in memory for this session only.",
            variable.name
        ),
        details: Vec::new(),
        options: Vec::new(),
        is_secret: true,
        servers: Vec::new(),
    }
}

fn server_prompt(servers: &[&MissingServer], turn: &str) -> SetupPrompt {
    let mut names: Vec<String> = servers
        .iter()
        .map(|server| escape_tags(&server.server.name))
        .collect();
    // Sorted, so that the question does not depend on the order of the skills.
    names.sort();
    SetupPrompt {
        call_id: format!("mcp-deps-{turn}"),
        id: "skill_mcp_dependency_install".to_owned(),
        header: "Install MCP servers?".to_owned(),
        text: format!(
            "The following MCP servers are required by the selected skills but are not installed \
             yet: {}. Install them now?",
            names.join(", ")
        ),
        details: servers.iter().map(|server| server_detail(server)).collect(),
        options: vec![INSTALL_OPTION, CONTINUE_OPTION],
        is_secret: false,
        servers: servers
            .iter()
            .map(|server| server.server.key.clone())
            .collect(),
    }
}

fn server_detail(server: &MissingServer) -> String {
    let server = &server.server;
    let (name, locator) = (escape_tags(&server.name), escape_tags(&server.locator));
    let effect = if server.is_program() {
        ", a program that the client starts outside of any sandbox"
    } else {
        ""
    };
    format!("{name}: {} {locator}{effect}", server.transport)
}

/// Asks for everything in `missing` that was not asked for before, and installs what the user
/// agrees to.
///
/// Failed installations do not end the turn: a skill may work without its server, and says so
/// itself if it does not.
pub fn resolve_requirements(
    session: &mut RequirementSession,
    missing: &MissingRequirements,
    turn: &str,
    policy: PromptPolicy,
    prompter: &mut dyn Prompter,
) -> ResolvedRequirements {
    let mut resolved = ResolvedRequirements::default();
    let agreed = match policy {
        PromptPolicy::Ask => Vec::new(),
        PromptPolicy::AssumeYes => session.claim_servers_with_url(missing),
    };
    // A secret is asked for with each policy: nothing else can provide its value.
    for prompt in session.prompts(missing, turn) {
        let answer = prompter.ask(&prompt);
        let response = session.record_response(&prompt, missing, answer.as_deref());
        if let PromptResponse::Install(servers) = response {
            resolved.install(servers, prompter);
        }
    }
    resolved.install(agreed, prompter);
    resolved
}

impl ResolvedRequirements {
    fn install(&mut self, servers: Vec<MissingServer>, prompter: &mut dyn Prompter) {
        for server in servers {
            match prompter.install(&server) {
                Ok(()) => self.installed.push(server),
                Err(cause) => {
                    let name = escape_tags(&server.server.name);
                    self.failures
                        .push(format!("cannot install MCP server `{name}`: {cause}"));
                }
            }
        }
    }
}

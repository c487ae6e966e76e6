//! Collects the unmet requirements of skills and asks the user for them.

mod setup;

use std::collections::BTreeMap;

use skills_discovery::Entry;
use skills_manifest::{InstallSpec, OpenClaw, ToolDependency, is_invisible};

use crate::sanitize::escape_line;

pub use setup::{
    PromptPolicy, PromptResponse, Prompter, RequirementSession, Secret, SetupPrompt,
    resolve_requirements,
};

/// Reports what is available on the host and in the configuration of the client.
///
/// The host application implements it, since this crate accesses neither the disk nor the
/// environment itself. Methods may be called several times for a name, and with any name that a
/// skill declares.
pub trait HostProbe {
    /// Returns true if an MCP server with this [key](MissingServer::key) is installed, under any
    /// name.
    fn has_server(&self, key: &str) -> bool;
    /// Returns true if a skill may set this variable for its programs.
    ///
    /// Must be false for variables that change which code runs or which servers it contacts, such
    /// as `PATH`, `LD_PRELOAD` and `HTTPS_PROXY`; see `skills_policy::changes_execution`.
    fn may_set_variable(&self, variable: &str) -> bool;
    /// Returns true if a variable is set for programs of this session.
    fn has_variable(&self, name: &str) -> bool;
    /// Returns true if a program with this name can be started.
    fn has_program(&self, name: &str) -> bool;
    /// Returns true if a path in the configuration of the client has a true value, such as
    /// `browser.enabled`. The default is false.
    fn has_setting(&self, _path: &str) -> bool {
        false
    }
    /// Returns the operating system: `linux`, `darwin` or `win32`.
    fn platform(&self) -> &str;
}

/// The unmet requirements of skills, each once, in the order in which the skills declare them.
///
/// Collected from `dependencies.tools` in `agents/openai.yaml` and from the OpenClaw block of
/// `metadata`. This is a plan: collecting it neither asks nor installs anything;
/// [`resolve_requirements`] does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingRequirements {
    /// MCP servers that are not installed.
    pub servers: Vec<MissingServer>,
    /// Variables that are not set.
    pub variables: Vec<MissingVariable>,
    /// Programs that are not installed.
    pub programs: Vec<MissingProgram>,
    /// Configuration paths of the client without a true value, each after the skill that needs it.
    pub settings: Vec<(String, String)>,
    /// Requirements that are invalid or cannot be met.
    pub invalid: Vec<InvalidRequirement>,
}

/// An MCP server that skills require and that is not installed.
///
/// Two skills that declare the same transport and locator require one server, whatever names they
/// use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingServer {
    /// The name of the server; the first one if skills use several names for one server.
    pub name: String,
    /// What identifies the server: `mcp__{transport}__{url or command}`.
    pub key: String,
    /// `streamable_http` or `stdio`.
    pub transport: String,
    /// The URL, or the command that starts the server: a program without arguments.
    pub locator: String,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// An environment variable that skills use and that is not set.
///
/// Only variables that [`HostProbe::may_set_variable`] allows are collected; the others are invalid
/// requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingVariable {
    /// The name of the variable.
    pub name: String,
    /// What the skill uses it for.
    pub description: Option<String>,
    /// Whether a skill requires it; an optional variable is never asked for.
    pub is_required: bool,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// A program that skills require and that is not installed.
///
/// The crate only reports the ways to install it; running one is up to the user.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MissingProgram {
    /// The alternatives, of which one must be installed; usually a single program.
    pub any_of: Vec<String>,
    /// The ways to install it on this system that the skills declare; none was tried.
    pub installs: Vec<InstallSpec>,
    /// The skills that need it.
    pub skills: Vec<String>,
}

// `InstallSpec` derives only `PartialEq`, but all of its fields are `Eq`.
impl Eq for MissingProgram {}

/// A requirement that is invalid or cannot be met on this host.
///
/// Such a requirement is reported and never asked for, since a question about it could mislead the
/// user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequirement {
    /// The name of the skill.
    pub skill: String,
    /// The reason, as one lowercase phrase without a full stop.
    pub reason: String,
}

impl MissingRequirements {
    /// Collects what `entries` require and `host` does not have.
    ///
    /// Reads `agents/openai.yaml` of each entry that has not been read yet.
    #[must_use]
    pub fn collect<'a>(entries: impl IntoIterator<Item = &'a Entry>, host: &dyn HostProbe) -> Self {
        let mut missing = Self::default();
        let mut servers = BTreeMap::new();
        for entry in entries {
            let skill = entry.name().as_str();
            // `agents/openai.yaml` comes first, so that its description of a variable is kept.
            for tool in entry
                .openai_metadata()
                .map_or(&[][..], |metadata| &metadata.tools)
            {
                missing.add_tool(skill, tool, &mut servers, host);
            }
            if let Some(openclaw) = &entry.manifest().extensions().openclaw {
                missing.add_openclaw(skill, openclaw, host);
            }
        }
        missing
    }

    /// Returns true if nothing is missing or invalid.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add_tool(
        &mut self,
        skill: &str,
        tool: &ToolDependency,
        servers: &mut BTreeMap<String, usize>,
        host: &dyn HostProbe,
    ) {
        match tool.kind.to_ascii_lowercase().as_str() {
            "mcp" => match parse_server(tool) {
                Ok(server) => {
                    if let Some(index) = servers.get(&server.key) {
                        add_skill(&mut self.servers[*index].skills, skill);
                    } else if !host.has_server(&server.key) {
                        servers.insert(server.key.clone(), self.servers.len());
                        self.servers.push(MissingServer {
                            skills: vec![skill.to_owned()],
                            ..server
                        });
                    }
                }
                Err(reason) => self.add_invalid(skill, reason),
            },
            "env_var" => self.add_variable(
                skill,
                &tool.value,
                tool.description.clone(),
                Necessity::Required,
                host,
            ),
            "cli" => self.add_program(skill, std::slice::from_ref(&tool.value), &[], host),
            other => self.add_invalid(
                skill,
                format!("unknown dependency type `{}`", escape_line(other)),
            ),
        }
    }

    fn add_openclaw(&mut self, skill: &str, openclaw: &OpenClaw, host: &dyn HostProbe) {
        if !openclaw.os.is_empty() && !openclaw.os.iter().any(|os| os == host.platform()) {
            // The names come from the skill, so they are escaped like any other text.
            let systems: Vec<String> = openclaw.os.iter().map(|os| escape_line(os)).collect();
            self.add_invalid(
                skill,
                format!(
                    "not supported on this system: requires {}",
                    systems.join(" or ")
                ),
            );
        }
        // `always` makes OpenClaw load the skill without checking `requires`.
        if openclaw.always {
            return;
        }
        let requires = &openclaw.requires;
        for program in &requires.bins {
            self.add_program(
                skill,
                std::slice::from_ref(program),
                &openclaw.install,
                host,
            );
        }
        if !requires.any_bins.is_empty() {
            self.add_program(skill, &requires.any_bins, &openclaw.install, host);
        }
        for variable in &openclaw.env_vars {
            let necessity = if variable.required {
                Necessity::Required
            } else {
                Necessity::Optional
            };
            self.add_variable(
                skill,
                &variable.name,
                variable.description.clone(),
                necessity,
                host,
            );
        }
        for name in requires.env.iter().chain(&openclaw.primary_env) {
            self.add_variable(skill, name, None, Necessity::Required, host);
        }
        let missing = requires
            .config
            .iter()
            .filter(|path| !host.has_setting(path));
        self.settings
            .extend(missing.map(|path| (skill.to_owned(), path.clone())));
    }

    fn add_variable(
        &mut self,
        skill: &str,
        name: &str,
        description: Option<String>,
        necessity: Necessity,
        host: &dyn HostProbe,
    ) {
        if let Some(existing) = self
            .variables
            .iter_mut()
            .find(|variable| variable.name == name)
        {
            add_skill(&mut existing.skills, skill);
            existing.is_required |= necessity == Necessity::Required;
            existing.description = existing.description.take().or(description);
        } else if !is_variable_name(name) {
            self.add_invalid(
                skill,
                format!("invalid variable name `{}`", escape_line(name)),
            );
        } else if !host.may_set_variable(name) {
            // A user who is asked for such a value could paste code that every program runs.
            self.add_invalid(
                skill,
                format!("variable `{name}` cannot be set for a skill"),
            );
        } else if !host.has_variable(name) {
            self.variables.push(MissingVariable {
                name: name.to_owned(),
                description,
                is_required: necessity == Necessity::Required,
                skills: vec![skill.to_owned()],
            });
        }
    }

    fn add_program(
        &mut self,
        skill: &str,
        any_of: &[String],
        installs: &[InstallSpec],
        host: &dyn HostProbe,
    ) {
        // One of the alternatives is enough.
        if any_of.iter().any(|program| host.has_program(program)) {
            return;
        }
        let applies = |install: &&InstallSpec| {
            let is_for_platform =
                install.os.is_empty() || install.os.iter().any(|os| os == host.platform());
            is_for_platform
                && (install.bins.is_empty()
                    || install.bins.iter().any(|program| any_of.contains(program)))
        };
        let installs: Vec<InstallSpec> = installs.iter().filter(applies).cloned().collect();
        match self
            .programs
            .iter_mut()
            .find(|program| program.any_of == any_of)
        {
            Some(existing) => {
                add_skill(&mut existing.skills, skill);
                let new = installs
                    .into_iter()
                    .filter(|install| !existing.installs.contains(install))
                    .collect::<Vec<_>>();
                existing.installs.extend(new);
            }
            None => self.programs.push(MissingProgram {
                any_of: any_of.to_vec(),
                installs,
                skills: vec![skill.to_owned()],
            }),
        }
    }

    fn add_invalid(&mut self, skill: &str, reason: String) {
        self.invalid.push(InvalidRequirement {
            skill: skill.to_owned(),
            reason,
        });
    }
}

/// Whether a skill works without a variable.
#[derive(Clone, Copy, PartialEq)]
enum Necessity {
    Required,
    Optional,
}

fn add_skill(skills: &mut Vec<String>, skill: &str) {
    if !skills.iter().any(|existing| existing == skill) {
        skills.push(skill.to_owned());
    }
}

/// Parses and validates an MCP server. The default transport is HTTP (Codex).
///
/// The name and locator are shown in a question to the user, who decides by them; so neither may
/// contain anything that reads as another part of the question.
fn parse_server(tool: &ToolDependency) -> Result<MissingServer, String> {
    let transport = tool
        .transport
        .as_deref()
        .unwrap_or("streamable_http")
        .to_ascii_lowercase();
    let (locator, field) = match transport.as_str() {
        "streamable_http" => (tool.url.as_deref(), "url"),
        "stdio" => (tool.command.as_deref(), "command"),
        other => {
            return Err(format!(
                "unsupported MCP transport `{}` of server `{}`",
                escape_line(other),
                escape_line(&tool.value)
            ));
        }
    };
    if !is_server_name(&tool.value) {
        return Err(format!(
            "invalid MCP server name `{}`",
            escape_line(&tool.value)
        ));
    }
    let Some(locator) = locator.map(str::trim).filter(|locator| !locator.is_empty()) else {
        return Err(format!(
            "missing `{field}` of MCP server `{}`",
            escape_line(&tool.value)
        ));
    };
    // The user must see exactly what would be installed. A space could also smuggle arguments into
    // a command.
    let is_unambiguous = !locator
        .chars()
        .any(|c| c.is_whitespace() || is_invisible(c));
    let is_url =
        transport == "stdio" || locator.starts_with("https://") || locator.starts_with("http://");
    if !is_unambiguous || !is_url {
        return Err(format!(
            "invalid `{field}` of MCP server `{}`: `{}`",
            escape_line(&tool.value),
            escape_line(locator)
        ));
    }
    // The key is that of Codex. It has no name, since users install a server under any name.
    let key = format!("mcp__{transport}__{locator}");
    Ok(MissingServer {
        name: tool.value.clone(),
        key,
        transport,
        locator: locator.to_owned(),
        skills: Vec::new(),
    })
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns true for a name without spaces or punctuation that could imitate a list of servers.
fn is_server_name(name: &str) -> bool {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | '+');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(is_plain)
}

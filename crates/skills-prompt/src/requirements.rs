//! What skills need that is not there, and what to ask the user.

mod setup;

use std::collections::BTreeMap;

use skills_discovery::Entry;
use skills_manifest::{InstallSpec, OpenClaw, ToolDependency, is_invisible};

use crate::sanitize::escape_line;

pub use setup::{
    PromptPolicy, PromptResponse, Prompter, RequirementSession, Secret, SetupPrompt,
    resolve_requirements,
};

/// What is there. The host answers; this crate looks nothing up.
pub trait HostProbe {
    /// Whether an MCP server with this [key](MissingServer::key) is installed, under whatever name.
    fn has_server(&self, key: &str) -> bool;
    /// Whether programs may be given this variable at all. Not those by which whoever sets them
    /// decides what runs or whom it talks to, such as `PATH`, `LD_PRELOAD` and `HTTPS_PROXY`;
    /// `skills_policy::changes_execution` knows them.
    fn may_set_variable(&self, variable: &str) -> bool;
    /// Whether a variable is set for programs of this session.
    fn has_variable(&self, name: &str) -> bool;
    /// Whether a program can be started by its name.
    fn has_program(&self, name: &str) -> bool;
    /// Whether a path of the client's configuration holds something true. Default no.
    fn has_setting(&self, _path: &str) -> bool {
        false
    }
    /// The system: `linux`, `darwin` or `win32`.
    fn platform(&self) -> &str;
}

/// What is missing, each thing once, in the order in which the skills name it.
///
/// Made of `dependencies.tools` in `agents/openai.yaml` and of the OpenClaw block of `metadata`. A
/// plan: nothing was asked or installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingRequirements {
    /// MCP servers that are not installed.
    pub servers: Vec<MissingServer>,
    /// Variables that are not set.
    pub variables: Vec<MissingVariable>,
    /// Programs that are not there.
    pub programs: Vec<MissingProgram>,
    /// Paths of the client's configuration that hold nothing true, with the skill that needs them.
    pub settings: Vec<(String, String)>,
    /// What can not be had at all, or was not said well enough.
    pub invalid: Vec<InvalidRequirement>,
}

/// An MCP server that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingServer {
    /// What it is called; of several names for one server the first.
    pub name: String,
    /// What it is known by: `mcp__{transport}__{url or command}`.
    pub key: String,
    /// `streamable_http` or `stdio`.
    pub transport: String,
    /// Its URL, or the command that starts it, which is a program without arguments.
    pub locator: String,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// A variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingVariable {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether the skill works without it.
    pub is_required: bool,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// A program that is not there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MissingProgram {
    /// The programs of which one must be there; mostly there is only one.
    pub any_of: Vec<String>,
    /// Ways to get it that the skill names, for this system. None was tried.
    pub installs: Vec<InstallSpec>,
    /// The skills that need it.
    pub skills: Vec<String>,
}

impl Eq for MissingProgram {}

/// Something that cannot be had, or was not said well enough.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequirement {
    /// The skill.
    pub skill: String,
    /// What is wrong, in one lower-case sentence.
    pub reason: String,
}

impl MissingRequirements {
    /// Finds what `entries` need and the host does not have. Reads `agents/openai.yaml` of each,
    /// where that was not done before.
    #[must_use]
    pub fn collect<'a>(entries: impl IntoIterator<Item = &'a Entry>, host: &dyn HostProbe) -> Self {
        let mut needs = Self::default();
        let mut servers = BTreeMap::new();
        for entry in entries {
            let skill = entry.name().as_str();
            for tool in entry
                .openai_metadata()
                .map_or(&[][..], |metadata| &metadata.tools)
            {
                needs.add_tool(skill, tool, &mut servers, host);
            }
            if let Some(openclaw) = &entry.manifest().extensions().openclaw {
                needs.add_openclaw(skill, openclaw, host);
            }
        }
        needs
    }

    /// Says whether nothing is missing.
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
                    if let Some(known) = servers.get(&server.key) {
                        add_skill(&mut self.servers[*known].skills, skill);
                    } else if !host.has_server(&server.key) {
                        servers.insert(server.key.clone(), self.servers.len());
                        self.servers.push(MissingServer {
                            skills: vec![skill.to_owned()],
                            ..server
                        });
                    }
                }
                Err(reason) => self.invalid(skill, reason),
            },
            "env_var" => self.add_variable(
                skill,
                &tool.value,
                tool.description.clone(),
                Necessity::Required,
                host,
            ),
            "cli" => self.add_program(skill, std::slice::from_ref(&tool.value), &[], host),
            other => self.invalid(
                skill,
                format!(
                    "nobody knows what a tool of type {:?} is",
                    escape_line(other)
                ),
            ),
        }
    }

    fn add_openclaw(&mut self, skill: &str, openclaw: &OpenClaw, host: &dyn HostProbe) {
        if !openclaw.os.is_empty() && !openclaw.os.iter().any(|os| os == host.platform()) {
            let systems: Vec<String> = openclaw.os.iter().map(|os| escape_line(os)).collect();
            self.invalid(skill, format!("is for {} only", systems.join(", ")));
        }
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
            let need = if variable.required {
                Necessity::Required
            } else {
                Necessity::Optional
            };
            self.add_variable(
                skill,
                &variable.name,
                variable.description.clone(),
                need,
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
        need: Necessity,
        host: &dyn HostProbe,
    ) {
        if let Some(known) = self.variables.iter_mut().find(|known| known.name == name) {
            add_skill(&mut known.skills, skill);
            known.is_required |= need == Necessity::Required;
            known.description = known.description.take().or(description);
        } else if !is_variable_name(name) {
            self.invalid(
                skill,
                format!("{:?} is no name of a variable", escape_line(name)),
            );
        } else if !host.may_set_variable(name) {
            self.invalid(
                skill,
                format!("the variable {name} changes how programs run, and no skill is given it"),
            );
        } else if !host.has_variable(name) {
            let (skills, is_required) = (vec![skill.to_owned()], need == Necessity::Required);
            self.variables.push(MissingVariable {
                name: name.to_owned(),
                description,
                is_required,
                skills,
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
        if any_of.iter().any(|program| host.has_program(program)) {
            return;
        }
        let fits = |install: &&InstallSpec| {
            let is_here =
                install.os.is_empty() || install.os.iter().any(|os| os == host.platform());
            is_here
                && (install.bins.is_empty()
                    || install.bins.iter().any(|program| any_of.contains(program)))
        };
        let installs: Vec<InstallSpec> = installs.iter().filter(fits).cloned().collect();
        match self
            .programs
            .iter_mut()
            .find(|known| known.any_of == any_of)
        {
            Some(known) => {
                add_skill(&mut known.skills, skill);
                let new = installs
                    .into_iter()
                    .filter(|install| !known.installs.contains(install))
                    .collect::<Vec<_>>();
                known.installs.extend(new);
            }
            None => self.programs.push(MissingProgram {
                any_of: any_of.to_vec(),
                installs,
                skills: vec![skill.to_owned()],
            }),
        }
    }

    fn invalid(&mut self, skill: &str, reason: String) {
        self.invalid.push(InvalidRequirement {
            skill: skill.to_owned(),
            reason,
        });
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Necessity {
    Required,
    Optional,
}

fn add_skill(skills: &mut Vec<String>, skill: &str) {
    if !skills.iter().any(|known| known == skill) {
        skills.push(skill.to_owned());
    }
}

/// Reads an MCP server; without a transport it is reached by HTTP (Codex).
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
                "the MCP server {:?} has the transport {:?}, which nobody knows",
                escape_line(&tool.value),
                escape_line(other)
            ));
        }
    };
    if !is_server_name(&tool.value) {
        return Err(format!(
            "{:?} is no name of a server",
            escape_line(&tool.value)
        ));
    }
    let Some(locator) = locator.map(str::trim).filter(|locator| !locator.is_empty()) else {
        return Err(format!(
            "the MCP server {:?} needs a `{field}`",
            escape_line(&tool.value)
        ));
    };
    // What the user is shown is what is installed.
    let is_clear = !locator
        .chars()
        .any(|c| c.is_whitespace() || is_invisible(c));
    let is_url =
        transport == "stdio" || locator.starts_with("https://") || locator.starts_with("http://");
    if !is_clear || !is_url {
        return Err(format!(
            "the MCP server {:?} has a `{field}` that is none: {:?}",
            escape_line(&tool.value),
            escape_line(locator)
        ));
    }
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

/// A name that cannot be taken for a part of the question it stands in.
fn is_server_name(name: &str) -> bool {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | '+');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(is_plain)
}

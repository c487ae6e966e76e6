//! What skills need that is not there, and what to ask the user.

mod session;

use std::collections::BTreeMap;

use skills_discovery::Entry;
use skills_manifest::{Install, OpenClaw, ToolDependency, is_hidden};

use crate::escape::one_line;

pub use session::{Answer, Approval, Asking, Question, Secret, Session, settle};

/// What is there. The host answers; this crate looks nothing up.
pub trait Present {
    /// Whether an MCP server with this [key](NeededServer::key) is installed, under whatever name.
    fn has_server(&self, key: &str) -> bool;
    /// Whether programs may be given this variable at all. Not those by which whoever sets them decides what runs or whom it talks to, such as
    /// `PATH`, `LD_PRELOAD` and `HTTPS_PROXY`; `skills_policy::changes_execution` knows them.
    fn may_be_given(&self, variable: &str) -> bool;
    /// Whether a variable is set for programs of this session.
    fn has_variable(&self, name: &str) -> bool;
    /// Whether a program can be started by its name.
    fn has_program(&self, name: &str) -> bool;
    /// Whether a path of the client's configuration holds something true. Default no.
    fn has_setting(&self, _path: &str) -> bool {
        false
    }
    /// The system: `linux`, `darwin` or `win32`.
    fn system(&self) -> &str;
}

/// What is missing, each thing once, in the order in which the skills name it.
///
/// Made of `dependencies.tools` in `agents/openai.yaml` and of the OpenClaw block of `metadata`. A plan: nothing was asked or installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// MCP servers that are not installed.
    pub servers: Vec<NeededServer>,
    /// Variables that are not set.
    pub variables: Vec<NeededVariable>,
    /// Programs that are not there.
    pub programs: Vec<NeededProgram>,
    /// Paths of the client's configuration that hold nothing true, with the skill that needs them.
    pub settings: Vec<(String, String)>,
    /// What can not be had at all, or was not said well enough.
    pub unusable: Vec<Unusable>,
}

/// An MCP server that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeededServer {
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
pub struct NeededVariable {
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
pub struct NeededProgram {
    /// The programs of which one must be there; mostly there is only one.
    pub any_of: Vec<String>,
    /// Ways to get it that the skill names, for this system. None was tried.
    pub installs: Vec<Install>,
    /// The skills that need it.
    pub skills: Vec<String>,
}

impl Eq for NeededProgram {}

/// Something that cannot be had, or was not said well enough.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unusable {
    /// The skill.
    pub skill: String,
    /// What is wrong, in one lower-case sentence.
    pub reason: String,
}

impl Needs {
    /// Finds what `entries` need and the host does not have. Reads `agents/openai.yaml` of each, where that was not done before.
    #[must_use]
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>, host: &dyn Present) -> Self {
        let mut needs = Self::default();
        let mut servers = BTreeMap::new();
        for entry in entries {
            let skill = entry.name().as_str();
            for tool in entry.host_metadata().map_or(&[][..], |metadata| &metadata.tools) {
                needs.tool(skill, tool, &mut servers, host);
            }
            if let Some(openclaw) = &entry.manifest().extensions().openclaw {
                needs.openclaw(skill, openclaw, host);
            }
        }
        needs
    }

    /// Says whether nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn tool(&mut self, skill: &str, tool: &ToolDependency, servers: &mut BTreeMap<String, usize>, host: &dyn Present) {
        match tool.kind.to_ascii_lowercase().as_str() {
            "mcp" => match server(tool) {
                Ok(server) => {
                    if let Some(known) = servers.get(&server.key) {
                        note_skill(&mut self.servers[*known].skills, skill);
                    } else if !host.has_server(&server.key) {
                        servers.insert(server.key.clone(), self.servers.len());
                        self.servers.push(NeededServer { skills: vec![skill.to_owned()], ..server });
                    }
                }
                Err(reason) => self.unusable(skill, reason),
            },
            "env_var" => self.variable(skill, &tool.value, tool.description.clone(), Need::Required, host),
            "cli" => self.program(skill, std::slice::from_ref(&tool.value), &[], host),
            other => self.unusable(skill, format!("nobody knows what a tool of type {:?} is", one_line(other))),
        }
    }

    fn openclaw(&mut self, skill: &str, openclaw: &OpenClaw, host: &dyn Present) {
        if !openclaw.os.is_empty() && !openclaw.os.iter().any(|os| os == host.system()) {
            let systems: Vec<String> = openclaw.os.iter().map(|os| one_line(os)).collect();
            self.unusable(skill, format!("is for {} only", systems.join(", ")));
        }
        if openclaw.always {
            return;
        }
        let requires = &openclaw.requires;
        for program in &requires.bins {
            self.program(skill, std::slice::from_ref(program), &openclaw.install, host);
        }
        if !requires.any_bins.is_empty() {
            self.program(skill, &requires.any_bins, &openclaw.install, host);
        }
        for variable in &openclaw.env_vars {
            let need = if variable.required { Need::Required } else { Need::Useful };
            self.variable(skill, &variable.name, variable.description.clone(), need, host);
        }
        for name in requires.env.iter().chain(&openclaw.primary_env) {
            self.variable(skill, name, None, Need::Required, host);
        }
        let missing = requires.config.iter().filter(|path| !host.has_setting(path));
        self.settings.extend(missing.map(|path| (skill.to_owned(), path.clone())));
    }

    fn variable(&mut self, skill: &str, name: &str, description: Option<String>, need: Need, host: &dyn Present) {
        if let Some(known) = self.variables.iter_mut().find(|known| known.name == name) {
            note_skill(&mut known.skills, skill);
            known.is_required |= need == Need::Required;
            known.description = known.description.take().or(description);
        } else if !is_variable(name) {
            self.unusable(skill, format!("{:?} is no name of a variable", one_line(name)));
        } else if !host.may_be_given(name) {
            self.unusable(skill, format!("the variable {name} changes how programs run, and no skill is given it"));
        } else if !host.has_variable(name) {
            let (skills, is_required) = (vec![skill.to_owned()], need == Need::Required);
            self.variables.push(NeededVariable { name: name.to_owned(), description, is_required, skills });
        }
    }

    fn program(&mut self, skill: &str, any_of: &[String], installs: &[Install], host: &dyn Present) {
        if any_of.iter().any(|program| host.has_program(program)) {
            return;
        }
        let fits = |install: &&Install| {
            let is_here = install.os.is_empty() || install.os.iter().any(|os| os == host.system());
            is_here && (install.bins.is_empty() || install.bins.iter().any(|program| any_of.contains(program)))
        };
        let installs: Vec<Install> = installs.iter().filter(fits).cloned().collect();
        match self.programs.iter_mut().find(|known| known.any_of == any_of) {
            Some(known) => {
                note_skill(&mut known.skills, skill);
                let new = installs.into_iter().filter(|install| !known.installs.contains(install)).collect::<Vec<_>>();
                known.installs.extend(new);
            }
            None => self.programs.push(NeededProgram { any_of: any_of.to_vec(), installs, skills: vec![skill.to_owned()] }),
        }
    }

    fn unusable(&mut self, skill: &str, reason: String) {
        self.unusable.push(Unusable { skill: skill.to_owned(), reason });
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Need {
    Required,
    Useful,
}

fn note_skill(skills: &mut Vec<String>, skill: &str) {
    if !skills.iter().any(|known| known == skill) {
        skills.push(skill.to_owned());
    }
}

/// Reads an MCP server; without a transport it is reached by HTTP (Codex).
fn server(tool: &ToolDependency) -> Result<NeededServer, String> {
    let transport = tool.transport.as_deref().unwrap_or("streamable_http").to_ascii_lowercase();
    let (locator, field) = match transport.as_str() {
        "streamable_http" => (tool.url.as_deref(), "url"),
        "stdio" => (tool.command.as_deref(), "command"),
        other => {
            return Err(format!("the MCP server {:?} has the transport {:?}, which nobody knows", one_line(&tool.value), one_line(other)));
        }
    };
    if !is_server_name(&tool.value) {
        return Err(format!("{:?} is no name of a server", one_line(&tool.value)));
    }
    let Some(locator) = locator.map(str::trim).filter(|locator| !locator.is_empty()) else {
        return Err(format!("the MCP server {:?} needs a `{field}`", one_line(&tool.value)));
    };
    // What the user is shown is what is installed.
    let is_clear = !locator.chars().any(|c| c.is_whitespace() || is_hidden(c));
    let is_url = transport == "stdio" || locator.starts_with("https://") || locator.starts_with("http://");
    if !is_clear || !is_url {
        return Err(format!("the MCP server {:?} has a `{field}` that is none: {:?}", one_line(&tool.value), one_line(locator)));
    }
    let key = format!("mcp__{transport}__{locator}");
    Ok(NeededServer { name: tool.value.clone(), key, transport, locator: locator.to_owned(), skills: Vec::new() })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name that cannot be taken for a part of the question it stands in.
fn is_server_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | '+');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(is_plain)
}

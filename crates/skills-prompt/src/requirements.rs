//! Missing requirements of skills, and the questions that they raise.

mod setup;

use skills_discovery::Entry;
use skills_manifest::{EnvVar, InstallSpec, RequiredProgram, RequiredServer, Requirements};

use crate::sanitize::escape_line;

pub use setup::{
    PromptPolicy, PromptResponse, Prompter, RequirementSession, Secret, SetupPrompt,
    resolve_requirements,
};

/// What a host provides. This crate probes nothing itself.
pub trait HostProbe {
    /// Returns whether an MCP server with this [key](RequiredServer::key) is installed, under any
    /// name.
    fn has_server(&self, key: &str) -> bool;
    /// Returns whether a program can be given this variable at all. False for variables that
    /// change which code runs or whom it connects to, such as `LD_PRELOAD` and `HTTPS_PROXY`
    /// (`skills_policy::is_unsafe_variable`). Not asked for variables that the host has.
    fn may_set_variable(&self, name: &str) -> bool;
    /// Returns whether a program receives this variable, with a value that is not empty.
    fn has_variable(&self, name: &str) -> bool;
    /// Returns whether a program can be started by its name.
    fn has_program(&self, name: &str) -> bool;
    /// Returns whether this path of the client's configuration has a true value. Default: no.
    fn has_setting(&self, _path: &str) -> bool {
        false
    }
    /// Returns the operating system: `linux`, `darwin` or `win32`.
    fn platform(&self) -> &str;
}

/// Declared requirements that a host does not meet, each once, in the order in which the skills
/// declare them.
///
/// This is data: nothing was asked or installed. [`to_lines`](Self::to_lines) describes what stops
/// a skill from running; MCP servers, settings and invalid declarations never do, since only the
/// client of a model can use or provide them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingRequirements {
    /// MCP servers that are not installed.
    pub servers: Vec<MissingServer>,
    /// Variables that are not set, optional ones included.
    pub variables: Vec<MissingVariable>,
    /// Programs that were not found.
    pub programs: Vec<MissingProgram>,
    /// Skills for other operating systems.
    pub systems: Vec<UnsupportedSystem>,
    /// Settings of the client without a true value: the skill and the path of the setting.
    pub settings: Vec<(String, String)>,
    /// Declarations that cannot be used.
    pub invalid: Vec<InvalidRequirement>,
}

/// An MCP server that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingServer {
    /// The server. Of several names for one server, the first.
    pub server: RequiredServer,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// A variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingVariable {
    /// Its name.
    pub name: String,
    /// Its purpose, as the skill describes it.
    pub description: Option<String>,
    /// Whether a skill does not work without it.
    pub is_required: bool,
    /// The skills that need it.
    pub skills: Vec<String>,
}

/// A program that was not found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MissingProgram {
    /// The alternatives, of which one suffices; mostly one.
    pub any_of: Vec<String>,
    /// Installations that skills propose, for this operating system. None was tried.
    pub installs: Vec<InstallSpec>,
    /// The skills that need it.
    pub skills: Vec<String>,
}

impl Eq for MissingProgram {}

/// A skill for other operating systems.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedSystem {
    /// The skill.
    pub skill: String,
    /// The systems that it supports.
    pub supported: Vec<String>,
}

/// A declaration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequirement {
    /// The skill.
    pub skill: String,
    /// The problem, a lowercase sentence on one line.
    pub reason: String,
}

impl MissingRequirements {
    /// Collects the missing requirements of `entries`. Reads `agents/openai.yaml` of each skill,
    /// unless that was done before.
    #[must_use]
    pub fn collect<'a>(entries: impl IntoIterator<Item = &'a Entry>, host: &dyn HostProbe) -> Self {
        let mut missing = Self::default();
        for entry in entries {
            let declared = Requirements::new(entry.manifest(), entry.openai_metadata());
            missing.add(entry.name().as_str(), &declared, host);
        }
        missing
    }

    /// Adds the missing requirements of one skill.
    pub fn add(&mut self, skill: &str, declared: &Requirements, host: &dyn HostProbe) {
        let is_supported = |system: &String| system == host.platform();
        if !declared.systems.is_empty() && !declared.systems.iter().any(is_supported) {
            self.systems.push(UnsupportedSystem {
                skill: skill.to_owned(),
                supported: declared.systems.clone(),
            });
        }
        for server in &declared.servers {
            self.add_server(skill, server, host);
        }
        for variable in &declared.variables {
            self.add_variable(skill, variable, host);
        }
        for program in &declared.programs {
            self.add_program(skill, program, host);
        }
        let settings = declared
            .settings
            .iter()
            .filter(|path| !host.has_setting(path));
        self.settings
            .extend(settings.map(|path| (skill.to_owned(), path.clone())));
        for reason in &declared.invalid {
            self.add_invalid(skill, reason);
        }
    }

    /// Returns whether nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Describes the requirements without which a skill does not run, one phrase each: operating
    /// systems, programs and required variables. Safe to show: one line each, without control or
    /// invisible characters.
    #[must_use]
    pub fn to_lines(&self) -> Vec<String> {
        let systems = self.systems.iter().map(|system| {
            let names = system.supported.join(" or ");
            format!("operating system {names}")
        });
        let programs = self
            .programs
            .iter()
            .map(|program| match &program.any_of[..] {
                [name] => format!("program `{name}`"),
                names => format!("one of the programs `{}`", names.join("`, `")),
            });
        let required = self
            .variables
            .iter()
            .filter(|variable| variable.is_required);
        let variables = required.map(|variable| format!("variable `{}`", variable.name));
        let lines = systems.chain(programs).chain(variables);
        lines.map(|line| escape_line(&line)).collect()
    }

    fn add_server(&mut self, skill: &str, server: &RequiredServer, host: &dyn HostProbe) {
        let known = self.servers.iter_mut();
        if let Some(known) = known
            .into_iter()
            .find(|known| known.server.key == server.key)
        {
            add_skill(&mut known.skills, skill);
        } else if !host.has_server(&server.key) {
            self.servers.push(MissingServer {
                server: server.clone(),
                skills: vec![skill.to_owned()],
            });
        }
    }

    fn add_variable(&mut self, skill: &str, variable: &EnvVar, host: &dyn HostProbe) {
        let name = &variable.name;
        if host.has_variable(name) {
            return;
        }
        if !host.may_set_variable(name) {
            let reason = format!("the variable {name} changes how programs run and is never set");
            self.add_invalid(skill, &reason);
            return;
        }
        match self.variables.iter_mut().find(|known| known.name == *name) {
            Some(known) => {
                add_skill(&mut known.skills, skill);
                known.is_required |= variable.required;
                known.description = known
                    .description
                    .take()
                    .or_else(|| variable.description.clone());
            }
            None => self.variables.push(MissingVariable {
                name: name.clone(),
                description: variable.description.clone(),
                is_required: variable.required,
                skills: vec![skill.to_owned()],
            }),
        }
    }

    fn add_program(&mut self, skill: &str, program: &RequiredProgram, host: &dyn HostProbe) {
        let any_of = &program.any_of;
        if any_of.iter().any(|program| host.has_program(program)) {
            return;
        }
        let is_for_host = |install: &&InstallSpec| {
            install.os.is_empty() || install.os.iter().any(|os| os == host.platform())
        };
        let installs = program.installs.iter().filter(is_for_host).cloned();
        match self
            .programs
            .iter_mut()
            .find(|known| known.any_of == *any_of)
        {
            Some(known) => {
                add_skill(&mut known.skills, skill);
                for install in installs {
                    if !known.installs.contains(&install) {
                        known.installs.push(install);
                    }
                }
            }
            None => self.programs.push(MissingProgram {
                any_of: any_of.clone(),
                installs: installs.collect(),
                skills: vec![skill.to_owned()],
            }),
        }
    }

    fn add_invalid(&mut self, skill: &str, reason: &str) {
        self.invalid.push(InvalidRequirement {
            skill: skill.to_owned(),
            reason: escape_line(reason),
        });
    }
}

fn add_skill(skills: &mut Vec<String>, skill: &str) {
    if !skills.iter().any(|known| known == skill) {
        skills.push(skill.to_owned());
    }
}

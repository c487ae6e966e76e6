//! Missing requirements of skills, and the questions that they raise.

mod installed_servers;
mod setup;

use skills_discovery::Entry;
use skills_manifest::{EnvVar, InstallSpec, RequiredProgram, RequiredServer, Requirements};

use crate::sanitize::escape_tags;

pub use installed_servers::InstalledServers;
pub use setup::{
    PromptPolicy, PromptResponse, Prompter, RequirementSession, ResolvedRequirements, SetupPrompt,
    resolve_requirements,
};

/// Reports what is available on the host and in the configuration of the client.
///
/// The host application implements it, since this crate accesses neither the disk nor the
/// environment itself. Methods may be called several times for a name, and with any name that a
/// skill declares.
pub trait HostProbe {
    /// Returns true if an MCP server with this [key](RequiredServer::key) is installed, under any
    /// name.
    fn has_server(&self, key: &str) -> bool;
    /// Returns true if a skill may set this variable for its programs.
    ///
    /// Must be false for variables that change which code runs or which servers it contacts, such
    /// as `PATH`, `LD_PRELOAD` and `HTTPS_PROXY`; see `skills_policy::is_unsafe_variable`.
    /// Not asked for variables that the host has.
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

/// A skill for other operating systems.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedSystem {
    /// The skill.
    pub skill: String,
    /// The systems that it supports.
    pub supported: Vec<String>,
}

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
        self.add_systems(skill, &declared.systems, host);
        for server in &declared.servers {
            self.add_server(skill, server, host);
        }
        for variable in &declared.variables {
            self.add_variable(skill, variable, host);
        }
        for program in &declared.programs {
            self.add_program(skill, program, host);
        }
        let settings = declared.settings.iter();
        self.settings.extend(
            settings
                .filter(|path| !host.has_setting(path))
                .map(|path| (skill.to_owned(), path.clone())),
        );
        for reason in &declared.invalid {
            self.add_invalid(skill, reason);
        }
    }

    /// Returns true if nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Describes the requirements without which a skill does not run, one phrase each: operating
    /// systems, programs and required variables. Safe to show: one line each, without control or
    /// invisible characters.
    #[must_use]
    pub fn to_lines(&self) -> Vec<String> {
        let mut lines = self.program_lines();
        let required = self
            .variables
            .iter()
            .filter(|variable| variable.is_required);
        lines
            .extend(required.map(|variable| escape_tags(&format!("variable `{}`", variable.name))));
        lines
    }

    /// Describes the operating systems and programs of [`to_lines`](Self::to_lines), without the
    /// variables.
    #[must_use]
    pub fn program_lines(&self) -> Vec<String> {
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
        let lines = systems.chain(programs);
        lines.map(|line| escape_tags(&line)).collect()
    }

    fn add_systems(&mut self, skill: &str, systems: &[String], host: &dyn HostProbe) {
        let is_supported = systems.iter().any(|system| system == host.platform());
        if !systems.is_empty() && !is_supported {
            self.systems.push(UnsupportedSystem {
                skill: skill.to_owned(),
                supported: systems.to_vec(),
            });
        }
    }

    fn add_server(&mut self, skill: &str, server: &RequiredServer, host: &dyn HostProbe) {
        let mut known = self.servers.iter_mut();
        if let Some(known) = known.find(|known| known.server.key == server.key) {
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
            let reason = format!("variable `{name}` cannot be set for a skill");
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
        let mut known = self.programs.iter_mut();
        if let Some(known) = known.find(|known| known.any_of == *any_of) {
            add_skill(&mut known.skills, skill);
            for install in installs_for(program, host) {
                if !known.installs.contains(&install) {
                    known.installs.push(install);
                }
            }
            return;
        }
        self.programs.push(MissingProgram {
            any_of: any_of.clone(),
            installs: installs_for(program, host).collect(),
            skills: vec![skill.to_owned()],
        });
    }

    fn add_invalid(&mut self, skill: &str, reason: &str) {
        self.invalid.push(InvalidRequirement {
            skill: skill.to_owned(),
            reason: escape_tags(reason),
        });
    }
}

/// Returns the ways to install a program on the host.
fn installs_for(
    program: &RequiredProgram,
    host: &dyn HostProbe,
) -> impl Iterator<Item = InstallSpec> {
    let installs = program.installs.iter();
    installs
        .filter(|install| is_for_platform(install, host.platform()))
        .cloned()
}

fn is_for_platform(install: &InstallSpec, platform: &str) -> bool {
    install.os.is_empty() || install.os.iter().any(|os| os == platform)
}

fn add_skill(skills: &mut Vec<String>, skill: &str) {
    if !skills.iter().any(|known| known == skill) {
        skills.push(skill.to_owned());
    }
}

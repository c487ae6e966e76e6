//! What a skill declares that it needs, merged from all places where it can be declared.

mod server;

use std::collections::BTreeSet;

use crate::openclaw::RequiresBlock;
use crate::{EnvVar, InstallSpec, Manifest, OpenAiMetadata, ToolDependency};

pub use server::RequiredServer;

/// The requirements that a skill declares, in the order of their declaration.
///
/// Merges the field `requires`, the OpenClaw block of `metadata`, and `dependencies.tools` of
/// `agents/openai.yaml`. This is the only place that reads them: whether they are met is decided
/// by comparing this value with a host. `always: true` of the OpenClaw block makes the block's
/// programs and variables optional, but not its operating systems.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Requirements {
    /// Required programs. Optional ones are not listed, since they change nothing.
    pub programs: Vec<RequiredProgram>,
    /// Environment variables, optional ones included: a skill may be given those, too.
    pub variables: Vec<EnvVar>,
    /// Supported operating systems (`linux`, `darwin`, `win32`); empty for all.
    pub systems: Vec<String>,
    /// MCP servers, which only a client can provide.
    pub servers: Vec<RequiredServer>,
    /// Packages of a registry: those that `requires` lists, and those of `install` entries that
    /// install no program.
    pub packages: Vec<RequiredPackage>,
    /// Paths in the configuration of the client that must have a true value.
    pub settings: Vec<String>,
    /// Declarations that cannot be used, each one lowercase phrase, with text of the
    /// skill as written: escape it for display.
    pub invalid: Vec<String>,
}

/// A required program, or alternatives of which one suffices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequiredProgram {
    /// The names of the alternatives; mostly one.
    pub any_of: Vec<String>,
    /// Installations that the skill proposes for these programs. None is ever run by reading.
    pub installs: Vec<InstallSpec>,
}

/// A required package of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiredPackage {
    /// The registry: `pypi` or `npm`.
    pub registry: &'static str,
    /// The package with its version, as written: `pypdf>=4`.
    pub requirement: String,
}

impl RequiredPackage {
    /// Returns the package that an `install` entry is for; `None` for other kinds of installation.
    #[must_use]
    pub fn of_install(install: &InstallSpec) -> Option<Self> {
        let registry = match install.kind.as_str() {
            "uv" | "pip" | "pipx" => "pypi",
            "node" | "npm" => "npm",
            _ => return None,
        };
        let requirement = install.target.clone()?;
        Some(Self {
            registry,
            requirement,
        })
    }
}

/// Whether a skill works without a requirement.
#[derive(Clone, Copy, PartialEq)]
enum Necessity {
    Required,
    Optional,
}

impl Requirements {
    /// Collects the requirements that `manifest` and `agents/openai.yaml` declare.
    #[must_use]
    pub fn new(manifest: &Manifest, metadata: Option<&OpenAiMetadata>) -> Self {
        let mut requirements = Self::default();
        for tool in metadata.map_or(&[][..], |metadata| &metadata.tools) {
            requirements.add_tool(tool);
        }
        let extensions = manifest.extensions();
        requirements.systems.clone_from(&extensions.platforms);
        requirements.add_packages(&extensions.requires);
        requirements.add_block(&extensions.requires, &[]);
        requirements.add_names(&extensions.requires.env, Necessity::Required);
        let Some(openclaw) = &extensions.openclaw else {
            return requirements;
        };
        requirements.systems.extend(openclaw.os.iter().cloned());
        requirements.add_packages(&openclaw.requires);
        let libraries = openclaw.install.iter();
        let libraries = libraries.filter(|install| install.bins.is_empty());
        let packages = libraries.filter_map(RequiredPackage::of_install);
        requirements.packages.extend(packages);
        let necessity = if openclaw.always {
            Necessity::Optional
        } else {
            requirements.add_block(&openclaw.requires, &openclaw.install);
            Necessity::Required
        };
        for variable in &openclaw.env_vars {
            requirements.add_variable(EnvVar {
                required: variable.required && necessity == Necessity::Required,
                ..variable.clone()
            });
        }
        let names = openclaw.requires.env.iter().chain(&openclaw.primary_env);
        requirements.add_names(names, necessity);
        requirements
    }

    /// Returns the names of all declared variables.
    #[must_use]
    pub fn variable_names(&self) -> BTreeSet<String> {
        let names = self.variables.iter().map(|variable| variable.name.clone());
        names.collect()
    }

    fn add_tool(&mut self, tool: &ToolDependency) {
        match tool.kind.to_ascii_lowercase().as_str() {
            "mcp" => match RequiredServer::parse(tool) {
                Ok(server) if self.servers.iter().any(|known| known.key == server.key) => {}
                Ok(server) => self.servers.push(server),
                Err(reason) => self.invalid.push(reason),
            },
            "env_var" => self.add_variable(EnvVar {
                name: tool.value.clone(),
                required: true,
                description: tool.description.clone(),
            }),
            "cli" => self.add_program(std::slice::from_ref(&tool.value), &[]),
            _ => self
                .invalid
                .push(format!("unknown dependency type `{}`", tool.kind)),
        }
    }

    /// Adds the programs and settings of a block; its variables are added in their own order.
    fn add_block(&mut self, block: &RequiresBlock, installs: &[InstallSpec]) {
        for program in &block.bins {
            self.add_program(std::slice::from_ref(program), installs);
        }
        if !block.any_bins.is_empty() {
            self.add_program(&block.any_bins, installs);
        }
        self.settings.extend(block.config.iter().cloned());
    }

    fn add_packages(&mut self, block: &RequiresBlock) {
        let of_registry = |registry, listed: &[String]| {
            let packages = listed.iter().map(move |requirement| RequiredPackage {
                registry,
                requirement: requirement.clone(),
            });
            packages.collect::<Vec<_>>()
        };
        self.packages
            .extend(of_registry("pypi", &block.python_packages));
        self.packages
            .extend(of_registry("npm", &block.node_packages));
    }

    fn add_names<'a>(&mut self, names: impl IntoIterator<Item = &'a String>, necessity: Necessity) {
        for name in names {
            self.add_variable(EnvVar {
                name: name.clone(),
                required: necessity == Necessity::Required,
                description: None,
            });
        }
    }

    fn add_variable(&mut self, variable: EnvVar) {
        let known = self.variables.iter_mut();
        if let Some(known) = known.into_iter().find(|known| known.name == variable.name) {
            known.required |= variable.required;
            known.description = known.description.take().or(variable.description);
        } else if is_variable_name(&variable.name) {
            self.variables.push(variable);
        } else {
            let reason = format!("invalid variable name `{}`", variable.name);
            self.invalid.push(reason);
        }
    }

    fn add_program(&mut self, any_of: &[String], installs: &[InstallSpec]) {
        let provides = |install: &&InstallSpec| {
            install.bins.is_empty() || install.bins.iter().any(|program| any_of.contains(program))
        };
        let installs = installs.iter().filter(provides).cloned();
        match self
            .programs
            .iter_mut()
            .find(|known| known.any_of == any_of)
        {
            Some(known) => {
                for install in installs {
                    if !known.installs.contains(&install) {
                        known.installs.push(install);
                    }
                }
            }
            None => self.programs.push(RequiredProgram {
                any_of: any_of.to_vec(),
                installs: installs.collect(),
            }),
        }
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

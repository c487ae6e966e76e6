//! Declared requirements of skills, compared with what runs have.

use skills_discovery::SkillFiles;
use skills_manifest::{Manifest, Requirements};
use skills_policy::is_unsafe_variable;
use skills_prompt::{HostProbe, InstalledServers};
use skills_sandbox::Environment;

use crate::program_search::{ProgramSearch, has_program};

/// What to do if declared requirements are missing.
///
/// Requirements are programs, environment variables and operating systems. Missing requirements
/// never become permissions; this only selects whether the run is attempted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnMissing {
    /// The run fails.
    Fail,
    /// The run fails if a program or the operating system is missing. Missing variables are listed
    /// in the notes of the artifacts: many skills require a variable for a part of what they do.
    #[default]
    WarnVariables,
    /// The skill runs; missing requirements are listed in the notes of the artifacts.
    Warn,
}

/// Reads the requirements from the current files of a skill, not those of the scan.
#[must_use]
pub fn read_requirements(manifest: &Manifest, files: &SkillFiles) -> Requirements {
    let (metadata, _) = files.openai_metadata();
    Requirements::new(manifest, Some(&metadata))
}

/// The host as a run in a sandbox finds it, and the servers of the client, which a run has not.
pub struct RunHost<'a> {
    /// The servers of the client.
    pub servers: &'a InstalledServers,
    /// Returns true if a variable has a value.
    pub has_variable: &'a dyn Fn(&str) -> bool,
    /// Finds programs of the host; `None` for a container, whose image has programs of its own.
    pub finder: Option<&'a ProgramSearch>,
}

impl HostProbe for RunHost<'_> {
    fn has_server(&self, key: &str) -> bool {
        self.servers.contains(key)
    }

    fn may_set_variable(&self, name: &str) -> bool {
        !is_unsafe_variable(name)
    }

    fn has_variable(&self, name: &str) -> bool {
        Environment::always_sets(name) || (self.has_variable)(name)
    }

    fn has_program(&self, name: &str) -> bool {
        self.finder.is_none_or(|finder| has_program(finder, name))
    }

    /// Only a client knows its settings, so they are never reported as missing.
    fn has_setting(&self, _path: &str) -> bool {
        true
    }

    fn platform(&self) -> &str {
        match std::env::consts::OS {
            _ if self.finder.is_none() => "linux",
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        }
    }
}

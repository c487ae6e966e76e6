//! Declared requirements of skills, compared with what runs have.

use std::path::{Path, PathBuf};

use skills_discovery::{Entry, SkillFiles};
use skills_manifest::{Manifest, Requirements};
use skills_policy::is_unsafe_variable;
use skills_prompt::{HostProbe, MissingRequirements};

use crate::SkillRuntime;

/// What to do if declared requirements are missing.
///
/// Requirements are programs, environment variables and operating systems. Missing requirements
/// never become permissions; this only selects whether the run is attempted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnMissing {
    /// The run fails.
    #[default]
    Fail,
    /// The skill runs; missing requirements are listed in the notes of the artifacts.
    Warn,
}

/// Default search directories for required programs, the same as in the sandbox.
pub(crate) const PROGRAM_DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];
/// Variables that every sandbox sets to values of its own.
const SANDBOX_VARIABLES: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

impl SkillRuntime {
    /// Returns the requirements that runs of `entries` with default options would miss: programs
    /// that are not in the [program directories](crate::Builder::program_directories), required
    /// variables without a value in the [secrets](crate::Builder::secrets), and other operating
    /// systems.
    ///
    /// A run checks the same, with the variables of its options. A run has no MCP servers, so all
    /// declared ones are listed; settings of the client count as present.
    /// [`MissingRequirements::collect`] takes the probe of a client, which knows both.
    #[must_use]
    pub fn missing_requirements<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> MissingRequirements {
        let mut missing = MissingRequirements::default();
        for entry in entries {
            let declared = Requirements::new(entry.manifest(), entry.openai_metadata());
            self.check_requirements(entry.name().as_str(), &declared, &mut missing);
        }
        missing
    }

    /// Adds to `missing` what a run of `skill` with default options would miss of `declared`, for
    /// skills that are not in the catalog.
    pub fn check_requirements(
        &self,
        skill: &str,
        declared: &Requirements,
        missing: &mut MissingRequirements,
    ) {
        let has_variable = |name: &str| {
            let value = self.shared.secrets.get(name);
            value.is_some_and(|value| !value.expose_secret().is_empty())
        };
        missing.add(skill, declared, &self.run_host(&has_variable));
    }

    /// Returns the host that a run finds, if it has these variables.
    pub(crate) fn run_host<'a>(&'a self, has_variable: &'a dyn Fn(&str) -> bool) -> RunHost<'a> {
        RunHost {
            program_directories: &self.shared.program_directories,
            has_variable,
        }
    }
}

/// Reads the requirements from the current files of a skill, not those of the scan.
pub(crate) fn read_requirements(manifest: &Manifest, files: &SkillFiles) -> Requirements {
    let (metadata, _) = files.openai_metadata();
    Requirements::new(manifest, Some(&metadata))
}

/// The host as a run in a sandbox finds it.
pub(crate) struct RunHost<'a> {
    program_directories: &'a [PathBuf],
    has_variable: &'a dyn Fn(&str) -> bool,
}

impl HostProbe for RunHost<'_> {
    fn has_server(&self, _key: &str) -> bool {
        false
    }

    fn may_set_variable(&self, name: &str) -> bool {
        !is_unsafe_variable(name)
    }

    fn has_variable(&self, name: &str) -> bool {
        SANDBOX_VARIABLES.contains(&name) || (self.has_variable)(name)
    }

    fn has_program(&self, name: &str) -> bool {
        let mut directories = self.program_directories.iter();
        directories.any(|directory| is_program(directory, name))
    }

    /// Only a client knows its settings, so they are never reported as missing.
    fn has_setting(&self, _path: &str) -> bool {
        true
    }

    fn platform(&self) -> &str {
        match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        }
    }
}

fn is_program(directory: &Path, name: &str) -> bool {
    // A skill must not use a path to find out which files exist on the host.
    !name.is_empty()
        && !name.contains(['/', '\\'])
        && name != "."
        && name != ".."
        && is_executable(&directory.join(name))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

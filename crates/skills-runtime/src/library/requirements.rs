//! Declared requirements of skills, compared with what runs have.

use std::path::Path;

use skills_discovery::SkillFiles;
use skills_manifest::{Manifest, Requirements};
use skills_policy::is_unsafe_variable;
use skills_prompt::HostProbe;

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

/// Search directories for required programs, the same as in the sandbox.
const PROGRAM_DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];
/// Variables that every sandbox sets to values of its own.
const SANDBOX_VARIABLES: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

/// Reads the requirements from the current files of a skill, not those of the scan.
pub(crate) fn read_requirements(manifest: &Manifest, files: &SkillFiles) -> Requirements {
    let (metadata, _) = files.openai_metadata();
    Requirements::new(manifest, Some(&metadata))
}

/// The host as a run in a sandbox finds it.
pub(crate) struct RunHost<'a> {
    pub(crate) has_variable: &'a dyn Fn(&str) -> bool,
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
        has_program(name)
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

/// Returns true if a program with this name exists where runs find it.
pub(crate) fn has_program(name: &str) -> bool {
    PROGRAM_DIRECTORIES
        .iter()
        .any(|directory| is_program(Path::new(directory), name))
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

//! Declared requirements of skills.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_discovery::SkillFiles;
use skills_manifest::{Manifest, Requirements};
use skills_policy::is_unsafe_variable;

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

/// Returns the variables that a skill declares, required or not: `requires.env`, those of the
/// OpenClaw block, and the `env_var` tools of `agents/openai.yaml`.
pub(crate) fn declared_variables(files: &SkillFiles, manifest: &Manifest) -> BTreeSet<String> {
    let extensions = manifest.extensions();
    let mut names: BTreeSet<String> = extensions.requires.env.iter().cloned().collect();
    if let Some(openclaw) = &extensions.openclaw {
        names.extend(openclaw.requires.env.iter().cloned());
        names.extend(openclaw.primary_env.clone());
        names.extend(
            openclaw
                .env_vars
                .iter()
                .map(|variable| variable.name.clone()),
        );
    }
    // Uses the current file, not that of the scan.
    let (metadata, _) = files.openai_metadata();
    names.extend(
        metadata
            .tools
            .iter()
            .filter(|tool| tool.kind.eq_ignore_ascii_case("env_var"))
            .map(|tool| tool.value.clone()),
    );
    names
}

/// Describes missing requirements, one phrase each: programs, variables, operating system.
///
/// `always` of the OpenClaw block waives its programs and variables, but not its systems. Client
/// settings (`requires.config`) are not checked.
pub(crate) fn missing_requirements(
    manifest: &Manifest,
    directories: &[PathBuf],
    has_variable: impl Fn(&str) -> bool,
) -> Vec<String> {
    let extensions = manifest.extensions();
    let openclaw = extensions.openclaw.as_ref();
    let mut missing = Vec::new();
    let mut systems: Vec<&str> = extensions.platforms.iter().map(String::as_str).collect();
    systems.extend(
        openclaw
            .into_iter()
            .flat_map(|openclaw| openclaw.os.iter().map(String::as_str)),
    );
    if !systems.is_empty() && !systems.contains(&current_system()) {
        missing.push(format!("operating system {}", systems.join(" or ")));
    }
    let blocks = [
        Some(&extensions.requires),
        openclaw
            .filter(|openclaw| !openclaw.always)
            .map(|openclaw| &openclaw.requires),
    ];
    for requires in blocks.into_iter().flatten() {
        missing.extend(missing_in_block(requires, directories, &has_variable));
    }
    missing.sort();
    missing.dedup();
    missing
}

fn missing_in_block(
    requires: &Requirements,
    directories: &[PathBuf],
    has_variable: &impl Fn(&str) -> bool,
) -> Vec<String> {
    let has_program = |name: &String| {
        directories
            .iter()
            .any(|directory| is_program(directory, name))
    };
    let programs = requires
        .bins
        .iter()
        .filter(|name| !has_program(name))
        .map(|name| format!("program `{name}`"));
    let alternatives = Some(&requires.any_bins)
        .filter(|names| !names.is_empty() && !names.iter().any(has_program));
    let alternatives =
        alternatives.map(|names| format!("one of the programs `{}`", names.join("`, `")));
    // Variables that the sandbox sets, such as `HOME`, are always available.
    let variables = requires
        .env
        .iter()
        .filter(|name| !is_unsafe_variable(name) && !has_variable(name))
        .map(|name| format!("variable `{name}`"));
    programs.chain(alternatives).chain(variables).collect()
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

/// Returns the name of the operating system, as skills use it.
fn current_system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

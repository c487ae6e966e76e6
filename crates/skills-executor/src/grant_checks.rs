//! Checks of grants before a run, and the directories that they need.

use std::path::PathBuf;

use skills_policy::{Access, Capability, Decision, Grants};

use crate::error::{Repr, RuntimeError};
use crate::run_subject::SkillSubject;
use crate::workspace::ActiveWorkspace;

/// Rejects a granted path that contains a symlink, such as `src/**` of a workspace whose `src` is a
/// symlink.
pub(crate) fn check_canonical(grants: &Grants) -> Result<(), RuntimeError> {
    for file in grants.files() {
        match file.path().canonicalize() {
            Ok(path) if path == file.path() => {}
            // A path that does not exist cannot lead elsewhere.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // The path leads elsewhere than when it was authorized.
            _ => {
                return Err(Repr::Symlink {
                    path: file.path().to_owned(),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Returns true if the grants exceed those of every program.
pub(crate) fn is_privileged(grants: &Grants) -> bool {
    grants
        .decisions()
        .iter()
        .filter(|decision| decision.decision() == Decision::Allow)
        .any(|decision| decision.permission().capability().is_privileged())
}

pub(crate) fn is_writable(workspace: &ActiveWorkspace, grants: &Grants) -> bool {
    grants
        .files()
        .iter()
        .any(|file| file.path().starts_with(workspace.path()) && file.access() == Access::ReadWrite)
}

/// Returns the copied directories, each with its copy first.
pub(crate) fn copies(grants: &Grants) -> Vec<(PathBuf, PathBuf)> {
    let files = grants.files().iter();
    files
        .filter(|file| file.location() != file.path())
        .map(|file| (file.location().to_owned(), file.path().to_owned()))
        .collect()
}

/// Returns the entries of `allowed-tools` whose capabilities were granted. A write permission
/// without a writable directory is not.
pub(crate) fn used_tools(grants: &Grants, skill: Option<&SkillSubject>) -> Vec<String> {
    let Some(skill) = skill else {
        return Vec::new();
    };
    let is_granted = |tool: &str| {
        Capability::from_tool_name(tool).is_some_and(|capability| grants.includes(capability))
    };
    skill
        .manifest
        .allowed_tools()
        .iter()
        .filter(|rule| is_granted(rule.tool()))
        .map(ToString::to_string)
        .collect()
}

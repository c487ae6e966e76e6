//! Checks of grants before a run, and the directories that they need.

use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_policy::{Access, Capability, Grants};

use super::run_subject::SkillSubject;
use super::workspace::ActiveWorkspace;
use crate::error::{Repr, RuntimeError};

/// Rejects a granted path that contains a symlink, such as `src/**` of a workspace whose `src` is a
/// symlink.
pub(super) fn check_canonical(grants: &Grants) -> Result<(), RuntimeError> {
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
pub(super) fn is_privileged(grants: &Grants) -> bool {
    grants
        .decisions()
        .iter()
        .any(|decision| decision.permission().capability().is_privileged())
}

/// Creates missing directories that are granted for writing, such as `out/**` of a workspace
/// without an `out`. Uses a directory handle, so that symlinks in the workspace cannot redirect it.
pub(super) fn create_missing_dirs(
    grants: &Grants,
    workspace: Option<&Path>,
) -> Result<(), RuntimeError> {
    let Some(workspace) = workspace else {
        return Ok(());
    };
    let writable = grants
        .files()
        .iter()
        .filter(|file| file.access() == Access::ReadWrite);
    let below = writable.filter_map(|file| file.path().strip_prefix(workspace).ok());
    for path in below.filter(|path| workspace.join(path).symlink_metadata().is_err()) {
        let created = Dir::open_ambient_dir(workspace, ambient_authority())
            .and_then(|workspace| workspace.create_dir_all(path));
        created.map_err(|source| Repr::OptionalPath {
            path: workspace.join(path),
            source,
        })?;
    }
    Ok(())
}

pub(super) fn is_writable(workspace: &ActiveWorkspace, grants: &Grants) -> bool {
    grants
        .files()
        .iter()
        .any(|file| file.path().starts_with(workspace.path()) && file.access() == Access::ReadWrite)
}

/// Returns the entries of `allowed-tools` whose capabilities were granted. A write permission
/// without a writable directory is not.
pub(super) fn used_tools(grants: &Grants, skill: Option<&SkillSubject>) -> Vec<String> {
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

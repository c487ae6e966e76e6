//! Rejects grants with paths inside that the isolation level cannot exclude.

use std::borrow::Cow;

use skills_policy::{Access, Grants};
use skills_sandbox::SandboxError;

use crate::isolation::IsolationLevel;

/// Rejects grants that contain a hidden path which cannot be hidden: one that exists needs a mount
/// that covers it, and one that does not exist could be created by a program that may write there.
pub(crate) fn check_hidden_paths(
    grants: &Grants,
    isolation: IsolationLevel,
) -> Result<(), SandboxError> {
    // Without mounts a program gets files at their real paths: only those of a copy, unless another
    // grant leads to the original.
    let grants = match isolation {
        IsolationLevel::Namespaces => Cow::Borrowed(grants),
        IsolationLevel::Landlock | IsolationLevel::None => Cow::Owned(grants.with_real_paths()),
    };
    for hidden in grants.hidden() {
        let Some(granted) = grants.deciding_grant(hidden) else {
            continue;
        };
        let exists = hidden.symlink_metadata().is_ok();
        let reason = match (isolation, exists, granted.access()) {
            (IsolationLevel::Namespaces, false, Access::ReadWrite) => {
                "it does not exist and the program could create it; create it first"
            }
            (IsolationLevel::Landlock | IsolationLevel::None, true, _)
            | (_, false, Access::ReadWrite) => {
                "Landlock cannot exclude it; grant narrower directories, or allow user namespaces"
            }
            _ => continue,
        };
        let (granted, hidden) = (granted.path().display(), hidden.display());
        return Err(SandboxError::rejected(
            "linux",
            format!("`{granted}` contains the hidden path `{hidden}`: {reason}"),
        ));
    }
    Ok(())
}

/// Rejects a writable directory around the skill where the skill would be writable too.
pub(crate) fn check_skill_in_writable(
    grants: &Grants,
    isolation: IsolationLevel,
) -> Result<(), SandboxError> {
    match grants.skill_in_writable() {
        Some(skill) if isolation == IsolationLevel::Landlock => Err(SandboxError::rejected(
            "linux",
            format!(
                "a writable directory contains the skill {}, which Landlock cannot exclude; grant narrower directories, or allow user namespaces",
                skill.display()
            ),
        )),
        _ => Ok(()),
    }
}

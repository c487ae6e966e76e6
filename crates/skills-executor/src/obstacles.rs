//! Why no rule that a user passes to a run would allow what was refused.
//!
//! A suggestion is tried against the policy before it is made: an option that changes nothing would
//! send its user in a circle, and a program can print any path.

use std::path::Path;

use skills_policy::{DecisionReason, Policy, Request, Target};
use skills_sandbox::{Refusal, RefusedOperation};

use crate::refusals::expand_home;

/// Directories of the system. What all users run and configure is in them, so none is a place for the
/// output of a skill.
const NO_OUTPUT_DIRECTORIES: [&str; 19] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/private",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/cache",
    "/var/lib",
    "/var/spool",
    "/System",
    "/Library",
];

/// Returns why no rule of the user would allow a refused operation, as a clause. `None` if one would.
/// `workspace` is the directory that the caller chose, and `user_home` the one of `~/`.
pub(crate) fn obstacle(
    policy: &Policy,
    request: &Request,
    workspace: Option<&Path>,
    user_home: Option<&Path>,
    refusal: &Refusal,
) -> Option<String> {
    if let RefusedOperation::Write { path } = &refusal.operation
        && is_system_path(path)
        && !workspace.is_some_and(|workspace| Path::new(path).starts_with(workspace))
    {
        return Some("it is in a directory of the system".to_owned());
    }
    match refusal.operation {
        RefusedOperation::WatchFiles => {
            return Some("events of files would tell what other programs do".to_owned());
        }
        RefusedOperation::ListInterfaces => {
            return Some("addresses and names of interfaces identify the machine".to_owned());
        }
        _ => {}
    }
    let absolute = |path: &str| expand_home(path, user_home).to_string_lossy().into_owned();
    let operation = refusal.operation.clone().map_path(absolute);
    let reason = policy.obstacle(request, &operation.target()?)?;
    // A rule about one program does not affect another one, which can be named.
    let is_nameable =
        operation == RefusedOperation::StartProcess && policy.requires_program_name(request);
    (!is_nameable).then(|| describe(&reason))
}

/// Returns why an `allow` rule of the user has no effect on a run, as a clause.
pub(crate) fn rule_obstacle(policy: &Policy, request: &Request, target: &Target) -> Option<String> {
    policy
        .obstacle(request, target)
        .map(|reason| describe(&reason))
}

fn describe(reason: &DecisionReason) -> String {
    match reason {
        DecisionReason::Rule { text, .. } => format!("rule `{text}` decides"),
        reason => reason.to_string(),
    }
}

/// Returns true for a directory of the system, a path in one, and a directory that contains all.
fn is_system_path(path: &str) -> bool {
    let path = Path::new(path);
    let is_top = path.has_root() && path.components().count() <= 2;
    is_top
        || NO_OUTPUT_DIRECTORIES
            .iter()
            .any(|top| path.starts_with(top))
}

#[cfg(test)]
mod tests {
    use skills_policy::{Capability, RuleSource};
    use skills_sandbox::Evidence;

    use super::*;

    #[test]
    fn no_rule_is_suggested_that_would_have_no_effect() {
        let policy = Policy::default().deny(RuleSource::User, Capability::Spawn);
        let request = Request::new("/skills/pdf").workspace("/work");
        let path = |path: &str| path.to_owned();
        for (operation, expected) in [
            (
                RefusedOperation::Write {
                    path: path("/work/a"),
                },
                None,
            ),
            (
                RefusedOperation::Read {
                    path: path("/srv/a"),
                },
                None,
            ),
            (
                RefusedOperation::Write {
                    path: path("/skills/pdf/out"),
                },
                Some("the skill directory is always read-only"),
            ),
            (
                RefusedOperation::Write {
                    path: path("/bin/sh"),
                },
                Some("it is in a directory of the system"),
            ),
            (
                RefusedOperation::Write { path: path("/") },
                Some("it is in a directory of the system"),
            ),
            (
                RefusedOperation::StartProcess,
                Some("rule `deny spawn (user)` decides"),
            ),
        ] {
            let refusal = Refusal::new(operation, Evidence::ProgramOutput);
            let found = obstacle(&policy, &request, Some(Path::new("/work")), None, &refusal);
            assert_eq!(found.as_deref(), expected, "{:?}", refusal.operation);
        }
    }
}

//! Whether a rule of the user would change what a run may do.
//!
//! A rule is tried before it is offered: an option that changes nothing would send its user in a
//! circle, and a program can print any path.

use std::path::Path;

use skills_policy::{
    Decision, DecisionReason, Grants, Policy, Request, Target, innermost_protected_name,
    path_caution,
};
use skills_sandbox::RefusedOperation;

use super::facts::Allowance;
use super::paths::expand_home;

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

/// The policy and the request of a run: what a rule would change.
#[derive(Clone, Copy)]
pub(crate) struct RuleCheck<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) request: &'a Request,
    pub(crate) grants: &'a Grants,
    /// The directory that the caller chose.
    pub(crate) workspace: Option<&'a Path>,
    /// The directory of `~/`.
    pub(crate) user_home: Option<&'a Path>,
}

impl RuleCheck<'_> {
    /// Returns what would allow a refused operation. `caution` is a reason not to suggest its rule.
    pub(super) fn allowance(
        &self,
        operation: &RefusedOperation,
        caution: Option<String>,
    ) -> Allowance {
        if let Some(reason) = self.obstacle(operation) {
            return Allowance::Nothing(reason);
        }
        if let Some(reason) = caution {
            return Allowance::Unsuggested(reason);
        }
        match operation {
            RefusedOperation::StartProcess if self.policy.requires_program_name(self.request) => {
                Allowance::NamedRule
            }
            RefusedOperation::Connect { host: None } => Allowance::NamedRule,
            RefusedOperation::UseMemory { .. } | RefusedOperation::CompileInTime { .. } => {
                Allowance::Limit
            }
            operation => match self
                .workspace_rule(operation)
                .or_else(|| rule_for(operation))
            {
                Some(rule) => Allowance::Rule(rule),
                None => Allowance::Nothing("no rule can name it".to_owned()),
            },
        }
    }

    /// Returns the rule for the workspace if a path is written in it: a rule for a file that does not
    /// exist would create a directory, and the next file would need another.
    fn workspace_rule(&self, operation: &RefusedOperation) -> Option<String> {
        let (RefusedOperation::Write { path }, Some(workspace)) = (operation, self.workspace)
        else {
            return None;
        };
        let is_inside = Path::new(path).starts_with(workspace)
            && innermost_protected_name(Path::new(path), workspace).is_none();
        let rule = format!("write:{}", workspace.display());
        Some(rule).filter(|rule| is_inside && self.is_allowable(rule))
    }

    /// Returns why no rule of the user would allow a refused operation, as a clause. `None` if one
    /// would.
    fn obstacle(&self, operation: &RefusedOperation) -> Option<String> {
        match operation {
            RefusedOperation::Write { path }
                if is_system_path(path)
                    && !self
                        .workspace
                        .is_some_and(|workspace| Path::new(path).starts_with(workspace)) =>
            {
                return Some("it is in a directory of the system".to_owned());
            }
            RefusedOperation::NeverAllowed(never) => return Some(never.reason.to_owned()),
            _ => {}
        }
        let absolute = |path: &str| {
            expand_home(path, self.user_home)
                .to_string_lossy()
                .into_owned()
        };
        let operation = operation.clone().map_path(absolute);
        let reason = self.policy.obstacle(self.request, &operation.target()?)?;
        // A rule about one program does not affect another one, which can be named.
        let is_nameable = operation == RefusedOperation::StartProcess
            && self.policy.requires_program_name(self.request);
        (!is_nameable).then(|| describe(&reason))
    }

    /// Returns true if a rule of the user, in the syntax of rules, would change what a run may do: it is
    /// not granted yet, and no other rule decides against it.
    pub(super) fn is_allowable(&self, rule: &str) -> bool {
        self.target(rule).is_some_and(|target| {
            !self.is_granted(&target) && self.policy.obstacle(self.request, &target).is_none()
        })
    }

    /// Returns the target of a rule, in which `~` stands for the home directory.
    pub(crate) fn target(&self, rule: &str) -> Option<Target> {
        let expanded = match rule.split_once(":~/") {
            Some((access, below)) => {
                format!("{access}:{}", self.user_home?.join(below).display())
            }
            None => rule.to_owned(),
        };
        expanded.parse().ok()
    }

    fn is_granted(&self, target: &Target) -> bool {
        let granted = self.grants.decisions().iter();
        let mut granted = granted.filter(|decision| decision.decision() == Decision::Allow);
        granted.any(|decision| decision.permission().rule_target().as_ref() == Some(target))
    }

    /// Returns true if a message may suggest to read a path that a granted file leads to: it holds no
    /// keys, and is neither a directory of the system, nor one that contains the home directory or that
    /// programs share in it, such as `~/.local`.
    pub(super) fn is_suggestible(&self, path: &Path) -> bool {
        let contains_home = self.user_home.is_some_and(|home| home.starts_with(path));
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_shared = is_hidden
            && path
                .parent()
                .is_some_and(|parent| Some(parent) == self.user_home);
        !contains_home
            && !is_shared
            && path_caution(path).is_none()
            && !is_system_path(&path.to_string_lossy())
    }
}

/// Returns the narrowest rule that allows an operation, in the syntax of rules. One for a path in the
/// home directory is written with `~`.
fn rule_for(operation: &RefusedOperation) -> Option<String> {
    match operation {
        RefusedOperation::Read { path } if path.starts_with("~/") => Some(format!("read:{path}")),
        RefusedOperation::Write { path } if path.starts_with("~/") => Some(format!("write:{path}")),
        operation => operation.target().map(|target| target.to_string()),
    }
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
    use skills_policy::{Authorization, Capability, RuleSource};

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
            let rules = RuleCheck {
                policy: &policy,
                request: &request,
                grants: &Grants::none(),
                workspace: Some(Path::new("/work")),
                user_home: None,
            };
            let found = rules.obstacle(&operation);
            assert_eq!(found.as_deref(), expected, "{operation:?}");
        }
    }

    /// A rule is offered only if the policy would decide otherwise with it.
    #[test]
    fn a_rule_is_allowable_if_it_changes_a_decision() {
        let granted = Policy::default().allow(RuleSource::User, Capability::Spawn);
        let denied = Policy::default().deny(RuleSource::User, Capability::Spawn);
        let request = Request::new("/skills/pdf").spawn_any();
        let without = Request::new("/skills/pdf").drop_capability(Capability::Network);
        for (policy, request, rule, expected) in [
            (Policy::default(), &request, "spawn", true),
            (Policy::default(), &request, "env:API_KEY", true),
            (Policy::default(), &request, "write:~/.tool/", true),
            (Policy::default(), &request, "write:/skills/pdf/out", false),
            (Policy::default(), &request, "not a rule", false),
            (granted, &request, "spawn", false),
            (denied.clone(), &request, "spawn", false),
            (denied.clone(), &request, "spawn:git", false),
            (denied, &request, "network:a.example", true),
            (Policy::default(), &without, "network:a.example", false),
        ] {
            let authorization = policy.authorize(request);
            let grants = match &authorization {
                Authorization::Granted(grants) => grants.clone(),
                Authorization::Denied(_) => Grants::none(),
            };
            let rules = RuleCheck {
                policy: &policy,
                request,
                grants: &grants,
                workspace: None,
                user_home: Some(Path::new("/home/ada")),
            };
            assert_eq!(
                rules.is_allowable(rule),
                expected,
                "{rule} {authorization:?}"
            );
        }
    }

    #[test]
    fn no_file_leads_to_a_rule_for_keys_or_for_what_programs_share() {
        let rules = RuleCheck {
            policy: &Policy::default(),
            request: &Request::new("/skills/pdf"),
            grants: &Grants::none(),
            workspace: None,
            user_home: Some(Path::new("/home/ada")),
        };
        for (path, expected) in [
            ("/srv/python", true),
            ("/home/ada/.pyenv/versions/3.12", true),
            ("/home/ada/project/.git", true),
            ("/home/ada/.local", false),
            ("/home/ada/.ssh/keys", false),
            ("/home/ada", false),
            ("/home", false),
            ("/", false),
            ("/usr/lib/python3", false),
        ] {
            assert_eq!(rules.is_suggestible(Path::new(path)), expected, "{path}");
        }
    }
}

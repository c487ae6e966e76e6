//! The decisions by rules on a request, before approvals. Rules are matched in `rule_matching`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::requester::{NOT_DECLARED, ROLES, RULES_NAME};
use crate::{
    Decision, DecisionReason, HostPattern, Permission, PermissionDecision, Request, ResourceLimits,
    RuleSource,
};

/// The decisions by rules alone; some may still need approval.
#[derive(Debug)]
pub(crate) struct RuleEvaluation {
    pub(crate) decisions: Vec<PermissionDecision>,
    pub(crate) denied_hosts: BTreeSet<HostPattern>,
}

impl RuleEvaluation {
    /// Returns true if a permission needs approval.
    pub(crate) fn is_pending(&self) -> bool {
        self.count(Decision::Ask) > 0
    }

    /// Returns the number of permissions with this decision.
    pub(crate) fn count(&self, expected: Decision) -> usize {
        let decisions = self.decisions.iter();
        decisions
            .filter(|decision| decision.decision == expected)
            .count()
    }

    /// Returns the limits of a run that gets all permissions that are not denied. A file has none
    /// but the ceiling if one of them is to write what the host did not create for the run.
    pub(crate) fn limits(&self, request: &Request, ceiling: &ResourceLimits) -> ResourceLimits {
        let private = request.private_directory.as_ref();
        let is_named = |path: &Path| !private.is_some_and(|private| path.starts_with(private));
        let writes = |permission: &Permission| match permission {
            Permission::Write(path) | Permission::WriteProtected { path, .. } => is_named(path),
            _ => false,
        };
        let mut decisions = self.decisions.iter();
        // A larger request is lowered and not denied: a skill cannot know the ceiling.
        let mut limits = request.limits.min(ceiling);
        // What is omitted is not granted.
        let is_possible =
            |known: &PermissionDecision| matches!(known.decision, Decision::Allow | Decision::Ask);
        if decisions.any(|known| is_possible(known) && writes(&known.permission)) {
            limits.file_bytes = ceiling.file_bytes;
        }
        limits
    }

    pub(crate) fn with_decision(&self, expected: Decision) -> Vec<PermissionDecision> {
        self.decisions
            .iter()
            .filter(|decision| decision.decision == expected)
            .cloned()
            .collect()
    }

    /// Inserts an allowed permission in the order of permissions. Replaces denials whose only cause
    /// is that the skill does not declare the permission, or a program that it includes: that limits
    /// the caller, not the operator.
    pub(crate) fn add(&mut self, allowed: PermissionDecision) {
        if allowed.permission == Permission::AnyProgram {
            self.allow_undeclared_programs(&allowed.reason);
        }
        let known = self
            .decisions
            .iter()
            .position(|known| known.permission == allowed.permission);
        match known {
            Some(index) if self.decisions[index].decision == Decision::Allow => {}
            Some(index) => {
                let requesters = std::mem::take(&mut self.decisions[index].requested_by);
                self.decisions[index] = PermissionDecision {
                    requested_by: requesters.into_iter().chain(allowed.requested_by).collect(),
                    ..allowed
                };
            }
            None => {
                let index = self
                    .decisions
                    .partition_point(|known| known.permission < allowed.permission);
                self.decisions.insert(index, allowed);
            }
        }
    }

    /// Removes what only standing rules request, unless it is kept.
    pub(crate) fn retain_standing_requests(&mut self, is_kept: impl Fn(&Permission) -> bool) {
        self.decisions
            .retain(|decision| !is_standing_request(decision) || is_kept(&decision.permission));
    }

    /// Inserts an open permission in the order of permissions, in the place of a denial. What is allowed
    /// or open already stays so.
    pub(crate) fn ask_for(&mut self, open: PermissionDecision) {
        let mut known = self.decisions.iter_mut();
        match known.find(|known| known.permission == open.permission) {
            Some(denied) if denied.decision == Decision::Deny => *denied = open,
            Some(_) => {}
            None => {
                self.decisions.push(open);
                self.decisions
                    .sort_by(|a, b| a.permission.cmp(&b.permission));
            }
        }
    }

    fn allow_undeclared_programs(&mut self, reason: &DecisionReason) {
        for known in &mut self.decisions {
            let is_undeclared = matches!(
                known.reason,
                DecisionReason::Forbidden { reason } if reason == NOT_DECLARED
            );
            if is_undeclared && matches!(known.permission, Permission::Program(_)) {
                known.decision = Decision::Allow;
                known.reason = reason.clone();
            }
        }
    }

    /// Returns the decisions that only standing rules request.
    pub(crate) fn standing_requests(&self) -> impl Iterator<Item = &PermissionDecision> {
        let decisions = self.decisions.iter();
        decisions.filter(|decision| is_standing_request(decision))
    }

    /// Returns the decisions without those that only standing rules request.
    pub(crate) fn without_standing_requests(&self) -> Self {
        let decisions = self.decisions.iter().cloned();
        Self {
            decisions: decisions
                .filter(|decision| !is_standing_request(decision))
                .collect(),
            denied_hosts: self.denied_hosts.clone(),
        }
    }

    /// Leaves open what the rules of the invocation allow, and what only standing rules request: an
    /// approval of the content includes it then. Paths belong to a run, and stay allowed.
    pub(crate) fn ask_for_rules(&mut self) {
        let is_kept = |permission: &Permission| {
            matches!(
                permission,
                Permission::Program(_) | Permission::AnyProgram | Permission::Host(_)
            )
        };
        for decision in &mut self.decisions {
            let is_of_rule = is_standing_request(decision)
                || matches!(
                    decision.reason,
                    DecisionReason::Rule {
                        source: RuleSource::Invocation,
                        ..
                    }
                );
            if is_of_rule && decision.decision == Decision::Allow && is_kept(&decision.permission) {
                decision.decision = Decision::Ask;
            }
        }
    }

    /// Omits the permissions that only `allowed-tools` request and that are not allowed.
    pub(crate) fn omit_declared(&mut self) {
        let is_declared = |decision: &PermissionDecision| {
            let mut requesters = decision.requested_by.iter();
            requesters.all(|requester| !ROLES.contains(&requester.as_str()))
        };
        self.decisions
            .iter_mut()
            .filter(|decision| decision.decision != Decision::Allow && is_declared(decision))
            .for_each(|decision| decision.decision = Decision::Omit);
    }

    /// Decides all permissions that need approval.
    pub(crate) fn resolve_pending(&mut self, decision: Decision, reason: &DecisionReason) {
        self.decisions
            .iter_mut()
            .filter(|pending| pending.decision == Decision::Ask)
            .for_each(|pending| pending.resolve(decision, reason.clone()));
    }
}

/// Returns true if only a standing rule requests a permission.
fn is_standing_request(decision: &PermissionDecision) -> bool {
    let is_standing = matches!(
        decision.reason,
        DecisionReason::Rule { source, .. } if source.is_standing()
    );
    is_standing && decision.requested_by == [RULES_NAME]
}

/// Returns true for a privilege that is granted by a rule or mode older than this run, so possibly
/// older than this content.
pub(crate) fn is_standing_privilege(decision: &PermissionDecision) -> bool {
    let is_standing = match &decision.reason {
        DecisionReason::Rule { source, .. } => source.is_standing(),
        DecisionReason::TrustedMode => true,
        _ => false,
    };
    is_standing
        && decision.decision == Decision::Allow
        && decision.permission.capability().is_privileged()
}

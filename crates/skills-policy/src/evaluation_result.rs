//! The decisions by rules on a request, before approvals. Rules are matched in `rule_matching`.

use std::collections::BTreeSet;

use crate::request::RULES_NAME;
use crate::{Decision, DecisionReason, HostPattern, PermissionDecision};

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

    pub(crate) fn with_decision(&self, expected: Decision) -> Vec<PermissionDecision> {
        self.decisions
            .iter()
            .filter(|decision| decision.decision == expected)
            .cloned()
            .collect()
    }

    /// Inserts an allowed permission in the order of permissions. Replaces a denial whose only
    /// cause is that the skill does not declare the permission: that limits the caller, not the
    /// operator.
    pub(crate) fn add(&mut self, allowed: PermissionDecision) {
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

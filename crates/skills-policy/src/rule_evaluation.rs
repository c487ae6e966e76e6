//! What the rules decide on a request, before approvals.

use std::collections::BTreeSet;

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
        self.decisions
            .iter()
            .any(|decision| decision.decision == Decision::Ask)
    }

    pub(crate) fn with_decision(&self, expected: Decision) -> Vec<PermissionDecision> {
        self.decisions
            .iter()
            .filter(|decision| decision.decision == expected)
            .cloned()
            .collect()
    }

    /// Decides all permissions that need approval.
    pub(crate) fn resolve_pending(&mut self, decision: Decision, reason: &DecisionReason) {
        self.decisions
            .iter_mut()
            .filter(|pending| pending.decision == Decision::Ask)
            .for_each(|pending| pending.resolve(decision, reason.clone()));
    }
}

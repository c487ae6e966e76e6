//! The approvals that apply to a request, and the approval that a response creates.

use std::collections::BTreeSet;

use super::PendingApproval;
use crate::evaluation_result::RuleEvaluation;
use crate::{
    Approval, ApprovalResponse, ContentStatus, Decision, DecisionReason, HostPattern, Permission,
    PermissionDecision, Policy, Request,
};

/// The approvals that apply to a request.
pub(super) struct ApplicableApprovals {
    /// The stored approval of the directory, also if it is for other content.
    pub(super) stored: Option<Approval>,
    /// Those for exactly this content, stored or of the session.
    pub(super) for_content: Vec<Approval>,
    /// Those of the session for exactly this command on exactly this content.
    pub(super) for_command: Vec<Approval>,
    /// Why the stored approval could not be read.
    pub(super) warnings: Vec<String>,
}

impl ApplicableApprovals {
    /// Allows the pending permissions that are approved, and adds approved programs and hosts that
    /// the skill does not ask for.
    pub(super) fn apply(
        &self,
        request: &Request,
        policy: &Policy,
        evaluation: &mut RuleEvaluation,
    ) {
        for decision in evaluation
            .decisions
            .iter_mut()
            .filter(|decision| decision.decision == Decision::Ask)
        {
            // A command that the caller wrote is not covered by what was approved for the skill.
            let for_content = if request.is_ad_hoc_permission(&decision.permission) {
                &[][..]
            } else {
                &self.for_content
            };
            if for_content
                .iter()
                .chain(&self.for_command)
                .any(|approval| approval.covers(&decision.permission))
            {
                decision.resolve(Decision::Allow, DecisionReason::PreviouslyApproved);
            }
        }
        if request.ad_hoc_digest.is_none() {
            self.add_requests(request, policy, evaluation);
        }
    }

    /// Adds what a user approved for this content although the skill does not ask for it. Paths and
    /// variables are not added: they belong to the workspace and the caller of that time.
    fn add_requests(&self, request: &Request, policy: &Policy, evaluation: &mut RuleEvaluation) {
        let approved = self
            .for_content
            .iter()
            .flat_map(|approval| &approval.permissions)
            .filter(|permission| {
                matches!(
                    permission,
                    Permission::Program(_) | Permission::AnyProgram | Permission::Host(_)
                )
            });
        for permission in approved {
            policy.add_approved(request, permission, evaluation);
        }
    }
}

/// Returns the approval of exactly the pending permissions; `None` without a digest.
pub(super) fn build_approval(pending: &PendingApproval) -> Option<Approval> {
    let request = &pending.request;
    let digest = if request.ad_hoc_digest.is_some() {
        request.ad_hoc_content_digest()
    } else {
        request.digest.clone()
    }?;
    let permissions_of = |decisions: &[PermissionDecision]| {
        decisions
            .iter()
            .map(|decision| decision.permission.clone())
            .collect::<BTreeSet<_>>()
    };
    let mut granted_by_rules = permissions_of(&pending.approval_request.granted);
    granted_by_rules.retain(|permission| permission.capability().is_privileged());
    Some(Approval {
        name: request.name.clone(),
        directory: request.directory.clone(),
        digest,
        permissions: permissions_of(&pending.approval_request.pending),
        granted_by_rules,
        declared: request.declared_privileges(),
    })
}

/// Returns the approval of the programs of a command in all commands on the same content or
/// directory; without a command, that of the pending permissions.
pub(super) fn build_commands_approval(
    pending: &PendingApproval,
    response: ApprovalResponse,
) -> Option<Approval> {
    let mut approval = build_approval(pending)?;
    let Some(digest) = pending.request.all_commands_digest() else {
        return Some(approval);
    };
    approval.digest = digest;
    // Hosts and files are those of this command.
    approval
        .permissions
        .retain(|permission| pending.request.is_ad_hoc_permission(permission));
    if response == ApprovalResponse::AllowCommands {
        approval.permissions.insert(Permission::AnyProgram);
    }
    Some(approval)
}

/// Returns true if an approval is for exactly the content of a request.
pub(super) fn matches_request(approval: &Approval, request: &Request) -> bool {
    // The directory too: the same files elsewhere are another skill, in the hands of another owner.
    request.digest.as_deref() == Some(approval.digest.as_str())
        && approval.directory == request.directory
}

/// Returns what a skill declares now compared with its approval for other content.
pub(super) fn content_status(previous: &Approval, request: &Request) -> ContentStatus {
    let declared = request.declared_privileges();
    ContentStatus::Changed {
        added: declared.difference(&previous.declared).cloned().collect(),
        removed: previous.declared.difference(&declared).cloned().collect(),
    }
}

/// Returns the notes of an approval request about risks that an approver may not see.
pub(super) fn risk_notes(request: &Request, pending: &[PermissionDecision]) -> Vec<String> {
    let has = |is_risk: fn(&Permission) -> bool| {
        pending.iter().any(|decision| is_risk(&decision.permission))
    };
    let mut notes = Vec::new();
    if request.digest.is_none() {
        notes.push("the content has no digest: an approval covers this run only, and changes before the response are not detected".to_owned());
    }
    if has(|permission| *permission == Permission::Host(HostPattern::ANY)) {
        notes.push("the program could connect to any host".to_owned());
    }
    if has(|permission| matches!(permission, Permission::Host(host) if host.port().is_some())) {
        notes.push(
            "a host with a port can be a service of this machine or of a private network"
                .to_owned(),
        );
    }
    if has(|permission| matches!(permission, Permission::WriteProtected { .. })) {
        notes.push(
            "DANGEROUS: files written to a protected path can run outside of any sandbox later"
                .to_owned(),
        );
    }
    notes
}

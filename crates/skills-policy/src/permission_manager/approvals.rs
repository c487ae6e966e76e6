//! The approvals that apply to a request, and the approval that a response creates.

use std::collections::BTreeSet;

use super::PendingQuestion;
use crate::evaluation_result::RuleEvaluation;
use crate::{
    Answer, Approval, ContentStatus, Coverage, Decision, DecisionReason, HostPattern, Permission,
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
    /// Those of the session for programs in all commands on this content or directory.
    pub(super) for_programs: Vec<Approval>,
    /// Those of the session for all programs in such commands.
    pub(super) for_all_programs: Vec<Approval>,
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
            if self.covers(request, decision) {
                decision.resolve(Decision::Allow, DecisionReason::PreviouslyApproved);
            }
        }
        if request.ad_hoc_digest.is_none() {
            self.add_requests(request, policy, evaluation);
        }
    }

    /// Returns the full names of the packages that are approved for the content.
    pub(super) fn package_names(&self) -> BTreeSet<String> {
        let approved = self.for_content.iter();
        let permissions = approved.flat_map(|approval| &approval.permissions);
        let names = permissions.filter_map(|permission| match permission {
            Permission::Package { name, .. } => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Returns true if an approval covers a pending permission.
    fn covers(&self, request: &Request, decision: &PermissionDecision) -> bool {
        let covers = |approvals: &[Approval]| {
            approvals
                .iter()
                .any(|approval| approval.covers(&decision.permission))
        };
        if covers(&self.for_command) {
            return true;
        }
        // A command that the caller wrote is not covered by what was approved for the skill.
        if !request.is_ad_hoc_permission(&decision.permission) {
            return covers(&self.for_content);
        }
        // Programs with an `ask` rule were not in the question about all programs.
        let is_covered_by_all = decision.ask_rule.is_none() && covers(&self.for_all_programs);
        is_covered_by_all || covers(&self.for_programs)
    }

    /// Returns the approvals for this command: those for exactly this one, and those for programs if
    /// they cover all that it starts.
    pub(super) fn for_whole_command<'a>(
        &'a self,
        request: &'a Request,
        evaluation: &'a RuleEvaluation,
    ) -> impl Iterator<Item = &'a Approval> {
        let covers_programs = |approval: &&Approval| {
            evaluation
                .decisions
                .iter()
                .map(|decision| &decision.permission)
                .filter(|permission| request.is_ad_hoc_permission(permission))
                .all(|permission| approval.covers(permission))
        };
        self.for_programs
            .iter()
            .chain(&self.for_all_programs)
            .filter(covers_programs)
            .chain(&self.for_command)
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
pub(super) fn build_approval(pending: &PendingQuestion) -> Option<Approval> {
    let request = &pending.request;
    let digest = if request.ad_hoc_digest.is_some() {
        request.ad_hoc_content_digest()
    } else {
        request.digest.clone()
    }?;
    let permission = |decision: &PermissionDecision| decision.permission.clone();
    let granted = pending.question.granted.iter();
    let mut granted_by_rules: BTreeSet<Permission> = granted.map(permission).collect();
    granted_by_rules.retain(|permission| permission.capability().is_privileged());
    Some(Approval {
        name: request.name.clone(),
        directory: request.directory.clone(),
        digest,
        permissions: pending.question.permissions().map(permission).collect(),
        granted_by_rules,
        declared: request.declared_privileges(),
    })
}

/// Returns the approvals that a response for the session creates. For
/// [`AllowProgram`](Answer::AllowProgram) and
/// [`AllowCommands`](Answer::AllowCommands) these are the other permissions for this
/// command, and the programs for all commands on the same content or directory.
pub(super) fn build_session_approvals(
    pending: &PendingQuestion,
    response: Answer,
) -> Vec<Approval> {
    let request = &pending.request;
    let Some(mut approval) = build_approval(pending) else {
        return Vec::new();
    };
    let is_for_programs = matches!(response, Answer::AllowProgram | Answer::AllowCommands);
    let Some(digest) = request.programs_digest().filter(|_| is_for_programs) else {
        return vec![approval];
    };
    // Hosts and files are those of this command.
    let programs = approval
        .permissions
        .extract_if(.., |permission| request.is_ad_hoc_permission(permission))
        .collect();
    let of_programs = Approval {
        digest,
        permissions: programs,
        ..approval.clone()
    };
    let of_all_programs = request
        .all_programs_digest()
        .filter(|_| response == Answer::AllowCommands)
        .map(|digest| Approval {
            digest,
            permissions: BTreeSet::from([Permission::AnyProgram]),
            ..approval.clone()
        });
    [approval, of_programs]
        .into_iter()
        .chain(of_all_programs)
        .collect()
}

/// Returns what an answer about a request covers.
pub(super) fn coverage(request: &Request) -> Coverage {
    let is_command = request.ad_hoc_digest.is_some();
    let copied = request.copies.keys();
    let copied = copied.filter(|directory| is_command && **directory != request.directory);
    Coverage {
        digest: request.digest.clone(),
        is_command,
        is_command_alone: !request.is_skill_directory,
        directories: copied.cloned().collect(),
    }
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

/// Returns the notes of a question about risks that an approver may not see.
pub(super) fn risk_notes(request: &Request, pending: &[PermissionDecision]) -> Vec<String> {
    let has = |is_risk: fn(&Permission) -> bool| {
        pending.iter().any(|decision| is_risk(&decision.permission))
    };
    // The gravest first, and text of the skill last: a prompt can omit later notes.
    let mut notes = Vec::new();
    if has(|permission| matches!(permission, Permission::ReadKeys { .. })) {
        notes.push(
            "DANGEROUS: the program, and readers of its output, could read keys or passwords"
                .to_owned(),
        );
    }
    if has(|permission| matches!(permission, Permission::WriteProtected { .. })) {
        notes.push(
            "DANGEROUS: files written to a protected path can run outside of any sandbox later"
                .to_owned(),
        );
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
    if request.digest.is_none() {
        notes.push("the content has no digest: an approval covers this run only, and changes before the response are not detected".to_owned());
    }
    notes.extend(request.notes().iter().cloned());
    notes
}

//! Decisions on what an earlier attempt was refused, and on what it was allowed.

use crate::evaluation_result::RuleEvaluation;
use crate::question::RaisedLimit;
use crate::request::confinement::excludes;
use crate::requester::REFUSED_NAME;
use crate::{
    Capability, Decision, DecisionReason, EarlierAttempt, PermissionDecision, Policy, Request,
    Target,
};

/// Adds what was refused to an evaluation, as open permissions.
pub(crate) fn ask_for_refused(
    earlier: &EarlierAttempt,
    policy: &Policy,
    request: &Request,
    evaluation: &mut RuleEvaluation,
) {
    // Nobody could allow it: the run is not repeated, and a later one is not recognized.
    if !earlier.done.is_none() && request.digest.is_none() {
        return;
    }
    let refused = earlier.refused.iter();
    refused
        // A variable takes a value of the caller.
        .filter(|target| target.variable().is_none())
        .filter_map(|target| open(target, policy, request))
        .for_each(|decision| evaluation.ask_for(decision));
}

/// Returns the open decision on any program, for a run that was refused one; `None` if no answer could
/// allow it, or if a rule asks for programs by their names. The command of a caller is asked as it is.
pub(crate) fn all_programs(policy: &Policy, request: &Request) -> Option<PermissionDecision> {
    let earlier = request.earlier.as_ref()?;
    let mut names = earlier.refused.iter().filter_map(Target::program_name);
    let is_asked = earlier.done.is_none() && request.ad_hoc_digest.is_none();
    names.next().filter(|_| is_asked)?;
    open(&Target::from(Capability::Spawn), policy, request)
        .filter(|any| !policy.has_ask_rule(&request.directory, &any.permission))
}

/// Returns the open decision on what was refused; `None` if no answer could allow it.
fn open(target: &Target, policy: &Policy, request: &Request) -> Option<PermissionDecision> {
    let mut decision = policy.decide_as_if_allowed(request, target)?;
    if excludes(request, &decision.permission) {
        return None;
    }
    decision.requested_by = vec![REFUSED_NAME.to_owned()];
    if decision.decision == Decision::Allow {
        decision.resolve(Decision::Ask, DecisionReason::NoMatchingRule);
    }
    (decision.decision == Decision::Ask).then_some(decision)
}

/// Allows again what an approver allowed.
pub(crate) fn allow_again(earlier: &EarlierAttempt, evaluation: &mut RuleEvaluation) {
    let answered = earlier.decisions.iter().filter(|decision| {
        decision.decision == Decision::Allow && decision.reason.is_of_approver()
    });
    for decision in answered {
        let mut known = evaluation.decisions.iter_mut();
        let known = known.find(|known| known.permission == decision.permission);
        match known {
            Some(open) if open.decision == Decision::Ask => {
                open.resolve(Decision::Allow, decision.reason.clone());
            }
            Some(_) => {}
            None if decision.requested_by == [REFUSED_NAME] => evaluation.add(decision.clone()),
            None => {}
        }
    }
}

/// Returns the higher limit, if the policy allows it.
pub(crate) fn raised_limit(earlier: &EarlierAttempt, policy: &Policy) -> Option<RaisedLimit> {
    let ceiling = policy.ceiling();
    // It lasts for this run, which is not repeated if it has done something.
    let raised = earlier.raised.filter(|_| earlier.done.is_none());
    raised.filter(|raised| match raised {
        RaisedLimit::WallTime { from, to } => from < to && *to <= ceiling.wall_time,
        RaisedLimit::Memory { from, to } => from < to && *to <= ceiling.memory_bytes,
    })
}

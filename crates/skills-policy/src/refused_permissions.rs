//! Decisions on what an earlier attempt was refused, and on what it was allowed.

use crate::evaluation_result::RuleEvaluation;
use crate::question::RaisedLimit;
use crate::requester::REFUSED_NAME;
use crate::rule_requests::{named_permission, requested};
use crate::{
    Decision, DecisionReason, EarlierAttempt, Effect, PermissionDecision, Policy, Request, Rule,
    RuleSource, Target,
};

/// Adds what was refused to an evaluation, as open permissions.
pub(crate) fn ask_for_refused(
    earlier: &EarlierAttempt,
    policy: &Policy,
    request: &Request,
    evaluation: &mut RuleEvaluation,
) {
    let refused = earlier.refused.iter();
    refused
        .filter_map(|target| open(target, policy, request))
        .for_each(|decision| evaluation.ask_for(decision));
}

/// Returns the open decision on what was refused; `None` if no answer could allow it.
fn open(target: &Target, policy: &Policy, request: &Request) -> Option<PermissionDecision> {
    let rule = Rule::new(Effect::Allow, RuleSource::Invocation, target.clone());
    let permission = named_permission(&rule, request)?;
    if request.is_dropped(permission.capability()) {
        return None;
    }
    let mut requested = requested(permission, request);
    requested.requested_by = vec![REFUSED_NAME.to_owned()];
    // As if the user had allowed it: rules that deny or ask still decide.
    let allowed = policy.clone().rule(rule);
    let mut decision = allowed.decide_permission(request, requested);
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
    earlier.raised.filter(|raised| match raised {
        RaisedLimit::WallTime { from, to } => from < to && *to <= ceiling.wall_time,
        RaisedLimit::Memory { from, to } => from < to && *to <= ceiling.memory_bytes,
    })
}

//! What a further attempt of a run takes over from the one before.

use std::path::PathBuf;

use crate::evaluation_result::RuleEvaluation;
use crate::question::{RaisedLimit, RunEffects};
use crate::request::REFUSED_NAME;
use crate::rule_requests::{named_permission, requested};
use crate::{
    Decision, Effect, Grants, PermissionDecision, Policy, Request, ResourceLimits, Rule,
    RuleSource, Target,
};

/// An attempt of a run that ended, for a [further one](Request::after) of the same run.
///
/// What an approver allowed stays allowed. What the attempt was refused is asked, unless a rule denies
/// it: a refusal asks for no more than an option of the user could allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlierAttempt {
    /// The directory, the digest of its content and that of the command.
    identity: (PathBuf, Option<String>, Option<String>),
    decisions: Vec<PermissionDecision>,
    pub(crate) limits: ResourceLimits,
    /// What it was refused. Only what an enforcing layer observed belongs here: what a program prints
    /// must not choose what a user is asked.
    pub refused: Vec<Target>,
    /// The limit that it reached, with a higher value.
    pub raised: Option<RaisedLimit>,
    /// What it has done.
    pub done: RunEffects,
}

impl EarlierAttempt {
    /// Creates an attempt with these grants that was refused nothing and has done nothing. `request` is
    /// the one that they were granted for.
    pub fn new(request: &Request, grants: &Grants) -> Self {
        Self {
            identity: identity(request),
            decisions: grants.decisions().to_vec(),
            limits: grants.limits().clone(),
            refused: Vec::new(),
            raised: None,
            done: RunEffects::default(),
        }
    }

    /// Returns true if a request is about the same content and the same command, so that what an approver
    /// allowed then is allowed now.
    pub(crate) fn is_of(&self, request: &Request) -> bool {
        self.identity == identity(request)
    }

    /// Returns what was refused and can be asked, as decisions that are open.
    fn open(&self, policy: &Policy, request: &Request) -> Vec<PermissionDecision> {
        let decisions = self.refused.iter().filter_map(|target| {
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
            if decision.decision == Decision::Deny {
                return None;
            }
            if decision.decision == Decision::Allow {
                decision.resolve(Decision::Ask, crate::DecisionReason::NoMatchingRule);
            }
            Some(decision)
        });
        decisions.collect()
    }

    /// Adds what was refused to an evaluation.
    pub(crate) fn ask_for_refused(
        &self,
        policy: &Policy,
        request: &Request,
        evaluation: &mut RuleEvaluation,
    ) {
        for decision in self.open(policy, request) {
            evaluation.ask_for(decision);
        }
    }

    /// Allows again what an approver allowed.
    pub(crate) fn allow_again(&self, evaluation: &mut RuleEvaluation) {
        let answered = self.decisions.iter().filter(|decision| {
            decision.decision == Decision::Allow && decision.reason.is_of_approver()
        });
        for decision in answered {
            let open = evaluation.decisions.iter_mut().find(|open| {
                open.permission == decision.permission && open.decision == Decision::Ask
            });
            match open {
                Some(open) => open.resolve(Decision::Allow, decision.reason.clone()),
                None if decision.requested_by == [REFUSED_NAME] => {
                    evaluation.add(decision.clone());
                }
                None => {}
            }
        }
    }

    /// Returns the higher limit, if the policy allows it.
    pub(crate) fn raised(&self, policy: &Policy) -> Option<RaisedLimit> {
        let ceiling = policy.ceiling();
        self.raised.filter(|raised| match raised {
            RaisedLimit::WallTime { from, to } => from < to && *to <= ceiling.wall_time,
            RaisedLimit::Memory { from, to } => from < to && *to <= ceiling.memory_bytes,
        })
    }
}

fn identity(request: &Request) -> (PathBuf, Option<String>, Option<String>) {
    let digests = (request.digest.clone(), request.ad_hoc_digest.clone());
    (request.directory.clone(), digests.0, digests.1)
}

impl RaisedLimit {
    /// Sets the higher limit.
    pub(crate) fn apply(self, limits: &mut ResourceLimits) {
        match self {
            Self::WallTime { to, .. } => limits.wall_time = to,
            Self::Memory { to, .. } => limits.memory_bytes = to,
        }
    }
}

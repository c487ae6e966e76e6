//! The rules and how they are applied.

use std::collections::BTreeSet;
use std::path::Path;

use crate::path::{is_comparable, is_program_name};
use crate::request::{Basis, RequestedPermission};
use crate::target::Kind;
use crate::{
    Authorization, Capability, Decision, DecisionReason, Denial, Effect, Grants, HostPattern,
    Permission, PermissionDecision, Request, ResourceLimits, Rule, RuleSource, Target,
    is_unsafe_variable, is_variable_name,
};

/// What may be granted.
///
/// Defaults: reading is allowed, everything else is asked for ([`ApprovalMode::Ask`]), up to
/// [`ResourceLimits::default_ceiling`], and content that nobody approved is asked for when a
/// standing rule would give it power ([`NewContentPolicy::AskIfPrivileged`]).
///
/// The order in which rules are added decides nothing. A deny beats an ask and an ask beats an
/// allow, wherever they stand, with one exception: what the [session](RuleSource::Invocation)
/// allows answers what anybody but the [administrator](RuleSource::Admin) wants asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    rules: Vec<Rule>,
    mode: ApprovalMode,
    new_content: NewContentPolicy,
    is_project_trusted: bool,
    ceiling: ResourceLimits,
}

/// What happens to things that no rule decides.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// They are denied, and nobody is asked anything: rules and stored approvals decide alone.
    Strict,
    /// Somebody is asked; without an answer they are denied.
    #[default]
    Ask,
    /// What a skill declares is granted. What rules forbid or want asked still is, and so is what
    /// the skill does not declare.
    Trusted,
}

/// What happens to content that was never approved.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum NewContentPolicy {
    /// Somebody is asked before its first run, whatever it wants.
    Ask,
    /// Somebody is asked when a rule that was written before would give it more than every program
    /// gets. With the default grants alone it runs: that is what the OpenSkills flow does with
    /// skills of low risk.
    #[default]
    #[serde(rename = "ask-with-power")]
    AskIfPrivileged,
    /// It is treated like any other.
    Allow,
}

/// What the rules say, before anybody was asked.
#[derive(Debug)]
pub(crate) struct RuleEvaluation {
    pub(crate) decisions: Vec<PermissionDecision>,
    pub(crate) denied_hosts: BTreeSet<HostPattern>,
}

impl Default for Policy {
    fn default() -> Self {
        let reading = Rule::new(Effect::Allow, RuleSource::BuiltIn, Capability::Read);
        Self {
            rules: vec![reading],
            mode: ApprovalMode::default(),
            new_content: NewContentPolicy::default(),
            is_project_trusted: false,
            ceiling: ResourceLimits::default_ceiling(),
        }
    }
}

impl Policy {
    /// Adds a rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds rules.
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Allows something.
    pub fn allow(self, layer: RuleSource, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Allow, layer, target))
    }

    /// Forbids something, whatever else allows it.
    pub fn deny(self, layer: RuleSource, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Deny, layer, target))
    }

    /// Says what happens to things that no rule decides.
    pub fn with_mode(mut self, mode: ApprovalMode) -> Self {
        self.mode = mode;
        self
    }

    /// Says what happens to content that was never approved.
    pub fn with_new_content(mut self, new_content: NewContentPolicy) -> Self {
        self.new_content = new_content;
        self
    }

    /// Lets the rules of the project allow as well; otherwise they only narrow.
    pub fn trust_project(mut self) -> Self {
        self.is_project_trusted = true;
        self
    }

    /// Sets the most that any run may use.
    pub fn with_ceiling(mut self, limits: ResourceLimits) -> Self {
        self.ceiling = limits;
        self
    }

    /// Lowers the most that any run may use; it never rises.
    pub fn lower_ceiling(mut self, limits: &ResourceLimits) -> Self {
        self.ceiling = self.ceiling.min(limits);
        self
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns what happens to things that no rule decides.
    #[must_use]
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    pub(crate) fn effective_limits(&self, request: &Request) -> ResourceLimits {
        request.limits.min(&self.ceiling)
    }

    /// Returns what happens to content that was never approved.
    #[must_use]
    pub fn new_content(&self) -> NewContentPolicy {
        self.new_content
    }

    /// Returns the most that any run may use.
    pub fn ceiling(&self) -> &ResourceLimits {
        &self.ceiling
    }

    /// Decides by the rules alone: what would have to be asked for is denied.
    pub fn authorize(&self, request: &Request) -> Authorization {
        let mut ruling = self.evaluate(request);
        let reason = self.no_approver_reason();
        for verdict in ruling
            .decisions
            .iter_mut()
            .filter(|verdict| verdict.decision == Decision::Ask)
        {
            verdict.resolve(Decision::Deny, reason.clone());
        }
        self.finish(request, ruling)
    }

    /// Why something open is denied when nobody is asked.
    pub(crate) fn no_approver_reason(&self) -> DecisionReason {
        if self.mode == ApprovalMode::Strict {
            DecisionReason::StrictMode
        } else {
            DecisionReason::NoApprover
        }
    }

    /// Turns a ruling in which nothing is open into a decision.
    pub(crate) fn finish(&self, request: &Request, ruling: RuleEvaluation) -> Authorization {
        if ruling
            .decisions
            .iter()
            .all(|verdict| verdict.decision == Decision::Allow)
        {
            return Authorization::Granted(Grants::from_evaluation(request, ruling, &self.ceiling));
        }
        Authorization::Denied(Denial {
            decisions: ruling.decisions,
            content_reason: None,
            notes: Vec::new(),
        })
    }

    /// Says what the rules say of each thing.
    pub(crate) fn evaluate(&self, request: &Request) -> RuleEvaluation {
        let about = || {
            self.rules
                .iter()
                .filter(|rule| rule.applies_to(&request.directory))
        };
        let hosts = |effect: Effect| {
            let hosts = about().filter(move |rule| {
                rule.effect == effect && (effect == Effect::Deny || self.may_allow(rule))
            });
            hosts
                .filter_map(|rule| {
                    if let Kind::Host(pattern) = &rule.target.0 {
                        Some(pattern.clone())
                    } else {
                        None
                    }
                })
                .collect()
        };
        let (listed_hosts, denied_hosts): (BTreeSet<HostPattern>, BTreeSet<HostPattern>) =
            (hosts(Effect::Allow), hosts(Effect::Deny));
        let wanted = expand_listed_hosts(request.requested_permissions(), &listed_hosts);
        let verdicts = wanted
            .into_iter()
            .map(|wanted| self.decide_permission(request, wanted))
            .collect();
        RuleEvaluation {
            decisions: verdicts,
            denied_hosts,
        }
    }

    fn decide_permission(
        &self,
        request: &Request,
        wanted: RequestedPermission,
    ) -> PermissionDecision {
        let (fate, reason) = self.evaluate_permission(request, &wanted);
        let wants_asked = match (&fate, &reason) {
            (
                Decision::Ask,
                DecisionReason::Rule {
                    source: layer,
                    text,
                },
            ) => Some((*layer, text.clone())),
            _ => None,
        };
        PermissionDecision {
            permission: wanted.permission,
            requested_by: wanted.requested_by,
            decision: fate,
            reason,
            ask_rule: wants_asked,
        }
    }

    fn evaluate_permission(
        &self,
        request: &Request,
        wanted: &RequestedPermission,
    ) -> (Decision, DecisionReason) {
        let permission = &wanted.permission;
        if let Some(because) = forbidden_reason(request, wanted) {
            return (
                Decision::Deny,
                DecisionReason::Forbidden { reason: because },
            );
        }
        let MatchingRules {
            deny,
            admin_ask,
            ask,
            invocation: session,
            allow,
        } = self.matching_rules(&request.directory, permission);
        if let Some(rule) = deny {
            return (Decision::Deny, rule_reason(rule));
        }
        match (ask, session, allow) {
            _ if admin_ask.is_some() => (
                Decision::Ask,
                admin_ask.map_or(DecisionReason::NoMatchingRule, rule_reason),
            ),
            (Some(_), Some(session), _) => (Decision::Allow, rule_reason(session)),
            (Some(ask), None, _) => (Decision::Ask, rule_reason(ask)),
            // Whoever started this run knows what is there now; other rules were written before.
            (None, Some(rule), _) | (None, None, Some(rule)) => {
                (Decision::Allow, rule_reason(rule))
            }
            (None, None, None) if wanted.basis == Basis::ByCaller => {
                (Decision::Allow, DecisionReason::ProvidedByCaller)
            }
            (None, None, None)
                if self.mode == ApprovalMode::Trusted
                    && wanted.basis == Basis::Declared
                    && !matches!(permission, Permission::WriteProtected { .. }) =>
            {
                (Decision::Allow, DecisionReason::TrustedMode)
            }
            (None, None, None) => (Decision::Ask, DecisionReason::NoMatchingRule),
        }
    }

    /// Finds, in one pass, the rules that decide on something; of several the one of the most
    /// general layer is named, the first of these.
    fn matching_rules(&self, directory: &Path, permission: &Permission) -> MatchingRules<'_> {
        let mut found = MatchingRules::default();
        for rule in self.rules.iter().filter(|rule| rule.applies_to(directory)) {
            match rule.effect {
                Effect::Deny if rule.target.forbids(permission) => {
                    keep_more_general(&mut found.deny, rule)
                }
                Effect::Ask if rule.target.overlaps(permission) => {
                    keep_more_general(&mut found.ask, rule);
                    if rule.source == RuleSource::Admin {
                        keep_more_general(&mut found.admin_ask, rule);
                    }
                }
                Effect::Allow if rule.target.allows(permission) && self.may_allow(rule) => {
                    keep_more_general(&mut found.allow, rule);
                    if rule.source == RuleSource::Invocation {
                        keep_more_general(&mut found.invocation, rule);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn may_allow(&self, rule: &Rule) -> bool {
        rule.source != RuleSource::Project || self.is_project_trusted
    }
}

/// The rules that decide on something.
#[derive(Default)]
struct MatchingRules<'a> {
    deny: Option<&'a Rule>,
    /// An ask of the administrator.
    admin_ask: Option<&'a Rule>,
    ask: Option<&'a Rule>,
    /// An allow of the session.
    invocation: Option<&'a Rule>,
    allow: Option<&'a Rule>,
}

fn keep_more_general<'a>(known: &mut Option<&'a Rule>, rule: &'a Rule) {
    if known.is_none_or(|known| rule.source < known.source) {
        *known = Some(rule);
    }
}

/// Why something is never granted.
fn forbidden_reason(request: &Request, wanted: &RequestedPermission) -> Option<&'static str> {
    let directory = request.is_skill_directory.then_some(&request.directory);
    match &wanted.permission {
        Permission::Invalid(..) => Some("nobody knows what that means"),
        // Rules compare paths part by part.
        Permission::Read(path)
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            if request.hidden.iter().any(|hidden| path.starts_with(hidden)) =>
        {
            Some("it is a directory of this host for its own state, which no program sees")
        }
        Permission::Read(path)
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            if !is_comparable(path) =>
        {
            Some("the path is relative, no text, or has `..` in it")
        }
        // A program could change its own instructions.
        Permission::Write(path) | Permission::WriteProtected { path, .. }
            if directory.is_some_and(|directory| {
                path.starts_with(directory) || directory.starts_with(path)
            }) =>
        {
            Some("the program itself lies there, and must stay as it is")
        }
        Permission::Program(name) if !is_program_name(name) => Some("that is no name of a program"),
        Permission::Variable(name) if !is_variable_name(name) => {
            Some("that is no name of a variable")
        }
        Permission::Variable(name) if is_unsafe_variable(name) => {
            Some("such a variable decides what runs or whom it talks to")
        }
        _ if wanted.basis == Basis::ExceedsDeclaration => {
            Some("`allowed-tools` names what the skill needs, and not this")
        }
        _ => None,
    }
}

/// Replaces a request for listed hosts by each host that rules list, or by all hosts if there are
/// none, so that an approval cannot mean more later. A host that is requested by name as well
/// appears once.
fn expand_listed_hosts(
    wanted: Vec<RequestedPermission>,
    listed: &BTreeSet<HostPattern>,
) -> Vec<RequestedPermission> {
    let mut all: Vec<RequestedPermission> = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let permissions = match &wanted.permission {
            Permission::ListedHosts if listed.is_empty() => {
                vec![Permission::Host(HostPattern::ANY)]
            }
            Permission::ListedHosts => listed.iter().cloned().map(Permission::Host).collect(),
            permission => vec![permission.clone()],
        };
        for permission in permissions {
            match all.iter_mut().find(|known| known.permission == permission) {
                Some(known) => wanted
                    .requested_by
                    .iter()
                    .for_each(|by| known.merge(by.clone(), wanted.basis)),
                None => all.push(RequestedPermission {
                    permission,
                    ..wanted.clone()
                }),
            }
        }
    }
    all
}

fn rule_reason(rule: &Rule) -> DecisionReason {
    DecisionReason::Rule {
        source: rule.source,
        text: rule.to_string(),
    }
}

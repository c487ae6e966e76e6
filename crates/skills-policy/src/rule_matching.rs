//! Matches rules against the permissions of a request, and decides each permission.

use std::collections::BTreeSet;
use std::path::Path;

use crate::evaluation_result::RuleEvaluation;
use crate::path::{is_comparable, is_program_name, paths_overlap};
use crate::request::confinement::excludes;
use crate::request::{Basis, RequestedPermission};
use crate::requester::{CALLER_NAME, NOT_DECLARED, RULES_NAME};
use crate::rule_requests::requested_by_rules;
use crate::target::Kind;
use crate::{
    ApprovalMode, Capability, Decision, DecisionReason, Effect, FreeProgram, HostPattern,
    Permission, PermissionDecision, Policy, Request, Rule, RuleSource, Target, is_unsafe_variable,
    is_variable_name,
};

impl Policy {
    /// Applies the rules to each requested permission, and adds those that rules request and
    /// allow.
    pub(crate) fn evaluate(&self, request: &Request) -> RuleEvaluation {
        let listed_hosts = self.hosts_of_rules(request, Effect::Allow);
        let requested = expand_listed_hosts(request.requested_permissions(), &listed_hosts);
        let mut evaluation = RuleEvaluation {
            decisions: requested
                .into_iter()
                .map(|requested| self.decide_permission(request, requested))
                .collect(),
            denied_hosts: self.hosts_of_rules(request, Effect::Deny),
        };
        for requested in requested_by_rules(self.allow_rules(request), request) {
            self.add_allowed(request, requested, &mut evaluation);
        }
        evaluation
    }

    /// Adds a permission that the operator requests, if the rules allow it. Otherwise nothing
    /// changes: neither the skill nor the caller asked for it.
    fn add_allowed(
        &self,
        request: &Request,
        requested: RequestedPermission,
        evaluation: &mut RuleEvaluation,
    ) {
        let decision = self.decide_permission(request, requested);
        if decision.decision == Decision::Allow {
            evaluation.add(decision);
        }
    }

    /// Adds a permission that a user approved for the content, unless a rule denies it.
    pub(crate) fn add_approved(
        &self,
        request: &Request,
        permission: &Permission,
        evaluation: &mut RuleEvaluation,
    ) {
        if excludes(request, permission) {
            return;
        }
        let requested = RequestedPermission {
            permission: permission.clone(),
            requested_by: vec![RULES_NAME.to_owned()],
            basis: Basis::ByRule,
        };
        let mut decision = self.decide_permission(request, requested);
        if decision.decision == Decision::Ask {
            decision.resolve(Decision::Allow, DecisionReason::PreviouslyApproved);
        }
        if decision.decision == Decision::Allow {
            evaluation.add(decision);
        }
    }

    /// Returns the hosts that rules with an effect name.
    fn hosts_of_rules(&self, request: &Request, effect: Effect) -> BTreeSet<HostPattern> {
        self.rules
            .iter()
            .filter(|rule| rule.effect == effect && rule.applies_to(&request.directory))
            // Denied hosts of an untrusted project count: it may restrict.
            .filter(|rule| effect == Effect::Deny || self.may_allow(rule))
            .filter_map(|rule| match &rule.target.0 {
                Kind::Host(pattern) => Some(pattern.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns the `deny` rule for a permission of programs of the skill in `directory`, if there is
    /// one. For what a run does without requesting it, such as installing the packages that a
    /// requested package needs.
    #[must_use]
    pub fn denying_rule(&self, directory: &Path, permission: &Permission) -> Option<&Rule> {
        let allows = |_: &Target| false;
        self.matching_rules(directory, permission, allows).deny
    }

    /// Returns true if an `ask` rule matches a permission or a part of it, whatever allows the rest.
    pub(crate) fn has_ask_rule(&self, directory: &Path, permission: &Permission) -> bool {
        let allows = |_: &Target| false;
        let rules = self.matching_rules(directory, permission, allows);
        rules.ask.is_some()
    }

    pub(crate) fn decide_permission(
        &self,
        request: &Request,
        requested: RequestedPermission,
    ) -> PermissionDecision {
        let (decision, reason) = self.evaluate_permission(request, &requested);
        let ask_rule = match (decision, &reason) {
            (Decision::Ask, DecisionReason::Rule { source, text }) => Some((*source, text.clone())),
            _ => None,
        };
        PermissionDecision {
            permission: requested.permission,
            requested_by: requested.requested_by,
            decision,
            reason,
            ask_rule,
        }
    }

    fn evaluate_permission(
        &self,
        request: &Request,
        requested: &RequestedPermission,
    ) -> (Decision, DecisionReason) {
        // First, so that no rule of any source can allow it.
        if let Some(reason) = forbidden_reason(request, requested) {
            return (Decision::Deny, DecisionReason::Forbidden { reason });
        }
        let permission = &requested.permission;
        let rules = self.matching_rules(&request.directory, permission, |target| {
            requested.is_allowed_by(target)
        });
        if let Some(rule) = rules.deny {
            return (Decision::Deny, rule_reason(rule));
        }
        // An administrator's `ask` is not satisfied by an option that any user can type.
        if let Some(rule) = rules.admin_ask {
            return (Decision::Ask, rule_reason(rule));
        }
        // The caller of this run knows what the skill contains now; other rules are older.
        if let Some(rule) = rules.invocation_allow {
            return (Decision::Allow, rule_reason(rule));
        }
        if let Some(rule) = rules.ask {
            return (Decision::Ask, rule_reason(rule));
        }
        if let Some(rule) = rules.allow {
            return (Decision::Allow, rule_reason(rule));
        }
        if is_free_command(request, requested) {
            return (Decision::Allow, DecisionReason::ReadingProgram);
        }
        // The caller has the value already; a rule can still deny or ask.
        if requested.basis == Basis::ByCaller {
            return (Decision::Allow, DecisionReason::ProvidedByCaller);
        }
        // Trusted mode covers what a skill does now, not what other programs execute later, and no
        // service of the user's machine.
        let is_sensitive = match &requested.permission {
            Permission::WriteProtected { .. } | Permission::ReadKeys { .. } => true,
            Permission::Host(host) => host.port().is_some(),
            _ => false,
        };
        if self.mode == ApprovalMode::Trusted && requested.basis == Basis::Declared && !is_sensitive
        {
            return (Decision::Allow, DecisionReason::TrustedMode);
        }
        (Decision::Ask, DecisionReason::NoMatchingRule)
    }

    /// Returns the rules that match a permission. Of several with one effect the decision names
    /// that of the most general source, and the first of these.
    fn matching_rules(
        &self,
        directory: &Path,
        permission: &Permission,
        allows: impl Fn(&Target) -> bool,
    ) -> MatchingRules<'_> {
        let mut found = MatchingRules::default();
        // One pass without an early exit: a later `deny` rule must be found in any order.
        for rule in self.rules.iter().filter(|rule| rule.applies_to(directory)) {
            match rule.effect {
                Effect::Deny if rule.target.forbids(permission) => {
                    keep_more_general(&mut found.deny, rule)
                }
                Effect::Ask if rule.target.overlaps(permission) => {
                    keep_more_general(&mut found.ask, rule);
                    // Separate, because `ask` may hold a built-in rule, which an invocation
                    // overrides.
                    if rule.source == RuleSource::Admin {
                        keep_more_general(&mut found.admin_ask, rule);
                    }
                }
                Effect::Allow if allows(&rule.target) && self.may_allow(rule) => {
                    keep_more_general(&mut found.allow, rule);
                    if rule.source == RuleSource::Invocation {
                        keep_more_general(&mut found.invocation_allow, rule);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the `allow` rules that apply to a request.
    pub(crate) fn allow_rules(&self, request: &Request) -> impl Iterator<Item = &Rule> {
        let rules = self
            .rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow);
        rules.filter(|rule| rule.applies_to(&request.directory) && self.may_allow(rule))
    }

    fn may_allow(&self, rule: &Rule) -> bool {
        // A project's rules come with its repository, possibly from the author of the skill.
        rule.source != RuleSource::Project || self.is_project_trusted
    }
}

/// The rules that match one permission.
#[derive(Default)]
struct MatchingRules<'a> {
    deny: Option<&'a Rule>,
    /// An `ask` rule of the administrator.
    admin_ask: Option<&'a Rule>,
    ask: Option<&'a Rule>,
    /// An `allow` rule of the invocation.
    invocation_allow: Option<&'a Rule>,
    allow: Option<&'a Rule>,
}

fn keep_more_general<'a>(current: &mut Option<&'a Rule>, rule: &'a Rule) {
    // Strictly smaller: of one source the first rule is named, as in the file.
    if current.is_none_or(|current| rule.source < current.source) {
        *current = Some(rule);
    }
}

/// Returns true for a command of the caller that is a free program, which is confined if it does more
/// than read: it can do nothing that a script cannot do without it. What a skill declares is not free, since its scripts would get the
/// permission to start processes.
fn is_free_command(request: &Request, requested: &RequestedPermission) -> bool {
    let is_free = matches!(
        &requested.permission,
        Permission::Program(name) if FreeProgram::of(name)
            .is_some_and(|program| request.is_confined || !program.does_more())
    );
    is_free
        && request.is_ad_hoc_permission(&requested.permission)
        && requested
            .requested_by
            .iter()
            .any(|name| name == CALLER_NAME)
}

/// Returns why a permission is never granted, whatever the rules say.
fn forbidden_reason(request: &Request, requested: &RequestedPermission) -> Option<&'static str> {
    let skill_directory = request.is_skill_directory.then_some(&request.directory);
    match &requested.permission {
        Permission::Invalid(Capability::Spawn, _) => {
            Some("the pattern is invalid, expected a program name such as `git:*`")
        }
        Permission::Invalid(..) => Some("the pattern is invalid, expected `domain:HOST`"),
        Permission::Read(path)
        | Permission::ReadKeys { path, .. }
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            if request.hidden.iter().any(|hidden| path.starts_with(hidden)) =>
        {
            Some("it contains state of the host, which no run may access")
        }
        Permission::Read(path)
        | Permission::ReadKeys { path, .. }
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            // Rules compare paths by component; these would match the wrong ones.
            if !is_comparable(path) =>
        {
            Some("the path is relative, not UTF-8 or contains `..`")
        }
        // A skill could otherwise change its own instructions and scripts after their approval. In a
        // writable parent directory the grants protect it.
        Permission::Write(path) | Permission::WriteProtected { path, .. }
            if skill_directory.is_some_and(|directory| path.starts_with(directory)) =>
        {
            Some("the skill directory is always read-only")
        }
        // Not only in grants, since not every backend can exclude a path from a wider one.
        Permission::Write(path) | Permission::WriteProtected { path, .. }
            if request.read_only.iter().any(|own| paths_overlap(own, path)) =>
        {
            Some("it contains files of the host application, which no run may change")
        }
        Permission::Program(name) if !is_program_name(name) => Some("it is not a valid program name"),
        Permission::Variable(name) if !is_variable_name(name) => {
            Some("it is not a valid variable name")
        }
        Permission::Variable(name) if is_unsafe_variable(name) => {
            Some("the variable can change which code runs or which hosts are trusted; it is never granted")
        }
        // A model that calls a skill must not extend it beyond what its author declared.
        _ if requested.basis == Basis::ExceedsDeclaration => Some(NOT_DECLARED),
        _ => None,
    }
}

/// Expands [`Permission::ListedHosts`] into the hosts that rules list, or `*` if there are none, so
/// that an approval cannot widen when rules change. A host that is also requested by name appears
/// once.
fn expand_listed_hosts(
    requested: Vec<RequestedPermission>,
    listed: &BTreeSet<HostPattern>,
) -> Vec<RequestedPermission> {
    let mut all: Vec<RequestedPermission> = Vec::with_capacity(requested.len());
    for requested in requested {
        let permissions = match &requested.permission {
            // The approver has to see that nothing limits the hosts.
            Permission::ListedHosts if listed.is_empty() => {
                vec![Permission::Host(HostPattern::ANY)]
            }
            Permission::ListedHosts => listed.iter().cloned().map(Permission::Host).collect(),
            permission => vec![permission.clone()],
        };
        for permission in permissions {
            match all.iter_mut().find(|known| known.permission == permission) {
                Some(known) => requested
                    .requested_by
                    .iter()
                    .for_each(|requester| known.merge(requester.clone(), requested.basis)),
                None => all.push(RequestedPermission {
                    permission,
                    ..requested.clone()
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

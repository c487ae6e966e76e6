//! The policy: rules, approval mode and ceiling, and how they are applied.

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

/// Rules, approval mode, policy for new content, and the ceiling of resource limits.
///
/// Defaults: a built-in rule allows reading, everything else needs approval
/// ([`ApprovalMode::Ask`]), new content needs approval if a standing rule grants it a privilege
/// ([`NewContentPolicy::AskIfPrivileged`]), and the ceiling is
/// [`ResourceLimits::default_ceiling`].
///
/// The order in which rules are added has no effect. `deny` beats `ask` and `ask` beats `allow`,
/// whatever their sources, with one exception: an `allow` of the
/// [invocation](RuleSource::Invocation) satisfies `ask` rules of every source but the
/// [administrator](RuleSource::Admin).
///
/// ```
/// use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource};
///
/// let request = Request::new("/skills/release").allowed_tool("Bash", Some("git:*"));
/// let user = Policy::default()
///     .rule(Rule::parse(Effect::Ask, RuleSource::User, "spawn:git")?)
///     .rule(Rule::parse(Effect::Allow, RuleSource::User, "spawn")?);
/// assert!(matches!(user.authorize(&request), Authorization::Denied(_)));
///
/// let flag = Rule::parse(Effect::Allow, RuleSource::Invocation, "spawn:git")?;
/// let invocation = user.rule(flag);
/// assert!(matches!(invocation.authorize(&request), Authorization::Granted(_)));
///
/// let deny = Rule::parse(Effect::Deny, RuleSource::Project, "spawn:git")?;
/// assert!(matches!(invocation.rule(deny).authorize(&request), Authorization::Denied(_)));
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    rules: Vec<Rule>,
    mode: ApprovalMode,
    new_content: NewContentPolicy,
    is_project_trusted: bool,
    ceiling: ResourceLimits,
}

/// How permissions are decided that no rule decides, and those with an `ask` rule.
///
/// In policy files `strict`, `ask` or `trusted`. No mode overrides a `deny` rule, and none grants a
/// protected path or a hook.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Denied, and no approver is asked: rules and stored approvals decide alone. For servers and
    /// continuous integration.
    Strict,
    /// An approver is asked; without a response they are denied.
    #[default]
    Ask,
    /// What a skill declares is granted. `deny` and `ask` rules still apply, and what the skill
    /// does not declare needs approval.
    Trusted,
}

/// Whether content that was never approved may run.
///
/// A rule such as `allow spawn:git` is written for the skills of that day. This setting decides
/// whether it also applies to a skill, or to an update, that came later.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum NewContentPolicy {
    /// It needs approval before its first run, whatever it requests.
    Ask,
    /// It needs approval if a standing rule or trusted mode grants it a privilege, anything but
    /// reading. With the default grants alone it runs, as skills of low risk do in the OpenSkills
    /// flow. In policy files `ask-if-privileged`; `ask-with-power` is a
    /// former spelling.
    #[default]
    #[serde(alias = "ask-with-power")]
    AskIfPrivileged,
    /// It is treated like approved content.
    Allow,
}

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

impl Default for Policy {
    fn default() -> Self {
        let allow_reading = Rule::new(Effect::Allow, RuleSource::BuiltIn, Capability::Read);
        Self {
            rules: vec![allow_reading],
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

    /// Adds an `allow` rule.
    pub fn allow(self, source: RuleSource, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Allow, source, target))
    }

    /// Adds a `deny` rule, which no other rule, mode or approval overrides.
    pub fn deny(self, source: RuleSource, target: impl Into<Target>) -> Self {
        self.rule(Rule::new(Effect::Deny, source, target))
    }

    /// Sets the approval mode. Default: [`ApprovalMode::Ask`].
    pub fn with_mode(mut self, mode: ApprovalMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the policy for new content. Default: [`NewContentPolicy::AskIfPrivileged`].
    pub fn with_new_content(mut self, new_content: NewContentPolicy) -> Self {
        self.new_content = new_content;
        self
    }

    /// Lets `allow` rules of the project apply. By default they are ignored, since a project comes
    /// from its repository, and only its `ask` and `deny` rules apply.
    pub fn trust_project(mut self) -> Self {
        self.is_project_trusted = true;
        self
    }

    /// Sets the ceiling of resource limits for any run.
    pub fn with_ceiling(mut self, limits: ResourceLimits) -> Self {
        self.ceiling = limits;
        self
    }

    /// Lowers the ceiling to the smaller value of each limit; it is never raised.
    pub fn lower_ceiling(mut self, limits: &ResourceLimits) -> Self {
        self.ceiling = self.ceiling.min(limits);
        self
    }

    /// Returns the rules in the order in which they were added, the built-in one first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the approval mode.
    #[must_use]
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    pub(crate) fn effective_limits(&self, request: &Request) -> ResourceLimits {
        request.limits.min(&self.ceiling)
    }

    /// Returns the policy for new content.
    #[must_use]
    pub fn new_content(&self) -> NewContentPolicy {
        self.new_content
    }

    /// Returns the ceiling of resource limits.
    pub fn ceiling(&self) -> &ResourceLimits {
        &self.ceiling
    }

    /// Authorizes a request by rules alone: everything that needs approval is denied. Stored
    /// approvals and the policy for new content take a
    /// [`PermissionManager`](crate::PermissionManager).
    pub fn authorize(&self, request: &Request) -> Authorization {
        let mut evaluation = self.evaluate(request);
        evaluation.resolve_pending(Decision::Deny, &self.no_approver_reason());
        self.finish(request, evaluation)
    }

    /// Returns why a permission that needs approval is denied without an approver.
    pub(crate) fn no_approver_reason(&self) -> DecisionReason {
        if self.mode == ApprovalMode::Strict {
            DecisionReason::StrictMode
        } else {
            DecisionReason::NoApprover
        }
    }

    /// Returns the authorization of an evaluation without pending permissions. A pending one counts
    /// as denied.
    pub(crate) fn finish(&self, request: &Request, evaluation: RuleEvaluation) -> Authorization {
        if evaluation
            .decisions
            .iter()
            .all(|decision| decision.decision == Decision::Allow)
        {
            let grants = Grants::from_evaluation(request, evaluation, &self.ceiling);
            return Authorization::Granted(grants);
        }
        Authorization::Denied(Denial {
            decisions: evaluation.decisions,
            content_reason: None,
            notes: Vec::new(),
        })
    }

    /// Applies the rules to each requested permission.
    pub(crate) fn evaluate(&self, request: &Request) -> RuleEvaluation {
        let listed_hosts = self.hosts_of_rules(request, Effect::Allow);
        let requested = expand_listed_hosts(request.requested_permissions(), &listed_hosts);
        RuleEvaluation {
            decisions: requested
                .into_iter()
                .map(|requested| self.decide_permission(request, requested))
                .collect(),
            denied_hosts: self.hosts_of_rules(request, Effect::Deny),
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

    fn decide_permission(
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
        let rules = self.matching_rules(&request.directory, &requested.permission);
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
        // The caller has the value already; a rule can still deny or ask.
        if requested.basis == Basis::ByCaller {
            return (Decision::Allow, DecisionReason::ProvidedByCaller);
        }
        // Trusted mode covers what a skill does now, not what other programs execute later.
        let is_protected = matches!(requested.permission, Permission::WriteProtected { .. });
        if self.mode == ApprovalMode::Trusted && requested.basis == Basis::Declared && !is_protected
        {
            return (Decision::Allow, DecisionReason::TrustedMode);
        }
        (Decision::Ask, DecisionReason::NoMatchingRule)
    }

    /// Returns the rules that match a permission. Of several with one effect the decision names
    /// that of the most general source, and the first of these.
    fn matching_rules(&self, directory: &Path, permission: &Permission) -> MatchingRules<'_> {
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
                Effect::Allow if rule.target.allows(permission) && self.may_allow(rule) => {
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

/// Returns why a permission is never granted, whatever the rules say.
fn forbidden_reason(request: &Request, requested: &RequestedPermission) -> Option<&'static str> {
    let skill_directory = request.is_skill_directory.then_some(&request.directory);
    match &requested.permission {
        Permission::Invalid(Capability::Spawn, _) => {
            Some("the pattern is invalid, expected a program name such as `git:*`")
        }
        Permission::Invalid(..) => Some("the pattern is invalid, expected `domain:HOST`"),
        Permission::Read(path)
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            if request.hidden.iter().any(|hidden| path.starts_with(hidden)) =>
        {
            Some("it contains state of the host, which no run may access")
        }
        Permission::Read(path)
        | Permission::Write(path)
        | Permission::WriteProtected { path, .. }
            // Rules compare paths by component; these would match the wrong ones.
            if !is_comparable(path) =>
        {
            Some("the path is relative, not UTF-8 or contains `..`")
        }
        // Parents too: a writable parent directory could be replaced as a whole. A skill could
        // otherwise change its own instructions and scripts after their approval.
        Permission::Write(path) | Permission::WriteProtected { path, .. }
            if skill_directory.is_some_and(|directory| {
                path.starts_with(directory) || directory.starts_with(path)
            }) =>
        {
            Some("the skill directory is always read-only")
        }
        Permission::Program(name) if !is_program_name(name) => Some("it is not a valid program name"),
        Permission::Variable(name) if !is_variable_name(name) => {
            Some("it is not a valid variable name")
        }
        Permission::Variable(name) if is_unsafe_variable(name) => {
            Some("it can change which code runs or whom it trusts, and is never granted")
        }
        // A model that calls a skill must not extend it beyond what its author declared.
        _ if requested.basis == Basis::ExceedsDeclaration => {
            Some("the `allowed-tools` of the skill do not include it")
        }
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

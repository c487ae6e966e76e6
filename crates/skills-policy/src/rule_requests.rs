//! Permissions that `allow` rules add to the request of a run.
//!
//! Few skills declare what their programs need. So what an operator allows is also requested, for
//! every skill that the rule applies to: a rule for something without a request would have no
//! effect, and a program would fail although its user allowed what it does.
//!
//! One exception: a standing rule for all programs or hosts adds nothing to a skill that declares
//! the ones it needs, unless the rule names a directory of skills.

use crate::request::{Basis, RULES_NAME, RequestedPermission};
use crate::target::Kind;
use crate::{
    Capability, Decision, DecisionReason, Effect, HostPattern, Permission, PermissionDecision,
    PermissionManager, Policy, Request, Rule, RuleSource, Target,
};

impl Policy {
    /// Returns the permissions that rules allow by name, and those for the workspace of the caller.
    ///
    /// Variables are excluded: their values are secrets, so the skill must declare them or the
    /// caller must pass them.
    pub(crate) fn requested_by_rules(&self, request: &Request) -> Vec<RequestedPermission> {
        self.rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow)
            .filter(|rule| rule.applies_to(&request.directory) && self.may_allow(rule))
            .filter(|rule| !is_narrowed_by_declaration(rule, request))
            .flat_map(|rule| permissions(rule, request))
            .chain(request.workspace_permission())
            .filter(|permission| !request.is_dropped(permission.capability()))
            .map(|permission| RequestedPermission {
                permission: request.classify(permission),
                requested_by: vec![RULES_NAME.to_owned()],
                basis: Basis::ByRule,
            })
            .collect()
    }

    /// Returns why an `allow` rule of the invocation for `target` would allow nothing of a request:
    /// another rule denies it, or no rule can allow it. `None` if it would have an effect, or if the
    /// target names no permission by itself, such as `env:NAME`.
    ///
    /// ```
    /// use skills_policy::{Effect, Policy, Request, Rule, RuleSource, Target};
    ///
    /// let deny = Rule::parse(Effect::Deny, RuleSource::User, "spawn:rm")?;
    /// let policy = Policy::default().rule(deny);
    /// let request = Request::new("/skills/pdf");
    /// let obstacle = |target: &str| {
    ///     let target: Target = target.parse().unwrap();
    ///     policy.obstacle(&request, &target).map(|reason| reason.to_string())
    /// };
    /// assert_eq!(obstacle("spawn:git"), None);
    /// assert_eq!(obstacle("spawn:rm").unwrap(), "by rule `deny spawn:rm (user)`");
    /// assert_eq!(
    ///     obstacle("write:/skills/pdf/out").unwrap(),
    ///     "the skill directory is always read-only"
    /// );
    /// # Ok::<(), skills_policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn obstacle(&self, request: &Request, target: &Target) -> Option<DecisionReason> {
        let rule = Rule::new(Effect::Allow, RuleSource::Invocation, target.clone());
        let permission = permissions(&rule, request)?;
        if request.is_dropped(permission.capability()) {
            let reason = "the caller runs it without this permission";
            return Some(DecisionReason::Forbidden { reason });
        }
        let requested = RequestedPermission {
            permission: request.classify(permission),
            requested_by: vec![RULES_NAME.to_owned()],
            basis: Basis::ByRule,
        };
        let decision = self
            .clone()
            .rule(rule)
            .decide_permission(request, requested);
        (decision.decision != Decision::Allow).then_some(decision.reason)
    }

    /// Returns true if no rule of the invocation would allow all programs to a request, and one that
    /// names a program would: other rules deny single programs, or ask about them, which is the
    /// [obstacle](Self::obstacle) to all programs.
    ///
    /// ```
    /// use skills_policy::{Effect, Policy, Request, Rule, RuleSource};
    ///
    /// let deny = |target| Rule::parse(Effect::Deny, RuleSource::User, target);
    /// let request = Request::new("/skills/pdf");
    /// let policy = Policy::default().rule(deny("spawn:git")?);
    /// assert!(policy.requires_program_name(&request));
    /// assert!(!policy.rule(deny("spawn")?).requires_program_name(&request));
    /// # Ok::<(), skills_policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn requires_program_name(&self, request: &Request) -> bool {
        let all = Target::from(Capability::Spawn);
        if self.obstacle(request, &all).is_none() {
            return false;
        }
        let mut others = self.clone();
        others
            .rules
            .retain(|rule| !matches!(rule.target.0, Kind::Program(_)));
        others.obstacle(request, &all).is_none()
    }

    /// Returns the `allow` rules of the invocation that allowed nothing of these decisions, such as
    /// a variable without a value, or a path that another rule denies.
    #[must_use]
    pub fn unused_invocation_rules<'a>(
        &'a self,
        decisions: &[PermissionDecision],
    ) -> Vec<&'a Rule> {
        self.rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow && rule.source == RuleSource::Invocation)
            .filter(|rule| {
                !decisions
                    .iter()
                    .any(|decision| is_effective(rule, decision))
            })
            .collect()
    }
}

impl PermissionManager {
    /// Returns what standing rules allow for this request and the decisions of a run lack: such rules
    /// add nothing to content that was not approved.
    #[must_use]
    pub fn withheld_by_rules(
        &self,
        request: &Request,
        decisions: &[PermissionDecision],
    ) -> Vec<Permission> {
        let is_granted = |permission: &Permission| {
            decisions.iter().any(|decision| {
                decision.decision() == Decision::Allow && decision.permission().covers(permission)
            })
        };
        let evaluation = self.policy().evaluate(request);
        evaluation
            .standing_requests()
            .map(|decision| decision.permission.clone())
            .filter(|permission| !is_granted(permission))
            .collect()
    }
}

/// Returns true if an `allow` rule can be what allowed a permission.
fn is_effective(rule: &Rule, decision: &PermissionDecision) -> bool {
    decision.decision() == Decision::Allow && rule.target.overlaps(decision.permission())
}

/// Returns true for a standing rule that is about everything, if the skill declares less.
fn is_narrowed_by_declaration(rule: &Rule, request: &Request) -> bool {
    let is_specific = rule.source == RuleSource::Invocation || rule.within.is_some();
    let capability = match &rule.target.0 {
        Kind::All(Capability::Spawn) => Capability::Spawn,
        Kind::Host(pattern) if *pattern == HostPattern::ANY => Capability::Network,
        _ => return false,
    };
    !is_specific && request.restricts(capability)
}

/// Returns what a rule allows by name. A whole capability names no path, host or variable; for
/// writing it stands for the workspace.
fn permissions(rule: &Rule, request: &Request) -> Option<Permission> {
    match &rule.target.0 {
        Kind::All(Capability::Spawn) => Some(Permission::AnyProgram),
        Kind::All(Capability::Write) => request.workspace.clone().map(Permission::Write),
        Kind::All(_) | Kind::Variable(_) | Kind::Package(_) => None,
        Kind::Read(path) => Some(Permission::Read(path.clone())),
        Kind::Write(path) => Some(Permission::Write(path.clone())),
        Kind::Host(pattern) => Some(Permission::Host(pattern.clone())),
        Kind::Program(name) => Some(Permission::Program(name.clone())),
    }
}

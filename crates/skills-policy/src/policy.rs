//! The policy: rules, approval mode and ceiling, and how they are applied.

use std::path::Path;

use crate::evaluation_result::RuleEvaluation;
#[cfg(feature = "toml")]
use crate::file::{PolicyFile, strictest};
use crate::request::confinement::excludes;
use crate::rule_requests::{named_permission, requested};
use crate::target::Kind;
use crate::{
    ApprovalMode, Authorization, Capability, Decision, DecisionReason, Denial, Effect, Grants,
    InstallPolicy, NewContentPolicy, Permission, PermissionDecision, RecordMode, Request,
    ResourceLimits, Rule, RuleSource, SandboxChoice, SandboxRequirement, Target,
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
    pub(crate) rules: Vec<Rule>,
    pub(crate) mode: ApprovalMode,
    pub(crate) new_content: NewContentPolicy,
    pub(crate) is_project_trusted: bool,
    pub(crate) refuses_missing_requirements: bool,
    pub(crate) record: RecordMode,
    pub(crate) ceiling: ResourceLimits,
    /// What the user set for all runs, and 0 for other limits.
    user_limits: ResourceLimits,
    pub(crate) install: InstallPolicy,
    pub(crate) sandboxes: Vec<SandboxRequirement>,
}

impl Default for Policy {
    fn default() -> Self {
        let allow_reading = Rule::new(Effect::Allow, RuleSource::BuiltIn, Capability::Read);
        Self {
            rules: vec![allow_reading],
            mode: ApprovalMode::default(),
            new_content: NewContentPolicy::default(),
            is_project_trusted: false,
            refuses_missing_requirements: false,
            record: RecordMode::default(),
            ceiling: ResourceLimits::default_ceiling(),
            user_limits: ResourceLimits::all(0),
            install: InstallPolicy::default(),
            sandboxes: Vec::new(),
        }
    }
}

impl Policy {
    /// Combines policy files. All rules apply, and every file can lower a limit. One of the user
    /// also raises the limits of runs that set none; no other file raises any.
    ///
    /// The approval mode, the policy for new content and that for records are those of the user, else of
    /// the administrator. The administrator and projects can only make them stricter. `allow` rules of
    /// projects have no effect before [`trust_project`](Self::trust_project).
    ///
    /// ```
    /// use skills_policy::{ApprovalMode, Policy, PolicyFile, RuleSource};
    ///
    /// let user = PolicyFile::parse("mode = \"trusted\"", RuleSource::User, "user.toml")?;
    /// let project = PolicyFile::parse("mode = \"ask\"", RuleSource::Project, "project.toml")?;
    /// assert_eq!(Policy::from_files(&[user, project]).mode(), ApprovalMode::Ask);
    /// # Ok::<(), skills_policy::PolicyError>(())
    /// ```
    #[cfg(feature = "toml")]
    pub fn from_files(files: &[PolicyFile]) -> Self {
        let user = files.iter().filter(|file| file.source == RuleSource::User);
        let zero = ResourceLimits::all(0);
        let user = user.fold(zero, |limits, file| limits.max(&file.set_limits));
        let policy = Self {
            ceiling: ResourceLimits::default_ceiling().max(&user),
            user_limits: user,
            ..Self::default()
        };
        files
            .iter()
            .fold(policy, |mut policy, file| {
                policy.refuses_missing_requirements |= file.refuse_missing_requirements;
                policy.install = policy.install.combine(&file.install);
                policy.sandboxes.extend(file.sandboxes.iter().cloned());
                policy
                    .with_rules(file.rules().iter().cloned())
                    .lower_ceiling(&file.ceiling())
            })
            .with_mode(strictest(files, PolicyFile::mode))
            .with_new_content(strictest(files, PolicyFile::new_content))
            .with_record(strictest(files, PolicyFile::record))
    }

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

    /// Refuses runs with a missing requirement, whatever the host application chose. Default: the
    /// host application decides.
    pub fn refuse_missing_requirements(mut self) -> Self {
        self.refuses_missing_requirements = true;
        self
    }

    /// Returns true if runs with a missing requirement are refused.
    #[must_use]
    pub fn refuses_missing_requirements(&self) -> bool {
        self.refuses_missing_requirements
    }

    /// Sets whether programs run where no audit record can be written. Default:
    /// [`RecordMode::Required`].
    pub fn with_record(mut self, record: RecordMode) -> Self {
        self.record = record;
        self
    }

    /// Returns whether programs run where no audit record can be written.
    #[must_use]
    pub fn record(&self) -> RecordMode {
        self.record
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

    /// Returns the policy for new content.
    #[must_use]
    pub fn new_content(&self) -> NewContentPolicy {
        self.new_content
    }

    /// Returns the limits of a run that sets none: the larger of `defaults` and of what files of
    /// the user set. The ceiling still lowers them.
    #[must_use]
    pub fn limits_of_runs(&self, defaults: &ResourceLimits) -> ResourceLimits {
        defaults.max(&self.user_limits)
    }

    /// Returns the ceiling of resource limits.
    pub fn ceiling(&self) -> &ResourceLimits {
        &self.ceiling
    }

    /// Returns which skills may be installed. It has no effect on runs.
    #[must_use]
    pub fn install(&self) -> &InstallPolicy {
        &self.install
    }

    /// Requires a sandbox. Several requirements for one program must agree, or it does not run.
    pub fn require_sandbox(mut self, requirement: SandboxRequirement) -> Self {
        self.sandboxes.push(requirement);
        self
    }

    /// Selects the sandbox for a program in `directory`: the required one, else `preferred`.
    ///
    /// # Errors
    /// Returns the requirement that `preferred`, or another requirement, contradicts.
    /// [`SandboxChoice::Auto`] contradicts none.
    pub fn select_sandbox(
        &self,
        directory: &Path,
        preferred: SandboxChoice,
    ) -> Result<SandboxChoice, &SandboxRequirement> {
        let mut requirements = self.sandboxes.iter().filter(|requirement| {
            let within = requirement.within.as_deref();
            within.is_none_or(|within| directory.starts_with(within))
        });
        requirements.try_fold(preferred, |chosen, requirement| {
            match (chosen, requirement.sandbox) {
                (chosen, SandboxChoice::Auto) => Ok(chosen),
                (SandboxChoice::Auto, required) => Ok(required),
                (chosen, required) if chosen == required => Ok(chosen),
                _ => Err(requirement),
            }
        })
    }

    /// Returns the statements about sandboxes, in the order in which they were added.
    #[must_use]
    pub fn sandboxes(&self) -> &[SandboxRequirement] {
        &self.sandboxes
    }

    /// Authorizes a request by rules alone: everything that needs approval is denied. Stored
    /// approvals and the policy for new content take a
    /// [`PermissionManager`](crate::PermissionManager).
    pub fn authorize(&self, request: &Request) -> Authorization {
        let mut evaluation = self.evaluate(request);
        if request.omits_ungranted {
            evaluation.omit_declared();
        }
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
            .all(|decision| matches!(decision.decision, Decision::Allow | Decision::Omit))
        {
            let grants = Grants::from_evaluation(request, evaluation, &self.ceiling);
            return Authorization::Granted(grants);
        }
        Authorization::Denied(Denial {
            decisions: evaluation.decisions,
            content_reason: None,
            notes: Vec::new(),
            was_asked: false,
        })
    }

    /// Returns the decision on what a target names if the user allowed it for this run: rules that deny or
    /// ask still decide. `None` if it names no permission by itself.
    pub(crate) fn decide_as_if_allowed(
        &self,
        request: &Request,
        target: &Target,
    ) -> Option<PermissionDecision> {
        let rule = Rule::new(Effect::Allow, RuleSource::Invocation, target.clone());
        let permission = named_permission(&rule, request)
            .or_else(|| Some(Permission::Variable(target.variable()?.to_owned())))?;
        Some(self.decide_with_rule(request, rule, permission))
    }

    fn decide_with_rule(
        &self,
        request: &Request,
        rule: Rule,
        permission: Permission,
    ) -> PermissionDecision {
        let policy = self.clone().rule(rule);
        policy.decide_permission(request, requested(permission, request))
    }

    /// Returns why an `allow` rule of the invocation for `target` would allow nothing of a request:
    /// another rule denies it, or no rule can allow it. `None` if it would have an effect, which for a
    /// variable takes a value, or if the target names no permission by itself, such as `network`.
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
        let decision = self.decide_as_if_allowed(request, target)?;
        if excludes(request, &decision.permission) {
            let reason = "the caller runs it without this permission";
            return Some(DecisionReason::Forbidden { reason });
        }
        (decision.decision != Decision::Allow).then_some(decision.reason)
    }

    /// Returns true if no rule of the invocation would allow all programs to a request, and one
    /// that names a program would: other rules deny single programs, or ask about them, which is
    /// the [obstacle](Self::obstacle) to all programs.
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

/// Returns true if an `allow` rule can be what allowed a permission.
fn is_effective(rule: &Rule, decision: &PermissionDecision) -> bool {
    decision.decision() == Decision::Allow && rule.target.overlaps(decision.permission())
}

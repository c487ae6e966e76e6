//! The policy: rules, approval mode and ceiling, and how they are applied.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::evaluation_result::RuleEvaluation;
use crate::{
    Authorization, Capability, Decision, DecisionReason, Denial, Effect, Grants, Request,
    ResourceLimits, Rule, RuleSource, SandboxRequirement, Target,
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
    pub(crate) ceiling: ResourceLimits,
    pub(crate) install: InstallPolicy,
    pub(crate) sandboxes: Vec<SandboxRequirement>,
}

/// Which skills may be installed. Default: all.
///
/// The policy does not know sources; an installer compares its own with the patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallPolicy {
    /// Lists of patterns, one of each file with the key `sources`. A source must match one pattern
    /// of each list, so that no file can widen the list of another, and an empty list allows none.
    pub sources: Vec<Vec<String>>,
    /// Whether skills without a signature of a trusted key or identity are rejected.
    /// `require-signature` in policy files.
    pub requires_signature: bool,
    /// The public keys whose signatures count, as text; `None` if no file lists any.
    /// `signature-keys` in policy files; those of projects are ignored.
    ///
    /// If files require signatures, only the keys that each of their lists contains count, so that a
    /// user cannot add a key to those of an administrator. Otherwise the keys of all files do.
    pub signature_keys: Option<Vec<String>>,
    /// The identities of Sigstore whose signatures count, combined like the keys; `Some` if a file
    /// lists any keys or identities. `signature-identities` in policy files; those of projects are
    /// ignored.
    pub signature_identities: Option<Vec<SignatureIdentity>>,
}

/// An identity of Sigstore, and by which keys its signatures are verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SignatureIdentity {
    /// The issuer of the identity, a space, and the identity.
    pub identity: String,
    /// The `trusted_root.json` of the same policy file. Without one no signature of the identity is
    /// verified.
    pub trusted_root: Option<PathBuf>,
}

impl InstallPolicy {
    /// Combines this policy with that of another file.
    #[must_use]
    pub fn combine(mut self, other: &Self) -> Self {
        self.sources.extend(other.sources.iter().cloned());
        let required = (self.requires_signature, other.requires_signature);
        self.signature_keys = combine_signers(
            self.signature_keys.take(),
            other.signature_keys.clone(),
            required,
        );
        self.signature_identities = combine_signers(
            self.signature_identities.take(),
            other.signature_identities.clone(),
            required,
        );
        self.requires_signature |= other.requires_signature;
        self
    }
}

/// Combines the signers of two files, of which each can require signatures.
fn combine_signers<T: PartialEq>(
    signers: Option<Vec<T>>,
    others: Option<Vec<T>>,
    required: (bool, bool),
) -> Option<Vec<T>> {
    let (signers, others) = match (signers, others) {
        (None, signers) | (signers, None) => return signers,
        (Some(signers), Some(others)) => (signers.into_iter(), others),
    };
    Some(match required {
        (true, true) => signers.filter(|signer| others.contains(signer)).collect(),
        (true, false) => signers.collect(),
        (false, true) => others,
        (false, false) => signers.chain(others).collect(),
    })
}

/// How permissions are decided that no rule decides, and those with an `ask` rule.
///
/// In policy files `strict`, `ask` or `trusted`; ordered from strict to lenient. No mode overrides
/// a `deny` rule, and none grants a protected path or a hook.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
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
/// A rule such as `allow spawn:git` is written for the skills that exist at the time. This setting
/// decides whether it also applies to a skill, or to an update, that appears later. Ordered from
/// strict to lenient.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum NewContentPolicy {
    /// It needs approval before its first run, whatever it requests.
    Ask,
    /// It needs approval if a standing rule or trusted mode grants it a privilege, anything but
    /// reading. With the default grants alone it runs, as skills of low risk do in the OpenSkills
    /// flow. In policy files `ask-if-privileged`.
    #[default]
    AskIfPrivileged,
    /// It is treated like approved content.
    Allow,
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
            ceiling: ResourceLimits::default_ceiling(),
            install: InstallPolicy::default(),
            sandboxes: Vec::new(),
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

    /// Returns which skills may be installed. It has no effect on runs.
    #[must_use]
    pub fn install(&self) -> &InstallPolicy {
        &self.install
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
            was_asked: false,
        })
    }
}

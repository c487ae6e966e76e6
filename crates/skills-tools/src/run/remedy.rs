//! What an operator can change so that a failed call works.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use skills_runtime::policy::Denial;
use skills_runtime::{
    ExecutionArtifacts, FailureCause, Refusal, RefusedOperation, RunFinding, ScriptType,
};

use super::RunExplanation;
use super::explanation::is_shown;

/// What an operator can change so that a failed call works.
///
/// Only the host application knows how: the name of an option, a file, a dialog.
/// [`ToolSetBuilder::remedies`](crate::ToolSetBuilder::remedies) takes a function that describes it.
/// Names and paths come from programs; escape them before showing them in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Allow permissions, in the syntax of rules.
    Allow(Vec<String>),
    /// Allow permissions that the program is likely to need next: it was stopped before it could try.
    AllowNext(Vec<String>),
    /// Allow writing to directories of the home directory, so that files in them are kept.
    KeepHome(Vec<String>),
    /// Allow the host that the program connects to, which is not known.
    AllowHost,
    /// Allow the program that it starts by its name, which is not known.
    AllowProgram,
    /// Give the program a workspace: the directory of its skill is read-only.
    Workspace,
    /// Run scripts of this type with another interpreter, which has the package, or install the
    /// packages of the skill.
    Interpreter {
        /// The name of the skill.
        skill: String,
        /// The missing package, or what the program wrote if its package is not known.
        package: String,
        /// The type of the script.
        script_type: ScriptType,
        /// The interpreter that ran, if it is known.
        interpreter: Option<PathBuf>,
        /// Whether the script started the interpreter itself.
        is_started_by_script: bool,
        /// Whether [only the program](FailureCause::MissingPackage::is_only_reported) names the package.
        is_only_reported: bool,
        /// Whether the skill declares the package, which was not installed.
        is_installable: bool,
        /// The script, if [it declares packages itself](FailureCause::MissingPackage::declaring_script).
        declaring_script: Option<String>,
        /// The packages that [can be accepted](FailureCause::MissingPackage::acceptable).
        acceptable: Vec<String>,
    },
    /// Raise the memory limit.
    Memory {
        /// The limit that was not enough, in bytes.
        limit_bytes: u64,
    },
    /// Raise the timeout.
    Timeout {
        /// The timeout that was not enough, in milliseconds.
        limit_ms: u64,
    },
    /// Run although a declared requirement is missing.
    IgnoreRequirements,
    /// Accept a draft, which then is a skill.
    AcceptDraft {
        /// The name of the draft.
        name: String,
    },
    /// Approve the hooks of a skill for its current content.
    ApproveHooks {
        /// The name of the skill.
        skill: String,
    },
}

impl Remedy {
    /// Returns what would have helped a run, apart from a longer timeout. After a success, only
    /// what a restriction stopped.
    #[must_use]
    pub fn for_run(artifacts: &ExecutionArtifacts) -> Vec<Self> {
        let mut all = Vec::new();
        let refused = artifacts.refusals.list().iter();
        let targets: Vec<String> = refused.filter_map(Refusal::rule).collect();
        if !targets.is_empty() {
            all.push(Self::Allow(targets));
        }
        if !all.is_empty() && !artifacts.likely_rules.is_empty() {
            all.push(Self::AllowNext(artifacts.likely_rules.clone()));
        }
        let is_unknown_host = |refusal: &Refusal| {
            matches!(refusal.operation, RefusedOperation::Connect { host: None })
                && is_shown(artifacts, refusal)
        };
        if artifacts.refusals.list().iter().any(is_unknown_host) {
            all.push(Self::AllowHost);
        }
        let needs_name =
            |refusal: &Refusal| refusal.needs_program_name && is_shown(artifacts, refusal);
        if artifacts.refusals.list().iter().any(needs_name) {
            all.push(Self::AllowProgram);
        }
        all.extend(artifacts.findings.iter().filter_map(Self::for_finding));
        match &artifacts.failure_cause {
            Some(FailureCause::MissingPackage {
                package,
                package_name,
                script_type,
                interpreter,
                is_started_by_script,
                is_only_reported,
                is_installable,
                declaring_script,
                acceptable,
                ..
            }) => all.push(Self::Interpreter {
                skill: artifacts.skill.clone(),
                package: package_name.as_ref().unwrap_or(package).clone(),
                script_type: *script_type,
                interpreter: interpreter.clone(),
                is_started_by_script: *is_started_by_script,
                is_only_reported: *is_only_reported,
                is_installable: *is_installable,
                declaring_script: declaring_script.clone(),
                acceptable: acceptable.clone(),
            }),
            Some(FailureCause::OutOfMemory { limit_bytes }) => all.push(Self::Memory {
                limit_bytes: *limit_bytes,
            }),
            _ => {}
        }
        all
    }

    /// Returns what a user can do about what the runtime found.
    fn for_finding(finding: &RunFinding) -> Option<Self> {
        let rules = finding.rules();
        match finding {
            RunFinding::PrivateHome { .. } if !rules.is_empty() => Some(Self::KeepHome(rules)),
            RunFinding::SkillIsReadOnly {
                has_workspace: false,
            } => Some(Self::Workspace),
            _ => None,
        }
    }

    /// Returns what would allow a denied run; `None` if no rule would allow one of its permissions, or
    /// if one [gives keys or control](skills_runtime::policy::Permission::caution).
    #[must_use]
    pub fn for_denial(denial: &Denial) -> Option<Self> {
        let mut targets: Vec<String> = Vec::new();
        for decision in denial.denied() {
            let target = decision.permission().rule_target()?.to_string();
            if !decision.is_allowable() || decision.permission().caution().is_some() {
                return None;
            }
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        (!targets.is_empty()).then_some(Self::Allow(targets))
    }
}

/// The function of the host application that says what to do.
type Describe = Arc<dyn Fn(&Remedy) -> Option<String> + Send + Sync>;

/// How the host application describes remedies; by default, not at all.
#[derive(Clone, Default)]
pub(crate) struct Remedies(Option<Describe>);

impl fmt::Debug for Remedies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remedies").field(&self.0.is_some()).finish()
    }
}

impl Remedies {
    pub(crate) fn new(
        describe: impl Fn(&Remedy) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(describe)))
    }

    /// Returns true if the host application describes remedies.
    pub(crate) fn is_described(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn describe(&self, remedy: &Remedy) -> Option<String> {
        self.0.as_ref()?(remedy)
    }

    /// Explains a run.
    pub(crate) fn explain(&self, artifacts: &ExecutionArtifacts) -> RunExplanation {
        RunExplanation::new(artifacts, |remedy| self.describe(remedy))
    }

    /// Describes what would allow a denied run; `None` if no rule would.
    pub(crate) fn for_denial(&self, denial: &Denial) -> Option<String> {
        self.describe(&Remedy::for_denial(denial)?)
    }
}

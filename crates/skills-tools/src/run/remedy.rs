//! What an operator can change so that a failed call works.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_runtime::policy::{Denial, innermost_protected_name};
use skills_runtime::{
    Evidence, ExecutionArtifacts, FailureCause, Refusal, RefusedOperation, ScriptType,
};

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
    /// Run scripts of this type with another interpreter, which has the package, or install the
    /// packages of the skill.
    Interpreter {
        /// The name of the skill.
        skill: String,
        /// The missing package, as the program wrote it.
        package: String,
        /// The type of the script.
        script_type: ScriptType,
        /// The interpreter that ran, if it is known.
        interpreter: Option<PathBuf>,
        /// Whether the skill declares the package, which was not installed.
        is_installable: bool,
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

/// Returns true if only the output of a program says that it needs a protected path. A program could
/// otherwise have its user recommended the option that lifts the protection.
fn is_claim_about_protected_path(refusal: &Refusal) -> bool {
    let (RefusedOperation::Read { path } | RefusedOperation::Write { path }) = &refusal.operation
    else {
        return false;
    };
    let path = Path::new(path);
    refusal.evidence == Evidence::ProgramOutput
        && path
            .ancestors()
            .last()
            .is_some_and(|root| innermost_protected_name(path, root).is_some())
}

impl Remedy {
    /// Returns what would have helped a run, apart from a longer timeout. After a success, only
    /// what a restriction stopped.
    #[must_use]
    pub fn for_run(artifacts: &ExecutionArtifacts) -> Vec<Self> {
        let mut all = Vec::new();
        let refused = artifacts.refusals.list().iter();
        let targets: Vec<String> = refused
            .filter(|refusal| !is_claim_about_protected_path(refusal))
            .filter_map(|refusal| Some(refusal.operation.target()?.to_string()))
            .collect();
        if !targets.is_empty() {
            all.push(Self::Allow(targets));
        }
        match &artifacts.failure_cause {
            Some(FailureCause::MissingPackage {
                package,
                script_type,
                interpreter,
                is_installable,
                acceptable,
                ..
            }) => all.push(Self::Interpreter {
                skill: artifacts.skill.clone(),
                package: package.clone(),
                script_type: *script_type,
                interpreter: interpreter.clone(),
                is_installable: *is_installable,
                acceptable: acceptable.clone(),
            }),
            Some(FailureCause::OutOfMemory { limit_bytes }) => all.push(Self::Memory {
                limit_bytes: *limit_bytes,
            }),
            _ => {}
        }
        all
    }

    /// Returns what would allow a denied run; `None` if no rule would allow one of its permissions.
    #[must_use]
    pub fn for_denial(denial: &Denial) -> Option<Self> {
        let mut targets: Vec<String> = Vec::new();
        for decision in denial.denied() {
            let target = decision.permission().rule_target()?.to_string();
            if !decision.is_allowable() {
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

    /// Describes what would have helped a run.
    pub(crate) fn for_run(&self, artifacts: &ExecutionArtifacts) -> Vec<String> {
        let remedies = Remedy::for_run(artifacts);
        remedies
            .iter()
            .filter_map(|remedy| self.describe(remedy))
            .collect()
    }

    /// Describes what would allow a denied run; `None` if no rule would.
    pub(crate) fn for_denial(&self, denial: &Denial) -> Option<String> {
        self.describe(&Remedy::for_denial(denial)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_remedy_lifts_a_protection_because_a_program_says_so() {
        let write = |path: &str| {
            let path = path.to_owned();
            Refusal::new(RefusedOperation::Write { path }, Evidence::ProgramOutput)
        };
        assert!(is_claim_about_protected_path(&write("/root/.bashrc")));
        assert!(is_claim_about_protected_path(&write("/work/.git/hooks/x")));
        assert!(!is_claim_about_protected_path(&write("/work/out.txt")));
        let path = "/root/.bashrc".to_owned();
        let observed = Refusal::new(RefusedOperation::Write { path }, Evidence::Observed);
        assert!(!is_claim_about_protected_path(&observed));
    }
}

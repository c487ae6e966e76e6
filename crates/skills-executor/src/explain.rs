//! Explains a run: what was refused, why it failed, and what would change that.
//!
//! ```text
//! RunOutput, grants, policy --> facts --> cause --> remedies --> words of a surface
//!                               kernel, proxy, WASI, runtime; else the output of the program
//! ```
//!
//! All parts are values. Text of a program is a claim: it explains a failure, it is marked, and it
//! never becomes a rule by itself.

mod cause;
mod ended_run;
mod facts;
mod files;
mod outside;
mod paths;
mod printed;
mod refused;
mod remedy;
mod rule_check;
mod words;

use serde::Serialize;
use skills_sandbox::{Evidence, RefusedOperation};

use crate::redaction::Redactor;

pub(crate) use cause::interpreted_type;
pub use cause::{
    Cause, DeclaredPackages, LimitKind, LocalModulePlace, MissingPackage, WithheldVariable,
};
pub(crate) use ended_run::EndedRun;
pub use facts::{Allowance, Fact, FactKind, ProgramFiles, RefusedFact};
pub(crate) use files::executed_files;
pub use outside::{FileOwner, OutsideLink, OutsideLinkKind};
pub(crate) use outside::{find_outside_link, foreign_owner};
pub(crate) use paths::ProgramPaths;
pub use remedy::Remedy;
pub(crate) use rule_check::{RuleCheck, rule_obstacle};
pub use words::{ExplanationWords, Settings};

/// Explains the result of a run: what is known about it, why it failed, and what would change that.
///
/// Serialized as it is for programs; [`words`](Self::words) is for people and models. Names, hosts and
/// paths can come from the program: escape them before showing them in a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunExplanation {
    /// What is known, refused operations first, in the order in which they were tried.
    pub facts: Vec<Fact>,
    /// The number of further refused operations.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u32,
    /// Why the program failed, if that is known. `None` after a success.
    pub cause: Option<Cause>,
    /// What would change the result. Each was tried against the policy and changes what it is for.
    /// Serialized with its [settings](Remedy::settings).
    #[serde(serialize_with = "words::serialize_remedies")]
    pub remedies: Vec<Remedy>,
}

impl RunExplanation {
    /// Returns the variable that the program missed, if that is the cause.
    #[must_use]
    pub fn withheld_variable(&self) -> Option<&str> {
        match &self.cause {
            Some(Cause::WithheldVariable(variable)) => Some(&variable.name),
            _ => None,
        }
    }

    /// Explains a run, without its remedies and the files that it changed.
    pub(crate) fn new(run: &EndedRun<'_>) -> Self {
        let refusals = refused::refusals(run);
        let mut facts: Vec<Fact> = refusals
            .list()
            .iter()
            .map(|refusal| refused::fact(run, refusal))
            .collect();
        facts.extend(files::facts(run, &refusals));
        Self {
            facts,
            omitted: refusals.omitted(),
            cause: cause::cause(run, &refusals),
            remedies: Vec::new(),
        }
    }

    /// Removes the rule for a missing package, which no index has.
    pub(crate) fn withdraw_package(&mut self) {
        if let Some(Cause::MissingPackage(missing)) = &mut self.cause {
            missing.allowing_rule = None;
        }
        for remedy in &mut self.remedies {
            if let Remedy::Package { missing, .. } = remedy {
                missing.allowing_rule = None;
            }
        }
    }

    /// Adds what would have changed the result.
    pub(crate) fn add_remedies(&mut self, run: &EndedRun<'_>) {
        self.remedies = remedy::remedies(&self.facts, self.cause.as_ref(), run);
    }

    /// Returns the words for a person or a model. `describe` returns how the host application applies a
    /// remedy, in the imperative, `None` if it cannot.
    #[must_use]
    pub fn words(&self, describe: impl Fn(&Remedy) -> Option<String>) -> ExplanationWords {
        let help = self.remedies.iter().filter_map(describe);
        words::words(&self.facts, self.omitted, self.cause.as_ref(), help)
    }

    /// Returns true if there is nothing to explain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.cause.is_none() && self.remedies.is_empty()
    }

    /// Returns the operations that restrictions stopped, each with who observed it.
    pub fn refused(&self) -> impl Iterator<Item = (&RefusedFact, Evidence)> {
        self.facts.iter().filter_map(|fact| match &fact.kind {
            FactKind::Refused(refused) => Some((refused, fact.observer)),
            _ => None,
        })
    }

    /// Removes refused operations, such as those on paths that mean nothing to the host application.
    /// Their rules are removed from the remedies.
    pub fn remove_refused(&mut self, is_removed: impl Fn(&RefusedOperation, Evidence) -> bool) {
        let mut removed: Vec<String> = Vec::new();
        self.facts.retain(|fact| match &fact.kind {
            FactKind::Refused(refused) if is_removed(&refused.operation, fact.observer) => {
                removed.extend(refused.rule().map(str::to_owned));
                false
            }
            _ => true,
        });
        self.remedies.retain_mut(|remedy| match remedy {
            Remedy::Allow { rules } => {
                rules.retain(|rule| !removed.contains(rule));
                !rules.is_empty()
            }
            _ => true,
        });
    }

    /// Redacts the values of secrets in all texts.
    pub(crate) fn redact(&mut self, redactor: &Redactor) {
        self.facts.iter_mut().for_each(|fact| fact.redact(redactor));
        if let Some(cause) = &mut self.cause {
            cause.redact(redactor);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "called by serde")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

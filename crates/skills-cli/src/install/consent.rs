//! The question before skills are installed or updated.

use std::path::Path;

use skills_install::{Action, Plan, SkillChange};

use super::findings::PlanFindings;
use crate::approver::{Confirmation, confirm, is_terminal};
use crate::output::{Output, line};

/// Whether a plan may be performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Denied,
}

/// Asks for consent to a plan that was shown. `--yes` is enough unless a skill may do more than
/// before, what it is trusted by changed, or its text has a finding of high severity: that takes a person at a terminal. Restoring what the
/// lock file lists asks no question, since that content was agreed to.
pub(crate) fn ask(
    plan: &Plan,
    findings: &PlanFindings,
    directory: &Path,
    yes: bool,
    output: Output,
) -> Consent {
    let growing: Vec<&str> = plan
        .changes()
        .iter()
        .filter(|change| change.needs_person())
        .map(|change| change.name())
        .collect();
    let dangerous = findings.dangerous(plan);
    let needs_person = !growing.is_empty() || !dangerous.is_empty();
    if !needs_person && (yes || plan.changes().iter().all(needs_no_question)) {
        return Consent::Given;
    }
    if needs_person && !is_terminal() {
        for (names, what) in [
            (growing, "what changes"),
            (dangerous, "the findings of high severity"),
        ] {
            if !names.is_empty() {
                let names = names.join(", ");
                output.status(&format!(
                    "error: a person must review {what} in {names}; `--yes` is not enough"
                ));
            }
        }
        output.status("help: run the command in a terminal, where it asks");
        return Consent::Denied;
    }
    let skills = match plan.changes().len() {
        1 => "it",
        _ => "them",
    };
    let directory = line(&directory.to_string_lossy());
    let question = format!("Install {skills} in {directory}? [y/N]");
    match confirm(&question, output) {
        Confirmation::Yes => Consent::Given,
        Confirmation::No => {
            output.status("nothing was installed");
            Consent::Denied
        }
        Confirmation::Unanswered => Consent::Denied,
    }
}

fn needs_no_question(change: &SkillChange) -> bool {
    match change.action() {
        Action::Keep => change.moved_from().is_none(),
        Action::KeepEdited | Action::Restore => true,
        _ => false,
    }
}

//! Notes of a run for its caller.

use skills_policy::{Grants, Permission, PermissionDecision, Policy};
use skills_sandbox::Termination;

use super::job::MAX_VARIABLE_INPUT_BYTES;
use super::run_plan::RunPlan;
use crate::secrets::Redactor;
use crate::{ExecutionArtifacts, ExecutionStatus};

/// Start of the notes about missing requirements.
const MISSING_REQUIREMENT: &str = "missing requirement: ";

impl ExecutionArtifacts {
    /// Returns the requirements that the run missed, such as a variable, which are also in its notes.
    pub fn missing_requirements(&self) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter();
        notes.filter_map(|note| note.strip_prefix(MISSING_REQUIREMENT))
    }
}

/// Describes what the caller should know about a run that is about to start.
pub(super) fn notes_before_run(
    plan: &RunPlan,
    grants: &Grants,
    redactor: &Redactor,
    missing: &[String],
) -> Vec<String> {
    let mut notes: Vec<String> = redactor
        .too_short()
        .iter()
        // A variable that was not granted cannot be in the output.
        .filter(|name| grants.variables().contains(*name))
        .map(|name| format!("the value of `{name}` is too short to be redacted in the output"))
        .collect();
    if plan.has_protocol_input && plan.stdin.len() > MAX_VARIABLE_INPUT_BYTES {
        notes.push(
            "the input is too long for SKILL_INPUT; it was passed on standard input only"
                .to_owned(),
        );
    }
    notes.extend(
        missing
            .iter()
            .map(|missing| format!("{MISSING_REQUIREMENT}{missing}")),
    );
    notes
}

/// Describes the `allow` rules of the invocation that allowed nothing.
pub(super) fn unused_rules(
    policy: &Policy,
    decisions: &[PermissionDecision],
) -> impl Iterator<Item = String> {
    policy
        .unused_invocation_rules(decisions)
        .into_iter()
        .map(|rule| format!("`{}` had no effect on this run", rule.target()))
}

/// Describes what standing rules allow, and do not allow to this content.
pub(super) fn note_on_withheld(skill: &str, withheld: &[Permission]) -> Option<String> {
    let withheld: Vec<String> = withheld
        .iter()
        .filter_map(Permission::rule_target)
        .map(|target| format!("`{target}`"))
        .collect();
    let withheld = withheld.join(", ");
    (!withheld.is_empty()).then(|| {
        format!(
            "rules of the policy apply to approved content only, so this run did not get {withheld}; \
             approve the skill with `skills trust {skill}`"
        )
    })
}

/// Adds an entry about lost files if the program was stopped at its disk limit.
pub(super) fn report_unwritten_files(artifacts: &mut ExecutionArtifacts) {
    if let ExecutionStatus::Failed {
        termination: Termination::DiskLimit(exceeded),
    } = &artifacts.exit_status
    {
        let text = format!("files not written before the run was stopped: {exceeded}");
        artifacts.output_files.omitted.insert(0, text);
    }
}

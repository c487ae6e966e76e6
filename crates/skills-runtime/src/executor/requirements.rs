//! Requirements of a skill: what prevents a run, and programs as permissions that are asked for but
//! not needed.

use std::sync::Arc;

use skills_policy::{
    ApprovalResponse, Authorization, DecisionReason, Denial, Permission, PermissionDecision,
};
use skills_prompt::MissingRequirements;
use skills_sandbox::Sandbox;

use super::Executor;
use super::run_plan::RunPlan;
use super::run_record::RunRecord;
use super::skill_copies::SkillCopy;
use crate::error::{Repr, RuntimeError};
use crate::library::OnMissing;
use crate::program_search::{ProgramSearch, has_program};

impl Executor {
    /// Checks the requirements and returns the backend of the program. Called before authorization,
    /// so that no approver is asked for a run that cannot start.
    pub(super) fn check_startable(
        &self,
        plan: &RunPlan,
        missing: &MissingRequirements,
    ) -> Result<Arc<dyn Sandbox>, RuntimeError> {
        let missing = self.blocking(missing);
        if !missing.is_empty() {
            return Err(Repr::MissingRequirements {
                skill: plan.subject.name().to_owned(),
                missing,
            }
            .into());
        }
        // There is no fallback to another backend.
        Ok(Arc::clone(
            self.config()
                .backends
                .for_run(plan.subject.name(), &plan.mode)?,
        ))
    }

    /// Describes the missing requirements without which a skill does not run, one phrase each.
    pub(super) fn blocking(&self, missing: &MissingRequirements) -> Vec<String> {
        let config = self.config();
        if config.permissions.policy().refuses_missing_requirements() {
            return missing.to_lines();
        }
        match config.on_missing_requirements {
            OnMissing::Fail => missing.to_lines(),
            OnMissing::WarnVariables => missing.program_lines(),
            OnMissing::Warn => Vec::new(),
        }
    }

    /// Authorizes a run with the programs that its skill requires. If nothing grants these, the run
    /// is authorized without them: many scripts need them only for a part of what they do.
    pub(super) async fn authorize_with_programs(
        &self,
        plan: &mut RunPlan,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        let programs = required_programs(plan, self.library().finder());
        if programs.is_empty() {
            return self.authorize(plan, record).await;
        }
        let without = plan.request.clone();
        plan.request = programs.iter().fold(without.clone(), |request, name| {
            request.required_program(name)
        });
        match self.authorize(plan, record).await? {
            (Authorization::Denied(denial), _) if lacks_only(&denial, &programs) => {
                plan.request = without;
                self.authorize(plan, record).await
            }
            decided => Ok(decided),
        }
    }
}

/// Returns the required programs of the skill that exist, without the interpreter of its script,
/// which runs without a permission.
fn required_programs(plan: &RunPlan, finder: &ProgramSearch) -> Vec<String> {
    let Some(skill) = plan.subject.skill() else {
        return Vec::new();
    };
    // WebAssembly starts no programs; a command requests its own.
    let Some(script_type) = plan.mode.script_type() else {
        return Vec::new();
    };
    let interpreters = script_type.program_names();
    let required = skill.requirements.programs.iter();
    required
        .flat_map(|program| &program.any_of)
        .filter(|name| !interpreters.contains(&name.as_str()) && has_program(finder, name))
        .cloned()
        .collect()
}

/// Returns true if only required programs are denied, and no approver refused them.
fn lacks_only(denial: &Denial, programs: &[String]) -> bool {
    let is_refused = |decision: &PermissionDecision| {
        matches!(
            decision.reason(),
            DecisionReason::ApproverResponded {
                response: ApprovalResponse::Deny,
                ..
            }
        )
    };
    let is_required = |permission: &Permission| matches!(permission, Permission::Program(name) if programs.contains(name));
    denial.content_reason().is_none()
        && denial
            .denied()
            .any(|decision| is_required(decision.permission()))
        && denial.denied().all(|decision| {
            // Permissions that were not asked for are evaluated again without the programs.
            matches!(decision.reason(), DecisionReason::OtherDenied)
                || is_required(decision.permission()) && !is_refused(decision)
        })
}

//! Requirements of a skill: what prevents a run, and programs as permissions that are asked for but
//! not needed.

use std::sync::Arc;

use skills_library::{OnMissing, ProgramSearch, is_startable};
use skills_policy::{Authorization, Evaluation};
use skills_prompt::MissingRequirements;
use skills_sandbox::Sandbox;

use super::run_plan::RunPlan;
use super::{ExecutionMode, Executor};
use crate::error::{Repr, RuntimeError};

impl Executor {
    /// Checks the requirements and returns the backend of the program. Called before authorization,
    /// so that no approver is asked for a run that cannot start.
    pub(super) fn check_startable(
        &self,
        plan: &RunPlan,
        missing: &MissingRequirements,
    ) -> Result<Arc<dyn Sandbox>, RuntimeError> {
        // First, since what is missing depends on it. No other backend is used instead.
        let sandbox = self.config().backends.for_run(
            plan.subject.name(),
            &plan.mode,
            plan.options.sandbox,
        )?;
        let missing = self.blocking(missing);
        if !missing.is_empty() {
            return Err(Repr::MissingRequirements {
                skill: plan.subject.name().to_owned(),
                missing,
                by_policy: self.refuses_missing_requirements(),
            }
            .into());
        }
        // Checked before an approver is asked: an approval of nothing is confusing.
        if let ExecutionMode::Command { program } = &plan.mode {
            sandbox.check_command(program)?;
        }
        Ok(Arc::clone(sandbox))
    }

    /// Describes the missing requirements without which a skill does not run, one phrase each.
    pub(super) fn blocking(&self, missing: &MissingRequirements) -> Vec<String> {
        if self.refuses_missing_requirements() {
            return missing.to_lines();
        }
        match self.config().on_missing_requirements {
            OnMissing::Fail => missing.to_lines(),
            OnMissing::WarnVariables => missing.program_lines(),
            OnMissing::Warn => Vec::new(),
        }
    }

    fn refuses_missing_requirements(&self) -> bool {
        let permissions = &self.permissions;
        permissions.policy().refuses_missing_requirements()
    }

    /// Adds the required programs to the request of a plan, and returns them.
    pub(super) fn request_programs(&self, plan: &mut RunPlan) -> Vec<String> {
        let programs = required_programs(plan, self.library().finder(plan.subject.name()));
        for name in &programs {
            plan.request = plan.request.clone().required_program(name);
        }
        programs
    }

    /// Adds the required programs to the request of a preview, unless rules alone deny it: a run
    /// then goes on without them.
    pub(super) fn with_programs(&self, mut plan: RunPlan, digest: Option<&str>) -> RunPlan {
        let without = plan.request.clone();
        if !self.request_programs(&mut plan).is_empty() {
            let request = plan.request_for_digest(digest);
            if let Evaluation::Decided(decision) = self.permissions.evaluate(&request)
                && matches!(*decision, Authorization::Denied(_))
            {
                plan.request = without;
            }
        }
        plan
    }
}

/// Returns the required programs of the skill that a run can start, without the interpreter of its
/// script, which runs without a permission.
fn required_programs(plan: &RunPlan, finder: &ProgramSearch) -> Vec<String> {
    let Some(skill) = plan.subject.skill() else {
        return Vec::new();
    };
    // Programs of an image need no permission.
    if !plan.uses_programs_of_host() {
        return Vec::new();
    }
    // WebAssembly starts no programs; a command requests its own.
    let Some(script_type) = plan.mode.script_type() else {
        return Vec::new();
    };
    let interpreters = script_type.program_names();
    let required = skill.requirements.programs.iter();
    required
        .flat_map(|program| &program.any_of)
        .filter(|name| !interpreters.contains(&name.as_str()) && is_startable(finder, name))
        .cloned()
        .collect()
}

//! What a script is likely to need, by its text, that a restriction did not let it try.

use std::path::Path;

use skills_policy::{Access, Capability, Grants, SpawnGrant, Target};
use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation, RunOutput, ScriptType};

use super::home_references::{HomeReference, home_references};
use super::run_plan::RunPlan;
use super::{Executor, obstacles};
use crate::ExecutionMode;

/// The most bytes of a script that are searched for what it does.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;
/// The most paths of the home directory that are suggested.
const MAX_HOME_PATHS: usize = 4;
/// Parts of Python and Node scripts that start programs.
const STARTS_PROGRAMS: [&str; 6] = [
    "subprocess",
    "os.system(",
    "os.popen(",
    "os.exec",
    "child_process",
    "execa",
];

impl Executor {
    /// Returns rules for what a script was stopped from trying, by its text, in the syntax of rules.
    pub(super) fn likely_rules(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        refusals: &Refusals,
        output: &RunOutput,
    ) -> Vec<String> {
        let Some((text, script_type)) = script_text(plan) else {
            return Vec::new();
        };
        let refused = refusals.list();
        let is_stopped = !output.termination.is_success() && !refused.is_empty();
        let mut rules: Vec<String> = Vec::new();
        if is_stopped && self.needs_spawn(plan, grants, refused, &text) {
            rules.push(Capability::Spawn.to_string());
        }
        if is_stopped
            // Otherwise the home directory of the program is not a private one, or links lead nowhere.
            && output.private_home.is_some()
            && let Some(home) = self.config().user_home.as_deref()
        {
            let known: Vec<String> = refused.iter().filter_map(Refusal::rule).collect();
            let references = home_references(&text, script_type);
            let written = self.written_paths(plan, grants, home, &references);
            rules.extend(written.into_iter().filter(|rule| !known.contains(rule)));
        }
        rules
    }

    /// Returns true if a script was stopped before it started the programs that its text starts.
    fn needs_spawn(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        refused: &[Refusal],
        text: &str,
    ) -> bool {
        let is_process = |refusal: &Refusal| {
            matches!(
                refusal.operation,
                RefusedOperation::StartProcess | RefusedOperation::StartProgram { .. }
            )
        };
        if refused.iter().any(is_process) || *grants.spawn() != SpawnGrant::None {
            return false;
        }
        let policy = self.permissions.policy();
        let spawn = Refusal::new(RefusedOperation::StartProcess, Evidence::ProgramOutput);
        obstacles::obstacle(policy, &plan.request, None, None, &spawn).is_none()
            && STARTS_PROGRAMS.iter().any(|part| text.contains(part))
    }

    /// Returns rules for the directories and files of the home directory that a script writes. Whether
    /// they exist is not checked: a missing one is created.
    fn written_paths(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        home: &Path,
        references: &[HomeReference],
    ) -> Vec<String> {
        let mut rules = Vec::new();
        for kept in references.iter().filter_map(HomeReference::writable) {
            let on_host = home.join(&kept);
            let grant = grants.deciding_grant(&on_host);
            let is_writable = grant.is_some_and(|grant| grant.access() == Access::ReadWrite);
            let rule = format!("write:~/{kept}");
            if !is_writable
                && !rules.contains(&rule)
                && rules.len() < MAX_HOME_PATHS
                && self.is_allowable(plan, Target::write(&on_host))
            {
                rules.push(rule);
            }
        }
        rules
    }

    fn is_allowable<E>(&self, plan: &RunPlan, target: Result<Target, E>) -> bool {
        let policy = self.permissions.policy();
        target.is_ok_and(|target| policy.obstacle(&plan.request, &target).is_none())
    }
}

/// Returns the text of the script that a run executes.
fn script_text(plan: &RunPlan) -> Option<(String, ScriptType)> {
    let ExecutionMode::Native {
        script_path,
        script_type,
    } = &plan.mode
    else {
        return None;
    };
    let skill = plan.subject.skill()?;
    let bytes = skill.files.read(script_path, MAX_SCRIPT_BYTES).ok()?;
    Some((String::from_utf8_lossy(&bytes).into_owned(), *script_type))
}

//! What a script is likely to need, by its text: what a restriction did not let it try, and paths of the
//! home directory that it could not see.

use std::path::Path;

use skills_policy::{Access, Capability, Grants, SpawnGrant, Target};
use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation, RunOutput, ScriptType};

use super::findings::RunFinding;
use super::home_references::{HomeReference, home_references};
use super::run_plan::RunPlan;
use super::{Executor, obstacles};
use crate::ExecutionMode;

/// The most bytes of a script that are searched for what it does.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;
/// The most paths of the home directory that are suggested.
const MAX_HOME_PATHS: usize = 4;
/// The most paths of the home directory of which a run checks whether they exist.
const MAX_CHECKED_PATHS: usize = 8;
/// Parts of Python and Node scripts that start programs.
const STARTS_PROGRAMS: [&str; 6] = [
    "subprocess",
    "os.system(",
    "os.popen(",
    "os.exec",
    "child_process",
    "execa",
];

/// What a script is likely to need.
#[derive(Default)]
pub(super) struct LikelyNeeds {
    /// Rules for what it was stopped from trying, in the syntax of rules.
    pub(super) rules: Vec<String>,
    /// Paths of the home directory of the user that it names and that were not granted.
    pub(super) home_paths: Option<RunFinding>,
}

impl Executor {
    /// Returns what the text of a script says that it needs in addition to its refusals.
    pub(super) fn likely_needs(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        refusals: &Refusals,
        output: &RunOutput,
    ) -> LikelyNeeds {
        let Some((text, script_type)) = script_text(plan) else {
            return LikelyNeeds::default();
        };
        let refused = refusals.list();
        let is_stopped = !output.termination.is_success() && !refused.is_empty();
        let mut rules: Vec<String> = Vec::new();
        if is_stopped && self.needs_spawn(plan, grants, refused, &text) {
            rules.push(Capability::Spawn.to_string());
        }
        let known: Vec<String> = refused.iter().filter_map(Refusal::rule).collect();
        // Otherwise the home directory of the program is not a private one, or links lead nowhere.
        let home = self.config().user_home.as_deref();
        let Some(home) = home.filter(|_| output.private_home.is_some()) else {
            return LikelyNeeds {
                rules,
                home_paths: None,
            };
        };
        let references = home_references(&text, script_type);
        if is_stopped {
            let written = self.written_paths(plan, grants, home, &references);
            rules.extend(written.into_iter().filter(|rule| !known.contains(rule)));
        }
        let suggested = known.iter().chain(&rules);
        let suggested: Vec<&str> = suggested.filter_map(|rule| home_path_of(rule)).collect();
        let unread = self.unread_paths(plan, grants, home, &references);
        let is_new = |path: &String| {
            let path = Path::new(path);
            !suggested
                .iter()
                .any(|known| path.starts_with(known) || Path::new(known).starts_with(path))
        };
        let paths: Vec<String> = unread
            .into_iter()
            .filter(is_new)
            .take(MAX_HOME_PATHS)
            .collect();
        let home_paths = (!paths.is_empty()).then_some(RunFinding::UngrantedHome { paths });
        LikelyNeeds { rules, home_paths }
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

    /// Returns the paths that a script names, the home directory of the user has, and the run could not
    /// see.
    fn unread_paths(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        home: &Path,
        references: &[HomeReference],
    ) -> Vec<String> {
        let is_candidate = |reference: &&HomeReference| {
            let on_host = home.join(&reference.path);
            let is_granted = grants.innermost_grant(&on_host).is_some()
                || grants
                    .files()
                    .iter()
                    .any(|file| file.path().starts_with(&on_host));
            reference.is_readable()
                && !is_granted
                && self.is_allowable(plan, Target::read(&on_host))
        };
        // A symlink is not granted.
        let exists = |reference: &&HomeReference| {
            let metadata = home.join(&reference.path).symlink_metadata();
            metadata.is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
        };
        let candidates = references.iter().filter(is_candidate);
        let unread = candidates.take(MAX_CHECKED_PATHS).filter(exists);
        unread.map(|reference| reference.path.clone()).collect()
    }

    fn is_allowable<E>(&self, plan: &RunPlan, target: Result<Target, E>) -> bool {
        let policy = self.permissions.policy();
        target.is_ok_and(|target| policy.obstacle(&plan.request, &target).is_none())
    }
}

/// Returns the path of a rule for the home directory, relative to it.
fn home_path_of(rule: &str) -> Option<&str> {
    Some(rule.split_once(":~/")?.1)
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

//! Collects the results of a run: output, files, and what explains how it ended.

use std::path::Path;

use skills_policy::{Capability, Grants, SpawnGrant};
use skills_sandbox::{Refusal, Refusals, RefusedOperation, RunOutput, ScriptType};

use super::failure_cause::{self, FailureCause};
use super::findings::{self, RunFinding};
use super::grant_checks::{copies, used_tools};
use super::packages::RunPackages;
use super::refusals::{self, ProgramPaths};
use super::run_notes::{note_on_withheld, notes_before_run, report_unwritten_files, unused_rules};
use super::run_plan::RunPlan;
use super::run_record::RunRecord;
use super::{Executor, GrantedRun, obstacles};
use crate::redaction::Redactor;
use crate::{ExecutionArtifacts, ExecutionMode};

/// The most bytes of a script that are searched for what it does.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;
/// The most hosts in a finding.
const MAX_HOSTS: usize = 4;
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
    /// Describes what the caller should know about a run that is about to start.
    pub(super) fn notes_before_run(
        &self,
        run: &GrantedRun,
        record: &RunRecord,
        missing: &[String],
    ) -> Vec<String> {
        let policy = self.permissions.policy();
        let mut notes = notes_before_run(&run.plan, &run.grants, &record.redactor, missing);
        let finder = run
            .plan
            .uses_programs_of_host()
            .then(|| self.library().finder(run.plan.subject.name()));
        notes.extend(unused_rules(policy, &run.plan, &run.grants, finder));
        let withheld = self
            .permissions
            .withheld_by_rules(&run.plan.request, run.grants.decisions());
        notes.extend(note_on_withheld(run.plan.subject.name(), &withheld));
        notes.extend(run.packages.note.clone());
        notes
    }

    /// Collects the results of a run.
    pub(super) fn artifacts(
        &self,
        run: GrantedRun,
        output: RunOutput,
        notes: Vec<String>,
        redactor: &Redactor,
    ) -> ExecutionArtifacts {
        let GrantedRun {
            mut plan,
            grants,
            packages,
            ..
        } = run;
        let unreadable_skills = std::mem::take(&mut plan.readable_skills.unreadable);
        let mut output = redactor.redact_streams(output);
        let input = input_text(&plan);
        let paths = self.program_paths(&plan, &input);
        let refusals = self.refusals(&plan, &grants, &output, &paths);
        let findings = findings(&plan, &refusals, &grants, &output, &paths);
        let likely_rules = self.likely_rules(&plan, &grants, &refusals, &output);
        let cause = self.failure_cause(&plan, &output, &grants, &packages);
        let skill = plan.subject.name().to_owned();
        let permissions_used = used_tools(&grants, plan.subject.skill());
        let executed = std::mem::take(&mut output.executed_files);
        let workspace = run
            .workspace
            .as_ref()
            .map(|workspace| workspace.path().to_owned());
        let mut artifacts = ExecutionArtifacts::new(skill, plan.mode, output, redactor);
        artifacts.refusals = refusals;
        artifacts.findings = findings;
        artifacts.likely_rules = likely_rules;
        artifacts.failure_cause = cause;
        artifacts.unreadable_skills = unreadable_skills;
        artifacts.copies = copies(&grants);
        artifacts.output_files = run
            .workspace
            .map(|workspace| workspace.collect_output(redactor))
            .unwrap_or_default();
        let workspace = workspace
            .as_deref()
            .map(|path| (path, &artifacts.output_files));
        let executed = findings::executed_files(executed, workspace, &grants, redactor);
        artifacts.findings.extend(executed);
        artifacts.decisions = grants.decisions().to_vec();
        artifacts.permissions_used = permissions_used;
        artifacts.notes.extend(notes);
        report_unwritten_files(&mut artifacts);
        artifacts.redact_texts(redactor);
        artifacts
    }

    /// Returns what explains the paths in messages of the program. `input` is that of the program.
    fn program_paths<'a>(&'a self, plan: &'a RunPlan, input: &'a str) -> ProgramPaths<'a> {
        let skill_dir = plan.subject.skill().map(|skill| skill.entry.directory());
        let current_dir = plan.options.current_dir.as_deref().or(skill_dir);
        ProgramPaths {
            current_dir: current_dir.unwrap_or(Path::new("")),
            skill_dir,
            aliases: &plan.options.path_aliases,
            user_home: self.config().user_home.as_deref(),
            input,
        }
    }

    /// Returns what restrictions stopped, with the reasons why no rule would allow it.
    fn refusals(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        output: &RunOutput,
        paths: &ProgramPaths<'_>,
    ) -> Refusals {
        let refusals = refusals::refusals(output, grants, paths);
        // A shell script starts far more programs than its skill lists.
        let refusals = if plan.mode.script_type() == Some(ScriptType::Shell) {
            refusals
        } else {
            refusals::name_programs(refusals, &plan.dropped_programs)
        };
        let policy = self.permissions.policy();
        let refusals = refusals.with_obstacles(|refusal| {
            let workspace = plan.workspace.as_deref();
            let user_home = self.config().user_home.as_deref();
            obstacles::obstacle(policy, &plan.request, workspace, user_home, refusal)
        });
        let workspace = plan.workspace.as_deref();
        let refusals = refusals.with_cautions(|refusal| paths.caution(refusal, workspace));
        if policy.requires_program_name(&plan.request) {
            return refusals.require_program_name();
        }
        refusals
    }

    /// Returns rules that a script is likely to need next, in the syntax of rules: it was stopped
    /// before it started the programs that its text starts.
    fn likely_rules(
        &self,
        plan: &RunPlan,
        grants: &Grants,
        refusals: &Refusals,
        output: &RunOutput,
    ) -> Vec<String> {
        let is_process = |refusal: &Refusal| {
            matches!(
                refusal.operation,
                RefusedOperation::StartProcess | RefusedOperation::StartProgram { .. }
            )
        };
        let refused = refusals.list();
        let is_stopped = !output.termination.is_success() && !refused.is_empty();
        if !is_stopped || refused.iter().any(is_process) || *grants.spawn() != SpawnGrant::None {
            return Vec::new();
        }
        let policy = self.permissions.policy();
        let spawn = Capability::Spawn.into();
        let is_allowable = policy.obstacle(&plan.request, &spawn).is_none();
        if is_allowable && starts_programs(plan) {
            vec![Capability::Spawn.to_string()]
        } else {
            Vec::new()
        }
    }

    /// Returns why a run failed, if its output shows a known cause.
    fn failure_cause(
        &self,
        plan: &RunPlan,
        output: &RunOutput,
        granted: &Grants,
        packages: &RunPackages,
    ) -> Option<FailureCause> {
        let cause = failure_cause::failure_cause(
            output,
            failure_cause::interpreted_type(&plan.mode),
            granted.limits(),
            |script_type| {
                let of_environment = packages.python();
                of_environment
                    .filter(|_| script_type == ScriptType::Python)
                    .or_else(|| self.interpreter(plan, script_type))
            },
        )?;
        if is_missing_own_module(&cause, plan) {
            return None;
        }
        Some(self.with_package_advice(plan, packages, cause))
    }
}

/// Returns what the runtime knows about a run that explains its result.
fn findings(
    plan: &RunPlan,
    refusals: &Refusals,
    grants: &Grants,
    output: &RunOutput,
    paths: &ProgramPaths<'_>,
) -> Vec<RunFinding> {
    let writes_skill = paths.is_skill_written(refusals);
    let skill_is_read_only = writes_skill.then_some(RunFinding::SkillIsReadOnly {
        has_workspace: plan.workspace.is_some(),
    });
    let hosts = refusals::ignored_proxy(output, grants);
    let ignored_proxy = (!hosts.is_empty()).then(|| RunFinding::IgnoredProxy {
        hosts: hosts.into_iter().take(MAX_HOSTS).collect(),
    });
    findings::read_only_paths(output, refusals, paths)
        .into_iter()
        .chain(skill_is_read_only)
        .chain(ignored_proxy)
        .chain(findings::withheld_keys(output))
        .chain(findings::changed_key_links(output))
        .chain(findings::private_home(output.private_home.as_ref()))
        .collect()
}

/// Returns what the caller passed to the program, as text.
fn input_text(plan: &RunPlan) -> String {
    let args = plan.options.args.join("\n");
    format!("{args}\n{}", plan.options.input)
}

/// Returns true if the text of a script contains statements that start programs.
fn starts_programs(plan: &RunPlan) -> bool {
    let (Some(skill), ExecutionMode::Native { script_path, .. }) =
        (plan.subject.skill(), &plan.mode)
    else {
        return false;
    };
    let text = skill.files.read(script_path, MAX_SCRIPT_BYTES);
    text.is_ok_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        STARTS_PROGRAMS.iter().any(|part| text.contains(part))
    })
}

/// Returns true if a missing package is a file of the skill itself: no package has it.
fn is_missing_own_module(cause: &FailureCause, plan: &RunPlan) -> bool {
    let FailureCause::MissingPackage {
        package,
        script_type: ScriptType::Python,
        ..
    } = cause
    else {
        return false;
    };
    let Some(skill) = plan.subject.skill() else {
        return false;
    };
    let script = match &plan.mode {
        ExecutionMode::Native { script_path, .. } => script_path.as_str(),
        _ => "",
    };
    let listing = skill.files.list("").unwrap_or_default();
    let paths = listing.resources.iter().map(|file| file.path.as_str());
    failure_cause::is_own_module(paths, script, package)
}

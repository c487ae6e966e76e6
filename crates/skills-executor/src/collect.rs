//! The last stage of a run: its output, its files, and what explains how it ended.

use std::path::{Path, PathBuf};

use skills_policy::{Capability, SpawnGrant};
use skills_sandbox::{Refusal, Refusals, RefusedOperation, RunOutput, ScriptType};

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::Authorized;
use crate::execution_mode::ExecutionMode;
use crate::failure_cause::{self, FailureCause};
use crate::findings::{self, RunFinding};
use crate::grant_checks::{copies, used_tools};
use crate::obstacles;
use crate::packages::with_package_advice;
use crate::plan::Planned;
use crate::redaction::Redactor;
use crate::refusals::{self, ProgramPaths};
use crate::run_notes::report_unwritten_files;

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

/// An attempt whose program ended.
pub(crate) struct Finished {
    authorized: Authorized,
    output: RunOutput,
    /// What the caller should know since before the run, one line each.
    notes: Vec<String>,
}

impl Finished {
    pub(crate) fn new(authorized: Authorized, output: RunOutput, notes: Vec<String>) -> Self {
        Self {
            authorized,
            output,
            notes,
        }
    }

    /// Collects the results of the run. A private workspace is removed.
    pub(crate) fn into_artifacts(self, redactor: &Redactor) -> ExecutionArtifacts {
        let run = &self.authorized;
        let (planned, grants) = (run.planned(), run.grants());
        let mut output = redactor.redact_streams(self.output);
        let (input, aliases) = (input_text(planned), run.path_aliases());
        let paths = program_paths(run, &aliases, &input);
        let refusals = refusals(run, &output, &paths);
        let findings = findings(run, &refusals, &output, &paths);
        let likely_rules = likely_rules(run, &refusals, &output);
        let cause = failure_cause(run, &output);
        let executed = std::mem::take(&mut output.executed_files);
        let (skill, mode) = (planned.name().to_owned(), planned.mode().clone());
        let mut artifacts = ExecutionArtifacts::new(skill, mode, output, redactor);
        artifacts.refusals = refusals;
        artifacts.findings = findings;
        artifacts.likely_rules = likely_rules;
        artifacts.failure_cause = cause;
        artifacts.unreadable_skills = run.checked().readable_skills().unreadable().to_vec();
        artifacts.copies = copies(grants);
        artifacts.output_files = run.collect_output(redactor);
        let workspace = run.workspace().map(|path| (path, &artifacts.output_files));
        let executed = findings::executed_files(executed, workspace, grants, redactor);
        artifacts.findings.extend(executed);
        artifacts.decisions = grants.decisions().to_vec();
        artifacts.permissions_used = used_tools(grants, planned.skill());
        artifacts.notes.extend(self.notes);
        report_unwritten_files(&mut artifacts);
        artifacts.redact_texts(redactor);
        artifacts
    }
}

/// Returns what explains the paths in messages of the program. `input` is that of the program.
fn program_paths<'a>(
    run: &'a Authorized,
    aliases: &'a [(PathBuf, PathBuf)],
    input: &'a str,
) -> ProgramPaths<'a> {
    let planned = run.planned();
    let skill_dir = planned.skill().map(|skill| skill.entry.directory());
    let current_dir = run.current_dir().or(skill_dir);
    ProgramPaths {
        current_dir: current_dir.unwrap_or(Path::new("")),
        skill_dir,
        aliases,
        user_home: planned.services().config().user_home.as_deref(),
        input,
    }
}

/// Returns what restrictions stopped, with the reasons why no rule would allow it.
fn refusals(run: &Authorized, output: &RunOutput, paths: &ProgramPaths<'_>) -> Refusals {
    let services = run.planned().services();
    let refusals = refusals::refusals(output, run.grants(), paths);
    // A shell script starts far more programs than its skill lists.
    let refusals = if run.planned().mode().script_type() == Some(ScriptType::Shell) {
        refusals
    } else {
        refusals::name_programs(refusals, run.dropped_programs())
    };
    let policy = services.permissions().policy();
    let refusals = refusals.with_obstacles(|refusal| {
        let user_home = services.config().user_home.as_deref();
        obstacles::obstacle(policy, run.request(), run.workspace(), user_home, refusal)
    });
    let refusals = refusals.with_cautions(|refusal| paths.caution(refusal, run.workspace()));
    if policy.requires_program_name(run.request()) {
        return refusals.require_program_name();
    }
    refusals
}

/// Returns rules that a script is likely to need next, in the syntax of rules: it was stopped
/// before it started the programs that its text starts.
fn likely_rules(run: &Authorized, refusals: &Refusals, output: &RunOutput) -> Vec<String> {
    let is_process = |refusal: &Refusal| {
        matches!(
            refusal.operation,
            RefusedOperation::StartProcess | RefusedOperation::StartProgram { .. }
        )
    };
    let refused = refusals.list();
    let is_stopped = !output.termination.is_success() && !refused.is_empty();
    if !is_stopped || refused.iter().any(is_process) || *run.grants().spawn() != SpawnGrant::None {
        return Vec::new();
    }
    let policy = run.planned().services().permissions().policy();
    let spawn = Capability::Spawn.into();
    let is_allowable = policy.obstacle(run.request(), &spawn).is_none();
    if is_allowable && starts_programs(run.planned()) {
        vec![Capability::Spawn.to_string()]
    } else {
        Vec::new()
    }
}

/// Returns why a run failed, if its output shows a known cause.
fn failure_cause(run: &Authorized, output: &RunOutput) -> Option<FailureCause> {
    let (planned, packages) = (run.planned(), run.packages());
    let cause = failure_cause::failure_cause(
        output,
        failure_cause::interpreted_type(planned.mode()),
        run.grants().limits(),
        |script_type| {
            let of_environment = packages.python();
            of_environment
                .filter(|_| script_type == ScriptType::Python)
                .or_else(|| planned.interpreter(script_type))
        },
    )?;
    if is_missing_own_module(&cause, planned) {
        return None;
    }
    Some(with_package_advice(planned, packages, cause))
}

/// Returns what the runtime knows about a run that explains its result.
fn findings(
    run: &Authorized,
    refusals: &Refusals,
    output: &RunOutput,
    paths: &ProgramPaths<'_>,
) -> Vec<RunFinding> {
    let writes_skill = paths.is_skill_written(refusals);
    let skill_is_read_only = writes_skill.then_some(RunFinding::SkillIsReadOnly {
        has_workspace: run.workspace().is_some(),
    });
    let hosts = refusals::ignored_proxy(output, run.grants());
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
fn input_text(planned: &Planned) -> String {
    let options = planned.options();
    format!("{}\n{}", options.args.join("\n"), options.input)
}

/// Returns true if the text of a script contains statements that start programs.
fn starts_programs(planned: &Planned) -> bool {
    let (Some(skill), ExecutionMode::Native { script_path, .. }) =
        (planned.skill(), planned.mode())
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
fn is_missing_own_module(cause: &FailureCause, planned: &Planned) -> bool {
    let FailureCause::MissingPackage {
        package,
        script_type: ScriptType::Python,
        ..
    } = cause
    else {
        return false;
    };
    let Some(skill) = planned.skill() else {
        return false;
    };
    let script = match planned.mode() {
        ExecutionMode::Native { script_path, .. } => script_path.as_str(),
        _ => "",
    };
    let listing = skill.files.list("").unwrap_or_default();
    let paths = listing.resources.iter().map(|file| file.path.as_str());
    failure_cause::is_own_module(paths, script, package)
}

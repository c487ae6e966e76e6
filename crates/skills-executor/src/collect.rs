//! The last stage of a run: its output, its files, and what explains how it ended.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skills_sandbox::{RunOutput, ScriptType};

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::Authorized;
use crate::execution_mode::ExecutionMode;
use crate::explain::{
    Cause, EndedRun, LocalModulePlace, OutsideLink, ProgramPaths, RuleCheck, RunExplanation,
    executed_files, find_outside_link, foreign_owner, interpreted_type,
};
use crate::grant_checks::{copies, used_tools};
use crate::local_module::local_module;
use crate::next_attempt::{EndedAttempt, earlier_attempt, effects};
use crate::options::Workspace;
use crate::packages::{ImportedPackage, with_package_advice};
use crate::plan::Planned;
use crate::redaction::Redactor;
use crate::run_notes::{report_omitted, report_unwritten_files};

/// The most bytes of a script that are searched for what it does.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// An attempt whose program ended.
pub(crate) struct Finished {
    authorized: Authorized,
    output: RunOutput,
    /// What the caller should know since before the run, one line each.
    notes: Vec<String>,
    /// When the program was about to start.
    started: SystemTime,
    /// Whether the caller got the output while the program ran.
    has_events: bool,
}

impl Finished {
    pub(crate) fn new(
        authorized: Authorized,
        output: RunOutput,
        notes: Vec<String>,
        started: SystemTime,
        has_events: bool,
    ) -> Self {
        Self {
            authorized,
            output,
            notes,
            started,
            has_events,
        }
    }

    /// Collects the results of the attempt, and what a further one has to know. A private workspace is
    /// removed.
    pub(crate) fn into_artifacts(
        self,
        redactor: &Redactor,
    ) -> (ExecutionArtifacts, Option<EndedAttempt>) {
        let run = &self.authorized;
        let (planned, grants) = (run.planned(), run.grants());
        let mut output = redactor.redact_streams(self.output);
        let executed = std::mem::take(&mut output.executed_files);
        let output_files = run.collect_output(output.changed_entries.take(), redactor);
        let shown = run.workspace().map(|path| (path, &output_files));
        let executed = executed_files(executed, shown, grants, redactor);
        let (input, aliases) = (input_text(planned), run.path_aliases());
        let ended = EndedRun {
            outside: outside_link(run, &output, self.started),
            ..ended_run(run, &output, &aliases, &input)
        };
        let mut explanation = RunExplanation::new(&ended);
        explanation.facts.extend(executed);
        let completed = explanation
            .cause
            .take()
            .map(|cause| complete_cause(cause, run));
        let (cause, imported) = completed.unwrap_or_default();
        explanation.cause = cause;
        let done = effects(run, &output, &output_files, self.has_events);
        // Before texts are redacted, which can be parts of paths.
        let earlier = earlier_attempt(run, &ended, &explanation, done);
        let earlier = earlier.and_then(|earlier| EndedAttempt::new(earlier, imported, run));
        // Before the remedies, which repeat names of the facts and the cause.
        explanation.redact(redactor);
        explanation.add_remedies(&ended);
        let (skill, mode) = (planned.name().to_owned(), planned.mode().clone());
        let mut artifacts = ExecutionArtifacts::new(skill, mode, output, redactor);
        artifacts.explanation = explanation;
        artifacts.unreadable_skills = run.checked().readable_skills().unreadable().to_vec();
        artifacts.copies = copies(grants);
        artifacts.output_files = output_files;
        artifacts.decisions = grants.decisions().to_vec();
        artifacts.permissions_used = used_tools(grants, planned.skill());
        artifacts.notes.extend(self.notes);
        report_omitted(&mut artifacts);
        report_unwritten_files(&mut artifacts);
        artifacts.redact_texts(redactor);
        (artifacts, earlier)
    }
}

/// Returns what is known about a run for its explanation. `input` is that of the program.
fn ended_run<'a>(
    run: &'a Authorized,
    output: &'a RunOutput,
    aliases: &'a [(PathBuf, PathBuf)],
    input: &'a str,
) -> EndedRun<'a> {
    let (planned, grants) = (run.planned(), run.grants());
    let services = planned.services();
    let user_home = services.config().user_home.as_deref();
    let skill = planned.skill();
    let skill_dir = skill.map(|skill| skill.entry.directory());
    let current_dir = run.current_dir().or(skill_dir);
    let workspace = run.workspace();
    let declared = skill.map(|skill| skill.requirements.variable_names());
    EndedRun {
        skill: planned.name(),
        output,
        rules: RuleCheck {
            policy: services.permissions().policy(),
            request: run.request(),
            grants,
            workspace,
            user_home,
        },
        paths: ProgramPaths {
            current_dir: current_dir.unwrap_or(Path::new("")),
            skill_dir,
            aliases,
            user_home,
            input,
        },
        script_type: planned.mode().script_type(),
        interpreted: interpreted_type(planned.mode()),
        script: script(planned),
        dropped_programs: run.dropped_programs(),
        declared_variables: declared.into_iter().flatten().collect(),
        outside: None,
        foreign_owner: foreign_owner(grants),
    }
}

/// Returns the file of a directory of the caller that explains a failure. All files of a private
/// workspace and of a session can be those of programs.
fn outside_link(run: &Authorized, output: &RunOutput, started: SystemTime) -> Option<OutsideLink> {
    match &run.planned().options().workspace {
        Workspace::Directory(workspace) => {
            find_outside_link(output, run.grants(), workspace, started)
        }
        _ => None,
    }
}

/// Adds to a missing package what is known about it, and returns the package that a further attempt can
/// have. A missing file of the skill is not one.
fn complete_cause(mut cause: Cause, run: &Authorized) -> (Option<Cause>, Option<ImportedPackage>) {
    let (planned, packages) = (run.planned(), run.packages());
    let Cause::MissingPackage(missing) = &mut cause else {
        return (Some(cause), None);
    };
    let place = if missing.script_type == ScriptType::Python {
        let (path, text) = script(planned);
        local_module(&missing.package, planned, (path, &text))
    } else {
        None
    };
    match place {
        Some(LocalModulePlace::Skill) => return (None, None),
        Some(place @ (LocalModulePlace::BesideSkill | LocalModulePlace::Workspace)) => {
            let module = std::mem::take(&mut missing.package);
            return (Some(Cause::LocalModule { module, place }), None);
        }
        Some(LocalModulePlace::SkillDirectory) | None => {}
    }
    // What a script starts is in its search path, not the configured interpreter.
    if !missing.is_started_by_script {
        let of_environment = packages.python();
        missing.interpreter = of_environment
            .filter(|_| missing.script_type == ScriptType::Python)
            .or_else(|| planned.interpreter(missing.script_type));
    }
    let imported = with_package_advice(planned, packages, missing);
    if place.is_some() {
        missing.allowing_rule = None;
        missing.acceptable.clear();
    }
    (Some(cause), imported.filter(|_| place.is_none()))
}

/// Returns what the caller passed to the program, as text.
fn input_text(planned: &Planned) -> String {
    let options = planned.options();
    format!("{}\n{}", options.args.join("\n"), options.input)
}

/// Returns the path of the script in its skill, and its text.
fn script(planned: &Planned) -> (&str, String) {
    let (Some(skill), ExecutionMode::Native { script_path, .. }) =
        (planned.skill(), planned.mode())
    else {
        return ("", String::new());
    };
    let text = skill.files.read(script_path, MAX_SCRIPT_BYTES);
    let text = text.unwrap_or_default();
    (script_path, String::from_utf8_lossy(&text).into_owned())
}

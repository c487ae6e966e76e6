//! The last stage of a run: its output, its files, and what explains how it ended.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skills_policy::EarlierAttempt;
use skills_sandbox::{RunOutput, ScriptType};

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::Authorized;
use crate::execution_mode::ExecutionMode;
use crate::explain::{
    Cause, EndedRun, OutsideLink, ProgramPaths, RuleCheck, RunExplanation, executed_files,
    find_outside_link, foreign_owner, interpreted_type, is_own_module,
};
use crate::grant_checks::{copies, used_tools};
use crate::next_attempt::{earlier_attempt, effects};
use crate::options::Workspace;
use crate::packages::with_package_advice;
use crate::plan::Planned;
use crate::redaction::Redactor;
use crate::run_notes::{report_omitted, report_unwritten_files};

/// The most bytes of a script that are searched for what it does.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;
/// The most directories beside a skill that are searched for a module.
const MAX_NEIGHBORS: usize = 200;

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
    ) -> (ExecutionArtifacts, Option<EarlierAttempt>) {
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
        explanation.cause = explanation
            .cause
            .and_then(|cause| complete_cause(cause, run));
        let done = effects(run, &output, &output_files, self.has_events);
        // Before texts are redacted, which can be parts of paths.
        let earlier = earlier_attempt(run, &ended, &explanation, done);
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

/// Adds to a missing package what is known about it. A missing file of the skill is not one.
fn complete_cause(mut cause: Cause, run: &Authorized) -> Option<Cause> {
    let (planned, packages) = (run.planned(), run.packages());
    let Cause::MissingPackage(missing) = &mut cause else {
        return Some(cause);
    };
    if missing.script_type == ScriptType::Python {
        if is_missing_own_module(&missing.package, planned) {
            return None;
        }
        if is_module_beside_skill(&missing.package, planned) {
            let module = std::mem::take(&mut missing.package);
            return Some(Cause::LocalModule { module });
        }
    }
    // What a script starts is in its search path, not the configured interpreter.
    if !missing.is_started_by_script {
        let of_environment = packages.python();
        missing.interpreter = of_environment
            .filter(|_| missing.script_type == ScriptType::Python)
            .or_else(|| planned.interpreter(missing.script_type));
    }
    with_package_advice(planned, packages, missing);
    Some(cause)
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

/// Returns true if a missing module is a file of the skill itself: no package has it.
fn is_missing_own_module(module: &str, planned: &Planned) -> bool {
    let Some(skill) = planned.skill() else {
        return false;
    };
    let listing = skill.files.list("").unwrap_or_default();
    let paths = listing.resources.iter().map(|file| file.path.as_str());
    is_own_module(paths, script(planned).0, module)
}

/// Returns true if a directory beside the skill has a missing module, which the script imports. Anybody
/// could register a package of its name.
fn is_module_beside_skill(module: &str, planned: &Planned) -> bool {
    let top = module.split('.').next().unwrap_or(module);
    let is_name = top.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_import = |line: &str| {
        let rest = line.trim_start().strip_prefix("import ");
        let rest = rest.or_else(|| line.trim_start().strip_prefix("from "));
        let named = rest.and_then(|rest| rest.split(['.', ' ', ',']).next());
        named == Some(top)
    };
    let parent = planned
        .skill()
        .and_then(|skill| skill.entry.directory().parent());
    let Some(parent) = parent.filter(|_| is_name && script(planned).1.lines().any(is_import))
    else {
        return false;
    };
    let has_module = |directory: PathBuf| {
        directory.join(format!("{top}.py")).is_file()
            || directory.join(top).join("__init__.py").is_file()
    };
    let entries = Dir::open_ambient_dir(parent, ambient_authority()).and_then(|dir| dir.entries());
    let names = entries.into_iter().flatten().flatten().take(MAX_NEIGHBORS);
    names
        .map(|entry| parent.join(entry.file_name()))
        .any(has_module)
}

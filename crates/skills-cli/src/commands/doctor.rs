//! `skills doctor`: checks roots, skills, policy and sandbox.

use clap::Args;
use serde_json::{Value, json};
use skills_lint::{Finding, Severity};
use skills_runtime::discovery::{DiscoveryError, EntryWarning, SkipReason, Skipped, Trust};
use skills_runtime::{Catalog, EnforcementReport, Entry, SandboxError, SkillRuntime};

use super::list::{has_untrusted_project, inactive_to_json, skipped_to_json, unexpected_skips};
use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::lint::SkillFindings;
use crate::lookup::TRUST_PROJECT_HINT;
use crate::output::line;
use crate::policy_files;
use crate::shell::shell_word;
use crate::state::PolicyPaths;

/// Check roots, skills, policy and sandbox
///
/// The text of each skill is searched for what attackers write.
#[derive(Debug, Args)]
pub(crate) struct Doctor {}

/// A problem with one skill.
struct Diagnostic {
    skill: String,
    code: &'static str,
    message: String,
}

/// The code and the message of a problem.
type Problem = (&'static str, String);

/// A type of program, and the restrictions that the sandbox would enforce for it.
type SandboxCheck = (&'static str, Result<EnforcementReport, SandboxError>);

impl Doctor {
    /// Checks roots, limits, names, links, requirements, policy and sandboxes. Returns
    /// `Exit::Failed` if there is a problem.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let catalog = runtime.library().catalog();
        let entries = catalog.entries().iter();
        let diagnostics = entries.flat_map(|entry| entry_diagnostics(&runtime, entry));
        // A policy that cannot be read prevents every run.
        let paths = PolicyPaths::new(&context.environment);
        let policy = policy_files::load(&paths, Trust::Untrusted).err();
        let policy = policy.map(|error| Diagnostic {
            skill: "policy".to_owned(),
            code: "policy",
            message: format!("{error:#}"),
        });
        let diagnostics: Vec<Diagnostic> = diagnostics.chain(policy).collect();
        // Probed, and not read from versions: only an attempt shows which operations a container
        // or a hardened host refuses.
        let sandboxes = runtime.executor().probe();
        if output.is_json() {
            output.print_json(&to_json(&catalog, &diagnostics, &sandboxes))?;
        } else {
            output.lines(render_rows(&runtime, &catalog, &diagnostics, &sandboxes))?;
        }
        let all_run = sandboxes.iter().all(|(_, report)| report.is_ok());
        let is_complete = unexpected_skips(&catalog).next().is_none();
        Ok(Exit::success_if(
            all_run && is_complete && diagnostics.is_empty(),
        ))
    }
}

fn to_json(catalog: &Catalog, diagnostics: &[Diagnostic], sandboxes: &[SandboxCheck]) -> Value {
    let sandbox = |(kind, report): &SandboxCheck| match report {
        Ok(report) => {
            let mut document = json!(report);
            document["runs"] = json!(kind);
            document["available"] = json!(true);
            document
        }
        Err(error) => {
            json!({"runs": kind, "available": false, "message": error.to_string(), "hint": error.hint()})
        }
    };
    let diagnostic = |problem: &Diagnostic| json!({"skill": problem.skill, "code": problem.code, "message": problem.message});
    json!({
        "skills": catalog.entries().len(),
        "skipped": unexpected_skips(catalog).map(skipped_to_json).collect::<Vec<_>>(),
        "inactive": catalog.inactive().iter().map(inactive_to_json).collect::<Vec<_>>(),
        "diagnostics": diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
        "sandboxes": sandboxes.iter().map(sandbox).collect::<Vec<_>>(),
    })
}

fn render_rows(
    runtime: &SkillRuntime,
    catalog: &Catalog,
    diagnostics: &[Diagnostic],
    sandboxes: &[SandboxCheck],
) -> Vec<String> {
    let is_missing = |skipped: &&Skipped| matches!(skipped.reason(), SkipReason::RootNotFound);
    let missing = catalog.skipped().iter().filter(is_missing).count();
    let roots = runtime.library().discovery().roots().len();
    let (active, inactive) = (catalog.entries().len(), catalog.inactive().len());
    let mut rows = vec![
        format!("roots      {} of {roots} exist", roots - missing),
        format!("skills     {active} active, {inactive} inactive"),
    ];
    let details = detail_rows(catalog, diagnostics).into_iter();
    rows.extend(details.map(|detail| format!("           {detail}")));
    rows.extend(sandboxes.iter().flat_map(sandbox_rows));
    rows
}

/// Describes inactive skills, skipped paths and problems of skills.
fn detail_rows(catalog: &Catalog, diagnostics: &[Diagnostic]) -> Vec<String> {
    let inactive = catalog.inactive().iter().map(|inactive| {
        let reason = line(&inactive.reason().to_string());
        format!("inactive: {}: {reason}", inactive.entry().name())
    });
    let help = has_untrusted_project(catalog).then(|| format!("help: {TRUST_PROJECT_HINT}"));
    let skipped = unexpected_skips(catalog);
    let skipped = skipped.map(|skipped| format!("skipped {}", line(&skipped.to_string())));
    let problems = diagnostics.iter().map(|problem| {
        let (skill, message) = (line(&problem.skill), line(&problem.message));
        format!("{skill}: {message}")
    });
    inactive
        .chain(help)
        .chain(skipped)
        .chain(problems)
        .collect()
}

fn sandbox_rows((kind, report): &SandboxCheck) -> Vec<String> {
    let (first, details) = match report {
        Ok(report) => {
            let first = format!("run in the {} sandbox", report.backend());
            let lines = report.to_lines().into_iter();
            (first, lines.map(|row| line(&row)).collect())
        }
        Err(error) => {
            let hint = error.hint().map(line).filter(|hint| !hint.is_empty());
            let help = hint.map(|hint| format!("help: {hint}"));
            (line(&error.to_string()), Vec::from_iter(help))
        }
    };
    let details = details
        .into_iter()
        .map(|detail| format!("           {detail}"));
    [format!("{kind:<10} {first}")]
        .into_iter()
        .chain(details)
        .collect()
}

fn entry_diagnostics(runtime: &SkillRuntime, entry: &Entry) -> Vec<Diagnostic> {
    let warnings = entry
        .warnings()
        .iter()
        .filter(|warning| is_problem(warning));
    let found = link_problems(entry)
        .into_iter()
        .chain(omitted_scripts(entry))
        .chain(warnings.map(|warning| (warning.code(), warning.to_string())))
        .chain(unparsed_restrictions(entry))
        .chain(requirement_problems(runtime, entry))
        .chain(text_problem(entry));
    found
        .map(|(code, message)| Diagnostic {
            skill: entry.name().to_string(),
            code,
            message,
        })
        .collect()
}

/// Returns true for the warnings that affect how a skill is used.
fn is_problem(warning: &EntryWarning) -> bool {
    matches!(
        warning,
        EntryWarning::DuplicateName { .. }
            | EntryWarning::ConfusableName { .. }
            | EntryWarning::SymlinkedSkillFile { .. }
    )
}

fn unparsed_restrictions(entry: &Entry) -> Option<Problem> {
    let unparsed = entry.manifest().unparsed_restrictions();
    let fields = unparsed.join("`, `");
    let message = format!("cannot parse `{fields}`: the skill does not run until it is fixed");
    (!unparsed.is_empty()).then_some(("restriction-unread", message))
}

fn requirement_problems(runtime: &SkillRuntime, entry: &Entry) -> Vec<Problem> {
    let missing = runtime.library().missing_requirements([entry]);
    let invalid = missing.invalid.iter();
    let invalid = invalid.map(|invalid| format!("invalid requirement: {}", invalid.reason));
    let lines = missing.to_lines().into_iter();
    let lines = lines.map(|line| format!("missing requirement: {line}"));
    let messages = invalid.chain(lines);
    messages.map(|message| ("requirement", message)).collect()
}

/// Returns the first finding of high severity in the text of a skill. A skill that cannot be opened
/// has a problem already.
fn text_problem(entry: &Entry) -> Option<Problem> {
    let files = entry.open().ok()?;
    let found = SkillFindings::of_files(&files, entry.name().as_str());
    let is_high = |finding: &&Finding| finding.severity() == Severity::High;
    let count = found.report.findings().iter().filter(is_high).count();
    let first = found.report.findings().iter().find(is_high)?;
    let place = format!("{}:{}", first.path(), first.line());
    let findings = counted(count, "finding");
    let directory = shell_word(&entry.directory().to_string_lossy());
    let directory = directory.as_deref().unwrap_or("PATH");
    let message = format!(
        "{findings} of high severity, such as {} at {place}; `skills validate {directory}` shows all",
        first.rule()
    );
    Some(("text-finding", message))
}

fn link_problems(entry: &Entry) -> Vec<Problem> {
    match broken_links(entry) {
        Ok(links) => links
            .into_iter()
            .map(|link| ("broken-link", link))
            .collect(),
        Err(error) => vec![(error.kind().code(), error.to_string())],
    }
}

/// Returns the files of `scripts/` that no run can start.
fn omitted_scripts(entry: &Entry) -> Vec<Problem> {
    let listed = entry.open().and_then(|files| files.list("scripts"));
    // An error is reported with the links.
    let omitted = listed.unwrap_or_default().omitted.into_iter();
    omitted
        .map(|file| ("omitted-script", file.to_string()))
        .collect()
}

fn broken_links(entry: &Entry) -> Result<Vec<String>, DiscoveryError> {
    let files = entry.open()?;
    let links = files.broken_links(&files.document()?.outline()).into_iter();
    let lines = links.map(|link| {
        format!(
            "line {}: `{}` is not a file of the skill",
            link.line, link.target
        )
    });
    Ok(lines.collect())
}

//! `skills doctor`: checks roots, skills, policy and sandbox.

use serde_json::{Value, json};
use skills_runtime::discovery::{DiscoveryError, EntryWarning, SkipReason, Trust};
use skills_runtime::{Catalog, EnforcementReport, Entry, SandboxError, SkillRuntime};

use crate::directories;
use crate::exit::Exit;
use crate::list;
use crate::output::{Output, line};
use crate::policy_config;

/// A problem with one skill.
struct Diagnostic {
    skill: String,
    code: &'static str,
    message: String,
}

/// A type of program, and the restrictions that the sandbox would enforce for it.
type SandboxCheck = (&'static str, Result<EnforcementReport, SandboxError>);

/// Checks roots, limits, names, links, requirements, policy and sandboxes. Returns `Exit::Failed`
/// if there is a problem.
pub(crate) fn doctor(runtime: &SkillRuntime, output: &Output) -> anyhow::Result<Exit> {
    let catalog = runtime.library().catalog();
    let mut diagnostics: Vec<Diagnostic> = catalog
        .entries()
        .iter()
        .flat_map(|entry| entry_diagnostics(runtime, entry))
        .collect();
    // A policy that cannot be read prevents every run.
    if let Err(error) = policy_config::load_policy(&directories::policy_paths(), Trust::Untrusted) {
        diagnostics.push(Diagnostic {
            skill: "policy".to_owned(),
            code: "policy",
            message: format!("{error:#}"),
        });
    }
    // Probed, and not read from versions: a container or a hardened host shows only then what it
    // refuses.
    let sandboxes = runtime.executor().probe();
    if output.is_json() {
        let sandboxes: Vec<Value> = (sandboxes.iter())
            .map(|(kind, report)| match report {
                Ok(report) => {
                    let mut document = json!(report);
                    document["runs"] = json!(kind);
                    document["available"] = json!(true);
                    document
                }
                Err(error) => json!({"runs": kind, "available": false, "message": error.to_string(), "hint": error.hint()}),
            })
            .collect();
        let diagnostics: Vec<Value> = diagnostics.iter().map(|problem| json!({"skill": problem.skill, "code": problem.code, "message": problem.message})).collect();
        let skipped = unexpected_skips(&catalog)
            .map(list::skipped_to_json)
            .collect::<Vec<_>>();
        let inactive = catalog
            .inactive()
            .iter()
            .map(list::inactive_to_json)
            .collect::<Vec<_>>();
        output.print_json(&json!({
            "skills": catalog.entries().len(), "skipped": skipped, "inactive": inactive, "diagnostics": diagnostics, "sandboxes": sandboxes,
        }))?;
    } else {
        output.text(&render_text(runtime, &catalog, &diagnostics, &sandboxes))?;
    }
    let all_run = sandboxes.iter().all(|(_, report)| report.is_ok());
    let is_healthy =
        all_run && unexpected_skips(&catalog).next().is_none() && diagnostics.is_empty();
    Ok(if is_healthy {
        Exit::Success
    } else {
        Exit::Failed
    })
}

/// Returns the entries that discovery skipped unexpectedly.
fn unexpected_skips(
    catalog: &Catalog,
) -> impl Iterator<Item = &skills_runtime::discovery::Skipped> {
    catalog
        .skipped()
        .iter()
        .filter(|skipped| !skipped.reason().is_expected())
}

fn render_text(
    runtime: &SkillRuntime,
    catalog: &Catalog,
    diagnostics: &[Diagnostic],
    sandboxes: &[SandboxCheck],
) -> String {
    let missing = catalog
        .skipped()
        .iter()
        .filter(|skipped| matches!(skipped.reason(), SkipReason::RootNotFound))
        .count();
    let roots = runtime.library().discovery().roots().len();
    let mut text = format!("roots      {} of {roots} exist\n", roots - missing);
    text.push_str(&format!(
        "skills     {} active, {} inactive\n",
        catalog.entries().len(),
        catalog.inactive().len()
    ));
    for inactive in catalog.inactive() {
        text.push_str(&format!(
            "           inactive: {}: {}\n",
            inactive.entry().name(),
            line(&inactive.reason().to_string())
        ));
    }
    for skipped in unexpected_skips(catalog) {
        text.push_str(&format!(
            "           skipped {}\n",
            line(&skipped.to_string())
        ));
    }
    for problem in diagnostics {
        text.push_str(&format!(
            "           {}: {}\n",
            line(&problem.skill),
            line(&problem.message)
        ));
    }
    for (kind, report) in sandboxes {
        match report {
            Ok(report) => {
                text.push_str(&format!(
                    "{kind:<10} run in the {} sandbox\n",
                    report.backend()
                ));
                text.extend(
                    report
                        .to_lines()
                        .iter()
                        .map(|row| format!("           {}\n", line(row))),
                );
            }
            Err(error) => {
                let message = line(&error.to_string());
                text.push_str(&format!("{kind:<10} {message}\n"));
                let hint = error.hint().map(line).unwrap_or_default();
                if !hint.is_empty() {
                    text.push_str(&format!("           help: {hint}\n"));
                }
            }
        }
    }
    text
}

fn entry_diagnostics(runtime: &SkillRuntime, entry: &Entry) -> Vec<Diagnostic> {
    let diagnostic = |code, message: String| Diagnostic {
        skill: entry.name().to_string(),
        code,
        message,
    };
    let mut diagnostics = Vec::new();
    match broken_links(entry) {
        Ok(links) => diagnostics.extend(
            links
                .into_iter()
                .map(|link| diagnostic("broken-link", link)),
        ),
        Err(error) => diagnostics.push(diagnostic(error.kind().code(), error.to_string())),
    }
    let is_problem = |warning: &&EntryWarning| {
        matches!(
            warning,
            EntryWarning::DuplicateName { .. }
                | EntryWarning::ConfusableName { .. }
                | EntryWarning::SymlinkedSkillFile { .. }
        )
    };
    diagnostics.extend(
        entry
            .warnings()
            .iter()
            .filter(is_problem)
            .map(|warning| diagnostic(warning.code(), warning.to_string())),
    );
    let unparsed = entry.manifest().unparsed_restrictions();
    if !unparsed.is_empty() {
        diagnostics.push(diagnostic(
            "restriction-unread",
            format!(
                "cannot parse `{}`; the skill cannot run",
                unparsed.join("`, `")
            ),
        ));
    }
    let missing = runtime.library().missing_requirements([entry]);
    let invalid = missing.invalid.iter();
    diagnostics.extend(invalid.map(|invalid| {
        let message = format!("invalid requirement: {}", invalid.reason);
        diagnostic("requirement", message)
    }));
    let lines = missing.to_lines().into_iter();
    diagnostics.extend(
        lines.map(|line| diagnostic("requirement", format!("missing requirement: {line}"))),
    );
    diagnostics
}

fn broken_links(entry: &Entry) -> Result<Vec<String>, DiscoveryError> {
    let files = entry.open()?;
    let document = files.document()?;
    let links = files.broken_links(&document.outline());
    Ok(links
        .into_iter()
        .map(|link| {
            format!(
                "line {}: `{}` is not a file of the skill",
                link.line, link.target
            )
        })
        .collect())
}

//! `skills doctor`.

use serde_json::{Value, json};
use skills_runtime::discovery::{DiscoveryError, EntryWarning, SkipReason};
use skills_runtime::{Catalog, EnforcementReport, Entry, SandboxError, SkillRuntime};

use crate::directories;
use crate::exit::Exit;
use crate::list;
use crate::output::{Output, line};
use crate::policy_config;
use crate::requirements;

/// Something that hinders one skill.
struct Diagnostic {
    skill: String,
    code: &'static str,
    message: String,
}

/// A kind of program, and which walls would stand around it here.
type SandboxCheck = (&'static str, Result<EnforcementReport, SandboxError>);

/// Looks at everything that may hinder skills here: roots, limits, names, links, requirements,
/// sandboxes.
pub(crate) fn doctor(runtime: &SkillRuntime, output: &Output) -> anyhow::Result<Exit> {
    let catalog = runtime.catalog();
    let mut troubles: Vec<Diagnostic> = catalog
        .entries()
        .iter()
        .flat_map(entry_diagnostics)
        .collect();
    // Rules that cannot be read stop every run.
    if let Err(error) = policy_config::load_policy(&directories::policy_paths(), false) {
        troubles.push(Diagnostic {
            skill: "rules".to_owned(),
            code: "policy",
            message: format!("{error:#}"),
        });
    }
    let sandboxes = runtime.probe_backends();
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
        let troubles: Vec<Value> =
            troubles.iter().map(|trouble| json!({"skill": trouble.skill, "code": trouble.code, "message": trouble.message})).collect();
        let skipped = unexpected_skips(&catalog)
            .map(list::skipped_to_json)
            .collect::<Vec<_>>();
        let inactive = catalog
            .inactive()
            .iter()
            .map(list::inactive_to_json)
            .collect::<Vec<_>>();
        output.print_json(&json!({
            "skills": catalog.entries().len(), "skipped": skipped, "inactive": inactive, "troubles": troubles, "sandboxes": sandboxes,
        }))?;
    } else {
        output.text(&render_text(runtime, &catalog, &troubles, &sandboxes))?;
    }
    let all_run = sandboxes.iter().all(|(_, report)| report.is_ok());
    let well = all_run && unexpected_skips(&catalog).next().is_none() && troubles.is_empty();
    Ok(if well { Exit::Success } else { Exit::Failed })
}

/// What was passed over and should not have been.
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
    troubles: &[Diagnostic],
    sandboxes: &[SandboxCheck],
) -> String {
    let missing = catalog
        .skipped()
        .iter()
        .filter(|skipped| matches!(skipped.reason(), SkipReason::RootNotFound))
        .count();
    let roots = runtime.discovery().roots().len();
    let mut text = format!("roots      {} of {roots} exist\n", roots - missing);
    text.push_str(&format!(
        "skills     {} used, {} not used\n",
        catalog.entries().len(),
        catalog.inactive().len()
    ));
    for inactive in catalog.inactive() {
        text.push_str(&format!(
            "           not used: {}: {}\n",
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
    for trouble in troubles {
        text.push_str(&format!(
            "           {}: {}\n",
            line(&trouble.skill),
            line(&trouble.message)
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
                        .map(|told| format!("           {}\n", line(told))),
                );
            }
            Err(error) => text.push_str(&format!(
                "{kind:<10} do not run: {}\n",
                line(&error.to_string())
            )),
        }
    }
    text
}

fn entry_diagnostics(entry: &Entry) -> Vec<Diagnostic> {
    let trouble = |code, message: String| Diagnostic {
        skill: entry.name().to_string(),
        code,
        message,
    };
    let mut troubles = Vec::new();
    match broken_links(entry) {
        Ok(links) => troubles.extend(links.into_iter().map(|link| trouble("broken-link", link))),
        Err(error) => troubles.push(trouble(error.kind().code(), error.to_string())),
    }
    let is_trouble = |warning: &&EntryWarning| {
        matches!(
            warning,
            EntryWarning::DuplicateName { .. }
                | EntryWarning::ConfusableName { .. }
                | EntryWarning::SymlinkedSkillFile { .. }
        )
    };
    troubles.extend(
        entry
            .warnings()
            .iter()
            .filter(is_trouble)
            .map(|warning| trouble(warning.code(), warning.to_string())),
    );
    let unread = entry.manifest().unparsed_restrictions();
    if !unread.is_empty() {
        troubles.push(trouble(
            "restriction-unread",
            format!(
                "`{}` could not be read, so nothing of it runs",
                unread.join("`, `")
            ),
        ));
    }
    troubles.extend(
        requirements::describe(&requirements::unmet_requirements([entry]))
            .into_iter()
            .map(|message| trouble("requirement", message)),
    );
    troubles
}

fn broken_links(entry: &Entry) -> Result<Vec<String>, DiscoveryError> {
    let files = entry.open()?;
    let document = files.document()?;
    let links = files.broken_links(&document.outline());
    Ok(links
        .into_iter()
        .map(|link| {
            format!(
                "line {}: {:?} is no file of the skill",
                link.line, link.target
            )
        })
        .collect())
}

//! `skills list`: prints the catalog, or the directories that are searched.

mod json;
pub(crate) mod roots;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::discovery::{DiscoveryErrorKind, InactiveEntry, SkipReason, Skipped};
use skills_runtime::{Catalog, Entry, Scope, SkillRuntime};

use crate::context::Context;
use crate::exit::Exit;
use crate::lookup::TRUST_PROJECT_HINT;
use crate::output::{Output, line};
use crate::suggested_command::complete_commands;
use crate::words::widest;

/// List available skills
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show the directory and warnings of each skill
    #[arg(long, short)]
    long: bool,

    /// List the directories that are searched, instead of skills
    #[arg(long, conflicts_with = "long")]
    roots: bool,
}

impl List {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if self.roots {
            return roots::print_roots(context);
        }
        let (runtime, output) = (context.runtime()?, context.output);
        let catalog = runtime.library().catalog();
        if output.is_json() {
            json::print(&runtime, &catalog)?;
            return Ok(Exit::Success);
        }
        // First, since the list may be long.
        report_summary(output, &catalog);
        if self.long {
            for paragraph in long_paragraphs(&runtime, catalog.entries()) {
                output.text(&paragraph)?;
            }
            report_details(output, &catalog);
        } else {
            if !catalog.summary().is_complete() {
                output.status("help: see each with its reason in `skills list --long`");
            }
            output.text(&render_table(catalog.entries()))?;
            report_warnings(output, catalog.entries());
        }
        if catalog.entries().is_empty() {
            output.status("no skills found");
            output.status("help: pass `--root DIR`, or list the searched directories with `skills list --roots`");
        }
        Ok(Exit::Success)
    }
}

/// Reports the counts of the scan, and how to see the rest, unless all skills are in use.
fn report_summary(output: Output, catalog: &Catalog) {
    let summary = catalog.summary();
    if summary.is_complete() {
        return;
    }
    output.status(&summary.to_string());
    for hint in limit_hints(catalog) {
        output.status(&format!("help: {hint}"));
    }
    if has_untrusted_project(catalog) {
        output.status(&format!("help: {TRUST_PROJECT_HINT}"));
    }
}

/// Returns true if skills are inactive because their project is not trusted.
pub(crate) fn has_untrusted_project(catalog: &Catalog) -> bool {
    let mut inactive = catalog.inactive().iter();
    inactive.any(InactiveEntry::is_of_untrusted_project)
}

/// Reports each skill that is not in use, with the reason.
fn report_details(output: Output, catalog: &Catalog) {
    for inactive in catalog.inactive() {
        let (entry, reason) = (inactive.entry(), inactive.reason());
        let (name, path) = (entry.name(), entry.location());
        output.status(&format!("inactive: {name} ({}): {reason}", path.display()));
    }
    for skipped in unexpected_skips(catalog) {
        output.status(&format!("skipped {skipped}"));
    }
}

/// Returns the options with which a scan finds what it has not read.
pub(crate) fn limit_hints(catalog: &Catalog) -> Vec<&'static str> {
    let mut hints = Vec::new();
    let limits = catalog.skipped().iter().filter(|skipped| {
        // Most directories beyond the depth have no skills.
        !matches!(skipped.reason(), SkipReason::TooDeep { .. })
    });
    for skipped in limits.chain(catalog.unread_skills()) {
        let hint = limit_hint(skipped.reason());
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    hints
}

/// Returns the option with which a scan finds what it has not read for a reason, or the command that
/// installs it.
pub(crate) fn limit_hint(reason: &SkipReason) -> Option<&'static str> {
    Some(match reason {
        SkipReason::TooManyDirectories { .. } => {
            "raise the limit of directories with `--max-directories NUMBER`"
        }
        SkipReason::TooManyEntries { .. } => {
            "raise the limit of directory entries with `--max-entries NUMBER`"
        }
        SkipReason::TooDeep { .. } => "search deeper with `--max-depth NUMBER`",
        SkipReason::Nested { .. } => "search below skills with `--nested`",
        SkipReason::LockedMissing => "install missing locked skills again with `skills add`",
        SkipReason::InHiddenDirectory => {
            "search hidden directories by naming their root with `--root DIR`, without `--profile`"
        }
        SkipReason::Unreadable(error) if error.kind() == DiscoveryErrorKind::OutsideSkill => {
            "follow symlinked skill files with `--follow-skill-links`"
        }
        _ => return None,
    })
}

/// Reports how many skills have warnings of the scan. `--long` and `--json` include those of files
/// that a scan does not read: bodies, and `agents/openai.yaml`.
fn report_warnings(output: Output, entries: &[Entry]) {
    let warned = entries
        .iter()
        .filter(|entry| entry.has_scan_warnings())
        .count();
    if warned > 0 {
        let command = complete_commands("`skills list --long`");
        output.status(&format!("skills with warnings: {warned}; see {command}"));
    }
}

/// Returns what discovery skipped unexpectedly, with the skills that it has not read.
pub(crate) fn unexpected_skips(catalog: &Catalog) -> impl Iterator<Item = &Skipped> {
    let skipped = catalog.skipped().iter();
    skipped
        .filter(|skipped| !skipped.reason().is_expected())
        // Directories beyond the depth without a skill are of no interest.
        .filter(|skipped| !matches!(skipped.reason(), SkipReason::TooDeep { .. }))
        .chain(catalog.unread_skills())
}

/// Returns a skipped entry as JSON, in the same form for all commands.
pub(crate) fn skipped_to_json(skipped: &Skipped) -> Value {
    json!({"path": skipped.path().to_string_lossy(), "code": skipped.reason().code(), "message": skipped.reason().to_string()})
}

/// Returns an inactive skill as JSON, in the same form for all commands.
pub(crate) fn inactive_to_json(inactive: &InactiveEntry) -> Value {
    let (mut value, reason) = (
        entry_to_json(&inactive.entry().transient()),
        inactive.reason(),
    );
    value["reason"] = json!({"code": reason.code(), "message": reason.to_string()});
    value
}

pub(super) fn entry_to_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name(),
        "description": entry.manifest().description(),
        "scope": entry.scope().as_str(),
        "root": entry.root().to_string_lossy(),
        "path": entry.location().to_string_lossy(),
        "directory": entry.directory().to_string_lossy(),
        "user_invocable": entry.manifest().user_invocable(),
        "model_invocable": entry.is_model_invocable(),
        "warnings": warnings_to_json(entry),
    })
}

/// Returns the warnings of a skill as JSON, in the same form for all commands.
pub(crate) fn warnings_to_json(entry: &Entry) -> Vec<Value> {
    entry.warnings().iter().map(|warning| json!({"code": warning.code(), "line": warning.line(), "message": warning.to_string()})).collect()
}

/// Renders one line per skill, with the scope if there are several scopes.
fn render_table(entries: &[Entry]) -> String {
    let name = widest(entries.iter().map(|entry| entry.name().as_str()));
    let scope = widest(entries.iter().map(|entry| entry.scope().as_str()));
    let several = entries
        .windows(2)
        .any(|pair| pair[0].scope() != pair[1].scope());
    let row = |entry: &Entry| {
        let middle = if several {
            format!("{:scope$}  ", Scope::as_str(entry.scope()))
        } else {
            String::new()
        };
        let description = first_sentence(entry.transient().manifest().description());
        format!("{:name$}  {middle}{description}\n", entry.name().as_str())
    };
    entries.iter().map(row).collect()
}

/// Returns one paragraph per skill: description, path, root, warnings and missing requirements.
fn long_paragraphs<'a>(
    runtime: &'a SkillRuntime,
    entries: &'a [Entry],
) -> impl Iterator<Item = String> + 'a {
    let paragraph = move |(index, entry): (usize, &Entry)| {
        let entry = &entry.transient();
        let (path, root) = (entry.location(), entry.root());
        let separator = if index == 0 { "" } else { "\n" };
        let mut text = format!(
            "{separator}{}\n  {}\n  {}\n  {} root {}\n",
            entry.name(),
            first_sentence(entry.manifest().description()),
            line(&path.to_string_lossy()),
            entry.scope(),
            line(&root.to_string_lossy())
        );
        if !entry.is_model_invocable() {
            text.push_str("  not model-invocable\n");
        }
        for warning in entry.warnings() {
            text.push_str(&format!("  warning: {}\n", line(&warning.to_string())));
        }
        for missing in runtime.library().missing_requirements([entry]).to_lines() {
            text.push_str(&format!("  missing requirement: {}\n", line(&missing)));
        }
        text
    };
    entries.iter().enumerate().map(paragraph)
}

/// Returns the first sentence on one line, truncated to 160 characters.
pub(crate) fn first_sentence(text: &str) -> String {
    const MAX_CHARACTERS: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    match line[..end].char_indices().nth(MAX_CHARACTERS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line[..end].to_owned(),
    }
}

//! `skills list`: prints the catalog, or the directories that are searched.

pub(crate) mod roots;

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::discovery::{InactiveEntry, SkipReason, Skipped};
use skills_runtime::{Catalog, Entry, Scope, SkillRuntime};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, line};

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
            return output.json(&to_json(&runtime, &catalog));
        }
        output.text(&if self.long {
            render_long(&runtime, catalog.entries())
        } else {
            render_table(catalog.entries())
        })?;
        for inactive in catalog.inactive() {
            let (entry, reason) = (inactive.entry(), inactive.reason());
            let (name, path) = (entry.name(), entry.location());
            output.status(&format!("inactive: {name} ({}): {reason}", path.display()));
        }
        for skipped in unexpected_skips(&catalog) {
            output.status(&format!("skipped {skipped}"));
        }
        if catalog.entries().is_empty() {
            output.status("no skills found");
            output.status("help: pass `--root DIR`, or list the searched directories with `skills list --roots`");
        }
        if !self.long {
            report_warnings(output, catalog.entries());
        }
        Ok(Exit::Success)
    }
}

/// Reports how many skills have warnings. `agents/openai.yaml` is not read for this: a list of
/// thousands of skills would open as many files more. `--long` and `--json` include its warnings.
fn report_warnings(output: Output, entries: &[Entry]) {
    let warned = entries
        .iter()
        .filter(|entry| entry.has_skill_file_warnings())
        .count();
    if warned > 0 {
        output.status(&format!(
            "skills with warnings: {warned}; see `skills list --long`"
        ));
    }
}

/// Returns the entries that discovery skipped unexpectedly.
pub(crate) fn unexpected_skips(catalog: &Catalog) -> impl Iterator<Item = &Skipped> {
    let skipped = catalog.skipped().iter();
    skipped.filter(|skipped| !skipped.reason().is_expected())
}

fn to_json(runtime: &SkillRuntime, catalog: &Catalog) -> Value {
    let active_to_json = |entry: &Entry| {
        let mut value = entry_to_json(entry);
        value["missing"] = json!(runtime.library().missing_requirements([entry]).to_lines());
        value
    };
    let skills: Vec<Value> = catalog.entries().iter().map(active_to_json).collect();
    let inactive: Vec<Value> = catalog.inactive().iter().map(inactive_to_json).collect();
    // Missing default roots are reported by `--roots`. A missing `--root` has failed before.
    let skipped = catalog.skipped().iter();
    let skipped = skipped.filter(|skipped| !matches!(skipped.reason(), SkipReason::RootNotFound));
    let skipped: Vec<Value> = skipped.map(skipped_to_json).collect();
    json!({"skills": skills, "inactive": inactive, "skipped": skipped})
}

/// Returns a skipped entry as JSON, in the same form for all commands.
pub(crate) fn skipped_to_json(skipped: &Skipped) -> Value {
    json!({"path": skipped.path().to_string_lossy(), "code": skipped.reason().code(), "message": skipped.reason().to_string()})
}

/// Returns an inactive skill as JSON, in the same form for all commands.
pub(crate) fn inactive_to_json(inactive: &InactiveEntry) -> Value {
    let (mut value, reason) = (entry_to_json(inactive.entry()), inactive.reason());
    value["reason"] = json!({"code": reason.code(), "message": reason.to_string()});
    value
}

fn entry_to_json(entry: &Entry) -> Value {
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
    let widest =
        |length: &dyn Fn(&Entry) -> usize| entries.iter().map(length).max().unwrap_or_default();
    let name = widest(&|entry| entry.name().as_str().chars().count());
    let scope = widest(&|entry| entry.scope().as_str().len());
    let several = entries
        .windows(2)
        .any(|pair| pair[0].scope() != pair[1].scope());
    let row = |entry: &Entry| {
        let middle = if several {
            format!("{:scope$}  ", Scope::as_str(entry.scope()))
        } else {
            String::new()
        };
        let description = first_sentence(entry.manifest().description());
        format!("{:name$}  {middle}{description}\n", entry.name().as_str())
    };
    entries.iter().map(row).collect()
}

/// Renders one paragraph per skill: description, path, root, warnings and missing requirements.
fn render_long(runtime: &SkillRuntime, entries: &[Entry]) -> String {
    let paragraph = |entry: &Entry| {
        let (path, root) = (entry.location(), entry.root());
        let mut text = format!(
            "{}\n  {}\n  {}\n  {} root {}\n",
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
    entries.iter().map(paragraph).collect::<Vec<_>>().join("\n")
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

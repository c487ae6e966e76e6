//! `skills prompt`: prints the skills section of a prompt.

use serde_json::{Value, json};
use skills_runtime::SkillRuntime;
use skills_runtime::prompt::{
    Budget, EntryReport, Inclusion, ListFormat, ListingModes, SkillList, SkillListRenderer,
    Truncation,
};

use crate::arguments::{ListFormatArg, Prompt};
use crate::discovery_config;
use crate::exit::Exit;
use crate::output::{Output, line};

/// The reader of the list, as named in warnings.
const READER: &str = "The agent";

/// Prints the skills section, or how each skill is listed.
pub(crate) fn prompt(
    runtime: &SkillRuntime,
    arguments: &Prompt,
    output: &Output,
) -> anyhow::Result<Exit> {
    let budget = arguments
        .budget
        .unwrap_or_else(|| Budget::for_context_window(arguments.context_window));
    let renderer = SkillListRenderer::new(budget).format(to_format(arguments.format));
    let renderer = if arguments.sentences {
        renderer.truncation(Truncation::Sentences)
    } else {
        renderer
    };
    let section = runtime.prompt().render_section(&renderer);
    let scripts = arguments
        .script_tool
        .as_ref()
        .map(|tool| runtime.prompt().script_strategy(tool))
        .unwrap_or_default();
    if output.is_json() {
        let entries = if arguments.explain {
            Some(runtime.prompt().explain_section(&renderer))
        } else {
            None
        };
        output.print_json(&to_json(&section, &scripts, entries.as_deref()))?;
    } else if arguments.explain {
        output.text(&render_explanation(
            &section,
            &runtime.prompt().explain_section(&renderer),
        ))?;
        print_warnings(&section, output);
    } else {
        output.text(&format!("{}{scripts}", section.text()))?;
        print_warnings(&section, output);
    }
    Ok(Exit::Success)
}

/// Returns the listing modes of the `--mode` options.
pub(crate) fn listing_modes(arguments: &Prompt) -> ListingModes {
    let mut modes = ListingModes::default();
    for (skill, mode) in &arguments.mode {
        modes = modes.with_rule(discovery_config::parse_selector(skill), *mode);
    }
    modes
}

/// Warns about `--mode` options that match no skill.
pub(crate) fn warn_unused_modes(runtime: &SkillRuntime, arguments: &Prompt, output: &Output) {
    let catalog = runtime.library().catalog();
    for (skill, mode) in &arguments.mode {
        let selector = discovery_config::parse_selector(skill);
        if !catalog
            .entries()
            .iter()
            .any(|entry| selector.matches(entry))
        {
            output.status(&format!(
                "warning: `--mode {skill}={}` matches no skill",
                mode.as_str()
            ));
        }
    }
}

fn to_format(format: ListFormatArg) -> ListFormat {
    match format {
        ListFormatArg::Codex => ListFormat::Codex,
        ListFormatArg::Xml => ListFormat::Xml,
        ListFormatArg::XmlCompact => ListFormat::XmlCompact,
        ListFormatArg::Markdown => ListFormat::Markdown,
    }
}

fn to_json(section: &SkillList, scripts: &str, entries: Option<&[EntryReport]>) -> Value {
    let report = section.report();
    let hidden: Vec<Value> = (report.removed_characters.iter())
        .map(
            |hidden| json!({"skill": hidden.skill, "field": hidden.field, "code_point": format!("U+{:04X}", u32::from(hidden.code_point))}),
        )
        .collect();
    let unlisted: Vec<Value> = report
        .unlisted
        .iter()
        .map(|(skill, mode)| json!({"skill": skill, "mode": mode.as_str()}))
        .collect();
    let entry_json = |entry: &EntryReport| json!({"name": entry.name, "path": entry.location, "inclusion": describe_inclusion(entry.inclusion), "cost": entry.cost});
    json!({
        "text": format!("{}{scripts}", section.text()),
        "role": section.role().as_str(),
        "tag": section.tag(),
        "cost": report.cost,
        "budget": report.budget.limit(),
        "unit": report.budget.unit(),
        "total": report.total,
        "included": report.included,
        "shortened": report.truncated,
        "omitted": report.omitted,
        "omitted_pinned": report.omitted_pinned,
        "truncated_characters": report.truncated_characters,
        "truncated_descriptions": report.truncated_descriptions,
        "aliases": report.root_aliases,
        "hidden": hidden,
        "unlisted": unlisted,
        "warning": report.warning(READER),
        "skills": entries.map(|entries| entries.iter().map(entry_json).collect::<Vec<Value>>()),
    })
}

fn describe_inclusion(inclusion: Inclusion) -> String {
    match inclusion {
        Inclusion::Full => "whole".to_owned(),
        Inclusion::Truncated {
            shown_chars,
            total_chars,
        } => {
            format!("shortened to {shown_chars} of {total_chars} characters")
        }
        Inclusion::NameOnly => "name only".to_owned(),
        Inclusion::Omitted => "omitted".to_owned(),
        Inclusion::Unlisted(mode) => format!("not listed, {}", mode.as_str()),
        _ => "listed".to_owned(),
    }
}

/// Renders one line per skill, and the total.
fn render_explanation(section: &SkillList, entries: &[EntryReport]) -> String {
    let report = section.report();
    let widest = entries
        .iter()
        .map(|entry| entry.name.chars().count())
        .max()
        .unwrap_or_default();
    let row = |entry: &EntryReport| {
        format!(
            "{:widest$}  {:>6}  {}\n",
            entry.name,
            entry.cost,
            line(&describe_inclusion(entry.inclusion))
        )
    };
    let rows: String = entries.iter().map(row).collect();
    let aliases = if report.root_aliases > 0 {
        format!(", aliases of roots: {}", report.root_aliases)
    } else {
        String::new()
    };
    format!(
        "{rows}{} of {} {}{aliases}\n",
        report.cost,
        report.budget.limit(),
        report.budget.unit()
    )
}

fn print_warnings(section: &SkillList, output: &Output) {
    let report = section.report();
    if let Some(warning) = report.warning(READER) {
        output.status(&warning);
    }
    if !report.truncated.is_empty() {
        output.status(&format!(
            "descriptions shortened to fit the budget: {}",
            join_names(&report.truncated)
        ));
    }
    if !report.omitted.is_empty() {
        output.status(&format!(
            "skills omitted to fit the budget: {}",
            join_names(&report.omitted)
        ));
    }
    if !report.omitted_pinned.is_empty() {
        output.status(&format!(
            "pinned skills omitted: {}",
            join_names(&report.omitted_pinned)
        ));
    }
    for hidden in &report.removed_characters {
        output.status(&format!(
            "{}: invisible characters removed from the {}, the first is U+{:04X}",
            hidden.skill,
            hidden.field,
            u32::from(hidden.code_point)
        ));
    }
}

/// Joins the first 20 names and counts the rest.
fn join_names(names: &[String]) -> String {
    const MAX_LISTED: usize = 20;
    let listed = names
        .iter()
        .take(MAX_LISTED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MAX_LISTED {
        format!("{listed} and {} more", names.len() - MAX_LISTED)
    } else {
        listed
    }
}

//! `skills prompt`.

use serde_json::{Value, json};
use skills_runtime::SkillRuntime;
use skills_runtime::prompt::{Budget, Catalogue, Fate, Format, Place, Rendering, Shortening};

use crate::arguments::{ListFormat, Prompt};
use crate::discovery_config;
use crate::exit::Exit;
use crate::output::{Output, line};

/// Who reads the list, as warnings name it.
const READER: &str = "The agent";

/// Prints the list of skills that a model is told.
pub(crate) fn prompt(
    runtime: &SkillRuntime,
    arguments: &Prompt,
    output: &Output,
) -> anyhow::Result<Exit> {
    let budget = arguments
        .budget
        .unwrap_or_else(|| Budget::for_context_window(arguments.context_window));
    let rendering = Rendering::new(budget).format(to_format(arguments.format));
    let rendering = if arguments.sentences {
        rendering.shortening(Shortening::Sentences)
    } else {
        rendering
    };
    let catalogue = runtime.render_skills_section(&rendering);
    let scripts = arguments
        .script_tool
        .as_ref()
        .map(|tool| runtime.script_strategy(tool))
        .unwrap_or_default();
    if output.is_json() {
        let fates = if arguments.explain {
            Some(runtime.explain_skills_section(&rendering))
        } else {
            None
        };
        output.print_json(&to_json(&catalogue, &scripts, fates.as_deref()))?;
    } else if arguments.explain {
        output.text(&render_explanation(
            &catalogue,
            &runtime.explain_skills_section(&rendering),
        ))?;
        print_warnings(&catalogue, output);
    } else {
        output.text(&format!("{}{scripts}", catalogue.text()))?;
        print_warnings(&catalogue, output);
    }
    Ok(Exit::Success)
}

/// Says which `--mode` fits no skill: a choice that does nothing must not look as if it did.
pub(crate) fn warn_unused_modes(runtime: &SkillRuntime, arguments: &Prompt, output: &Output) {
    let catalog = runtime.catalog();
    for (skill, mode) in &arguments.mode {
        let selector = discovery_config::parse_selector(skill);
        if !catalog.entries().iter().any(|entry| selector.fits(entry)) {
            output.status(&format!("--mode {skill}={}: no skill fits", mode.as_str()));
        }
    }
}

fn to_format(form: ListFormat) -> Format {
    match form {
        ListFormat::Codex => Format::Codex,
        ListFormat::Xml => Format::Xml,
        ListFormat::XmlCompact => Format::XmlCompact,
        ListFormat::Markdown => Format::Markdown,
    }
}

fn to_json(catalogue: &Catalogue, scripts: &str, fates: Option<&[Fate]>) -> Value {
    let report = catalogue.report();
    let hidden: Vec<Value> = (report.hidden.iter())
        .map(
            |hidden| json!({"skill": hidden.skill, "field": hidden.field, "code_point": format!("U+{:04X}", u32::from(hidden.code_point))}),
        )
        .collect();
    let unlisted: Vec<Value> = report
        .unlisted
        .iter()
        .map(|(skill, mode)| json!({"skill": skill, "mode": mode.as_str()}))
        .collect();
    let fate = |fate: &Fate| json!({"name": fate.name, "path": fate.location, "place": describe_place(fate.place), "cost": fate.cost});
    json!({
        "text": format!("{}{scripts}", catalogue.text()),
        "role": catalogue.role().as_str(),
        "tag": catalogue.tag(),
        "cost": report.cost,
        "budget": report.budget.limit(),
        "unit": report.budget.unit(),
        "total": report.total,
        "included": report.included,
        "shortened": report.shortened,
        "omitted": report.omitted,
        "omitted_pinned": report.omitted_pinned,
        "truncated_characters": report.truncated_characters,
        "truncated_descriptions": report.truncated_descriptions,
        "aliases": report.aliases,
        "hidden": hidden,
        "unlisted": unlisted,
        "warning": report.warning(READER),
        "skills": fates.map(|fates| fates.iter().map(fate).collect::<Vec<Value>>()),
    })
}

fn describe_place(place: Place) -> String {
    match place {
        Place::Whole => "whole".to_owned(),
        Place::Shortened { characters, of } => {
            format!("shortened to {characters} of {of} characters")
        }
        Place::Bare => "name only".to_owned(),
        Place::Omitted => "left out".to_owned(),
        Place::Unlisted(mode) => format!("not listed, {}", mode.as_str()),
        _ => "listed".to_owned(),
    }
}

/// One line a skill, and the sum.
fn render_explanation(catalogue: &Catalogue, fates: &[Fate]) -> String {
    let report = catalogue.report();
    let widest = fates
        .iter()
        .map(|fate| fate.name.chars().count())
        .max()
        .unwrap_or_default();
    let row = |fate: &Fate| {
        format!(
            "{:widest$}  {:>6}  {}\n",
            fate.name,
            fate.cost,
            line(&describe_place(fate.place))
        )
    };
    let rows: String = fates.iter().map(row).collect();
    let aliases = if report.aliases > 0 {
        format!(", aliases of roots: {}", report.aliases)
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

fn print_warnings(catalogue: &Catalogue, output: &Output) {
    let report = catalogue.report();
    if let Some(warning) = report.warning(READER) {
        output.status(&warning);
    }
    if !report.shortened.is_empty() {
        output.status(&format!(
            "descriptions shortened to fit the budget: {}",
            join_names(&report.shortened)
        ));
    }
    if !report.omitted.is_empty() {
        output.status(&format!(
            "left out, the budget is too small: {}",
            join_names(&report.omitted)
        ));
    }
    if !report.omitted_pinned.is_empty() {
        output.status(&format!(
            "among them pinned ones: {}",
            join_names(&report.omitted_pinned)
        ));
    }
    for hidden in &report.hidden {
        output.status(&format!(
            "{}: invisible characters taken out of the {}, the first is U+{:04X}",
            hidden.skill,
            hidden.field,
            u32::from(hidden.code_point)
        ));
    }
}

/// Names a few and counts the rest.
fn join_names(names: &[String]) -> String {
    const MAX_LISTED: usize = 20;
    let some = names
        .iter()
        .take(MAX_LISTED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MAX_LISTED {
        format!("{some} and {} more", names.len() - MAX_LISTED)
    } else {
        some
    }
}

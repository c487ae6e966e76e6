//! `skills prompt list`: prints the skills section of a prompt.

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::prompt::{
    Budget, EntryReport, Inclusion, ListFormat, ListingMode, ListingModes, SkillList,
    SkillListRenderer, Truncation,
};
use skills_runtime::{ListRequest, SkillRuntime};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, line};
use crate::selector::parse_selector;
use crate::words::{join_words, widest, word_parser};

/// The reader of the list, as named in warnings.
const READER: &str = "The agent";

/// How the agent finds skills that the list of a request omits.
const SEARCH_HINT: &str = "`search_skills` or `skills search QUERY`";

/// Print the skills section of a prompt
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct SkillsSection {
    /// Format of the list
    #[arg(long, value_parser = word_parser(&FORMATS), default_value = "codex")]
    format: ListFormat,

    /// Limit the list to 2 % of a context window of this many tokens
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget")]
    context_window: Option<usize>,

    /// Limit the list to this many characters, or tokens with suffix `t` [default: 8000]
    #[arg(long, value_name = "NUMBER[t]", value_parser = parse_budget)]
    budget: Option<Budget>,

    /// Shorten descriptions by whole sentences
    ///
    /// Sentences that say when not to use a skill are kept.
    #[arg(long)]
    sentences: bool,

    #[arg(long, value_name = "SKILL=MODE", value_parser = parse_mode, help = mode_help())]
    mode: Vec<(String, ListingMode)>,

    /// List the skills for this request first: those that it names, then pinned, recent and
    /// matching ones
    ///
    /// Complete entries of the best skills get half of the budget, and names of the next ones the
    /// rest. One line says how many more there are.
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,

    /// List a recently used skill before matching ones (repeatable)
    #[arg(long, value_name = "SKILL", requires = "query")]
    recent: Vec<String>,

    /// Add instructions to run scripts with this tool
    #[arg(long, value_name = "TOOL")]
    script_tool: Option<String>,

    /// Explain how each skill is listed, instead of printing the list
    #[arg(long)]
    explain: bool,
}

/// Formats of the skills section.
const FORMATS: [(&str, &str, ListFormat); 4] = [
    (
        "codex",
        "Codex's skills section, with its rules",
        ListFormat::Codex,
    ),
    ("xml", "XML, like skills-ref", ListFormat::Xml),
    (
        "xml-compact",
        "XML with one line per tag",
        ListFormat::XmlCompact,
    ),
    ("markdown", "A Markdown list", ListFormat::Markdown),
];

impl SkillsSection {
    /// Prints the skills section, or how each skill is listed.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let modes = self.modes(context.listing_modes()?);
        // An explanation is shown to no model.
        let builder = if self.explain {
            context.unrecorded_builder()?
        } else {
            context.read_only_builder()?
        };
        let builder = builder.modes(modes);
        let runtime = context.build(builder);
        self.warn_unused_modes(&runtime, output);
        let renderer = self.renderer();
        let prompt = runtime.prompt();
        let recent: Vec<&str> = self.recent.iter().map(String::as_str).collect();
        let request = self.query.as_deref().map(|query| ListRequest {
            query,
            recent: &recent,
            ..ListRequest::default()
        });
        let section = match &request {
            Some(request) => prompt.render_section_for(&renderer, request),
            None => prompt.render_section(&renderer),
        };
        let scripts = self
            .script_tool
            .as_ref()
            .map(|tool| runtime.prompt().script_strategy(tool));
        let scripts = scripts.unwrap_or_default();
        let entries = self.explain.then(|| match &request {
            Some(request) => prompt.explain_section_for(&renderer, request),
            None => prompt.explain_section(&renderer),
        });
        if output.is_json() {
            return output.json(&to_json(&section, &scripts, entries.as_deref()));
        }
        match entries {
            Some(entries) => output.text(&render_explanation(&section, &entries))?,
            None => output.text(&format!("{}{scripts}", section.text()))?,
        }
        print_warnings(&section, output);
        Ok(Exit::Success)
    }

    fn renderer(&self) -> SkillListRenderer<'_> {
        let budget = self.budget;
        let budget = budget.unwrap_or_else(|| Budget::for_context_window(self.context_window));
        let mut renderer = SkillListRenderer::new(budget).format(self.format);
        if self.query.is_some() {
            renderer = renderer.search_hint(SEARCH_HINT);
        }
        if self.sentences {
            renderer.truncation(Truncation::Sentences)
        } else {
            renderer
        }
    }

    /// Adds the listing modes of the `--mode` options to those of the settings.
    fn modes(&self, of_settings: ListingModes) -> ListingModes {
        let modes = self.mode.iter();
        modes.fold(of_settings, |modes, (skill, mode)| {
            modes.with_rule(parse_selector(skill), *mode)
        })
    }

    /// Warns about `--mode` options that match no skill.
    fn warn_unused_modes(&self, runtime: &SkillRuntime, output: Output) {
        let catalog = runtime.library().catalog();
        for (skill, mode) in &self.mode {
            let selector = parse_selector(skill);
            if !catalog
                .entries()
                .iter()
                .any(|entry| selector.matches(entry))
            {
                let mode = mode.as_str();
                output.status(&format!(
                    "warning: `--mode {skill}={mode}` matches no skill"
                ));
            }
        }
    }
}

fn to_json(section: &SkillList, scripts: &str, entries: Option<&[EntryReport]>) -> Value {
    let report = section.report();
    let hidden = report.removed_characters.iter();
    let hidden: Vec<Value> = hidden.map(|hidden| json!({"skill": hidden.skill, "field": hidden.field, "code_point": format!("U+{:04X}", u32::from(hidden.code_point))})).collect();
    let unlisted = report.unlisted.iter();
    let unlisted: Vec<Value> = unlisted
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
        "named": report.named,
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
        Inclusion::NameOnly => "name and path only".to_owned(),
        Inclusion::Named => "name only".to_owned(),
        Inclusion::Omitted => "omitted".to_owned(),
        Inclusion::Unlisted(mode) => format!("not listed, {}", mode.as_str()),
        _ => "listed".to_owned(),
    }
}

/// Renders one line per skill, and the total.
fn render_explanation(section: &SkillList, entries: &[EntryReport]) -> String {
    let report = section.report();
    let width = widest(entries.iter().map(|entry| &entry.name));
    let mut text = String::new();
    for entry in entries {
        let inclusion = line(&describe_inclusion(entry.inclusion));
        text.push_str(&format!(
            "{:width$}  {:>6}  {inclusion}\n",
            entry.name, entry.cost
        ));
    }
    let budget = report.budget;
    text.push_str(&format!(
        "{} of {} {}",
        report.cost,
        budget.limit(),
        budget.unit()
    ));
    if report.root_aliases > 0 {
        text.push_str(&format!(", aliases of roots: {}", report.root_aliases));
    }
    text + "\n"
}

fn print_warnings(section: &SkillList, output: Output) {
    let report = section.report();
    if let Some(warning) = report.warning(READER) {
        output.status(&warning);
    }
    for (title, names) in [
        (
            "descriptions shortened to fit the budget",
            &report.truncated,
        ),
        ("skills omitted to fit the budget", &report.omitted),
        ("pinned skills omitted", &report.omitted_pinned),
    ] {
        if !names.is_empty() {
            output.status(&format!("{title}: {}", join_names(names)));
        }
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
    let listed = names[..names.len().min(MAX_LISTED)].join(", ");
    if names.len() > MAX_LISTED {
        format!("{listed} and {} more", names.len() - MAX_LISTED)
    } else {
        listed
    }
}

/// Parses a number of characters, or of tokens with the suffix `t`.
fn parse_budget(text: &str) -> Result<Budget, String> {
    let (number, unit): (_, fn(usize) -> Budget) = match text.strip_suffix('t') {
        Some(tokens) => (tokens, Budget::Tokens),
        None => (text, Budget::Characters),
    };
    number
        .parse()
        .map(unit)
        .map_err(|_| "expected a number of characters (`8000`) or tokens (`4000t`)".to_owned())
}

fn mode_help() -> String {
    let modes = join_words(&ListingMode::ALL.map(ListingMode::as_str), "or");
    format!("Set how a skill is listed: {modes} (repeatable)")
}

/// Parses `SKILL=MODE`.
fn parse_mode(text: &str) -> Result<(String, ListingMode), String> {
    let modes = ListingMode::ALL.map(ListingMode::as_str).join(", ");
    let (skill, mode) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("expected SKILL=MODE, with one of the modes {modes}"))?;
    let known = ListingMode::ALL
        .into_iter()
        .find(|known| known.as_str() == mode);
    let known = known.ok_or_else(|| format!("unknown mode `{mode}`: expected one of {modes}"))?;
    Ok((skill.to_owned(), known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_modes_are_parsed() {
        assert_eq!(
            (parse_budget("8000"), parse_budget("40t")),
            (Ok(Budget::Characters(8_000)), Ok(Budget::Tokens(40)))
        );
        assert!(parse_budget("t").is_err() && parse_budget("-1").is_err());
        assert_eq!(
            parse_mode("a=b=pinned"),
            Ok(("a=b".to_owned(), ListingMode::Pinned))
        );
        assert!(parse_mode("a").is_err() && parse_mode("a=pined").is_err());
    }
}

//! `skills mentions TEXT`: finds skill mentions in a text.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use skills_runtime::prompt::{
    Confidence, Mention, MentionIndex, MentionKind, MentionOptions, Resolution, UserInput,
};
use skills_runtime::{Entry, SkillRuntime};

use crate::arguments::Mentions;
use crate::discovery_config;
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::output::{Output, line};
use crate::requirements;

/// Finds skill mentions in a text and prints how each is resolved.
pub(crate) fn mentions(
    runtime: &SkillRuntime,
    arguments: &Mentions,
    output: &Output,
) -> anyhow::Result<Exit> {
    let text = input::read_text(&arguments.text)?;
    let mut inputs = Vec::new();
    for skill in &arguments.skill {
        let (name, path) = skill.split_once('=').ok_or_else(|| {
            InputError::new(format!("invalid `--skill {skill}`: expected NAME=PATH"))
        })?;
        inputs.push(UserInput::Skill { name, path });
    }
    inputs.push(UserInput::Text(&text));
    let index = runtime.prompt().mention_index();
    let found = index.find(&inputs, &mention_options(arguments)?);
    let nearest = nearest_names(&found.all, &index);
    let shown: Vec<MentionRow<'_>> = found
        .all
        .iter()
        .filter_map(|mention| MentionRow::from_mention(mention, &nearest))
        .collect();
    let missing = runtime
        .library()
        .missing_requirements(found.selected.iter().copied());
    if output.is_json() {
        let selected: Vec<Value> = found
            .selected
            .iter()
            .map(|entry| json!({"name": entry.name(), "path": entry_path(entry)}))
            .collect();
        let mentions: Vec<Value> = shown.iter().map(MentionRow::to_json).collect();
        output.print_json(&json!({"selected": selected, "mentions": mentions, "missing": requirements::to_json(&missing)}))?;
        return Ok(Exit::Success);
    }
    output.text(
        &found
            .selected
            .iter()
            .map(|entry| format!("{}  {}\n", entry.name(), line(&entry_path(entry))))
            .collect::<String>(),
    )?;
    shown.iter().for_each(|row| output.status(&row.render()));
    if shown.is_empty() {
        output.status("no skill mentioned");
    }
    missing
        .to_lines()
        .iter()
        .chain(&requirements::describe_servers(&missing))
        .for_each(|text| output.status(&format!("missing requirement: {text}")));
    Ok(Exit::Success)
}

fn mention_options(arguments: &Mentions) -> anyhow::Result<MentionOptions> {
    let options = MentionOptions::default()
        .connectors(&arguments.connector)
        .working_directory(discovery_config::current_dir()?);
    let options = if arguments.unicode_names {
        options.unicode_names()
    } else {
        options
    };
    Ok(options.phrases(if arguments.no_words {
        None
    } else {
        Some(Confidence::Medium)
    }))
}

/// Finds names similar to unknown ones. Each search compares all skills, so only the first 16
/// unknown names are searched.
fn nearest_names<'a>(
    mentions: &'a [Mention<'a>],
    index: &'a MentionIndex,
) -> HashMap<&'a str, Vec<&'a str>> {
    const MAX_NAMES: usize = 16;
    let unknown: BTreeSet<(usize, usize, &str)> = (mentions.iter())
        .filter(|mention| matches!(mention.resolution, Resolution::Unknown))
        .map(|mention| (mention.input, mention.span.start, mention.name.as_str()))
        .collect();
    let mut nearest = HashMap::new();
    for (_, _, name) in unknown {
        if nearest.len() == MAX_NAMES {
            break;
        }
        nearest.entry(name).or_insert_with(|| index.nearest(name));
    }
    nearest
}

/// A mention, with suggestions for an unknown name.
struct MentionRow<'a> {
    mention: &'a Mention<'a>,
    nearest: Vec<&'a str>,
}

impl<'a> MentionRow<'a> {
    /// Returns `None` for an unknown name in plain words without a similar skill name: it is most
    /// likely not a mention.
    fn from_mention(
        mention: &'a Mention<'a>,
        nearest: &HashMap<&str, Vec<&'a str>>,
    ) -> Option<Self> {
        let is_unknown = matches!(mention.resolution, Resolution::Unknown);
        let nearest = nearest
            .get(mention.name.as_str())
            .cloned()
            .unwrap_or_default();
        let is_noise = is_unknown && mention.kind == MentionKind::Phrase && nearest.is_empty();
        (!is_noise).then_some(Self { mention, nearest })
    }

    fn render(&self) -> String {
        let Mention {
            name,
            kind: mention_kind,
            confidence,
            resolution,
            ..
        } = self.mention;
        let more = match resolution {
            Resolution::Ambiguous(entries) => format!(
                " ({})",
                entries
                    .iter()
                    .map(|entry| entry_path(entry))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            _ if !self.nearest.is_empty() => {
                format!("; did you mean {}?", self.nearest.join(" or "))
            }
            _ => String::new(),
        };
        format!(
            "{name:?} ({}, {}): {resolution}{more}",
            mention_kind.as_str(),
            confidence.as_str()
        )
    }

    fn to_json(&self) -> Value {
        let Mention {
            input,
            span,
            name,
            kind: mention_kind,
            confidence,
            resolution,
            ..
        } = self.mention;
        let (skill, reason) = match resolution {
            Resolution::Selected(entry)
            | Resolution::Disabled(entry)
            | Resolution::NotUserInvocable(entry)
            | Resolution::ConnectorConflict(entry) => (Some(entry_path(entry)), None),
            Resolution::Suggested(entry, reason) => {
                (Some(entry_path(entry)), Some(reason.as_str()))
            }
            Resolution::Inactive(inactive) => (Some(entry_path(inactive.entry())), None),
            _ => (None, None),
        };
        let candidates: Vec<String> = match resolution {
            Resolution::Ambiguous(entries) => {
                entries.iter().map(|entry| entry_path(entry)).collect()
            }
            _ => Vec::new(),
        };
        json!({
            "input": input, "start": span.start, "end": span.end, "name": name, "kind": mention_kind.as_str(), "confidence": confidence.as_str(),
            "resolution": resolution.code(), "message": resolution.to_string(), "path": skill, "reason": reason, "candidates": candidates,
            "nearest": self.nearest,
        })
    }
}

fn entry_path(entry: &Entry) -> String {
    entry.location().to_string_lossy().into_owned()
}

//! `skills prompt mentions TEXT`: finds skill mentions in a text.

use std::collections::{BTreeSet, HashMap};

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::Entry;
use skills_runtime::ledger::Activity;
use skills_runtime::prompt::{
    Confidence, Mention, MentionIndex, MentionKind, MentionOptions, Resolution, UserInput,
};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::output::line;
use crate::requirements;

/// Find skill mentions in a text
#[derive(Debug, Args)]
pub(crate) struct Mentions {
    #[command(flatten)]
    input: MentionArgs,
}

/// The input of a user, and how skill mentions are found in it.
#[derive(Debug, Args)]
pub(crate) struct MentionArgs {
    /// User input as text, @FILE, or - for standard input
    #[arg(value_name = "TEXT|@FILE|-")]
    pub(crate) text: String,

    /// Skill selected in a user interface (repeatable)
    #[arg(long, value_name = "NAME=PATH")]
    skill: Vec<String>,

    /// Connector that `$NAME` can also refer to (repeatable)
    #[arg(long, value_name = "NAME")]
    connector: Vec<String>,

    /// Allow letters of all scripts in `$NAME`
    #[arg(long)]
    unicode_names: bool,

    /// Find only `$NAME` and links, like Codex, not names in plain words
    #[arg(long)]
    no_words: bool,
}

impl Mentions {
    /// Finds skill mentions in a text and prints how each is resolved.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (runtime, output) = (context.runtime()?, context.output);
        let text = input::read_text(&self.input.text)?;
        let inputs = self.input.inputs(&text)?;
        let index = runtime.prompt().mention_index();
        let found = index.find(&inputs, &self.input.options(context)?);
        let selected = found.selected.iter().copied();
        let usage = runtime.library().usage();
        usage.record(selected, Activity::Mentioned, None);
        let nearest = nearest_names(&found.all, &index);
        let shown = found.all.iter();
        let shown = shown.filter_map(|mention| MentionRow::from_mention(mention, &nearest));
        let shown: Vec<MentionRow<'_>> = shown.collect();
        let missing = runtime
            .library()
            .missing_requirements(found.selected.iter().copied());
        let selected = found.selected.iter();
        if output.is_json() {
            let selected: Vec<Value> = selected
                .map(|entry| json!({"name": entry.name(), "path": entry_path(entry)}))
                .collect();
            let mentions: Vec<Value> = shown.iter().map(MentionRow::to_json).collect();
            return output.json(&json!({"selected": selected, "mentions": mentions, "missing": requirements::to_json(&missing)}));
        }
        output.lines(
            selected.map(|entry| format!("{}  {}", entry.name(), line(&entry_path(entry)))),
        )?;
        for row in &shown {
            output.status(&row.render());
        }
        if shown.is_empty() {
            output.status("no skill mentioned");
        }
        let servers = requirements::describe_servers(&missing);
        for text in missing.to_lines().iter().chain(&servers) {
            output.status(&format!("missing requirement: {text}"));
        }
        Ok(Exit::Success)
    }
}

impl MentionArgs {
    /// Returns the selected skills, and then the text.
    pub(crate) fn inputs<'a>(&'a self, text: &'a str) -> anyhow::Result<Vec<UserInput<'a>>> {
        let mut inputs = Vec::new();
        for skill in &self.skill {
            let (name, path) = skill.split_once('=').ok_or_else(|| {
                CommandError::input(format!("invalid `--skill {skill}`: expected NAME=PATH"))
            })?;
            inputs.push(UserInput::Skill { name, path });
        }
        inputs.push(UserInput::Text(text));
        Ok(inputs)
    }

    pub(crate) fn options(&self, context: &Context) -> anyhow::Result<MentionOptions> {
        let options = MentionOptions::default()
            .connectors(&self.connector)
            .working_directory(context.environment.current_dir()?)
            .phrases((!self.no_words).then_some(Confidence::Medium));
        Ok(if self.unicode_names {
            options.unicode_names()
        } else {
            options
        })
    }
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
            kind,
            confidence,
            resolution,
            ..
        } = self.mention;
        let more = match resolution {
            Resolution::Ambiguous(_) => format!(" ({})", self.candidates().join(", ")),
            _ if !self.nearest.is_empty() => {
                format!("; did you mean {}?", self.nearest.join(" or "))
            }
            _ => String::new(),
        };
        format!(
            "{name:?} ({}, {}): {resolution}{more}",
            kind.as_str(),
            confidence.as_str()
        )
    }

    /// Returns the paths of the skills that an ambiguous mention can refer to.
    fn candidates(&self) -> Vec<String> {
        match &self.mention.resolution {
            Resolution::Ambiguous(entries) => {
                entries.iter().map(|entry| entry_path(entry)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn to_json(&self) -> Value {
        let Mention {
            input,
            span,
            name,
            kind,
            confidence,
            resolution,
            ..
        } = self.mention;
        let (skill, reason) = match resolution {
            Resolution::Selected(entry)
            | Resolution::Off(entry)
            | Resolution::NotUserInvocable(entry)
            | Resolution::ConnectorConflict(entry) => (Some(entry_path(entry)), None),
            Resolution::Suggested(entry, reason) => {
                (Some(entry_path(entry)), Some(reason.as_str()))
            }
            Resolution::Inactive(inactive) => (Some(entry_path(inactive.entry())), None),
            _ => (None, None),
        };
        json!({
            "input": input, "start": span.start, "end": span.end, "name": name, "kind": kind.as_str(), "confidence": confidence.as_str(),
            "resolution": resolution.code(), "message": resolution.to_string(), "path": skill, "reason": reason, "candidates": self.candidates(),
            "nearest": self.nearest,
        })
    }
}

fn entry_path(entry: &Entry) -> String {
    entry.location().to_string_lossy().into_owned()
}

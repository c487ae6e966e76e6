//! Chooses skills: structured input first, then text by text links, plain names and words (Codex's
//! order).

use std::collections::HashSet;
use std::path::Path;

use skills_discovery::Entry;

use super::sigils::{NameAlphabet, SigilName, find_sigils};
use super::{
    Confidence, Mention, MentionIndex, MentionKind, MentionOptions, Mentions, Resolution,
    UserInput, phrase,
};

/// Links to what is no skill (Codex).
const NON_SKILL_SCHEMES: [&str; 3] = ["app://", "mcp://", "plugin://"];

pub(super) fn select_mentions<'a>(
    index: &'a MentionIndex,
    inputs: &[UserInput<'_>],
    options: &MentionOptions,
) -> Mentions<'a> {
    let mut selection = Selection {
        index,
        options,
        mentions: Mentions::default(),
        reserved_names: HashSet::new(),
        selected_names: HashSet::new(),
    };
    for (number, input) in inputs.iter().enumerate() {
        if let UserInput::Skill { name, path } = input {
            selection.add_structured(number, name, path);
        }
    }
    for (number, input) in inputs.iter().enumerate() {
        if let UserInput::Text(text) = input {
            selection.add_text_mentions(number, text);
        }
    }
    selection
        .mentions
        .all
        .sort_by_key(|mention| (mention.input, mention.span.start, mention.span.end));
    selection.mentions
}

struct Selection<'a, 'o> {
    index: &'a MentionIndex,
    options: &'o MentionOptions,
    mentions: Mentions<'a>,
    /// Names that structured input decides on, whatever comes of it.
    reserved_names: HashSet<String>,
    /// The names of the skills that are selected.
    selected_names: HashSet<&'a str>,
}

impl<'a> Selection<'a, '_> {
    fn add_structured(&mut self, input: usize, name: &str, path: &str) {
        let path = path.strip_prefix("skill://").unwrap_or(path);
        let outcome = self
            .options
            .resolve_path(path)
            .map_or(Resolution::Unknown, |path| self.index.resolve_path(&path));
        self.reserved_names.insert(name.to_owned());
        self.select(outcome.selected());
        let (way, confidence) = (MentionKind::Structured, Confidence::Certain);
        self.mentions.all.push(Mention {
            input,
            span: 0..0,
            name: name.to_owned(),
            kind: way,
            confidence,
            resolution: outcome,
        });
    }

    fn add_text_mentions(&mut self, input: usize, text: &str) {
        let alphabet = if self.options.unicode_names {
            NameAlphabet::Unicode
        } else {
            NameAlphabet::Ascii
        };
        let found = find_sigils(text, alphabet);
        let (links, plain): (Vec<&SigilName<'_>>, Vec<&SigilName<'_>>) =
            found.iter().partition(|sigil| sigil.path.is_some());
        let links = links
            .into_iter()
            .filter_map(|sigil| self.link_mention(input, sigil))
            .collect();
        self.add_mentions(links);
        let plain = plain
            .into_iter()
            .filter_map(|sigil| self.sigil_mention(input, sigil))
            .collect();
        self.add_mentions(plain);
        if let Some(at_least) = self.options.phrases {
            let taken: Vec<_> = found.into_iter().map(|sigil| sigil.span).collect();
            let words = phrase::find_phrases(self.index, text, at_least);
            let is_free = |mention: &Mention<'_>| {
                !taken
                    .iter()
                    .any(|span| span.start < mention.span.end && mention.span.start < span.end)
            };
            let words: Vec<_> = words
                .into_iter()
                .filter(is_free)
                .map(|mention| self.apply_precedence(Mention { input, ..mention }))
                .collect();
            self.add_mentions(words);
        }
    }

    fn link_mention(&self, input: usize, sigil: &SigilName<'_>) -> Option<Mention<'a>> {
        let path = sigil.path?;
        if NON_SKILL_SCHEMES.iter().any(|kind| path.starts_with(kind)) {
            return None;
        }
        let outcome = self
            .index
            .resolve_path(Path::new(path.strip_prefix("skill://").unwrap_or(path)));
        Some(sigil_to_mention(
            input,
            sigil,
            MentionKind::Link,
            Confidence::Certain,
            outcome,
        ))
    }

    fn sigil_mention(&self, input: usize, sigil: &SigilName<'_>) -> Option<Mention<'a>> {
        // A sentence may go on behind the name with a colon, or without a space.
        let ascii = sigil
            .name
            .find(|c: char| !c.is_ascii())
            .map_or(sigil.name, |end| &sigil.name[..end]);
        let known = |name: &&str| {
            !self.index.with_name(name).is_empty() || self.index.inactive_with_name(name).is_some()
        };
        let is_short = |start: &&str| {
            start.len() > ascii.len() && start.len() <= self.index.max_spoken_bytes()
        };
        let prefixes = sigil
            .name
            .char_indices()
            .map(|(end, _)| &sigil.name[..end])
            .filter(is_short)
            .rev();
        // For Codex a colon is always a part of the name.
        let spoken = self
            .options
            .phrases
            .map(|_| sigil.name.trim_end_matches(':'));
        let candidates = [sigil.name]
            .into_iter()
            .chain(spoken)
            .chain(prefixes)
            .chain([ascii]);
        let name = candidates
            .into_iter()
            .filter(|name| !name.is_empty())
            .find(known);
        let Some(name) = name else {
            // Amounts of money and variables are no skills that nobody has.
            let is_variable = sigil.name.bytes().all(|b| {
                b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b':')
            });
            return (!is_variable).then(|| {
                sigil_to_mention(
                    input,
                    sigil,
                    MentionKind::Sigil,
                    Confidence::High,
                    Resolution::Unknown,
                )
            });
        };
        let named = SigilName {
            name,
            path: None,
            span: sigil.span.start..sigil.span.start + 1 + name.len(),
        };
        Some(sigil_to_mention(
            input,
            &named,
            MentionKind::Sigil,
            Confidence::High,
            self.resolve_name(name),
        ))
    }

    fn resolve_name(&self, name: &str) -> Resolution<'a> {
        if self.reserved_names.contains(name) {
            return Resolution::Superseded;
        }
        match self.index.with_name(name) {
            [] => self
                .index
                .inactive_with_name(name)
                .map_or(Resolution::Unknown, Resolution::Inactive),
            [number] if self.options.connectors.contains(&name.to_ascii_lowercase()) => {
                Resolution::ConnectorConflict(self.index.entry(*number))
            }
            [number] => self.index.resolution(*number),
            _ if self.selected_names.contains(name) => Resolution::Superseded,
            several => {
                // Whoever cannot be chosen makes nothing ambiguous.
                let selectable: Vec<u32> = several
                    .iter()
                    .copied()
                    .filter(|number| self.index.resolution(*number).selected().is_some())
                    .collect();
                match selectable.as_slice() {
                    [] => self.index.resolution(several[0]),
                    [only] => self.index.resolution(*only),
                    several => Resolution::Ambiguous(
                        several
                            .iter()
                            .map(|number| self.index.entry(*number))
                            .collect(),
                    ),
                }
            }
        }
    }

    /// What is said in words is bound by what was chosen and by connectors as well.
    fn apply_precedence(&self, mention: Mention<'a>) -> Mention<'a> {
        let outcome = match mention.resolution {
            Resolution::Selected(entry) if self.reserved_names.contains(entry.name().as_str()) => {
                Resolution::Superseded
            }
            Resolution::Selected(entry)
                if self
                    .options
                    .connectors
                    .contains(&entry.name().as_str().to_ascii_lowercase()) =>
            {
                Resolution::ConnectorConflict(entry)
            }
            Resolution::Ambiguous(entries)
                if entries
                    .iter()
                    .any(|entry| self.selected_names.contains(entry.name().as_str())) =>
            {
                Resolution::Superseded
            }
            outcome => outcome,
        };
        Mention {
            resolution: outcome,
            ..mention
        }
    }

    /// Notes mentions of one kind; what they select comes in the order of the catalogue.
    fn add_mentions(&mut self, mentions: Vec<Mention<'a>>) {
        let mut selected: Vec<&Entry> = mentions
            .iter()
            .filter_map(|mention| mention.resolution.selected())
            .collect();
        selected.sort_by_key(|entry| (entry.scope(), entry.name(), entry.directory()));
        selected
            .into_iter()
            .for_each(|entry| self.select(Some(entry)));
        self.mentions.all.extend(mentions);
    }

    fn select(&mut self, entry: Option<&'a Entry>) {
        let Some(entry) = entry else { return };
        self.selected_names.insert(entry.name().as_str());
        if !self
            .mentions
            .selected
            .iter()
            .any(|known| known.directory() == entry.directory())
        {
            self.mentions.selected.push(entry);
        }
    }
}

fn sigil_to_mention<'a>(
    input: usize,
    sigil: &SigilName<'_>,
    way: MentionKind,
    confidence: Confidence,
    outcome: Resolution<'a>,
) -> Mention<'a> {
    Mention {
        input,
        span: sigil.span.clone(),
        name: sigil.name.to_owned(),
        kind: way,
        confidence,
        resolution: outcome,
    }
}

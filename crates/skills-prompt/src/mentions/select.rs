//! Chooses skills: structured input first, then text by text links, plain names and words (Codex's order).

use std::collections::HashSet;
use std::path::Path;

use skills_discovery::Entry;

use super::sigils::{Alphabet, Sigil, sigils};
use super::{Confidence, Input, Mention, MentionIndex, MentionOptions, Mentions, Outcome, Way, spoken};

/// Links to what is no skill (Codex).
const OTHER_KINDS: [&str; 3] = ["app://", "mcp://", "plugin://"];

pub(super) fn find<'a>(index: &'a MentionIndex, inputs: &[Input<'_>], options: &MentionOptions) -> Mentions<'a> {
    let mut selection = Selection { index, options, mentions: Mentions::default(), barred: HashSet::new(), chosen: HashSet::new() };
    for (number, input) in inputs.iter().enumerate() {
        if let Input::Skill { name, path } = input {
            selection.structured(number, name, path);
        }
    }
    for (number, input) in inputs.iter().enumerate() {
        if let Input::Text(text) = input {
            selection.text(number, text);
        }
    }
    selection.mentions.all.sort_by_key(|mention| (mention.input, mention.span.start, mention.span.end));
    selection.mentions
}

struct Selection<'a, 'o> {
    index: &'a MentionIndex,
    options: &'o MentionOptions,
    mentions: Mentions<'a>,
    /// Names that structured input decides on, whatever comes of it.
    barred: HashSet<String>,
    /// The names of the skills that are selected.
    chosen: HashSet<&'a str>,
}

impl<'a> Selection<'a, '_> {
    fn structured(&mut self, input: usize, name: &str, path: &str) {
        let path = path.strip_prefix("skill://").unwrap_or(path);
        let outcome = self.options.absolute(path).map_or(Outcome::Unknown, |path| self.index.at(&path));
        self.barred.insert(name.to_owned());
        self.choose(outcome.selected());
        let (way, confidence) = (Way::Structured, Confidence::Certain);
        self.mentions.all.push(Mention { input, span: 0..0, name: name.to_owned(), way, confidence, outcome });
    }

    fn text(&mut self, input: usize, text: &str) {
        let alphabet = if self.options.unicode_names { Alphabet::Unicode } else { Alphabet::Ascii };
        let found = sigils(text, alphabet);
        let (links, plain): (Vec<&Sigil<'_>>, Vec<&Sigil<'_>>) = found.iter().partition(|sigil| sigil.path.is_some());
        let links = links.into_iter().filter_map(|sigil| self.link(input, sigil)).collect();
        self.accept(links);
        let plain = plain.into_iter().filter_map(|sigil| self.plain(input, sigil)).collect();
        self.accept(plain);
        if let Some(at_least) = self.options.words {
            let taken: Vec<_> = found.into_iter().map(|sigil| sigil.span).collect();
            let words = spoken::find(self.index, text, at_least);
            let is_free = |mention: &Mention<'_>| !taken.iter().any(|span| span.start < mention.span.end && mention.span.start < span.end);
            let words: Vec<_> = words.into_iter().filter(is_free).map(|mention| self.settled(Mention { input, ..mention })).collect();
            self.accept(words);
        }
    }

    fn link(&self, input: usize, sigil: &Sigil<'_>) -> Option<Mention<'a>> {
        let path = sigil.path?;
        if OTHER_KINDS.iter().any(|kind| path.starts_with(kind)) {
            return None;
        }
        let outcome = self.index.at(Path::new(path.strip_prefix("skill://").unwrap_or(path)));
        Some(mention(input, sigil, Way::Link, Confidence::Certain, outcome))
    }

    fn plain(&self, input: usize, sigil: &Sigil<'_>) -> Option<Mention<'a>> {
        // A sentence may go on behind the name with a colon, or without a space.
        let ascii = sigil.name.find(|c: char| !c.is_ascii()).map_or(sigil.name, |end| &sigil.name[..end]);
        let known = |name: &&str| !self.index.named(name).is_empty() || self.index.inactive_named(name).is_some();
        let is_short = |start: &&str| start.len() > ascii.len() && start.len() <= self.index.longest();
        let prefixes = sigil.name.char_indices().map(|(end, _)| &sigil.name[..end]).filter(is_short).rev();
        // For Codex a colon is always a part of the name.
        let spoken = self.options.words.map(|_| sigil.name.trim_end_matches(':'));
        let candidates = [sigil.name].into_iter().chain(spoken).chain(prefixes).chain([ascii]);
        let name = candidates.into_iter().filter(|name| !name.is_empty()).find(known);
        let Some(name) = name else {
            // Amounts of money and variables are no skills that nobody has.
            let is_variable = sigil.name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b':'));
            return (!is_variable).then(|| mention(input, sigil, Way::Sigil, Confidence::High, Outcome::Unknown));
        };
        let named = Sigil { name, path: None, span: sigil.span.start..sigil.span.start + 1 + name.len() };
        Some(mention(input, &named, Way::Sigil, Confidence::High, self.named(name)))
    }

    fn named(&self, name: &str) -> Outcome<'a> {
        if self.barred.contains(name) {
            return Outcome::Settled;
        }
        match self.index.named(name) {
            [] => self.index.inactive_named(name).map_or(Outcome::Unknown, Outcome::Inactive),
            [number] if self.options.connectors.contains(&name.to_ascii_lowercase()) => Outcome::Connector(self.index.entry(*number)),
            [number] => self.index.outcome(*number),
            _ if self.chosen.contains(name) => Outcome::Settled,
            several => {
                // Whoever cannot be chosen makes nothing ambiguous.
                let selectable: Vec<u32> =
                    several.iter().copied().filter(|number| self.index.outcome(*number).selected().is_some()).collect();
                match selectable.as_slice() {
                    [] => self.index.outcome(several[0]),
                    [only] => self.index.outcome(*only),
                    several => Outcome::Ambiguous(several.iter().map(|number| self.index.entry(*number)).collect()),
                }
            }
        }
    }

    /// What is said in words is bound by what was chosen and by connectors as well.
    fn settled(&self, mention: Mention<'a>) -> Mention<'a> {
        let outcome = match mention.outcome {
            Outcome::Selected(entry) if self.barred.contains(entry.name().as_str()) => Outcome::Settled,
            Outcome::Selected(entry) if self.options.connectors.contains(&entry.name().as_str().to_ascii_lowercase()) => {
                Outcome::Connector(entry)
            }
            Outcome::Ambiguous(entries) if entries.iter().any(|entry| self.chosen.contains(entry.name().as_str())) => Outcome::Settled,
            outcome => outcome,
        };
        Mention { outcome, ..mention }
    }

    /// Notes mentions of one kind; what they select comes in the order of the catalogue.
    fn accept(&mut self, mentions: Vec<Mention<'a>>) {
        let mut selected: Vec<&Entry> = mentions.iter().filter_map(|mention| mention.outcome.selected()).collect();
        selected.sort_by_key(|entry| (entry.scope(), entry.name(), entry.directory()));
        selected.into_iter().for_each(|entry| self.choose(Some(entry)));
        self.mentions.all.extend(mentions);
    }

    fn choose(&mut self, entry: Option<&'a Entry>) {
        let Some(entry) = entry else { return };
        self.chosen.insert(entry.name().as_str());
        if !self.mentions.selected.iter().any(|known| known.directory() == entry.directory()) {
            self.mentions.selected.push(entry);
        }
    }
}

fn mention<'a>(input: usize, sigil: &Sigil<'_>, way: Way, confidence: Confidence, outcome: Outcome<'a>) -> Mention<'a> {
    Mention { input, span: sigil.span.clone(), name: sigil.name.to_owned(), way, confidence, outcome }
}

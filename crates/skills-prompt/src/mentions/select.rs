//! Selects skills: first structured input, then text by text links, `$name` and phrases (the order
//! of Codex).

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

use skills_discovery::Entry;

use super::index::MentionIndex;
use super::input::{MentionOptions, UserInput};
use super::mention::{Confidence, Mention, MentionKind, Mentions, Resolution};
use super::phrase;
use super::sigils::{NameAlphabet, SigilName, find_sigils};

/// The schemes of links to things that are not skills (Codex).
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
    // All structured input comes first, wherever it is: it settles what a name in a text means.
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
    /// The names that structured input has settled, even if its path is wrong.
    reserved_names: HashSet<String>,
    /// The names of the selected skills.
    selected_names: HashSet<&'a str>,
}

/// The scheme of the URIs of skills: of a path, as Codex writes it, or of a name, as the resources
/// of MCP have it.
const URI_SCHEME: &str = "skill://";

/// Returns the name of the skill in `skill://NAME/SKILL.md`, `None` for every other path.
fn skill_of_uri(path: &str) -> Option<&str> {
    let name = path.strip_prefix(URI_SCHEME)?.strip_suffix("/SKILL.md")?;
    // An absolute path begins with a separator, or with a drive on Windows.
    (!name.is_empty() && !name.contains(['/', '\\'])).then_some(name)
}

impl<'a> Selection<'a, '_> {
    fn add_structured(&mut self, input: usize, name: &str, path: &str) {
        let resolution = self.resolve_location(path, |path| self.options.resolve_path(path));
        // Also with a wrong path: falling back to the name could select a different skill than the
        // user clicked on.
        self.reserved_names.insert(name.to_owned());
        self.select(resolution.selected());
        self.mentions.all.push(Mention {
            input,
            span: 0..0,
            name: name.to_owned(),
            kind: MentionKind::Structured,
            confidence: Confidence::Certain,
            resolution,
        });
    }

    /// Resolves a path, a `skill://` URI with a path, or one with a name.
    fn resolve_location(
        &self,
        location: &str,
        to_path: impl FnOnce(&str) -> Option<PathBuf>,
    ) -> Resolution<'a> {
        if let Some(skill) = skill_of_uri(location) {
            return self.index.resolve_exact_name(skill);
        }
        match to_path(location.strip_prefix(URI_SCHEME).unwrap_or(location)) {
            Some(path) => self.index.resolve_path(&path),
            None => Resolution::Unknown,
        }
    }

    fn add_text_mentions(&mut self, input: usize, text: &str) {
        let alphabet = if self.options.unicode_names {
            NameAlphabet::Unicode
        } else {
            NameAlphabet::Ascii
        };
        let sigils = find_sigils(text, alphabet);
        let links = sigils
            .iter()
            .filter_map(|sigil| self.link_mention(input, sigil))
            .collect();
        self.add_mentions(links);
        let plain = sigils
            .iter()
            .filter(|sigil| sigil.path.is_none())
            .filter_map(|sigil| self.sigil_mention(input, sigil))
            .collect();
        self.add_mentions(plain);
        if let Some(min_confidence) = self.options.phrases {
            let phrases = phrase::find_phrases(self.index, text, min_confidence)
                .into_iter()
                // "use the $pdf skill" is one mention, not two.
                .filter(|mention| {
                    !sigils
                        .iter()
                        .any(|sigil| overlap(&sigil.span, &mention.span))
                })
                .map(|mention| self.apply_precedence(Mention { input, ..mention }))
                .collect();
            self.add_mentions(phrases);
        }
    }

    fn link_mention(&self, input: usize, sigil: &SigilName<'_>) -> Option<Mention<'a>> {
        let path = sigil.path?;
        // Links to apps and plugins use the same syntax, so they are not unknown skills.
        if NON_SKILL_SCHEMES.iter().any(|kind| path.starts_with(kind)) {
            return None;
        }
        Some(sigil_to_mention(
            input,
            sigil,
            MentionKind::Link,
            Confidence::Certain,
            self.resolve_location(path, |path| Some(PathBuf::from(path))),
        ))
    }

    fn sigil_mention(&self, input: usize, sigil: &SigilName<'_>) -> Option<Mention<'a>> {
        let (name, resolution) = match self.find_known_name(sigil.name) {
            Some(name) => (name, self.resolve_name(name)),
            // Amounts of money and variables are not misspelled skills.
            None if is_variable(sigil.name) => return None,
            None => (sigil.name, Resolution::Unknown),
        };
        let written = SigilName {
            name,
            path: None,
            span: sigil.span.start..sigil.span.start + 1 + name.len(),
        };
        Some(sigil_to_mention(
            input,
            &written,
            MentionKind::Sigil,
            Confidence::High,
            resolution,
        ))
    }

    /// Returns the longest start of `name` that is the name of a skill.
    ///
    /// A sentence may continue after the name with a colon, or in Chinese without a space. A
    /// shorter ASCII name is considered only if characters of other scripts follow.
    fn find_known_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let ascii = ascii_start(name);
        let is_known = |name: &&str| !matches!(self.index.with_name(name), ([], None));
        let may_be_known = |prefix: &&str| {
            prefix.len() > ascii.len() && prefix.len() <= self.index.max_spoken_bytes()
        };
        let prefixes = name
            .char_indices()
            .map(|(end, _)| &name[..end])
            .filter(may_be_known)
            .rev();
        // For Codex a colon is always a part of the name.
        let without_colon = self.options.phrases.map(|_| name.trim_end_matches(':'));
        [name]
            .into_iter()
            .chain(without_colon)
            .chain(prefixes)
            .chain([ascii])
            .filter(|name| !name.is_empty())
            .find(is_known)
    }

    fn resolve_name(&self, name: &str) -> Resolution<'a> {
        if self.reserved_names.contains(name) {
            return Resolution::Superseded;
        }
        match self.index.with_name(name) {
            ([], inactive) => inactive.map_or(Resolution::Unknown, Resolution::Inactive),
            // The client cannot tell which of the two is meant, and a skill can choose any name.
            ([number], _) if self.is_connector(name) => {
                Resolution::ConnectorConflict(self.index.entry(*number))
            }
            ([number], _) => self.index.resolution(*number),
            // A link has already selected one of them.
            _ if self.selected_names.contains(name) => Resolution::Superseded,
            (several, _) => self.resolve_same_name(several),
        }
    }

    fn is_connector(&self, name: &str) -> bool {
        self.options.connectors.contains(&name.to_ascii_lowercase())
    }

    /// Resolves the name of several skills. Those that cannot be selected cause no ambiguity.
    fn resolve_same_name(&self, numbers: &[u32]) -> Resolution<'a> {
        let mut selectable = numbers.to_vec();
        selectable.retain(|number| self.index.resolution(*number).selected().is_some());
        match selectable.as_slice() {
            [] => self.index.resolution(numbers[0]),
            [only] => self.index.resolution(*only),
            several => self.index.ambiguous(several),
        }
    }

    /// Applies to a phrase what structured input, links and connectors settle for `$name`.
    fn apply_precedence(&self, mention: Mention<'a>) -> Mention<'a> {
        let is_selected = |entry: &&Entry| self.selected_names.contains(entry.name().as_str());
        let resolution = match mention.resolution {
            Resolution::Selected(entry) if self.reserved_names.contains(entry.name().as_str()) => {
                Resolution::Superseded
            }
            Resolution::Selected(entry) if self.is_connector(entry.name().as_str()) => {
                Resolution::ConnectorConflict(entry)
            }
            Resolution::Ambiguous(entries) if entries.iter().any(is_selected) => {
                Resolution::Superseded
            }
            resolution => resolution,
        };
        Mention {
            resolution,
            ..mention
        }
    }

    /// Adds mentions of one kind; the skills that they select have the order of the catalog.
    fn add_mentions(&mut self, mentions: Vec<Mention<'a>>) {
        let mut selected: Vec<&Entry> = mentions
            .iter()
            .filter_map(|mention| mention.resolution.selected())
            .collect();
        selected.sort_by_key(|entry| (entry.scope(), entry.name(), entry.directory()));
        for entry in selected {
            self.select(Some(entry));
        }
        self.mentions.all.extend(mentions);
    }

    fn select(&mut self, entry: Option<&'a Entry>) {
        let Some(entry) = entry else { return };
        self.selected_names.insert(entry.name().as_str());
        if !self
            .mentions
            .selected
            .iter()
            .any(|selected| selected.directory() == entry.directory())
        {
            self.mentions.selected.push(entry);
        }
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

fn ascii_start(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii());
    &name[..end.unwrap_or(name.len())]
}

fn is_variable(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_-:".contains(&b))
}

fn sigil_to_mention<'a>(
    input: usize,
    sigil: &SigilName<'_>,
    kind: MentionKind,
    confidence: Confidence,
    resolution: Resolution<'a>,
) -> Mention<'a> {
    Mention {
        input,
        span: sigil.span.clone(),
        name: sigil.name.to_owned(),
        kind,
        confidence,
        resolution,
    }
}

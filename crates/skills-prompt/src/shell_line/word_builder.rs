//! Words of lines while they are parsed, and the patterns in them.

use super::{CharSet, LineWord, WordPart};

/// Maximum number of numbers of `{1..9}`.
const MAX_NUMBERS: u32 = 100;
/// Maximum number of ranges of `[…]`: each is compared with each character of each name.
const MAX_RANGES: usize = 64;

/// A word while it is parsed.
#[derive(Default)]
pub(super) struct WordBuilder {
    word: Option<LineWord>,
}

impl WordBuilder {
    pub(super) fn is_started(&self) -> bool {
        self.word.is_some()
    }

    fn last_text(&mut self) -> Option<&mut String> {
        match self.word.as_mut()?.parts.last_mut()? {
            WordPart::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn ends_with(&mut self, chars: [char; 2]) -> bool {
        self.last_text().is_some_and(|text| text.ends_with(chars))
    }

    pub(super) fn is_number(&mut self) -> bool {
        let is_digits =
            |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_first = self.word.as_ref().is_some_and(|word| word.parts.len() == 1);
        is_first && self.last_text().is_some_and(|text| is_digits(text))
    }

    pub(super) fn push(&mut self, part: WordPart) {
        self.word.get_or_insert_default().parts.push(part);
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if let Some(last) = self.last_text() {
            last.push_str(text);
        } else {
            self.push(WordPart::Text(text.to_owned()));
        }
    }

    pub(super) fn finish(self) -> Option<LineWord> {
        self.word
    }
}

impl LineWord {
    /// Returns the value of an assignment, which a shell does not split; `None` for what it does not expand
    /// there, such as a pattern.
    pub(super) fn into_quoted(mut self) -> Option<Self> {
        for part in &mut self.parts {
            match part {
                WordPart::Pattern(_) | WordPart::CharSet(_) | WordPart::Alternatives(_) => {
                    return None;
                }
                WordPart::Variable { is_quoted, .. } | WordPart::Output { is_quoted, .. } => {
                    *is_quoted = true;
                }
                WordPart::Text(_) | WordPart::Length(_) | WordPart::ExitCode => {}
            }
        }
        Some(self)
    }
}

/// Parses `[…]` of a pattern at the beginning of a text, and returns the rest. Only letters, digits and
/// ranges of one kind of them, `_` and `.`: the others depend on a locale or are written in several ways.
pub(super) fn parse_char_set(text: &str) -> Option<(WordPart, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (chars, is_negated) = match inside.strip_prefix('!') {
        Some(chars) => (chars, true),
        None => (inside, false),
    };
    let mut ranges = Vec::new();
    let mut chars = chars.chars().peekable();
    while let Some(first) = chars.next() {
        if !first.is_ascii_alphanumeric() && !"_.".contains(first) {
            return None;
        }
        let last = match chars.next_if_eq(&'-') {
            Some(_) => chars.next()?,
            None => first,
        };
        let is_range = |is_kind: fn(&char) -> bool| is_kind(&first) && is_kind(&last);
        let is_known = first == last
            || is_range(char::is_ascii_digit)
            || is_range(char::is_ascii_lowercase)
            || is_range(char::is_ascii_uppercase);
        if !is_known || first > last || ranges.len() == MAX_RANGES {
            return None;
        }
        ranges.push((first, last));
    }
    let set = CharSet {
        text: format!("[{inside}]"),
        is_negated,
        ranges,
    };
    (!set.ranges.is_empty()).then_some((WordPart::CharSet(set), rest))
}

/// Parses `{A,B}` or `{1..3}` at the beginning of a text, and returns the rest. Only texts without a
/// meaning.
pub(super) fn parse_alternatives(text: &str) -> Option<(WordPart, &str)> {
    let (inside, rest) = text.strip_prefix('{')?.split_once('}')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-,+@%:".contains(c);
    if !inside.chars().all(is_plain) {
        return None;
    }
    if let Some((first, last)) = inside.split_once("..") {
        let number = |text: &str| {
            let is_plain = text.len() == 1 || !text.starts_with(['0', '-', '+']);
            text.parse::<u32>().ok().filter(|_| is_plain)
        };
        let (first, last) = (number(first)?, number(last)?);
        let is_small = first <= last && last - first < MAX_NUMBERS;
        let texts = (first..=last).map(|number| number.to_string());
        return is_small.then(|| (WordPart::Alternatives(texts.collect()), rest));
    }
    let texts: Vec<String> = inside.split(',').map(str::to_owned).collect();
    (texts.len() > 1).then_some((WordPart::Alternatives(texts), rest))
}

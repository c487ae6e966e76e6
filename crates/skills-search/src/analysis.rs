//! Splits text into the terms that an index stores and a query looks up.
//!
//! A term of a script with spaces is the stem of a lowercase word. The parts of `camelCase` words
//! are terms in addition to the word; `kebab-case` and `snake_case` are split by their separators.
//! In scripts without spaces each character and each pair of adjacent characters is a term.

use std::borrow::Cow;

use snowball_stemmers_rs::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::stop_words::{is_stop_character, is_stop_word, split_at_phrases};

/// The version of the terms: an index with another version is rebuilt.
pub(crate) const ANALYSIS_VERSION: u32 = 2;
/// Longer words are digests, encoded data and the like, which no request contains, in characters.
const MAX_WORD_CHARS: usize = 40;

/// Splits text into terms. Creating one is cheap; it holds no text.
pub(crate) struct Analyzer {
    stemmer: Stemmer,
}

/// What kind of evidence a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermKind {
    /// A word, or a pair of characters of a script without spaces.
    Word,
    /// One character of a script without spaces, or a number: too common to show by itself that a
    /// text is about something.
    Weak,
    /// Two adjacent words.
    Pair,
    /// The start of a word, in a query.
    Prefix,
}

impl Analyzer {
    pub(crate) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }

    /// Calls `emit` for each term of `text`, in the order of the text.
    #[cfg(test)]
    pub(crate) fn terms(&self, text: &str, emit: &mut impl FnMut(&str, TermKind)) {
        for_each_run(text, |run| self.run_terms(run, emit));
    }

    /// Calls `emit` for each term of a run.
    pub(crate) fn run_terms(&self, run: Run<'_>, emit: &mut impl FnMut(&str, TermKind)) {
        match run {
            Run::Spaced(word) => self.word_terms(word, emit),
            Run::Unspaced(characters) => unspaced_terms(characters, emit),
        }
    }

    /// Calls `emit` for each term of one word, a run of letters and digits.
    pub(crate) fn word_terms(&self, word: &str, emit: &mut impl FnMut(&str, TermKind)) {
        if word.chars().count() > MAX_WORD_CHARS {
            return;
        }
        let mut parts = camel_parts(word);
        self.stem(word, emit);
        // A word of one part was already emitted as a whole.
        if parts.len() > 1 {
            parts.drain(..).for_each(|part| self.stem(part, emit));
        }
    }

    fn stem(&self, word: &str, emit: &mut impl FnMut(&str, TermKind)) {
        let lower = fold_case(word);
        if is_stop_word(&lower) {
            return;
        }
        if lower.bytes().all(|byte| byte.is_ascii_digit()) {
            return emit(&lower, TermKind::Weak);
        }
        if lower.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return emit(&self.stemmer.stem(singular(&lower)), TermKind::Word);
        }
        emit(&lower, TermKind::Word);
    }
}

/// A maximal run of characters that belong together.
pub(crate) enum Run<'a> {
    /// Letters and digits of a script with spaces.
    Spaced(&'a str),
    /// Letters of a script without spaces.
    Unspaced(&'a [char]),
}

/// Calls `visit` for each run of letters and digits of the compatibility-composed text (NFKC).
pub(crate) fn for_each_run(text: &str, mut visit: impl FnMut(Run<'_>)) {
    let text = compose(text);
    let mut characters = Vec::new();
    let mut start = 0;
    while let Some((class, width)) = class_at(&text, start) {
        let end = run_end(&text, start + width, class);
        let run = &text[start..end];
        match class {
            CharClass::Separator => {}
            CharClass::Spaced => {
                let name = language_name(run, &text.as_bytes()[end..]);
                visit(Run::Spaced(name.unwrap_or(run)));
            }
            CharClass::Unspaced => {
                characters.clear();
                characters.extend(run.chars());
                visit(Run::Unspaced(&characters));
            }
        }
        start = end;
    }
}

/// The kind of run that a character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Separator,
    Spaced,
    Unspaced,
}

/// Returns the end of a run, all of which is of one class up to `end`.
fn run_end(text: &str, mut end: usize, class: CharClass) -> usize {
    loop {
        // Most characters are ASCII, which need neither decoding nor the tables of Unicode.
        while let Some(bytes) = text.as_bytes()[end..].first_chunk() {
            let width = ascii_width(u64::from_le_bytes(*bytes), class);
            end += width;
            if width < size_of_val(bytes) {
                break;
            }
        }
        match class_at(text, end) {
            Some((next, width)) if next == class => end += width,
            _ => return end,
        }
    }
}

/// Returns how many of eight bytes, from the lowest, are ASCII characters of a class. Each is
/// compared in its place, since a branch for each costs more than all comparisons.
fn ascii_width(bytes: u64, class: CharClass) -> usize {
    const HIGH_BITS: u64 = in_each_byte(0x80);
    /// Sets the high bit of each byte that is in a range, if none has it.
    const fn in_range(bytes: u64, first: u8, last: u8) -> u64 {
        (bytes + in_each_byte(0x80 - first)) & !(bytes + in_each_byte(0x7f - last)) & HIGH_BITS
    }
    let ascii = bytes & !HIGH_BITS;
    let lower = ascii | in_each_byte(b'a' - b'A');
    let words = in_range(lower, b'a', b'z') | in_range(ascii, b'0', b'9');
    let of_class = match class {
        CharClass::Spaced => words,
        CharClass::Separator => HIGH_BITS & !words,
        CharClass::Unspaced => 0,
    };
    let others = HIGH_BITS & !(of_class & !bytes);
    others.trailing_zeros() as usize / 8
}

const fn in_each_byte(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Returns the class of the character at a position, and its length in bytes; `None` at the end.
fn class_at(text: &str, position: usize) -> Option<(CharClass, usize)> {
    let character = match *text.as_bytes().get(position)? {
        byte if byte.is_ascii() => char::from(byte),
        _ => text[position..].chars().next()?,
    };
    let class = match character.is_alphanumeric() {
        false => CharClass::Separator,
        true if is_unspaced_script(character) => CharClass::Unspaced,
        true => CharClass::Spaced,
    };
    Some((class, character.len_utf8()))
}

/// Returns the spelling of a language whose name ends with symbols, which separate words elsewhere.
fn language_name(run: &str, after: &[u8]) -> Option<&'static str> {
    match (run, after) {
        ("C" | "c", [b'#', ..]) => Some("csharp"),
        ("F" | "f", [b'#', ..]) => Some("fsharp"),
        ("C" | "c", [b'+', b'+', ..]) => Some("cpp"),
        _ => None,
    }
}

/// Returns the compatibility-composed text (NFKC).
fn compose(text: &str) -> Cow<'_, str> {
    let mut composed = String::new();
    let mut copied = 0;
    let mut position = 0;
    while let Some(first) = find_non_ascii(text, position) {
        let rest = &text.as_bytes()[first..];
        position = first + rest.iter().take_while(|byte| !byte.is_ascii()).count();
        // ASCII is normalized whatever is before it, but what follows may combine with it.
        let start = first.saturating_sub(1);
        let part = &text[start..position];
        if is_nfkc_quick(part.chars()) != IsNormalized::Yes {
            composed.push_str(&text[copied..start]);
            composed.extend(part.nfkc());
            copied = position;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    composed.push_str(&text[copied..]);
    Cow::Owned(composed)
}

/// Returns the position of the first byte from `start` that is not ASCII.
fn find_non_ascii(text: &str, start: usize) -> Option<usize> {
    /// A part that is checked at once.
    const PART_BYTES: usize = 32;
    let rest = &text.as_bytes()[start..];
    let parts = rest.chunks(PART_BYTES).take_while(|part| part.is_ascii());
    let skipped = parts.count() * PART_BYTES;
    let mut bytes = rest.get(skipped..)?.iter();
    bytes
        .position(|byte| !byte.is_ascii())
        .map(|position| start + skipped + position)
}

/// Folds the case of a word. Unlike `to_lowercase`, words that differ only in case become equal:
/// `ß` and `SS`, and the two lowercase forms of sigma.
pub(crate) fn fold_case(word: &str) -> String {
    let mut lower = word.to_lowercase();
    if !lower.is_ascii() && lower.contains(['ß', 'ς']) {
        lower = lower.replace('ß', "ss").replace('ς', "σ");
    }
    lower
}

/// Returns the singular of an abbreviation without vowels, such as `pdfs`, which Snowball takes for a
/// stem. Three letters are as often a name, such as `dns`.
fn singular(word: &str) -> &str {
    let has_vowel = word.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    match word.strip_suffix('s') {
        Some(rest) if !has_vowel && rest.len() > 2 && !rest.ends_with('s') => rest,
        _ => word,
    }
}

/// Splits `camelCase`, `HTTPServer` and `web3` at changes of case and between letters and digits.
fn camel_parts(word: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for index in 1..characters.len() {
        let (offset, current) = characters[index];
        let previous = characters[index - 1].1;
        // Two lowercase letters, so that the plural `PDFs` stays one word.
        let is_capitalized = || {
            let following = characters.get(index + 1..index + 3);
            following.is_some_and(|two| two.iter().all(|(_, c)| c.is_lowercase()))
        };
        let starts_word = current.is_uppercase()
            && (previous.is_lowercase() || previous.is_uppercase() && is_capitalized());
        let changes_class = current.is_numeric() != previous.is_numeric();
        if starts_word || changes_class {
            parts.push(&word[start..offset]);
            start = offset;
        }
    }
    parts.push(&word[start..]);
    parts
}

/// Emits the characters of a run and its pairs of adjacent characters, without stop phrases.
pub(crate) fn unspaced_terms(run: &[char], emit: &mut impl FnMut(&str, TermKind)) {
    let mut buffer = [0; 4];
    let mut text = String::new();
    for piece in split_at_phrases(run) {
        for character in piece.iter().filter(|c| !is_stop_character(**c)) {
            emit(character.encode_utf8(&mut buffer), TermKind::Weak);
        }
        for pair in piece.windows(2) {
            // Such a character may be a part of a word, as `在` in `在线`.
            let kind = match pair.iter().any(|c| is_stop_character(*c)) {
                true => TermKind::Weak,
                false => TermKind::Word,
            };
            text.clear();
            text.extend(pair);
            emit(&text, kind);
        }
    }
}

/// The first character of such a script.
pub(crate) const FIRST_UNSPACED: char = '\u{0e00}';

/// Returns true for characters of scripts that do not separate words: Chinese, Japanese, Thai, Lao,
/// Burmese and Khmer; also for Korean, whose particles are attached to words.
pub(crate) fn is_unspaced_script(c: char) -> bool {
    // Most characters are before all of them.
    c >= FIRST_UNSPACED
        && matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let mut terms = Vec::new();
        Analyzer::new().terms(text, &mut |term, _| terms.push(term.to_owned()));
        assert_eq!(terms.join(" "), expected, "{text}");
    }

    #[test]
    fn words_are_folded_stemmed_and_split() {
        check("Please merge the PDFs", "merg pdf");
        check("pdf-form_filler", "pdf form filler");
        check("parseHTTPRequest", "parsehttprequest pars http request");
        check("running runs", "run run");
        check("C# and C++", "csharp cpp");
        check("web3", "web3 web 3");
        check("pasted past", "paste past");
        check("universal university", "universal universiti");
    }

    #[test]
    fn compatibility_forms_and_case_do_not_matter() {
        check("ＰＤＦ ﬁle STRASSE straße", "pdf file strass strass");
    }

    proptest! {
        /// Parts are composed by themselves, and what is before ASCII never changes it.
        #[test]
        fn text_is_composed_as_a_whole(text in "([a-zA-Z .-]|[é\u{300}-\u{304}ﬁ，Ａ…½한ᄒ\u{1161}字😀]){0,80}") {
            prop_assert_eq!(compose(&text), text.nfkc().collect::<String>());
        }
    }

    #[test]
    fn scripts_without_spaces_become_characters_and_pairs() {
        check("请帮我写文章", "写 文 章 写文 文章");
        check("用pdf文件", "用 pdf 文 件 文件");
    }

    #[test]
    fn each_byte_has_the_class_of_its_character() {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric();
        let is_separator = |byte: u8| byte.is_ascii() && !is_word(byte);
        for (byte, place) in (0..=u8::MAX).flat_map(|byte| (0..8).map(move |place| (byte, place))) {
            let width = |class, before: u8, after: u8| {
                let mut bytes = [after; 8];
                bytes[..place].fill(before);
                bytes[place] = byte;
                ascii_width(u64::from_le_bytes(bytes), class)
            };
            let words = width(CharClass::Spaced, b'z', b' ');
            assert_eq!(words, place + usize::from(is_word(byte)), "{byte} {place}");
            let separators = width(CharClass::Separator, b'-', b'x');
            let expected = place + usize::from(is_separator(byte));
            assert_eq!(separators, expected, "{byte} {place}");
            assert_eq!(width(CharClass::Unspaced, 0xe5, 0xad), 0);
        }
    }

    #[test]
    fn long_words_are_skipped() {
        check(&"a".repeat(41), "");
    }
}

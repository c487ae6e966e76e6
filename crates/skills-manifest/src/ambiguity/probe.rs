//! Finds notations that parsers disagree about, without a second parser.
//!
//! The values of the YAML library do not tell whether a piece of the text is part of a quoted text
//! or a comment, where all parsers agree, or syntax, where they may not. A probe replaces the piece
//! by one that has another meaning as syntax and none elsewhere, and parses again.

use std::ops::Range;

use super::number::is_ambiguous_number;
use crate::yaml;

/// Maximum length of a number in an error, in characters.
const MAX_SHOWN_CHARACTERS: usize = 40;
/// A text that is not valid outside of texts and comments.
const INVALID_SYNTAX: &str = ": : ";
/// An unquoted scalar that is null, and text within quotes.
const NULL: &str = "~";

/// Returns true if valid YAML contains syntax that the library accepts and PyYAML rejects: a tab or
/// a byte order mark outside of texts, or `#` directly after the `|` or `>` of a block scalar.
pub(super) fn has_lenient_syntax(yaml: &str) -> bool {
    let is_suspect = yaml.contains(['\t', '\u{FEFF}', '#']);
    is_suspect && yaml::parse_exact(&replace_lenient_syntax(yaml)).is_err()
}

/// Makes a text invalid if it contains lenient syntax.
fn replace_lenient_syntax(yaml: &str) -> String {
    let mut out = String::with_capacity(yaml.len());
    let mut before = '\n';
    for c in yaml.chars() {
        match c {
            '\t' => out.push_str(INVALID_SYNTAX),
            // The library skips it at the start of each line.
            '\u{FEFF}' if before == '\n' => out.push_str(INVALID_SYNTAX),
            // The end of a header such as `|`, `>-` or `|2`, after which no letter is valid.
            '#' if matches!(before, '|' | '>' | '+' | '-' | '0'..='9') => out.push('x'),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Returns the first unquoted scalar, key or value, that is a number for some parsers, and text or
/// another number for others; at most its first 40 characters.
///
/// `null_count` is the number of nulls in `yaml`, which is valid.
pub(super) fn find_ambiguous_number(yaml: &str, null_count: usize) -> Option<String> {
    let candidates = ambiguous_words(yaml);
    // An unquoted candidate becomes null, and one within a text stays text.
    let has_unquoted = |candidates: &[Range<usize>]| {
        yaml::parse_exact(&replace_words(yaml, candidates))
            .map_or(true, |probe| probe.null_count > null_count)
    };
    if candidates.is_empty() || !has_unquoted(&candidates) {
        return None;
    }
    // Binary search, since a hostile text may have thousands of candidates.
    let lengths: Vec<usize> = (1..=candidates.len()).collect();
    let index = lengths.partition_point(|length| !has_unquoted(&candidates[..*length]));
    let word = yaml.get(candidates.get(index)?.clone())?;
    Some(word.chars().take(MAX_SHOWN_CHARACTERS).collect())
}

/// Returns the words of a text that are an ambiguous number, if they are scalars at all.
fn ambiguous_words(yaml: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    for piece in yaml.split_inclusive(|c: char| !is_number_char(c)) {
        let word = piece.trim_end_matches(|c| !is_number_char(c));
        let number = word.trim_matches(':');
        let offset = start + word.len() - word.trim_start_matches(':').len();
        // These start an anchor, an alias, a tag or an escape, and never a number.
        let is_marked = yaml[..offset].ends_with(['&', '*', '!', '\\']);
        if !is_marked && is_ambiguous_number(number) {
            words.push(offset..offset + number.len());
        }
        start += piece.len();
    }
    words
}

/// Returns true if a number can contain a character in some version of YAML.
fn is_number_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '+' | '-')
}

fn replace_words(yaml: &str, words: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(yaml.len());
    let mut end = 0;
    for word in words {
        out.extend([&yaml[end..word.start], NULL]);
        end = word.end;
    }
    out + &yaml[end..]
}

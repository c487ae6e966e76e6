//! Truncates a description to whole sentences.

use crate::word_list::{Words, section};

const WORDS: &str = include_str!("truncation.txt");

static ABBREVIATIONS: Words = Words::new(|| section(WORDS, "abbreviations"));
static EXCLUSIONS: Words = Words::new(|| section(WORDS, "exclusions"));
static CHINESE_EXCLUSIONS: Words = Words::new(|| section(WORDS, "chinese exclusions"));

/// How a description that does not fit is truncated.
///
/// In both cases the budget decides how many characters are granted. A description of more than
/// 1,024 characters is truncated even if it fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Truncation {
    /// At the granted number of characters, also within a word (Codex).
    #[default]
    Characters,
    /// To whole sentences. Those that say when *not* to use the skill are kept first, then the
    /// first sentence, then the others in their order.
    Sentences,
}

/// The maximum number of sentences; the rest of a text counts as the last one. It bounds the work,
/// since each sentence is tried against the budget.
const MAX_SENTENCES: usize = 48;

/// Returns sentences of `text` that fit together, in their order.
///
/// `fits` decides whether a candidate fits. A first sentence that is too long is truncated between
/// words. If no sentence fits, the result is `prefix`, the start of `text` that was granted.
pub(crate) fn truncate_to_sentences(
    text: &str,
    prefix: &str,
    fits: impl Fn(&str) -> bool,
) -> String {
    let sentences = split_sentences(text);
    let mut kept = vec![false; sentences.len()];
    let mut best = String::new();
    // A list without "Do not use for X" makes a model use the skill for X, so exclusions come
    // first.
    let order = (0..sentences.len())
        .filter(|index| is_exclusion(sentences[*index]))
        .chain(0..sentences.len());
    for index in order {
        if std::mem::replace(&mut kept[index], true) {
            continue;
        }
        let candidate = join_kept(&sentences, &kept);
        if fits(&candidate) {
            best = candidate;
        } else {
            kept[index] = false;
        }
    }
    // The first sentence says what the skill does, so a part of it is better than none.
    if kept.first() != Some(&true) {
        let first = sentences.first().copied().unwrap_or_default();
        best = prepend_words(first, &best, &fits).unwrap_or(best);
    }
    if best.is_empty() {
        best.push_str(prefix);
    }
    best
}

/// Puts as many words of the first sentence as fit before the kept sentences.
fn prepend_words(first: &str, kept: &str, fits: &impl Fn(&str) -> bool) -> Option<String> {
    let spaces: Vec<usize> = first.match_indices(' ').map(|(at, _)| at).collect();
    let text = |end: &usize| {
        if kept.is_empty() {
            format!("{}…", &first[..*end])
        } else {
            format!("{}… {kept}", &first[..*end])
        }
    };
    let count = spaces.partition_point(|end| fits(&text(end)));
    spaces[..count].last().map(text)
}

/// Joins the kept sentences; Chinese ones without a space.
fn join_kept(sentences: &[&str], kept: &[bool]) -> String {
    let mut text = String::new();
    for (sentence, _) in sentences.iter().zip(kept).filter(|(_, kept)| **kept) {
        if !text.is_empty() && !text.ends_with(['。', '！', '？', '；']) {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    text
}

/// Splits a line into sentences. A semicolon ends one, too, as in "for PDF; not for scans".
fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((index, c)) = characters.next() {
        let is_end = match c {
            '。' | '！' | '？' | '；' => true,
            // In `1.5` and `file.md` no space follows.
            '.' | '!' | '?' | ';' => {
                characters.peek().is_none_or(|(_, next)| *next == ' ')
                    && !is_abbreviation(&text[start..index])
            }
            _ => false,
        };
        if is_end && sentences.len() + 1 < MAX_SENTENCES {
            let end = index + c.len_utf8();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Returns true if the text before a period ends in an abbreviation such as `e.g`.
fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit([' ', '('])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    ABBREVIATIONS.contains(&word.as_str()) || word.len() == 1
}

/// Returns true if a sentence may say when not to use a skill. A false positive only changes which
/// sentences are kept first.
fn is_exclusion(sentence: &str) -> bool {
    // Word processors write a typographic apostrophe in "don’t".
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(|word| EXCLUSIONS.contains(&word))
        || CHINESE_EXCLUSIONS
            .iter()
            .any(|word| sentence.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, limit: usize, expected: &str) {
        let prefix: String = text.chars().take(limit).collect();
        let truncated = truncate_to_sentences(text, &prefix, |candidate| {
            candidate.chars().count() <= limit
        });
        assert_eq!(truncated, expected);
        assert!(truncated.chars().count() <= limit);
    }

    #[test]
    fn the_word_lists_are_well_formed() {
        let sections = ["abbreviations", "exclusions", "chinese exclusions"];
        crate::word_list::check_sections(WORDS, &sections);
    }

    #[test]
    fn exclusions_are_kept_first() {
        let text = "Fills PDF forms. Merges and splits files. Use when a user names a PDF. Do not use for scans.";
        check(text, 200, text);
        check(
            text,
            65,
            "Fills PDF forms. Merges and splits files. Do not use for scans.",
        );
        check(text, 40, "Fills PDF forms. Do not use for scans.");
        check(text, 36, "Fills PDF… Do not use for scans.");
        check(text, 22, "Do not use for scans.");
        check(text, 18, "Fills PDF forms.");
        check(text, 12, "Fills PDF…");
        check(text, 4, "Fill");
    }

    #[test]
    fn chinese_sentences_and_abbreviations_are_recognized() {
        check(
            "处理表格。也能合并。不要用于扫描件。",
            13,
            "处理表格。不要用于扫描件。",
        );
        check(
            "处理！也能；合并？不要用于扫描件。",
            11,
            "处理！不要用于扫描件。",
        );
        assert_eq!(
            split_sentences("Reads e.g. PDF. Writes 1.5 pages; ends"),
            ["Reads e.g. PDF.", "Writes 1.5 pages;", "ends"]
        );
        assert_eq!(split_sentences(""), Vec::<&str>::new());
        let many = "Does it. ".repeat(60);
        let sentences = split_sentences(&many);
        assert_eq!(
            (sentences.len(), sentences[46], sentences[47].len()),
            (48, "Does it.", many.trim_end().len() - 47 * 9)
        );
    }
}

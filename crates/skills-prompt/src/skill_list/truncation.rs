//! Shortens a description by whole sentences.

/// How a description that does not fit is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Truncation {
    /// After so many characters, wherever that is (Codex).
    #[default]
    Characters,
    /// By sentences: those that say when *not* to use the skill stay first of all, then the first
    /// one, then the others in order.
    Sentences,
}

/// The most sentences that are told apart; what comes behind counts as one.
const MAX_SENTENCES: usize = 48;

/// Chooses sentences of `text` that fit together, at most the characters of `start`, which is how
/// it begins.
///
/// A first sentence that is too long is cut between words. When nothing of a sentence fits, `start`
/// it is.
pub(crate) fn truncate_to_sentences(
    text: &str,
    start: &str,
    fits: impl Fn(&str) -> bool,
) -> String {
    let all = split_sentences(text);
    let mut kept = vec![false; all.len()];
    let mut best = String::new();
    let order = (0..all.len())
        .filter(|index| is_exclusion(all[*index]))
        .chain(0..all.len());
    for index in order {
        if std::mem::replace(&mut kept[index], true) {
            continue;
        }
        let candidate = join_kept(&all, &kept);
        if fits(&candidate) {
            best = candidate
        } else {
            kept[index] = false
        }
    }
    // Without the first sentence nobody knows what the skill does.
    if !kept.first().is_some_and(|kept| *kept) {
        let begun = prepend_words(all.first().copied().unwrap_or_default(), &best, &fits);
        best = begun.unwrap_or(best);
    }
    if best.is_empty() {
        start.to_owned()
    } else {
        best
    }
}

/// Puts as many words of the first sentence as fit before what is kept.
fn prepend_words(first: &str, kept: &str, fits: &impl Fn(&str) -> bool) -> Option<String> {
    let ends = first
        .char_indices()
        .filter(|(_, c)| *c == ' ')
        .map(|(index, _)| index)
        .collect::<Vec<_>>();
    let text = |end: &usize| {
        if kept.is_empty() {
            format!("{}…", &first[..*end])
        } else {
            format!("{}… {kept}", &first[..*end])
        }
    };
    let count = ends.partition_point(|end| fits(&text(end)));
    ends[..count].last().map(text)
}

fn join_kept(all: &[&str], kept: &[bool]) -> String {
    let mut text = String::new();
    for sentence in all
        .iter()
        .zip(kept)
        .filter(|(_, kept)| **kept)
        .map(|(sentence, _)| sentence)
    {
        let is_spaced = text.is_empty() || text.ends_with(['。', '！', '？', '；']);
        if !is_spaced {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    text
}

/// Splits a line into sentences; half-sentences that a semicolon divides count.
fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((index, c)) = characters.next() {
        let is_end = match c {
            '。' | '！' | '？' | '；' => true,
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

/// `e.g.`, `i.e.`, `vs.` and the like end no sentence.
fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit([' ', '('])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(
        word.as_str(),
        "e.g" | "i.e" | "eg" | "ie" | "vs" | "cf" | "etc" | "approx" | "incl" | "no"
    ) || word.len() == 1
}

/// Whether a sentence says when not to use a skill.
fn is_exclusion(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let words = [
        "not",
        "don't",
        "never",
        "avoid",
        "except",
        "unless",
        "skip",
        "isn't",
        "doesn't",
        "cannot",
        "can't",
        "shouldn't",
        "won't",
    ];
    let is_word = |word: &str| words.contains(&word);
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(is_word)
        || [
            "不要",
            "不用",
            "不适",
            "不能",
            "不得",
            "请勿",
            "切勿",
            "勿用",
            "禁止",
            "除非",
            "避免",
            "不支持",
        ]
        .iter()
        .any(|word| sentence.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, room: usize, expected: &str) {
        let start: String = text.chars().take(room).collect();
        let shortened =
            truncate_to_sentences(text, &start, |candidate| candidate.chars().count() <= room);
        assert_eq!(shortened, expected);
        assert!(shortened.chars().count() <= room);
    }

    #[test]
    fn what_it_is_not_for_stays() {
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
    fn sentences_of_other_scripts_and_abbreviations() {
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

//! The words of a text, without its code and its quotations.

use std::ops::Range;

/// A word, a character of a script that does not divide words, or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters and digits, with hyphens, underscores and apostrophes between them.
    Word,
    /// A character of Chinese or Japanese.
    Character(char),
    /// Anything else that is no space.
    Mark(char),
}

/// The lines of a text without their ends. Fenced code and quotations are left out.
pub(super) fn speech(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut fence: Option<&str> = None;
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        next = start + length + 1;
        Some(start..start + length)
    })
    .filter(move |line| {
        let trimmed = text[line.clone()].trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (Some(_), _) => {}
            (None, None) => return !trimmed.starts_with('>'),
        }
        false
    })
}

/// Takes a line of a text apart.
pub(super) fn tokens(text: &str, line: Range<usize>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(line.len() / 4);
    tokens_of(&text[line.clone()], line.start, &mut tokens);
    tokens
}

fn tokens_of(line: &str, offset: usize, tokens: &mut Vec<Token>) {
    let mut push = |start: usize, end: usize, kind| tokens.push(Token { start: offset + start, end: offset + end, kind });
    let mut at = 0;
    while let Some(&b) = line.as_bytes().get(at) {
        if b.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if b >= 0xE3
            && let Some(c) = line[at..].chars().next()
            && let Some(kind) = eastern(c)
        {
            push(at, at + c.len_utf8(), kind);
            at += c.len_utf8();
            continue;
        }
        // An apostrophe or hyphen at the end is a mark of its own.
        let length = trimmed_length(&line[at..at + word_length(&line[at..])]);
        if length > 0 {
            push(at, at + length, Kind::Word);
            at += length;
            continue;
        }
        let Some(c) = line[at..].chars().next() else { return };
        if !c.is_whitespace() {
            push(at, at + c.len_utf8(), Kind::Mark(c));
        }
        at += c.len_utf8();
    }
}

/// The length of a word without marks behind it; 0 when it begins with one.
fn trimmed_length(word: &str) -> usize {
    match word.as_bytes() {
        [b'\'' | b'-', ..] => 0,
        [.., b'\'' | b'-' | b'_' | 0x80..] => {
            let word = word.trim_end_matches(['\'', '\u{2019}', '-', '_']);
            if word.starts_with('\u{2019}') { 0 } else { word.len() }
        }
        plain => plain.len(),
    }
}

/// Characters and marks of Chinese and Japanese.
fn eastern(c: char) -> Option<Kind> {
    match c {
        _ if is_character(c) => Some(Kind::Character(c)),
        '\u{3001}'..='\u{303F}' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' => Some(Kind::Mark(c)),
        _ => None,
    }
}

/// Which ASCII characters may belong to a word; a table is quicker than asking.
pub(super) const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0_u8;
    while b < 0x80 {
        table[b as usize] = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'\'');
        b += 1;
    }
    table
};

/// How many bytes at the start of a text may belong to one word.
fn word_length(text: &str) -> usize {
    let ascii = text.bytes().position(|b| !IN_WORD[usize::from(b)]).unwrap_or(text.len());
    match text.as_bytes().get(ascii) {
        Some(b) if !b.is_ascii() => ascii + text[ascii..].find(|c| !is_word(c)).unwrap_or(text.len() - ascii),
        _ => ascii,
    }
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\'');
    }
    // What nobody sees does not divide a word: it may have been put there to change one.
    !is_character(c) && (c == '\u{2019}' || c.is_alphanumeric() || skills_manifest::is_hidden(c) && !c.is_whitespace())
}

/// The most frequent ones first.
fn is_character(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3040}'..='\u{30FF}' | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens = speech(text).flat_map(|line| tokens(text, line));
        let got: Vec<&str> = tokens.map(|token| &text[token.start..token.end]).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn words_characters_and_marks() {
        check("Don't use pdf-tools, it's 'x'.", &["Don't", "use", "pdf-tools", ",", "it's", "'", "x", "'", "."]);
        check("用 pdf-tools技能。", &["用", "pdf-tools", "技", "能", "。"]);
        check("a -- b_ \u{440}df\u{200B}x", &["a", "-", "-", "b", "_", "\u{440}df\u{200B}x"]);
    }

    #[test]
    fn code_and_quotations_are_left_out() {
        check("a\n```sh\nuse b\n~~~\n```\nc\n> d\ne", &["a", "c", "e"]);
        check("~~~\nnever closed", &[]);
    }
}

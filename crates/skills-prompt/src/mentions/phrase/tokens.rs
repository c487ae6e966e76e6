//! The words of a text, without its code and its quotations.

use std::ops::Range;

/// A word, a character of a script that does not divide words, or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextToken {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters and digits, with hyphens, underscores and apostrophes between them.
    Word,
    /// A character of Chinese or Japanese.
    Cjk(char),
    /// Anything else that is no space; a line end inside a paragraph too.
    Punctuation(char),
}

/// The paragraphs of a text, each as its lines without their ends. Fenced and indented code,
/// quotations, tables and comments are left out, and end a paragraph as an empty line does.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Range<usize>>> {
    let mut paragraphs = vec![Vec::new()];
    let mut fence: Option<&str> = None;
    let mut next = 0;
    // A quotation goes on until an empty line.
    let mut is_quoted = false;
    while next < text.len() {
        let start = next;
        let length = memchr::memchr(b'\n', &text.as_bytes()[start..]).unwrap_or(text.len() - start);
        next = start + length + 1;
        let line = &text[start..start + length];
        let mark = code_fence_marker(line);
        let is_speech = match (fence, mark) {
            (Some(open), Some(mark)) => {
                // Only a bare mark, at least as long, closes.
                let closes = mark.starts_with(open)
                    && line
                        .trim()
                        .trim_matches(mark.chars().next().unwrap_or(' '))
                        .is_empty();
                fence = if closes { None } else { Some(open) };
                false
            }
            (Some(_), None) => false,
            (None, Some(mark)) => {
                fence = Some(mark);
                false
            }
            (None, None) => {
                is_quoted = !line.trim().is_empty()
                    && (is_quoted || line.trim_start().starts_with(['>', '＞']));
                !is_quoted && is_prose(line)
            }
        };
        match paragraphs.last_mut() {
            Some(lines) if is_speech => lines.push(start..start + length),
            Some(lines) if lines.is_empty() => {}
            _ => paragraphs.push(Vec::new()),
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// The marks that open or close a fence, behind the mark of a list item too.
fn code_fence_marker(line: &str) -> Option<&str> {
    let line = line
        .trim_start()
        .trim_start_matches(['-', '*', '+', '.'])
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(first).len();
    (length >= 3).then(|| &line[..length])
}

fn is_prose(line: &str) -> bool {
    let trimmed = line.trim_start();
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let is_other = [
        "//", "/*", "<!--", "<pre", "<code", ">", "＞", "|", "$ ", "import ", "def ", "@@",
    ]
    .iter()
    .any(|start| trimmed.starts_with(start));
    !trimmed.is_empty() && !is_indented && !is_other
}

/// Takes the lines of a paragraph apart, with a mark for the end of each.
pub(super) fn tokenize(text: &str, lines: &[Range<usize>]) -> Vec<TextToken> {
    let mut tokens = Vec::with_capacity(lines.iter().map(|line| line.len() / 4 + 1).sum());
    for line in lines {
        tokenize_line(&text[line.clone()], line.start, &mut tokens);
        tokens.push(TextToken {
            start: line.end,
            end: line.end,
            kind: TokenKind::Punctuation('\n'),
        });
    }
    tokens
}

fn tokenize_line(line: &str, offset: usize, tokens: &mut Vec<TextToken>) {
    let mut push = |start: usize, end: usize, kind| {
        tokens.push(TextToken {
            start: offset + start,
            end: offset + end,
            kind,
        })
    };
    let mut at = 0;
    while let Some(&b) = line.as_bytes().get(at) {
        if b.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if b >= 0xE3
            && let Some(c) = line[at..].chars().next()
            && let Some(kind) = cjk_kind(c)
        {
            push(at, at + c.len_utf8(), kind);
            at += c.len_utf8();
            continue;
        }
        // An apostrophe or hyphen at the end is a mark of its own.
        let length = trimmed_length(&line[at..at + word_length(&line[at..])]);
        if length > 0 {
            push(at, at + length, TokenKind::Word);
            at += length;
            continue;
        }
        let Some(c) = line[at..].chars().next() else {
            return;
        };
        if !c.is_whitespace() {
            push(at, at + c.len_utf8(), TokenKind::Punctuation(c));
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
            if word.starts_with('\u{2019}') {
                0
            } else {
                word.len()
            }
        }
        plain => plain.len(),
    }
}

/// Characters and marks of Chinese and Japanese.
fn cjk_kind(c: char) -> Option<TokenKind> {
    match c {
        _ if is_cjk_char(c) => Some(TokenKind::Cjk(c)),
        '\u{3001}'..='\u{303F}' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' => {
            Some(TokenKind::Punctuation(c))
        }
        _ => None,
    }
}

/// Which ASCII characters may belong to a word; a table is quicker than asking.
pub(super) const ASCII_WORD_CHARACTERS: [bool; 256] = {
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
    let ascii = text
        .bytes()
        .position(|b| !ASCII_WORD_CHARACTERS[usize::from(b)])
        .unwrap_or(text.len());
    match text.as_bytes().get(ascii) {
        Some(b) if !b.is_ascii() => {
            ascii
                + text[ascii..]
                    .find(|c| !is_word_char(c))
                    .unwrap_or(text.len() - ascii)
        }
        _ => ascii,
    }
}

fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\'');
    }
    // What nobody sees does not divide a word: it may have been put there to change one.
    let joins = matches!(c, '\u{2019}' | '\u{2010}' | '\u{2011}')
        || unicode_normalization::char::is_combining_mark(c);
    !is_cjk_char(c)
        && (joins || c.is_alphanumeric() || skills_manifest::is_invisible(c) && !c.is_whitespace())
}

/// The most frequent ones first.
fn is_cjk_char(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3040}'..='\u{30FF}' | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens = paragraphs(text)
            .into_iter()
            .flat_map(|lines| tokenize(text, &lines));
        let got: Vec<&str> = tokens
            .map(|token| &text[token.start..token.end])
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn words_characters_and_marks() {
        check(
            "Don't use pdf-tools, it's 'x'.",
            &["Don't", "use", "pdf-tools", ",", "it's", "'", "x", "'", "."],
        );
        check("用 pdf-tools技能。", &["用", "pdf-tools", "技", "能", "。"]);
        check(
            "a -- b_ \u{440}df\u{200B}x",
            &["a", "-", "-", "b", "_", "\u{440}df\u{200B}x"],
        );
        check(
            "code\u{2011}review cafe\u{301}",
            &["code\u{2011}review", "cafe\u{301}"],
        );
    }

    #[test]
    fn code_and_quotations_are_left_out() {
        check(
            "a\n```sh\nuse b\n~~~\n```\nc\n> d\ne\n\nf",
            &["a", "c", "f"],
        );
        check("~~~\nnever closed", &[]);
        check("````\n```\nb\n```\n````\nc", &["c"]);
        check("- ```\n  b\n  ```\nc", &["c"]);
        check("a\n\n    code\n\tcode\n// x\n| t |\nb", &["a", "b"]);
    }

    #[test]
    fn paragraphs_end_at_empty_lines() {
        assert_eq!(
            paragraphs("a\nb\n\nc\n")
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>(),
            [2, 1]
        );
    }
}

//! Splits a text into paragraphs and tokens, without code and quotations.

use std::ops::Range;

/// A word, a character of a script that does not separate words, or a punctuation mark, with its
/// byte range.
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
    /// A Chinese or Japanese character.
    Cjk(char),
    /// Any other character except white space; also a line end inside a paragraph.
    Punctuation(char),
}

/// Returns the paragraphs of a text, each as the byte ranges of its lines.
///
/// Code blocks, quotations, tables and comments are skipped: they are pasted text, in which a
/// phrase is not a request of the user. They end a paragraph like an empty line.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Range<usize>>> {
    let mut paragraphs = vec![Vec::new()];
    let mut pasted = PastedText::default();
    let mut next = 0;
    while next < text.len() {
        let start = next;
        let length = memchr::memchr(b'\n', &text.as_bytes()[start..]).unwrap_or(text.len() - start);
        next = start + length + 1;
        let line = &text[start..start + length];
        let is_request_text = !pasted.contains(line) && is_prose(line);
        match paragraphs.last_mut() {
            Some(lines) if is_request_text => lines.push(start..start + length),
            Some(lines) if lines.is_empty() => {}
            _ => paragraphs.push(Vec::new()),
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// Code blocks and quotations, line by line.
#[derive(Default)]
struct PastedText<'t> {
    /// The delimiter of the open code block.
    fence: Option<&'t str>,
    is_quoted: bool,
}

impl<'t> PastedText<'t> {
    /// Returns true if the next line belongs to a code block or a quotation.
    fn contains(&mut self, line: &'t str) -> bool {
        let mark = code_fence_marker(line);
        if let Some(open) = self.fence {
            // Only a bare delimiter that is at least as long closes the block.
            let closes = mark.is_some_and(|mark| mark.starts_with(open) && mark == line.trim());
            self.fence = Some(open).filter(|_| !closes);
            return true;
        }
        if mark.is_some() {
            self.fence = mark;
            return true;
        }
        // A quotation continues without `>` up to an empty line (CommonMark's lazy continuation).
        self.is_quoted = !line.trim().is_empty()
            && (self.is_quoted || line.trim_start().starts_with(['>', '＞']));
        self.is_quoted
    }
}

/// Returns the delimiter of a code block at the start of a line, also inside a list item.
fn code_fence_marker(line: &str) -> Option<&str> {
    let line = line
        .trim_start()
        .trim_start_matches(['-', '*', '+', '.'])
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(first).len();
    (length >= 3).then(|| &line[..length])
}

/// Returns false for indented code, tables, comments and typical lines of code.
fn is_prose(line: &str) -> bool {
    let trimmed = line.trim_start();
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let has_code_prefix = [
        "//", "/*", "<!--", "<pre", "<code", ">", "＞", "|", "$ ", "import ", "def ", "@@",
    ]
    .iter()
    .any(|start| trimmed.starts_with(start));
    !trimmed.is_empty() && !is_indented && !has_code_prefix
}

/// A paragraph: the text that contains it, and its tokens.
pub(super) struct Paragraph<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<TextToken>,
}

impl<'t> Paragraph<'t> {
    /// Splits the lines of a paragraph into tokens, with a line end after each line.
    pub(super) fn new(text: &'t str, lines: &[Range<usize>]) -> Self {
        let mut tokens = Vec::with_capacity(lines.iter().map(|line| line.len() / 4 + 1).sum());
        for line in lines {
            tokenize_line(&text[line.clone()], line.start, &mut tokens);
            tokens.push(TextToken {
                start: line.end,
                end: line.end,
                kind: TokenKind::Punctuation('\n'),
            });
        }
        Self { text, tokens }
    }

    /// Returns the kind of a token; `None` after the last one.
    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Returns the text of one token; empty after the last one.
    pub(super) fn word(&self, at: usize) -> &'t str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.text[token.start..token.end])
    }

    /// Returns the byte range from the first to the last of these tokens; empty without tokens.
    pub(super) fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        match self.tokens.get(tokens.clone()) {
            Some([only]) => only.start..only.end,
            Some([first, .., last]) => first.start..last.end,
            _ => 0..0,
        }
    }

    /// Returns the text from the first to the last of these tokens.
    pub(super) fn text_of(&self, tokens: &Range<usize>) -> &'t str {
        &self.text[self.span(tokens)]
    }

    /// Returns the text that follows a token.
    pub(super) fn text_after(&self, at: usize) -> &'t str {
        &self.text[self.tokens[at].end..]
    }

    /// Returns true if there is text between a token and the one before.
    pub(super) fn follows_space(&self, at: usize) -> bool {
        at > 0 && self.tokens[at - 1].end < self.tokens[at].start
    }
}

fn tokenize_line(line: &str, offset: usize, tokens: &mut Vec<TextToken>) {
    let mut at = 0;
    while let Some(&b) = line.as_bytes().get(at) {
        if b.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let Some((length, kind)) = first_token(&line[at..]) else {
            return;
        };
        tokens.extend(kind.map(|kind| TextToken {
            start: offset + at,
            end: offset + at + length,
            kind,
        }));
        at += length;
    }
}

/// Returns the length and the kind of the token at the start of a text; white space has no kind.
fn first_token(text: &str) -> Option<(usize, Option<TokenKind>)> {
    let c = text.chars().next()?;
    // In UTF-8 the first byte of all these characters is at least 0xE3, which rules out most text.
    if text.as_bytes()[0] >= 0xE3
        && let Some(kind) = cjk_kind(c)
    {
        return Some((c.len_utf8(), Some(kind)));
    }
    // An apostrophe or hyphen at the end is punctuation.
    let length = trimmed_length(&text[..word_length(text)]);
    if length > 0 {
        return Some((length, Some(TokenKind::Word)));
    }
    let mark = Some(TokenKind::Punctuation(c)).filter(|_| !c.is_whitespace());
    Some((c.len_utf8(), mark))
}

/// Returns the length of a word without trailing marks; 0 if it begins with a mark.
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

/// Returns the kind of a Chinese or Japanese character or punctuation mark.
fn cjk_kind(c: char) -> Option<TokenKind> {
    match c {
        _ if is_cjk_char(c) => Some(TokenKind::Cjk(c)),
        '\u{3001}'..='\u{303F}' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' => {
            Some(TokenKind::Punctuation(c))
        }
        _ => None,
    }
}

/// ASCII characters that can be part of a word. A table, because every byte of a message is tested.
pub(super) const ASCII_WORD_CHARACTERS: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0_u8;
    while b < 0x80 {
        table[b as usize] = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'\'');
        b += 1;
    }
    table
};

/// Returns the number of bytes at the start of a text that can be part of one word.
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
    // An invisible character does not end a word. It may have been inserted so that a name looks
    // like another one, which must stay visible to the comparison of skeletons.
    let joins = matches!(c, '\u{2019}' | '\u{2010}' | '\u{2011}')
        || unicode_normalization::char::is_combining_mark(c);
    !is_cjk_char(c)
        && (joins || c.is_alphanumeric() || skills_manifest::is_invisible(c) && !c.is_whitespace())
}

/// Returns true for Chinese characters and Japanese kana, the most frequent ones first.
fn is_cjk_char(c: char) -> bool {
    matches!(
        c,
        '\u{4E00}'..='\u{9FFF}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{323AF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens = paragraphs(text)
            .into_iter()
            .flat_map(|lines| Paragraph::new(text, &lines).tokens);
        let got: Vec<&str> = tokens
            .map(|token| &text[token.start..token.end])
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn words_characters_and_punctuation_are_tokens() {
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
    fn code_and_quotations_are_skipped() {
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

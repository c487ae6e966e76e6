//! Quotations and brackets in a paragraph.

use std::ops::Range;

use super::tokens::{Paragraph, TokenKind};

/// The quotations of a paragraph: for each token the positions of the marks around it.
pub(super) struct Quotes {
    enclosing: Vec<Option<(usize, usize)>>,
}

/// Opening marks, each followed by its closing mark.
const QUOTE_PAIRS: &str = "“”„“‘’«»‹›「」『』《》〈〉【】（）()[]";

impl Quotes {
    /// Finds the quotations of a paragraph. An unclosed mark quotes the rest of it, since a missed
    /// quotation would select a skill that the user did not ask for.
    pub(super) fn find(paragraph: &Paragraph<'_>) -> Self {
        let mut enclosing = vec![None; paragraph.tokens.len()];
        let mut at = 0;
        while let Some(kind) = paragraph.kind(at) {
            let close = match kind {
                TokenKind::Punctuation(mark) => find_closing(paragraph, at, mark),
                _ => None,
            };
            if let Some(close) = close {
                enclosing[at + 1..close].fill(Some((at, close)));
            }
            at = close.unwrap_or(at) + 1;
        }
        Self { enclosing }
    }

    /// Returns true if a token is inside a quotation that contains more than `only`.
    pub(super) fn encloses_more_than(&self, at: usize, only: &Range<usize>) -> bool {
        self.enclosing
            .get(at)
            .copied()
            .flatten()
            .is_some_and(|(open, close)| open + 1 != only.start || close != only.end)
    }
}

/// Returns the position of the closing mark, or the end of the paragraph; `None` if `mark` opens no
/// quotation.
fn find_closing(paragraph: &Paragraph<'_>, at: usize, mark: char) -> Option<usize> {
    let is_mark = |index: usize, c| paragraph.kind(index) == Some(TokenKind::Punctuation(c));
    let end = paragraph.tokens.len();
    let find = |c: char| {
        (at + 1..end)
            .find(|index| is_mark(*index, c))
            .unwrap_or(end)
    };
    match mark {
        '"' | '＂' => Some(find(mark)),
        '`' => {
            // A run of backticks delimits code with backticks in it, which is rare in prose.
            let is_run = is_mark(at + 1, '`') && !paragraph.follows_space(at + 1);
            (!is_run).then(|| find('`'))
        }
        // Otherwise it is an apostrophe.
        '\'' if is_opening_quote(paragraph, at) => {
            (at + 1..end).find(|index| is_mark(*index, '\'') && is_closing_quote(paragraph, *index))
        }
        mark => closing_mark(mark).map(find),
    }
}

/// Returns true if the text before a single quotation mark allows it to open a quotation.
fn is_opening_quote(paragraph: &Paragraph<'_>, at: usize) -> bool {
    let before = &paragraph.text[..paragraph.tokens[at].start];
    before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | ':'))
}

/// Returns true if the text after a single quotation mark allows it to close a quotation.
fn is_closing_quote(paragraph: &Paragraph<'_>, at: usize) -> bool {
    !paragraph.text_after(at).starts_with(char::is_alphanumeric)
}

fn closing_mark(open: char) -> Option<char> {
    let mut marks = QUOTE_PAIRS.chars();
    while let (Some(mark), Some(close)) = (marks.next(), marks.next()) {
        if mark == open {
            return Some(close);
        }
    }
    None
}

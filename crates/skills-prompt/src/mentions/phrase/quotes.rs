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
        '\'' => {
            // Otherwise it is an apostrophe.
            let is_opening = paragraph.text[..paragraph.tokens[at].start]
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ':'));
            let is_closing = |index: &usize| {
                let next = paragraph.text_after(*index).chars().next();
                is_mark(*index, '\'') && next.is_none_or(|c| !c.is_alphanumeric())
            };
            (at + 1..end).find(is_closing).filter(|_| is_opening)
        }
        mark => {
            let mut marks = QUOTE_PAIRS.chars();
            while let (Some(open), Some(close)) = (marks.next(), marks.next()) {
                if open == mark {
                    return Some(find(close));
                }
            }
            None
        }
    }
}

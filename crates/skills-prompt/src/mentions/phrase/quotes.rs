//! Quotations and brackets in a paragraph.

use std::ops::Range;

use super::tokens::{TextToken, TokenKind};

/// The quotations of a paragraph: for each token the positions of the marks around it.
pub(super) struct Quotes {
    enclosing: Vec<Option<(usize, usize)>>,
}

/// Opening marks with their closing marks.
const QUOTE_PAIRS: [(char, char); 13] = [
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('〈', '〉'),
    ('【', '】'),
    ('（', '）'),
    ('(', ')'),
    ('[', ']'),
];

impl Quotes {
    /// Finds the quotations of a paragraph. An unclosed mark quotes the rest of it, since a missed
    /// quotation would select a skill that the user did not ask for.
    pub(super) fn find(text: &str, tokens: &[TextToken]) -> Self {
        let mut enclosing = vec![None; tokens.len()];
        let mut at = 0;
        while at < tokens.len() {
            let close = match tokens[at].kind {
                TokenKind::Punctuation(mark) => find_closing(text, tokens, at, mark),
                _ => None,
            };
            let Some(close) = close else {
                at += 1;
                continue;
            };
            enclosing[at + 1..close].fill(Some((at, close)));
            // An unclosed quotation reaches to the end, where no closing mark has to be skipped.
            at = if close == tokens.len() {
                close
            } else {
                close + 1
            };
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
fn find_closing(text: &str, tokens: &[TextToken], at: usize, mark: char) -> Option<usize> {
    let is_mark = |index: usize, c: char| tokens[index].kind == TokenKind::Punctuation(c);
    let find = |c: char| {
        (at + 1..tokens.len())
            .find(|index| is_mark(*index, c))
            .unwrap_or(tokens.len())
    };
    match mark {
        '"' | '＂' => Some(find(mark)),
        '`' => {
            // A run of backticks delimits code with backticks in it, which is rare in prose.
            let is_run = at + 1 < tokens.len()
                && is_mark(at + 1, '`')
                && tokens[at].end == tokens[at + 1].start;
            if is_run { None } else { Some(find('`')) }
        }
        '\'' => {
            // Otherwise it is an apostrophe.
            let is_opening = text[..tokens[at].start]
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ':'));
            let is_closing = |index: &usize| {
                is_mark(*index, '\'')
                    && text[tokens[*index].end..]
                        .chars()
                        .next()
                        .is_none_or(|c| !c.is_alphanumeric())
            };
            is_opening
                .then(|| (at + 1..tokens.len()).find(is_closing))
                .flatten()
        }
        mark => QUOTE_PAIRS
            .iter()
            .find(|(open, _)| *open == mark)
            .map(|(_, close)| find(*close)),
    }
}

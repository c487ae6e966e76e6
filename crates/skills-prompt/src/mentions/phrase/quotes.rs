//! What stands in quotation marks or brackets.

use std::ops::Range;

use super::tokens::{TextToken, TokenKind};

/// The quotations of a paragraph: for each token the marks around it.
pub(super) struct Quotes {
    enclosing: Vec<Option<(usize, usize)>>,
}

/// Marks that open a quotation, and those that close it.
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
    pub(super) fn find(text: &str, tokens: &[TextToken]) -> Self {
        let mut around = vec![None; tokens.len()];
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
            around[at + 1..close].fill(Some((at, close)));
            // A mark that is doubled opens with its last one.
            at = if close == tokens.len() {
                close
            } else {
                close + 1
            };
        }
        Self { enclosing: around }
    }

    /// Whether a token stands in a quotation that holds more than `only`.
    pub(super) fn encloses_more_than(&self, at: usize, only: &Range<usize>) -> bool {
        self.enclosing
            .get(at)
            .copied()
            .flatten()
            .is_some_and(|(open, close)| open + 1 != only.start || close != only.end)
    }
}

/// Finds what closes a mark; the end of the paragraph when nothing does.
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
            // A run of backticks closes with a run.
            let is_run = at + 1 < tokens.len()
                && is_mark(at + 1, '`')
                && tokens[at].end == tokens[at + 1].start;
            if is_run { None } else { Some(find('`')) }
        }
        '\'' => {
            let begins = text[..tokens[at].start]
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ':'));
            let ends = |index: &usize| {
                is_mark(*index, '\'')
                    && text[tokens[*index].end..]
                        .chars()
                        .next()
                        .is_none_or(|c| !c.is_alphanumeric())
            };
            begins.then(|| (at + 1..tokens.len()).find(ends)).flatten()
        }
        mark => QUOTE_PAIRS
            .iter()
            .find(|(open, _)| *open == mark)
            .map(|(_, close)| find(*close)),
    }
}

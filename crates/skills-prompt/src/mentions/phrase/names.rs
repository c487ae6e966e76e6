//! Names of skills inside of phrases: several in a row, with articles and adjectives.

use std::ops::Range;

use super::tokens::TokenKind;
use super::vocabulary::{self, is_name_separator};
use super::{PhraseMatcher, normalize_name};
use crate::mentions::Resolution;

impl<'a> PhraseMatcher<'a, '_> {
    /// Divides "X, Y and Z".
    pub(super) fn split_names(&self, phrase: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = phrase.start;
        for index in phrase.clone() {
            if is_name_separator(self.text, &self.tokens[index]) {
                parts.push(self.trim_wrappers(start..index));
                start = index + 1;
            }
        }
        parts.push(self.trim_wrappers(start..phrase.end));
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// The name that a part is, behind at most one adjective.
    pub(super) fn exact_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let is_name = |name: &Range<usize>| {
            !name.is_empty() && self.resolve_name(self.text_of(name)).is_some()
        };
        let articles = part
            .clone()
            .take_while(|at| vocabulary::is_article(self.token_text(*at)))
            .count();
        let part = &(part.start + articles..part.end);
        let adjective = self
            .tokens
            .get(part.start)
            .is_some_and(|token| vocabulary::is_adjective(&self.text[token.start..token.end]));
        let bare = part.start + 1..part.end;
        if is_name(part) {
            Some(part.clone())
        } else {
            Some(bare).filter(|bare| adjective && is_name(bare))
        }
    }

    /// The name with which a part ends.
    pub(super) fn trailing_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let starts = (part.start + 1..part.end).filter(|start| {
            self.tokens[*start - 1].end < self.tokens[*start].start
                || self.is_script_boundary(*start)
        });
        starts
            .map(|start| start..part.end)
            .find(|name| self.resolve_name(self.text_of(name)).is_some())
    }

    /// Whether a script that does not divide words ends before a token.
    fn is_script_boundary(&self, at: usize) -> bool {
        matches!(
            self.token_kind(at - 1),
            Some(TokenKind::Cjk(_) | TokenKind::Punctuation(_))
        )
    }

    pub(super) fn byte_span(&self, tokens: &Range<usize>) -> Range<usize> {
        match self.tokens.get(tokens.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.start..only.end,
            _ => 0..0,
        }
    }

    /// What a name comes to that is exactly one's, as people say it.
    pub(super) fn resolve_name(&self, name: &str) -> Option<Resolution<'a>> {
        if name.is_empty() || name.len() > 3 * self.index.max_spoken_bytes() {
            return None;
        }
        let said = normalize_name(name);
        match self.index.by_spoken_name(&said) {
            [] => self
                .index
                .inactive_with_spoken_name(&said)
                .map(Resolution::Inactive),
            [number] => {
                let alike = self.index.with_skeleton(name);
                Some(if alike.len() > 1 {
                    self.resolve_ambiguous(alike)
                } else {
                    self.index.resolution(*number)
                })
            }
            several => Some(self.resolve_ambiguous(several)),
        }
    }

    fn resolve_ambiguous(&self, numbers: &[u32]) -> Resolution<'a> {
        Resolution::Ambiguous(
            numbers
                .iter()
                .map(|number| self.index.entry(*number))
                .collect(),
        )
    }
}

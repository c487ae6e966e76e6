//! Names of skills inside phrases: lists of names, with articles and adjectives.

use std::ops::Range;

use super::tokens::TokenKind;
use super::vocabulary::{self, is_name_separator};
use super::{PhraseMatcher, normalize_name};
use crate::mentions::Resolution;

impl<'a> PhraseMatcher<'a, '_> {
    /// Splits "X, Y and Z" into its parts.
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

    /// Returns the name that a part consists of, after articles and at most one adjective.
    pub(super) fn exact_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let is_name = |name: &Range<usize>| {
            !name.is_empty() && self.resolve_name(self.text_of(name)).is_some()
        };
        let articles = part
            .clone()
            .take_while(|at| vocabulary::is_article(self.token_text(*at)))
            .count();
        let part = &(part.start + articles..part.end);
        let has_adjective = self
            .tokens
            .get(part.start)
            .is_some_and(|token| vocabulary::is_adjective(&self.text[token.start..token.end]));
        let without_adjective = part.start + 1..part.end;
        if is_name(part) {
            Some(part.clone())
        } else {
            Some(without_adjective).filter(|name| has_adjective && is_name(name))
        }
    }

    /// Returns the longest name at the end of a part.
    pub(super) fn trailing_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let starts = (part.start + 1..part.end).filter(|start| {
            self.tokens[*start - 1].end < self.tokens[*start].start
                || self.is_script_boundary(*start)
        });
        starts
            .map(|start| start..part.end)
            .find(|name| self.resolve_name(self.text_of(name)).is_some())
    }

    /// Returns true if the token before is Chinese or punctuation, after which a word can begin.
    fn is_script_boundary(&self, at: usize) -> bool {
        matches!(
            self.token_kind(at - 1),
            Some(TokenKind::Cjk(_) | TokenKind::Punctuation(_))
        )
    }

    /// Returns the byte range of tokens.
    pub(super) fn byte_span(&self, tokens: &Range<usize>) -> Range<usize> {
        match self.tokens.get(tokens.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.start..only.end,
            _ => 0..0,
        }
    }

    /// Resolves a name that equals, after normalization, that of a skill; `None` if there is none.
    pub(super) fn resolve_name(&self, name: &str) -> Option<Resolution<'a>> {
        // Full-width characters have three bytes for one of the normalized name.
        if name.is_empty() || name.len() > 3 * self.index.max_spoken_bytes() {
            return None;
        }
        let normalized = normalize_name(name);
        match self.index.by_spoken_name(&normalized) {
            [] => self
                .index
                .inactive_with_spoken_name(&normalized)
                .map(Resolution::Inactive),
            [number] => {
                // A user cannot see which of two confusable skills the name selects; an attacker
                // could have added one of them.
                let confusable = self.index.with_skeleton(name);
                Some(if confusable.len() > 1 {
                    self.resolve_ambiguous(confusable)
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

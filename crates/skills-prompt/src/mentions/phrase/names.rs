//! Names of skills inside phrases: lists of names, with articles and adjectives.

use std::ops::Range;

use super::tokens::TokenKind;
use super::vocabulary::{is_adjective, is_article, is_name_separator};
use super::{PhraseMatcher, normalize_name};
use crate::mentions::Resolution;

impl<'a> PhraseMatcher<'a, '_> {
    /// Splits "X, Y and Z" into its parts.
    pub(super) fn split_names(&self, phrase: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = phrase.start;
        for index in phrase.clone() {
            if is_name_separator(&self.paragraph, index) {
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
        let articles = part
            .clone()
            .take_while(|at| is_article(self.paragraph.word(*at)))
            .count();
        let part = &(part.start + articles..part.end);
        let has_adjective = is_adjective(self.paragraph.word(part.start));
        let without_adjective = part.start + 1..part.end;
        if self.is_name(part) {
            Some(part.clone())
        } else {
            Some(without_adjective).filter(|name| has_adjective && self.is_name(name))
        }
    }

    /// Returns the longest name at the end of a part.
    pub(super) fn trailing_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        (part.start + 1..part.end)
            .filter(|start| self.may_start_name(*start))
            .map(|start| start..part.end)
            .find(|name| self.is_name(name))
    }

    /// Returns true after a space, and after punctuation or a Chinese character.
    fn may_start_name(&self, start: usize) -> bool {
        self.paragraph.follows_space(start)
            || self.paragraph.kind(start - 1) != Some(TokenKind::Word)
    }

    /// Returns true if these tokens are the name of a skill.
    pub(super) fn is_name(&self, tokens: &Range<usize>) -> bool {
        let text = self.paragraph.text_of(tokens);
        !tokens.is_empty() && self.resolve_name(text).is_some()
    }

    /// Resolves a name that equals, after normalization, that of a skill; `None` if there is none.
    pub(super) fn resolve_name(&self, name: &str) -> Option<Resolution<'a>> {
        // Full-width characters have three bytes for one of the normalized name.
        if name.is_empty() || name.len() > 3 * self.index.max_spoken_bytes() {
            return None;
        }
        let normalized = normalize_name(name);
        match self.index.with_spoken_name(&normalized) {
            ([], inactive) => inactive.map(Resolution::Inactive),
            ([number], _) => {
                // A user cannot see which of two confusable skills the name selects; an attacker
                // could have added one of them.
                let confusable = self.index.with_skeleton(name);
                Some(if confusable.len() > 1 {
                    self.index.ambiguous(confusable)
                } else {
                    self.index.resolution(*number)
                })
            }
            (several, _) => Some(self.index.ambiguous(several)),
        }
    }
}

//! What stands around a verb and a name: whether the text asks for a skill now, or only speaks of
//! it.
//!
//! Everything that is not known to be a request is none: before the verb only words may stand by
//! which people ask, behind the name only words by which such a sentence goes on.

use super::quotes::Quotes;
use super::tokens::{TextToken, TokenKind};
use super::vocabulary::{Verb, is_name_separator, lowercase_plain};
use super::{chinese, english};
use crate::mentions::SuggestionReason;

/// How many tokens before a verb and behind a name are looked at.
const MAX_CONTEXT_TOKENS: usize = 64;

/// Where in a paragraph somebody seems to ask for a skill.
pub(super) struct MentionContext<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: &'t [TextToken],
    pub(super) quotes: &'t Quotes,
    pub(super) verb: Verb,
    pub(super) verb_position: usize,
    /// The tokens of the name.
    pub(super) name: std::ops::Range<usize>,
    /// The first token behind the name and the word "skill".
    pub(super) next_token: usize,
    /// Whether the word "skill" is there.
    pub(super) is_skill: bool,
}

impl MentionContext<'_> {
    /// Says why it is no request; nothing when it is one.
    pub(super) fn reason_against(&self) -> Option<SuggestionReason> {
        if self.quotes.encloses_more_than(
            self.verb_position,
            &(self.verb_position..self.verb_position + 1),
        ) || self.quotes.encloses_more_than(self.name.start, &self.name)
        {
            return Some(SuggestionReason::Quoted);
        }
        let least = self.verb_position.saturating_sub(MAX_CONTEXT_TOKENS);
        let sentence = (least..self.verb_position)
            .rev()
            .find(|at| self.ends_sentence(*at))
            .map_or(least, |at| at + 1);
        let clause = (sentence..self.verb_position)
            .rev()
            .find(|at| self.ends_clause(*at))
            .map_or(sentence, |at| at + 1);
        let end = self.tokens.len().min(self.next_token + MAX_CONTEXT_TOKENS);
        let end = (self.next_token..end)
            .find(|at| {
                self.ends_sentence(*at) || self.tokens[*at].kind == TokenKind::Punctuation('\n')
            })
            .unwrap_or(end);
        let is_question = matches!(
            self.tokens.get(end).map(|token| token.kind),
            Some(TokenKind::Punctuation('?' | '？'))
        );
        let (earlier, before, tail) = (
            &self.tokens[sentence..clause],
            &self.tokens[clause..self.verb_position],
            &self.tokens[self.next_token..end],
        );
        let is_chinese = |tokens: &[TextToken]| {
            tokens
                .iter()
                .any(|token| matches!(token.kind, TokenKind::Cjk(_)))
        };
        let earlier_doubt = english::check_before(
            &self.lowercase_lines(earlier),
            &self.lowercase_words(before),
        )
        .or_else(|| chinese::check_before(&self.joined_text(earlier), &self.joined_text(before)));
        let verb_is_chinese = matches!(self.tokens[self.verb_position].kind, TokenKind::Cjk(_));
        let is_polite = chinese::is_polite(&self.joined_text(before), &self.joined_text(tail));
        let asked = if verb_is_chinese || is_chinese(before) {
            chinese::check_request(
                &self.joined_text(before),
                is_question && !is_polite,
                self.verb,
            )
        } else {
            english::check_request(&self.lowercase_words(before), is_question, self.verb)
        };
        // "Using X, find …": what comes behind asks.
        let leads = self.verb == Verb::Preposition
            && !is_question
            && english::is_request_start(&self.lowercase_words(before))
            && english::is_task(&self.lowercase_words(tail));
        let asked = asked.filter(|_| !leads);
        if leads {
            return earlier_doubt.or_else(|| english::check_after(&self.lowercase_words(tail)));
        }
        let goes_on = if is_chinese(&tail[..tail.len().min(1)]) {
            chinese::check_after_name(&self.joined_text(tail), self.is_skill, is_polite)
        } else {
            self.check_after_name(tail)
        };
        let goes_on = goes_on
            .or_else(|| chinese::check_after(&self.joined_text(tail)))
            .or_else(|| self.check_next_line(end));
        earlier_doubt.or(asked).or(goes_on)
    }

    /// A line that begins with "only if" belongs to the one before.
    fn check_next_line(&self, end: usize) -> Option<SuggestionReason> {
        let token = self
            .tokens
            .get(end)
            .filter(|token| token.kind == TokenKind::Punctuation('\n'))
            .and_then(|_| self.tokens.get(end + 1))?;
        let word = lowercase_plain(&self.text[token.start..token.end]);
        matches!(
            word.as_str(),
            "only" | "if" | "unless" | "when" | "but" | "not" | "never"
        )
        .then_some(SuggestionReason::Conditional)
    }

    /// Looks at the words behind the name.
    fn check_after_name(&self, tail: &[TextToken]) -> Option<SuggestionReason> {
        let closing = tail.iter().take_while(|token| matches!(token.kind, TokenKind::Punctuation(mark) if super::vocabulary::is_wrapper(mark))).count();
        let tail = &tail[closing..];
        match tail.first().map(|token| token.kind) {
            None => None,
            Some(TokenKind::Punctuation(',' | '，')) if !self.is_skill => {
                english::check_explanation(&self.lowercase_words(tail))
            }
            Some(TokenKind::Punctuation(
                '.' | '~' | '～' | '(' | ',' | ';' | ':' | ')' | '，' | '；' | '、' | '：' | '）'
                | '-' | '—' | '–' | '…',
            )) => english::check_after(&self.lowercase_words(tail)),
            Some(TokenKind::Word) => {
                english::check_after_name(&self.lowercase_words(tail), self.is_skill)
            }
            Some(_)
                if tail
                    .first()
                    .is_some_and(|token| is_name_separator(self.text, token)) =>
            {
                english::check_after(&self.lowercase_words(tail))
            }
            Some(_) => Some(SuggestionReason::CommonWord),
        }
    }

    fn ends_sentence(&self, at: usize) -> bool {
        match self.tokens[at].kind {
            TokenKind::Punctuation('!' | '?' | '。' | '！' | '？') => true,
            TokenKind::Punctuation('.') => {
                let is_short = at > 0 && self.tokens[at - 1].end - self.tokens[at - 1].start == 1;
                !is_short
                    && self.text[self.tokens[at].end..]
                        .chars()
                        .next()
                        .is_none_or(char::is_whitespace)
            }
            _ => false,
        }
    }

    fn ends_clause(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        match token.kind {
            TokenKind::Punctuation(mark) => {
                let is_dash = mark == '-' && at > 0 && self.tokens[at - 1].end < token.start;
                is_dash || matches!(mark, ',' | ';' | '，' | '；' | '—' | '–' | '\n')
            }
            _ => false,
        }
    }

    fn joined_text(&self, tokens: &[TextToken]) -> String {
        let text = tokens
            .first()
            .zip(tokens.last())
            .map_or("", |(first, last)| &self.text[first.start..last.end]);
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// As [`lowered`](Self::lowercase_words), with the ends of lines.
    fn lowercase_lines(&self, tokens: &[TextToken]) -> Vec<String> {
        let parts = tokens.split_inclusive(|token| token.kind == TokenKind::Punctuation('\n'));
        parts
            .flat_map(|line| {
                self.lowercase_words(line).into_iter().chain(
                    line.last()
                        .filter(|last| last.kind == TokenKind::Punctuation('\n'))
                        .map(|_| "\n".to_owned()),
                )
            })
            .collect()
    }

    /// The words in lower case, without what nobody sees; marks that are no wrappers stand as they
    /// are.
    fn lowercase_words(&self, tokens: &[TextToken]) -> Vec<String> {
        let word = |token: &TextToken| match token.kind {
            TokenKind::Word | TokenKind::Cjk(_) => {
                Some(lowercase_plain(&self.text[token.start..token.end]))
            }
            TokenKind::Punctuation(mark) if super::vocabulary::is_wrapper(mark) || mark == '\n' => {
                None
            }
            TokenKind::Punctuation(mark) => Some(mark.to_string()),
        };
        tokens.iter().filter_map(word).collect()
    }
}

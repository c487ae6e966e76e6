//! Decides from the words around a verb and a name whether the text requests a skill, or only talks
//! about it.
//!
//! This is an allow-list: a phrase is a request only if every word around it is known. Before the
//! verb only words of a request may occur, after the name only words that continue one. A list of
//! words that forbid would miss the negation that it does not know.

use super::quotes::Quotes;
use super::tokens::{TextToken, TokenKind};
use super::vocabulary::{Verb, is_name_separator, is_wrapper, lowercase_plain};
use super::{chinese, english};
use crate::mentions::SuggestionReason;

/// The number of tokens that are checked before a verb and after a name.
const MAX_CONTEXT_TOKENS: usize = 64;

/// A possible request in a paragraph: a verb and a name, with the tokens around them.
pub(super) struct MentionContext<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: &'t [TextToken],
    pub(super) quotes: &'t Quotes,
    pub(super) verb: Verb,
    pub(super) verb_position: usize,
    /// The tokens of the name.
    pub(super) name: std::ops::Range<usize>,
    /// The first token after the name and the word "skill".
    pub(super) next_token: usize,
    pub(super) skill_word: SkillWord,
}

/// Whether a phrase contains the word "skill".
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SkillWord {
    Present,
    Absent,
}

/// Whether a sentence ends with a question mark.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sentence {
    Question,
    Statement,
}

/// Whether a question contains words of a polite request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Politeness {
    Polite,
    Neutral,
}

/// The tokens around a verb and a name.
struct Surroundings<'t> {
    /// The earlier clauses of the sentence.
    earlier: &'t [TextToken],
    /// The words between the start of the clause and the verb.
    before: &'t [TextToken],
    /// The words after the name, up to the end of the sentence or line.
    tail: &'t [TextToken],
    /// The position after `tail`.
    end: usize,
    sentence: Sentence,
}

impl MentionContext<'_> {
    /// Returns why the phrase is not a request; `None` if it is one.
    pub(super) fn reason_against(&self) -> Option<SuggestionReason> {
        let verb = self.verb_position..self.verb_position + 1;
        // Quotation marks around the name alone are emphasis: use the "pdf" skill.
        if self.quotes.encloses_more_than(self.verb_position, &verb)
            || self.quotes.encloses_more_than(self.name.start, &self.name)
        {
            return Some(SuggestionReason::Quoted);
        }
        let around = self.surroundings();
        let earlier_reason = self.check_earlier_clauses(&around);
        if self.precedes_task(&around) {
            let tail = self.lowercase_words(around.tail);
            return earlier_reason.or_else(|| english::check_after(&tail));
        }
        earlier_reason
            .or_else(|| self.check_request(&around))
            .or_else(|| self.check_tail(&around))
    }

    /// Splits the tokens around the phrase at the ends of sentences and clauses.
    fn surroundings(&self) -> Surroundings<'_> {
        // Bounded, or a long text without periods would take quadratic time.
        let start = self.verb_position.saturating_sub(MAX_CONTEXT_TOKENS);
        let sentence_start = (start..self.verb_position)
            .rev()
            .find(|at| self.ends_sentence(*at))
            .map_or(start, |at| at + 1);
        let clause_start = (sentence_start..self.verb_position)
            .rev()
            .find(|at| self.ends_clause(*at))
            .map_or(sentence_start, |at| at + 1);
        let limit = self.tokens.len().min(self.next_token + MAX_CONTEXT_TOKENS);
        let end = (self.next_token..limit)
            .find(|at| {
                self.ends_sentence(*at) || self.tokens[*at].kind == TokenKind::Punctuation('\n')
            })
            .unwrap_or(limit);
        let sentence = match self.tokens.get(end).map(|token| token.kind) {
            Some(TokenKind::Punctuation('?' | '？')) => Sentence::Question,
            _ => Sentence::Statement,
        };
        Surroundings {
            earlier: &self.tokens[sentence_start..clause_start],
            before: &self.tokens[clause_start..self.verb_position],
            tail: &self.tokens[self.next_token..end],
            end,
            sentence,
        }
    }

    /// Checks the earlier clauses of the sentence, by the words of both languages.
    fn check_earlier_clauses(&self, around: &Surroundings<'_>) -> Option<SuggestionReason> {
        english::check_before(
            &self.lowercase_lines(around.earlier),
            &self.lowercase_words(around.before),
        )
        .or_else(|| {
            chinese::check_before(
                &self.joined_text(around.earlier),
                &self.joined_text(around.before),
            )
        })
    }

    /// Returns true for "Using X, find …", where the request follows the name.
    fn precedes_task(&self, around: &Surroundings<'_>) -> bool {
        self.verb == Verb::Preposition
            && around.sentence == Sentence::Statement
            && english::is_request_start(&self.lowercase_words(around.before))
            && english::is_task(&self.lowercase_words(around.tail))
    }

    /// Checks the words between the start of the clause and the verb.
    fn check_request(&self, around: &Surroundings<'_>) -> Option<SuggestionReason> {
        let verb_is_chinese = matches!(self.tokens[self.verb_position].kind, TokenKind::Cjk(_));
        if verb_is_chinese || has_chinese(around.before) {
            // A polite question is a request.
            let sentence = match self.politeness(around) {
                Politeness::Polite => Sentence::Statement,
                Politeness::Neutral => around.sentence,
            };
            chinese::check_request(&self.joined_text(around.before), sentence, self.verb)
        } else {
            let words = self.lowercase_words(around.before);
            english::check_request(&words, around.sentence, self.verb)
        }
    }

    /// Checks the words after the name, and the start of the next line.
    fn check_tail(&self, around: &Surroundings<'_>) -> Option<SuggestionReason> {
        let tail = around.tail;
        let reason = if has_chinese(&tail[..tail.len().min(1)]) {
            let text = self.joined_text(tail);
            chinese::check_after_name(&text, self.skill_word, self.politeness(around))
        } else {
            self.check_after_name(tail)
        };
        reason
            .or_else(|| chinese::check_after(&self.joined_text(tail)))
            .or_else(|| self.check_next_line(around.end))
    }

    fn politeness(&self, around: &Surroundings<'_>) -> Politeness {
        chinese::politeness(
            &self.joined_text(around.before),
            &self.joined_text(around.tail),
        )
    }

    /// Checks the next line, which can continue the sentence: "Only if I ask."
    fn check_next_line(&self, end: usize) -> Option<SuggestionReason> {
        let token = self
            .tokens
            .get(end)
            .filter(|token| token.kind == TokenKind::Punctuation('\n'))
            .and_then(|_| self.tokens.get(end + 1))?;
        // The first word is enough: these words hardly ever begin an independent sentence.
        let word = lowercase_plain(&self.text[token.start..token.end]);
        matches!(
            word.as_str(),
            "only" | "if" | "unless" | "when" | "but" | "not" | "never"
        )
        .then_some(SuggestionReason::Conditional)
    }

    /// Checks the words after the name.
    fn check_after_name(&self, tail: &[TextToken]) -> Option<SuggestionReason> {
        let closing_marks = tail
            .iter()
            .take_while(|token| match token.kind {
                TokenKind::Punctuation(mark) => is_wrapper(mark),
                _ => false,
            })
            .count();
        let tail = &tail[closing_marks..];
        match tail.first().map(|token| token.kind) {
            None => None,
            Some(TokenKind::Punctuation(',' | '，')) if self.skill_word == SkillWord::Absent => {
                english::check_explanation(&self.lowercase_words(tail))
            }
            Some(TokenKind::Punctuation(
                '.' | '~' | '～' | '(' | ',' | ';' | ':' | ')' | '，' | '；' | '、' | '：' | '）'
                | '-' | '—' | '–' | '…',
            )) => english::check_after(&self.lowercase_words(tail)),
            Some(TokenKind::Word) => {
                english::check_after_name(&self.lowercase_words(tail), self.skill_word)
            }
            Some(_)
                if tail
                    .first()
                    .is_some_and(|token| is_name_separator(self.text, token)) =>
            {
                english::check_after(&self.lowercase_words(tail))
            }
            // Any other mark, such as a slash, makes the name a part of something else.
            Some(_) => Some(SuggestionReason::CommonWord),
        }
    }

    fn ends_sentence(&self, at: usize) -> bool {
        match self.tokens[at].kind {
            TokenKind::Punctuation('!' | '?' | '。' | '！' | '？') => true,
            TokenKind::Punctuation('.') => {
                // The periods of "e.g." follow a single letter.
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
                // A hyphen between spaces is a dash.
                let is_dash = mark == '-' && at > 0 && self.tokens[at - 1].end < token.start;
                is_dash || matches!(mark, ',' | ';' | '，' | '；' | '—' | '–' | '\n')
            }
            _ => false,
        }
    }

    /// Returns the text of the tokens without white space, as Chinese is matched by substrings.
    fn joined_text(&self, tokens: &[TextToken]) -> String {
        let text = tokens
            .first()
            .zip(tokens.last())
            .map_or("", |(first, last)| &self.text[first.start..last.end]);
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// Returns the same as [`lowercase_words`](Self::lowercase_words), with line ends.
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

    /// Returns the words in lowercase, without invisible characters, and the punctuation except for
    /// quotation marks and the like.
    fn lowercase_words(&self, tokens: &[TextToken]) -> Vec<String> {
        let word = |token: &TextToken| match token.kind {
            TokenKind::Word | TokenKind::Cjk(_) => {
                Some(lowercase_plain(&self.text[token.start..token.end]))
            }
            TokenKind::Punctuation(mark) if is_wrapper(mark) || mark == '\n' => None,
            TokenKind::Punctuation(mark) => Some(mark.to_string()),
        };
        tokens.iter().filter_map(word).collect()
    }
}

fn has_chinese(tokens: &[TextToken]) -> bool {
    tokens
        .iter()
        .any(|token| matches!(token.kind, TokenKind::Cjk(_)))
}

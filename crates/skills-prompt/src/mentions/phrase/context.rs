//! Decides from the words around a verb and a name whether the text requests a skill, or only talks
//! about it.
//!
//! This is an allow-list: a phrase is a request only if every word around it is known. Before the
//! verb only words of a request may occur, after the name only words that continue one. A list of
//! words that forbid would miss the negation that it does not know.

use std::ops::Range;

use super::quotes::Quotes;
use super::request::{Politeness, Sentence, SkillWord, Verb};
use super::tokens::{Paragraph, TokenKind};
use super::vocabulary::{VerbMatch, is_name_separator, is_wrapper, lowercase_plain};
use super::{chinese, english};
use crate::mentions::SuggestionReason;

/// The number of tokens that are checked before a verb and after a name.
const MAX_CONTEXT_TOKENS: usize = 64;

/// A possible request in a paragraph: a verb and a name, with the tokens around them.
pub(super) struct MentionContext<'p> {
    pub(super) paragraph: &'p Paragraph<'p>,
    pub(super) quotes: &'p Quotes,
    pub(super) verb: VerbMatch,
    /// The tokens of the name.
    pub(super) name: Range<usize>,
    /// The first token after the name and the word "skill".
    pub(super) next_token: usize,
    pub(super) skill_word: SkillWord,
}

/// The text around a verb and a name.
struct Surroundings {
    /// The earlier clauses of the sentence.
    earlier: Clause,
    /// The words between the start of the clause and the verb.
    before: Clause,
    /// The words after the name, up to the end of the sentence or line.
    tail: Clause,
    sentence: Sentence,
}

/// A part of a sentence, in the forms in which the rules of the two languages read it.
struct Clause {
    tokens: Range<usize>,
    /// The words in lowercase, without invisible characters, and the punctuation except for
    /// quotation marks and the like.
    words: Vec<String>,
    /// The text without white space, as Chinese is matched by substrings.
    joined: String,
}

impl Clause {
    fn new(paragraph: &Paragraph<'_>, tokens: Range<usize>) -> Self {
        let word = |at: usize| match paragraph.kind(at)? {
            TokenKind::Punctuation(mark) if is_wrapper(mark) => None,
            TokenKind::Punctuation(mark) => Some(mark.to_string()),
            TokenKind::Word | TokenKind::Cjk(_) => Some(lowercase_plain(paragraph.word(at))),
        };
        Self {
            words: tokens.clone().filter_map(word).collect(),
            joined: paragraph.text_of(&tokens).split_whitespace().collect(),
            tokens,
        }
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

impl MentionContext<'_> {
    /// Returns why the phrase is not a request; `None` if it is one.
    pub(super) fn reason_against(&self) -> Option<SuggestionReason> {
        if self.is_quoted() {
            return Some(SuggestionReason::Quoted);
        }
        let around = self.surroundings();
        let (earlier, before) = (&around.earlier, &around.before);
        let earlier_reason = english::check_before(&earlier.words(), &before.words())
            .or_else(|| chinese::check_before(&earlier.joined, &before.joined));
        if self.precedes_task(&around) {
            return earlier_reason.or_else(|| english::check_after(&around.tail.words()));
        }
        earlier_reason
            .or_else(|| self.check_request(&around))
            .or_else(|| self.check_tail(&around))
    }

    /// Returns true if the phrase is quoted. Quotation marks around the name alone are emphasis: use
    /// the "pdf" skill.
    fn is_quoted(&self) -> bool {
        let verb = self.verb.position..self.verb.position + 1;
        self.quotes.encloses_more_than(verb.start, &verb)
            || self.quotes.encloses_more_than(self.name.start, &self.name)
    }

    /// Splits the text around the phrase at the ends of sentences and clauses.
    fn surroundings(&self) -> Surroundings {
        let (paragraph, verb) = (self.paragraph, self.verb.position);
        // Bounded, or a long text without periods would take quadratic time.
        let start = verb.saturating_sub(MAX_CONTEXT_TOKENS);
        let sentence_start = after_last(start..verb, |at| ends_sentence(paragraph, at));
        let clause_start = after_last(sentence_start..verb, |at| ends_clause(paragraph, at));
        let end = self.tail_end();
        Surroundings {
            earlier: Clause::new(paragraph, sentence_start..clause_start),
            before: Clause::new(paragraph, clause_start..verb),
            tail: Clause::new(paragraph, self.next_token..end),
            sentence: match paragraph.kind(end) {
                Some(TokenKind::Punctuation('?' | '？')) => Sentence::Question,
                _ => Sentence::Statement,
            },
        }
    }

    /// Returns the end of the sentence or line after the name.
    fn tail_end(&self) -> usize {
        let paragraph = self.paragraph;
        let limit = self.next_token + MAX_CONTEXT_TOKENS;
        let limit = limit.min(paragraph.tokens.len());
        (self.next_token..limit)
            .find(|at| ends_sentence(paragraph, *at) || ends_line(paragraph, *at))
            .unwrap_or(limit)
    }

    /// Returns true for "Using X, find …", where the request follows the name.
    fn precedes_task(&self, around: &Surroundings) -> bool {
        self.verb.kind == Verb::Preposition
            && around.sentence == Sentence::Statement
            && english::is_request_start(&around.before.words())
            && english::is_task(&around.tail.words())
    }

    /// Checks the words between the start of the clause and the verb.
    fn check_request(&self, around: &Surroundings) -> Option<SuggestionReason> {
        let before = &around.before;
        let is_chinese = (before.tokens.start..=self.verb.position).any(|at| self.is_chinese(at));
        if is_chinese {
            // A polite question is a request.
            let sentence = match politeness(around) {
                Politeness::Polite => Sentence::Statement,
                Politeness::Neutral => around.sentence,
            };
            chinese::check_request(&before.joined, sentence, self.verb.kind)
        } else {
            english::check_request(&before.words(), around.sentence, self.verb.kind)
        }
    }

    /// Checks the words after the name, and the start of the next line.
    fn check_tail(&self, around: &Surroundings) -> Option<SuggestionReason> {
        let tail = &around.tail;
        let reason = if !tail.tokens.is_empty() && self.is_chinese(tail.tokens.start) {
            chinese::check_after_name(&tail.joined, self.skill_word, politeness(around))
        } else {
            self.check_after_name(tail)
        };
        reason
            .or_else(|| chinese::check_after(&tail.joined))
            .or_else(|| self.check_next_line(tail.tokens.end))
    }

    /// Checks the next line, which can continue the sentence: "Only if I ask."
    fn check_next_line(&self, end: usize) -> Option<SuggestionReason> {
        let is_line_end = ends_line(self.paragraph, end);
        let word = lowercase_plain(self.paragraph.word(end + 1));
        english::check_next_line(&word).filter(|_| is_line_end)
    }

    /// Checks the words after the name.
    fn check_after_name(&self, tail: &Clause) -> Option<SuggestionReason> {
        let first = tail.tokens.clone().find(|at| {
            !matches!(self.paragraph.kind(*at), Some(TokenKind::Punctuation(mark)) if is_wrapper(mark))
        })?;
        let words = tail.words();
        match self.paragraph.kind(first)? {
            TokenKind::Punctuation(',' | '，') if self.skill_word == SkillWord::Absent => {
                english::check_explanation(&words)
            }
            TokenKind::Punctuation(mark) if ".,;:()~-—–…～，；、：）".contains(mark) => {
                english::check_after(&words)
            }
            TokenKind::Word => english::check_after_name(&words, self.skill_word),
            _ if is_name_separator(self.paragraph, first) => english::check_after(&words),
            // Any other mark, such as a slash, makes the name a part of something else.
            _ => Some(SuggestionReason::CommonWord),
        }
    }

    fn is_chinese(&self, at: usize) -> bool {
        matches!(self.paragraph.kind(at), Some(TokenKind::Cjk(_)))
    }
}

fn politeness(around: &Surroundings) -> Politeness {
    chinese::politeness(&around.before.joined, &around.tail.joined)
}

/// Returns the position after the last of the tokens that is an end, else the first position.
fn after_last(tokens: Range<usize>, is_end: impl Fn(usize) -> bool) -> usize {
    let last = tokens.clone().rfind(|at| is_end(*at));
    last.map_or(tokens.start, |at| at + 1)
}

fn ends_line(paragraph: &Paragraph<'_>, at: usize) -> bool {
    paragraph.kind(at) == Some(TokenKind::Punctuation('\n'))
}

fn ends_sentence(paragraph: &Paragraph<'_>, at: usize) -> bool {
    match paragraph.kind(at) {
        Some(TokenKind::Punctuation('!' | '?' | '。' | '！' | '？')) => true,
        Some(TokenKind::Punctuation('.')) => {
            // The periods of "e.g." follow a single letter.
            let is_short = at > 0 && paragraph.word(at - 1).len() == 1;
            let mut rest = paragraph.text_after(at).chars();
            !is_short && rest.next().is_none_or(char::is_whitespace)
        }
        _ => false,
    }
}

fn ends_clause(paragraph: &Paragraph<'_>, at: usize) -> bool {
    match paragraph.kind(at) {
        // A hyphen between spaces is a dash.
        Some(TokenKind::Punctuation('-')) => paragraph.follows_space(at),
        Some(TokenKind::Punctuation(mark)) => ",;，；—–\n".contains(mark),
        _ => false,
    }
}

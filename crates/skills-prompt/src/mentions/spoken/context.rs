//! What stands around a verb and a name: whether the text asks for a skill now, or only speaks of it.
//!
//! Everything that is not known to be a request is none: before the verb only words may stand by which people ask, behind the name only words by
//! which such a sentence goes on.

use super::quotes::Quotes;
use super::tokens::{Kind, Token};
use super::words::{Verb, is_joining, lower};
use super::{chinese, english};
use crate::mentions::Doubt;

/// How many tokens before a verb and behind a name are looked at.
const MAX_TOKENS: usize = 64;

/// Where in a paragraph somebody seems to ask for a skill.
pub(super) struct Place<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: &'t [Token],
    pub(super) quotes: &'t Quotes,
    pub(super) verb: Verb,
    pub(super) verb_at: usize,
    /// The tokens of the name.
    pub(super) name: std::ops::Range<usize>,
    /// The first token behind the name and the word "skill".
    pub(super) behind: usize,
    /// Whether the word "skill" is there.
    pub(super) is_skill: bool,
}

impl Place<'_> {
    /// Says why it is no request; nothing when it is one.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        if self.quotes.hold(self.verb_at, &(self.verb_at..self.verb_at + 1)) || self.quotes.hold(self.name.start, &self.name) {
            return Some(Doubt::Quoted);
        }
        let least = self.verb_at.saturating_sub(MAX_TOKENS);
        let sentence = (least..self.verb_at).rev().find(|at| self.ends_sentence(*at)).map_or(least, |at| at + 1);
        let clause = (sentence..self.verb_at).rev().find(|at| self.ends_clause(*at)).map_or(sentence, |at| at + 1);
        let end = self.tokens.len().min(self.behind + MAX_TOKENS);
        let end = (self.behind..end).find(|at| self.ends_sentence(*at) || self.tokens[*at].kind == Kind::Mark('\n')).unwrap_or(end);
        let is_question = matches!(self.tokens.get(end).map(|token| token.kind), Some(Kind::Mark('?' | '？')));
        let (earlier, before, tail) = (&self.tokens[sentence..clause], &self.tokens[clause..self.verb_at], &self.tokens[self.behind..end]);
        let is_chinese = |tokens: &[Token]| tokens.iter().any(|token| matches!(token.kind, Kind::Character(_)));
        let earlier_doubt = english::earlier(&self.lines(earlier), &self.lowered(before))
            .or_else(|| chinese::earlier(&self.slice(earlier), &self.slice(before)));
        let verb_is_chinese = matches!(self.tokens[self.verb_at].kind, Kind::Character(_));
        let is_polite = chinese::is_polite(&self.slice(before), &self.slice(tail));
        let asked = if verb_is_chinese || is_chinese(before) {
            chinese::asks(&self.slice(before), is_question && !is_polite, self.verb)
        } else {
            english::asks(&self.lowered(before), is_question, self.verb)
        };
        // "Using X, find …": what comes behind asks.
        let leads =
            self.verb == Verb::Leads && !is_question && english::is_start(&self.lowered(before)) && english::is_task(&self.lowered(tail));
        let asked = asked.filter(|_| !leads);
        if leads {
            return earlier_doubt.or_else(|| english::later(&self.lowered(tail)));
        }
        let goes_on = if is_chinese(&tail[..tail.len().min(1)]) {
            chinese::goes_on(&self.slice(tail), self.is_skill, is_polite)
        } else {
            self.goes_on(tail)
        };
        let goes_on = goes_on.or_else(|| chinese::later(&self.slice(tail))).or_else(|| self.next_line(end));
        earlier_doubt.or(asked).or(goes_on)
    }

    /// A line that begins with "only if" belongs to the one before.
    fn next_line(&self, end: usize) -> Option<Doubt> {
        let token = self.tokens.get(end).filter(|token| token.kind == Kind::Mark('\n')).and_then(|_| self.tokens.get(end + 1))?;
        let word = lower(&self.text[token.start..token.end]);
        matches!(word.as_str(), "only" | "if" | "unless" | "when" | "but" | "not" | "never").then_some(Doubt::Condition)
    }

    /// Looks at the words behind the name.
    fn goes_on(&self, tail: &[Token]) -> Option<Doubt> {
        let closing = tail.iter().take_while(|token| matches!(token.kind, Kind::Mark(mark) if super::words::is_wrapper(mark))).count();
        let tail = &tail[closing..];
        match tail.first().map(|token| token.kind) {
            None => None,
            Some(Kind::Mark(',' | '，')) if !self.is_skill => english::explains(&self.lowered(tail)),
            Some(Kind::Mark('.' | '~' | '～' | '(' | ',' | ';' | ':' | ')' | '，' | '；' | '、' | '：' | '）' | '-' | '—' | '–' | '…')) => {
                english::later(&self.lowered(tail))
            }
            Some(Kind::Word) => english::goes_on(&self.lowered(tail), self.is_skill),
            Some(_) if tail.first().is_some_and(|token| is_joining(self.text, token)) => english::later(&self.lowered(tail)),
            Some(_) => Some(Doubt::Ordinary),
        }
    }

    fn ends_sentence(&self, at: usize) -> bool {
        match self.tokens[at].kind {
            Kind::Mark('!' | '?' | '。' | '！' | '？') => true,
            Kind::Mark('.') => {
                let is_short = at > 0 && self.tokens[at - 1].end - self.tokens[at - 1].start == 1;
                !is_short && self.text[self.tokens[at].end..].chars().next().is_none_or(char::is_whitespace)
            }
            _ => false,
        }
    }

    fn ends_clause(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        match token.kind {
            Kind::Mark(mark) => {
                let is_dash = mark == '-' && at > 0 && self.tokens[at - 1].end < token.start;
                is_dash || matches!(mark, ',' | ';' | '，' | '；' | '—' | '–' | '\n')
            }
            _ => false,
        }
    }

    fn slice(&self, tokens: &[Token]) -> String {
        let text = tokens.first().zip(tokens.last()).map_or("", |(first, last)| &self.text[first.start..last.end]);
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// As [`lowered`](Self::lowered), with the ends of lines.
    fn lines(&self, tokens: &[Token]) -> Vec<String> {
        let parts = tokens.split_inclusive(|token| token.kind == Kind::Mark('\n'));
        parts
            .flat_map(|line| {
                self.lowered(line).into_iter().chain(line.last().filter(|last| last.kind == Kind::Mark('\n')).map(|_| "\n".to_owned()))
            })
            .collect()
    }

    /// The words in lower case, without what nobody sees; marks that are no wrappers stand as they are.
    fn lowered(&self, tokens: &[Token]) -> Vec<String> {
        let word = |token: &Token| match token.kind {
            Kind::Word | Kind::Character(_) => Some(lower(&self.text[token.start..token.end])),
            Kind::Mark(mark) if super::words::is_wrapper(mark) || mark == '\n' => None,
            Kind::Mark(mark) => Some(mark.to_string()),
        };
        tokens.iter().filter_map(word).collect()
    }
}

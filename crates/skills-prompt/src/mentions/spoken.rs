//! Skills named in words: "use the X skill", 「用 X 技能」, `/name`, `@name`.
//!
//! A verb and a name that is exactly the name of a skill, as people say it, are needed. Whatever else is said about a skill only suggests it.

mod context;
mod tokens;
mod words;

use std::ops::Range;

use skills_discovery::Entry;

use super::names::{is_distinctive, spoken};
use super::{Confidence, Doubt, Mention, MentionIndex, Outcome, Way};
use context::doubt;
use tokens::{Kind, Token, speech, tokens};
use words::{Verb, is_filler, is_joining, is_vague, verb_at};

/// How many tokens behind a verb the word "skill" may stand.
const MAX_REACH: usize = 24;
/// How many words a name may be said with.
const MAX_WORDS: usize = 8;

/// Finds the skills that `text` names in words.
pub(super) fn find<'a>(index: &'a MentionIndex, text: &str, at_least: Confidence) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    for line in speech(text) {
        if words::may_call(&text[line.clone()]) {
            let tokens = tokens(text, line);
            // No sentence goes beyond its line.
            let skills = (0..tokens.len()).filter(|at| words::is_skill(text, &tokens, *at)).collect();
            let mut speech = Speech { index, text, tokens: &tokens, skills, at_least, found };
            speech.line();
            found = speech.found;
        }
    }
    found
}

struct Speech<'a, 't> {
    index: &'a MentionIndex,
    text: &'t str,
    tokens: &'t [Token],
    /// Where the word "skill" stands.
    skills: Vec<usize>,
    at_least: Confidence,
    found: Vec<Mention<'a>>,
}

impl<'a> Speech<'a, '_> {
    fn line(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = match (self.tokens[at].kind, verb_at(self.text, self.tokens, at)) {
                (_, Some((verb, next))) => self.said(at, verb, next).max(next),
                (Kind::Mark(mark @ ('/' | '@')), None) => {
                    self.command(at, mark);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    fn slice(&self, tokens: &Range<usize>) -> &str {
        self.tokens.get(tokens.clone()).and_then(|tokens| Some(&self.text[tokens.first()?.start..tokens.last()?.end])).unwrap_or_default()
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// `/name` at the start of a line, `@name` behind a space.
    fn command(&mut self, at: usize, sigil: char) {
        let start = self.tokens[at].end;
        let before = self.text[..self.tokens[at].start].chars().next_back();
        let begins = if sigil == '/' { before.is_none_or(|c| c == '\n') } else { before.is_none_or(char::is_whitespace) };
        if !begins {
            return;
        }
        let rest = &self.text[start..];
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        let word = word.trim_end_matches(['.', ',', ':', ';', '!', '?', '，', '。', '：', '！', '？']);
        if word.is_empty() || word.len() > 2 * self.index.longest() {
            return;
        }
        if let Some(outcome) = self.known(word) {
            self.push(start..start + word.len(), Way::Command, Confidence::High, outcome, None);
        }
    }

    /// Looks at what stands behind a verb; returns where to go on.
    fn said(&mut self, verb_at: usize, verb: Verb, next: usize) -> usize {
        let (mut at, mut is_skill) = (next, false);
        while let Some(step) = is_filler(self.text, self.tokens, at) {
            is_skill |= step.is_skill;
            at += step.tokens;
        }
        if !matches!(self.kind(at), Some(Kind::Word | Kind::Character(_))) {
            return at;
        }
        if let Some(end) = self.skill_word(at) {
            self.named_as_skill(verb_at, at..end);
            return end;
        }
        if is_skill || verb == Verb::Acts {
            self.named_alone(verb_at, at, is_skill);
        }
        at
    }

    /// Finds the word "skill" that belongs to what begins at `at`.
    fn skill_word(&self, at: usize) -> Option<usize> {
        let next = *self.skills.get(self.skills.partition_point(|skill| *skill < at))?;
        if next >= at + MAX_REACH {
            return None;
        }
        for index in at..next {
            // A second verb begins another phrase.
            let goes_on = match self.kind(index)? {
                Kind::Word => index == at || verb_at(self.text, self.tokens, index).is_none(),
                Kind::Character(_) => true,
                Kind::Mark(mark) => words::is_wrapper(mark) || matches!(mark, ',' | '、' | '，' | '&' | '-' | '_' | ':'),
            };
            if !goes_on {
                return None;
            }
        }
        Some(next)
    }

    /// "use the X and Y skills": the name stands between verb and "skill".
    fn named_as_skill(&mut self, verb_at: usize, phrase: Range<usize>) {
        let whole = self.unwrapped(phrase.clone());
        let parts = if self.known(self.slice(&whole)).is_some() { vec![whole] } else { self.parts(phrase) };
        let is_single = parts.len() == 1;
        for part in parts {
            let Some(name) = self.exact(&part) else {
                if is_single {
                    self.unknown(verb_at, &part);
                }
                continue;
            };
            let span = self.span(&name);
            let Some(outcome) = self.known(&self.text[span.clone()]) else { continue };
            self.push(span, Way::Words, Confidence::High, outcome, Some(verb_at));
        }
    }

    /// "use X": without the word "skill" only a name that is not said by chance will do.
    fn named_alone(&mut self, verb_at: usize, at: usize, is_skill: bool) {
        let Some(first) = self.tokens.get(at) else { return };
        if !self.index.may_start(&spoken(&self.text[first.start..first.end])) {
            return;
        }
        let reach = if matches!(first.kind, Kind::Character(_)) { MAX_REACH } else { 2 * MAX_WORDS };
        let mut end = (at + 1..self.tokens.len().min(at + reach))
            .find(|index| !self.may_be_inside(*index))
            .unwrap_or(self.tokens.len().min(at + reach));
        while end > at {
            let name = self.slice(&(at..end));
            if name.len() <= 2 * self.index.longest()
                && self.ends_here(end)
                && let Some(outcome) = self.known(name)
            {
                let is_wrapped =
                    matches!(self.kind(end), Some(Kind::Mark(mark)) if words::is_wrapper(mark)) && at > 0 && self.is_wrapper(at - 1);
                let is_own = !name.contains(char::is_whitespace) && is_distinctive(&name.to_lowercase().replace('_', "-")) || is_wrapped;
                let confidence = match (is_skill, is_own) {
                    (true, _) => Confidence::High,
                    (false, true) => Confidence::Medium,
                    (false, false) => Confidence::Low,
                };
                let span = self.span(&(at..end));
                self.push(span, Way::Words, confidence, outcome, Some(verb_at));
                return;
            }
            end -= 1;
        }
    }

    /// Whether a token may stand inside a name that several tokens make up.
    fn may_be_inside(&self, index: usize) -> bool {
        match self.kind(index) {
            Some(Kind::Word | Kind::Character(_)) => true,
            Some(Kind::Mark('-' | '_' | ':')) => self.tokens[index - 1].end == self.tokens[index].start,
            _ => false,
        }
    }

    fn is_wrapper(&self, index: usize) -> bool {
        matches!(self.kind(index), Some(Kind::Mark(mark)) if words::is_wrapper(mark))
    }

    /// Whether a name may end before this token: the name of a file or a path goes on.
    fn ends_here(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|last| self.tokens.get(last)) else { return false };
        let mut rest = self.text[last.end..].chars();
        match rest.next() {
            Some('.') => rest.next().is_none_or(|c| c.is_whitespace() || c == '"'),
            Some('/' | '\\' | '=' | '(' | '@' | '-' | '_') => false,
            Some(':') => rest.next() != Some(':') && !self.text[last.end + 1..].starts_with("//"),
            _ => true,
        }
    }

    /// The range without the marks around it, and without words that lead to the word "skill".
    fn unwrapped(&self, mut range: Range<usize>) -> Range<usize> {
        while range.start < range.end && !matches!(self.kind(range.start), Some(Kind::Word | Kind::Character(_))) {
            range.start += 1;
        }
        loop {
            let length = words::trailing(self.text, &self.tokens[range.clone()]);
            if length == 0 {
                return range;
            }
            range.end -= length;
        }
    }

    /// Divides "X, Y and Z".
    fn parts(&self, phrase: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = phrase.start;
        for index in phrase.clone() {
            if is_joining(self.text, &self.tokens[index]) {
                parts.push(self.unwrapped(start..index));
                start = index + 1;
            }
        }
        parts.push(self.unwrapped(start..phrase.end));
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// The name in a part: all of it, else what stands behind words that only describe it.
    fn exact(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let starts = part.clone().take(MAX_REACH).filter(|start| self.may_begin(*start, part));
        starts.map(|start| start..part.end).find(|name| self.known(self.slice(name)).is_some())
    }

    /// Words divide at spaces; characters divide behind 的.
    fn may_begin(&self, start: usize, part: &Range<usize>) -> bool {
        if start == part.start {
            return true;
        }
        let (before, this) = (&self.tokens[start - 1], &self.tokens[start]);
        match (before.kind, this.kind) {
            (Kind::Character(before), Kind::Character(_)) => before == '的',
            (_, Kind::Word | Kind::Character(_)) => {
                before.end < this.start || matches!(before.kind, Kind::Character(_)) || self.is_wrapper(start - 1)
            }
            _ => false,
        }
    }

    fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        match self.tokens.get(tokens.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.start..only.end,
            _ => 0..0,
        }
    }

    /// What a name comes to that is exactly one's, as people say it.
    fn known(&self, name: &str) -> Option<Outcome<'a>> {
        if name.is_empty() || name.len() > 3 * self.index.longest() {
            return None;
        }
        let said = spoken(name);
        match self.index.said(&said) {
            [] => self.index.inactive_said(&said).map(Outcome::Inactive),
            [number] => {
                let alike = self.index.looking_like(name);
                Some(if alike.len() > 1 { self.ambiguous(alike) } else { self.index.outcome(*number) })
            }
            several => Some(self.ambiguous(several)),
        }
    }

    fn ambiguous(&self, numbers: &[u32]) -> Outcome<'a> {
        Outcome::Ambiguous(numbers.iter().map(|number| self.index.entry(*number)).collect())
    }

    /// A name that nobody has, and that was called a skill: it may look like another.
    fn unknown(&mut self, verb_at: usize, part: &Range<usize>) {
        let name = self.slice(part);
        let words = name.split_whitespace().count();
        if words == 0 || words > MAX_WORDS || words == 1 && is_vague(name) {
            return;
        }
        let outcome = match self.index.looking_like(name) {
            [number] => Outcome::Suggested(self.index.entry(*number), Doubt::LookAlike),
            _ => Outcome::Unknown,
        };
        if words::is_vague(name.split_whitespace().next_back().unwrap_or_default()) || doubt(self.text, self.tokens, verb_at).is_some() {
            return;
        }
        self.push(self.span(part), Way::Words, Confidence::High, outcome, None);
    }

    /// Notes a mention; what stands around the verb may make it a suggestion only.
    fn push(&mut self, span: Range<usize>, way: Way, confidence: Confidence, outcome: Outcome<'a>, verb_at: Option<usize>) {
        let suggested = |entry: &'a Entry, doubt| Outcome::Suggested(entry, doubt);
        let outcome = match (outcome, verb_at.and_then(|at| doubt(self.text, self.tokens, at))) {
            (Outcome::Selected(entry), Some(doubt)) => suggested(entry, doubt),
            (Outcome::Selected(entry), None) if confidence < self.at_least => suggested(entry, Doubt::Ordinary),
            // Nobody asked for a skill: there is nothing to be said of it.
            (Outcome::Ambiguous(_) | Outcome::Inactive(_) | Outcome::Unknown, doubt) if doubt.is_some() || confidence < self.at_least => {
                return;
            }
            (outcome, _) => outcome,
        };
        let confidence = if matches!(outcome, Outcome::Suggested(..)) { Confidence::Low } else { confidence };
        let name = self.text[span.clone()].to_owned();
        self.found.push(Mention { input: 0, span, name, way, confidence, outcome });
    }
}

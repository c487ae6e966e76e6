//! Skills named in words: "use the X skill", 「用 X 技能」, `/name`, `@name`.
//!
//! A verb and a name that is exactly the name of a skill, as people say it, are needed. Whatever else is said about a skill only suggests it.

mod chinese;
mod context;
mod english;
mod quotes;
mod tokens;
mod words;

use std::ops::Range;

use skills_discovery::Entry;

use super::names::{is_distinctive, spoken};
use super::{Confidence, Doubt, Mention, MentionIndex, Outcome, Way};
use context::Place;
use quotes::Quotes;
use tokens::{Kind, Token, paragraphs, tokens};
use words::{Verb, is_filler, is_joining, is_vague, verb_at};

/// How many tokens behind a verb the word "skill" may stand.
const MAX_REACH: usize = 24;
/// How many lines before a verb may change what it says.
const LINES_BEFORE: usize = 8;
/// How many words a name may be said with.
const MAX_WORDS: usize = 8;

/// Finds the skills that `text` names in words.
pub(super) fn find<'a>(index: &'a MentionIndex, text: &str, at_least: Confidence) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    for lines in paragraphs(text) {
        let calls = |line: &Range<usize>| words::may_call(&text[line.clone()]);
        if let (Some(first), Some(last)) = (lines.iter().position(calls), lines.iter().rposition(calls)) {
            // The line behind may take back what was said.
            let tokens = tokens(text, &lines[first.saturating_sub(LINES_BEFORE)..lines.len().min(last + 2)]);
            let skills = (0..tokens.len()).filter(|at| words::is_skill(text, &tokens, *at)).collect();
            let quotes = Quotes::of(text, &tokens);
            let mut speech = Speech { index, text, tokens: &tokens, quotes, skills, at_least, found };
            speech.paragraph();
            found = speech.found;
        }
    }
    found
}

struct Speech<'a, 't> {
    index: &'a MentionIndex,
    text: &'t str,
    tokens: &'t [Token],
    quotes: Quotes,
    /// Where the word "skill" stands.
    skills: Vec<usize>,
    at_least: Confidence,
    found: Vec<Mention<'a>>,
}

/// How names are given.
#[derive(Clone, Copy)]
enum Listing {
    /// Behind the word "skill".
    Skills,
    /// Behind an `@`.
    Addressed,
    /// Without either.
    Names,
}

/// A verb and where it stands.
#[derive(Clone, Copy)]
struct Call {
    verb: Verb,
    at: usize,
}

impl<'a> Speech<'a, '_> {
    fn paragraph(&mut self) {
        let mut at = 0;
        if let Some(Kind::Mark(mark @ ('/' | '@'))) = self.kind(0) {
            self.command(mark);
        }
        while at < self.tokens.len() {
            at = match verb_at(self.text, self.tokens, at) {
                Some((verb, next)) => self.said(Call { verb, at }, next).max(next),
                None => at + 1,
            };
        }
    }

    fn slice(&self, tokens: &Range<usize>) -> &str {
        self.tokens.get(tokens.clone()).and_then(|tokens| Some(&self.text[tokens.first()?.start..tokens.last()?.end])).unwrap_or_default()
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// `/name` or `@name` at the very start of a text.
    fn command(&mut self, sigil: char) {
        let start = self.tokens[0].end;
        if self.tokens[0].start != self.text.len() - self.text.trim_start().len() {
            return;
        }
        let rest = &self.text[start..];
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        let word = word.trim_end_matches(['.', ',', ':', ';', '!', '?', '，', '。', '：', '！', '？']);
        // A decorator is no name that somebody calls.
        let is_own = sigil == '/' || is_distinctive(&word.replace('_', "-"));
        if word.is_empty() || word.len() > 2 * self.index.longest() || !is_own {
            return;
        }
        if let Some(outcome) = self.known(word) {
            self.push(start..start + word.len(), Way::Command, Confidence::High, outcome, None);
        }
    }

    /// Looks at what stands behind a verb; returns where to go on.
    fn said(&mut self, call: Call, next: usize) -> usize {
        let (mut at, mut is_skill, mut is_addressed) = (next, false, false);
        while let Some(step) = is_filler(self.text, self.tokens, at) {
            // "call this the X skill" gives a name.
            if self.word(call.at).eq_ignore_ascii_case("call") && ["this", "that"].iter().any(|it| self.word(at).eq_ignore_ascii_case(it)) {
                return at + 1;
            }
            is_skill |= step.is_skill;
            is_addressed |= matches!(self.kind(at), Some(Kind::Mark('@')));
            at += step.tokens;
        }
        if !matches!(self.kind(at), Some(Kind::Word | Kind::Character(_))) {
            return at;
        }
        if is_skill {
            return self.listed(call, at, Listing::Skills);
        }
        if let Some(end) = self.skill_word(at) {
            self.named_as_skill(call, at..end);
            return end;
        }
        self.listed(call, at, if is_addressed { Listing::Addressed } else { Listing::Names })
    }

    /// The text of one token.
    fn word(&self, at: usize) -> &str {
        self.slice(&(at..at + 1))
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
                Kind::Character(c) => !words::breaks(c) && (index == at || verb_at(self.text, self.tokens, index).is_none()),
                Kind::Mark(mark) => words::is_wrapper(mark) || matches!(mark, ',' | '、' | '，' | '&' | '-' | '_' | ':' | '/' | '+' | '.'),
            };
            if !goes_on {
                return None;
            }
        }
        Some(next)
    }

    /// The first token behind the word "skill".
    fn behind(&self, skill: usize) -> usize {
        skill + if matches!(self.kind(skill), Some(Kind::Character(_))) { 2 } else { 1 }
    }

    /// "use the X and Y skills": the name stands between verb and "skill".
    fn named_as_skill(&mut self, call: Call, phrase: Range<usize>) {
        let (behind, phrase_end) = (self.behind(phrase.end), phrase.end);
        let whole = self.unwrapped(phrase.clone());
        let parts = if self.known(self.slice(&whole)).is_some() { vec![whole] } else { self.parts(phrase) };
        let names: Vec<Option<Range<usize>>> = parts.iter().map(|part| self.exact(part)).collect();
        if let ([part], [None]) = (parts.as_slice(), names.as_slice()) {
            let part = part.clone();
            match self.end_of(&part) {
                // Whatever stands before the name changes what is said.
                Some(name) => self.mentioned(call, name, behind, Confidence::High, Some(Doubt::Ordinary)),
                None => self.unknown(call, &part, behind),
            }
            return;
        }
        // "your search skills" are somebody's abilities.
        let is_ability = |name: &Range<usize>| parts.len() == 1 && !is_distinctive(&self.slice(name).replace('_', "-"));
        let is_whole = names.iter().all(Option::is_some);
        let is_ability = words::is_plural(self.text, &self.tokens[phrase_end]) && names.iter().flatten().any(is_ability);
        let is_whole = is_whole && !is_ability;
        for name in names.into_iter().flatten() {
            self.mentioned(call, name, behind, Confidence::High, (!is_whole).then_some(Doubt::Ordinary));
        }
    }

    /// "use skills X and Y", "use the skill X", "use X": without the word "skill" only names that are not said by chance will do.
    fn listed(&mut self, call: Call, at: usize, listing: Listing) -> usize {
        let mut at = at;
        loop {
            let Some(end) = self.longest(at) else {
                return at;
            };
            let closed = (end..self.tokens.len()).take_while(|index| self.is_wrapper(*index)).count();
            let behind = end + closed;
            let mut next = behind;
            while self.tokens.get(next).is_some_and(|token| is_joining(self.text, token)) {
                next += 1;
            }
            let goes_on = next > behind && self.tokens.get(next).is_some() && self.longest(self.opened(next)).is_some();
            // What follows the last one is looked at; the others are followed by another name.
            let tail = if goes_on { self.tokens.len() } else { behind };
            let name = self.slice(&(at..end));
            let is_own = !name.contains(char::is_whitespace) && is_distinctive(&name.to_lowercase().replace('_', "-"));
            let confidence = match listing {
                Listing::Skills => Confidence::High,
                Listing::Names if !is_own => Confidence::Low,
                Listing::Names | Listing::Addressed => Confidence::Medium,
            };
            self.mentioned(call, at..end, tail, confidence, None);
            if !goes_on {
                return behind;
            }
            at = self.opened(next);
        }
    }

    /// Behind marks that open a name.
    fn opened(&self, at: usize) -> usize {
        at + (at..self.tokens.len()).take_while(|index| self.is_wrapper(*index)).count()
    }

    /// Where the longest name that begins at `at` ends.
    fn longest(&self, at: usize) -> Option<usize> {
        let first = self.tokens.get(at)?;
        if !self.index.may_start(&spoken(&self.text[first.start..first.end])) {
            return None;
        }
        let reach = if matches!(first.kind, Kind::Character(_)) { MAX_REACH } else { 2 * MAX_WORDS };
        let most = self.tokens.len().min(at + reach);
        let end = (at + 1..most).find(|index| !self.may_be_inside(*index)).unwrap_or(most);
        (at + 1..=end).rev().find(|end| {
            let name = self.slice(&(at..*end));
            name.len() <= 2 * self.index.longest() && self.ends_here(*end) && self.known(name).is_some()
        })
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

    /// Whether a name may end before this token: the name of a file, a path or a package goes on.
    fn ends_here(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|last| self.tokens.get(last)) else { return false };
        let mut rest = self.text[last.end..].chars();
        match rest.next() {
            Some('.') => rest.next().is_none_or(|c| c.is_whitespace() || c == '"'),
            Some('/' | '\\' | '=' | '(' | '@' | '-' | '_' | '[' | '<' | '>' | '~' | '#') => false,
            Some(':') => rest.next().is_none_or(char::is_whitespace),
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

    /// The name that a part is, behind at most one adjective.
    fn exact(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let is_name = |name: &Range<usize>| !name.is_empty() && self.known(self.slice(name)).is_some();
        let articles = part.clone().take_while(|at| words::is_article(self.word(*at))).count();
        let part = &(part.start + articles..part.end);
        let adjective = self.tokens.get(part.start).is_some_and(|token| words::is_adjective(&self.text[token.start..token.end]));
        let bare = part.start + 1..part.end;
        if is_name(part) { Some(part.clone()) } else { Some(bare).filter(|bare| adjective && is_name(bare)) }
    }

    /// The name with which a part ends.
    fn end_of(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let starts =
            (part.start + 1..part.end).filter(|start| self.tokens[*start - 1].end < self.tokens[*start].start || self.is_between(*start));
        starts.map(|start| start..part.end).find(|name| self.known(self.slice(name)).is_some())
    }

    /// Whether a script that does not divide words ends before a token.
    fn is_between(&self, at: usize) -> bool {
        matches!(self.kind(at - 1), Some(Kind::Character(_) | Kind::Mark(_)))
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
    fn unknown(&mut self, call: Call, part: &Range<usize>, behind: usize) {
        let name = self.slice(part);
        let words = name.split_whitespace().count();
        let is_about = is_vague(name.split_whitespace().next_back().unwrap_or_default());
        if words == 0 || words > MAX_WORDS || is_about || self.place(call, part.clone(), behind, true).doubt().is_some() {
            return;
        }
        let outcome = match self.index.looking_like(name) {
            [number] => Outcome::Suggested(self.index.entry(*number), Doubt::LookAlike),
            _ => Outcome::Unknown,
        };
        self.push(self.span(part), Way::Words, Confidence::High, outcome, None);
    }

    fn place(&self, call: Call, name: Range<usize>, behind: usize, is_skill: bool) -> Place<'_> {
        let Call { verb, at } = call;
        Place { text: self.text, tokens: self.tokens, quotes: &self.quotes, verb, verb_at: at, name, behind, is_skill }
    }

    /// Notes a name behind a verb; what stands around it may make it a suggestion only.
    fn mentioned(&mut self, call: Call, name: Range<usize>, behind: usize, confidence: Confidence, doubt: Option<Doubt>) {
        let span = self.span(&name);
        let Some(outcome) = self.known(&self.text[span.clone()]) else { return };
        // What is denied or asked says more than what else is wrong.
        let around = self.place(call, name, behind, confidence == Confidence::High).doubt();
        self.push(span, Way::Words, confidence, outcome, around.or(doubt));
    }

    fn push(&mut self, span: Range<usize>, way: Way, confidence: Confidence, outcome: Outcome<'a>, doubt: Option<Doubt>) {
        let suggested = |entry: &'a Entry, doubt| Outcome::Suggested(entry, doubt);
        let outcome = match (outcome, doubt) {
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

//! Skills named in words: "use the X skill", 「用 X 技能」, `/name`, `@name`.
//!
//! A verb and a name that is exactly the name of a skill, as people say it, are needed. Whatever
//! else is said about a skill only suggests it.

mod chinese;
mod context;
mod english;
mod names;
mod quotes;
mod tokens;
mod vocabulary;

use std::ops::Range;

use skills_discovery::Entry;

use super::normalize::{is_distinctive, normalize_name};
use super::{Confidence, Mention, MentionIndex, MentionKind, Resolution, SuggestionReason};
use context::MentionContext;
use quotes::Quotes;
use tokens::{TextToken, TokenKind, paragraphs, tokenize};
use vocabulary::{Verb, is_name_separator, is_vague, match_filler, match_verb};

/// How many tokens behind a verb the word "skill" may stand.
const MAX_SKILL_WORD_DISTANCE: usize = 24;
/// How many lines before a verb may change what it says.
const CONTEXT_LINES: usize = 8;
/// How many words a name may be said with.
const MAX_NAME_TOKENS: usize = 8;

/// Finds the skills that `text` names in words.
pub(super) fn find_phrases<'a>(
    index: &'a MentionIndex,
    text: &str,
    at_least: Confidence,
) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    for lines in paragraphs(text) {
        let calls = |line: &Range<usize>| vocabulary::may_contain_verb(&text[line.clone()]);
        if let (Some(first), Some(last)) =
            (lines.iter().position(calls), lines.iter().rposition(calls))
        {
            // The line behind may take back what was said.
            let tokens = tokenize(
                text,
                &lines[first.saturating_sub(CONTEXT_LINES)..lines.len().min(last + 2)],
            );
            let skills = (0..tokens.len())
                .filter(|at| vocabulary::is_skill_word(text, &tokens, *at))
                .collect();
            let quotes = Quotes::find(text, &tokens);
            let mut speech = PhraseMatcher {
                index,
                text,
                tokens: &tokens,
                quotes,
                skill_words: skills,
                at_least,
                mentions: found,
            };
            speech.match_paragraph();
            found = speech.mentions;
        }
    }
    found
}

struct PhraseMatcher<'a, 't> {
    index: &'a MentionIndex,
    text: &'t str,
    tokens: &'t [TextToken],
    quotes: Quotes,
    /// Where the word "skill" stands.
    skill_words: Vec<usize>,
    at_least: Confidence,
    mentions: Vec<Mention<'a>>,
}

/// How names are given.
#[derive(Clone, Copy)]
enum NameListStyle {
    /// Behind the word "skill".
    AfterSkillWord,
    /// Behind an `@`.
    AfterAtSign,
    /// Without either.
    Bare,
}

/// A verb and where it stands.
#[derive(Clone, Copy)]
struct VerbMatch {
    verb: Verb,
    position: usize,
}

impl<'a> PhraseMatcher<'a, '_> {
    fn match_paragraph(&mut self) {
        let mut at = 0;
        if let Some(TokenKind::Punctuation(mark @ ('/' | '@'))) = self.token_kind(0) {
            self.match_command(mark);
        }
        while at < self.tokens.len() {
            at = match match_verb(self.text, self.tokens, at) {
                Some((verb, next)) => self
                    .match_verb(VerbMatch { verb, position: at }, next)
                    .max(next),
                None => at + 1,
            };
        }
    }

    fn text_of(&self, tokens: &Range<usize>) -> &str {
        self.tokens
            .get(tokens.clone())
            .and_then(|tokens| Some(&self.text[tokens.first()?.start..tokens.last()?.end]))
            .unwrap_or_default()
    }

    fn token_kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// `/name` or `@name` at the very start of a text.
    fn match_command(&mut self, sigil: char) {
        let start = self.tokens[0].end;
        if self.tokens[0].start != self.text.len() - self.text.trim_start().len() {
            return;
        }
        let rest = &self.text[start..];
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        let word =
            word.trim_end_matches(['.', ',', ':', ';', '!', '?', '，', '。', '：', '！', '？']);
        // A decorator is no name that somebody calls.
        let is_own = sigil == '/' || is_distinctive(&word.replace('_', "-"));
        if word.is_empty() || word.len() > 2 * self.index.max_spoken_bytes() || !is_own {
            return;
        }
        if let Some(outcome) = self.resolve_name(word) {
            self.push_mention(
                start..start + word.len(),
                MentionKind::Command,
                Confidence::High,
                outcome,
                None,
            );
        }
    }

    /// Looks at what stands behind a verb; returns where to go on.
    fn match_verb(&mut self, call: VerbMatch, next: usize) -> usize {
        let (mut at, mut is_skill, mut is_addressed) = (next, false, false);
        while let Some(step) = match_filler(self.text, self.tokens, at) {
            // "call this the X skill" gives a name.
            if self.token_text(call.position).eq_ignore_ascii_case("call")
                && ["this", "that"]
                    .iter()
                    .any(|it| self.token_text(at).eq_ignore_ascii_case(it))
            {
                return at + 1;
            }
            is_skill |= step.is_skill;
            is_addressed |= matches!(self.token_kind(at), Some(TokenKind::Punctuation('@')));
            at += step.tokens;
        }
        if !matches!(
            self.token_kind(at),
            Some(TokenKind::Word | TokenKind::Cjk(_))
        ) {
            return at;
        }
        if is_skill {
            return self.match_name_list(call, at, NameListStyle::AfterSkillWord);
        }
        if let Some(end) = self.find_skill_word(at) {
            self.match_before_skill_word(call, at..end);
            return end;
        }
        self.match_name_list(
            call,
            at,
            if is_addressed {
                NameListStyle::AfterAtSign
            } else {
                NameListStyle::Bare
            },
        )
    }

    /// The text of one token.
    fn token_text(&self, at: usize) -> &str {
        self.text_of(&(at..at + 1))
    }

    /// Finds the word "skill" that belongs to what begins at `at`.
    fn find_skill_word(&self, at: usize) -> Option<usize> {
        let next = *self
            .skill_words
            .get(self.skill_words.partition_point(|skill| *skill < at))?;
        if next >= at + MAX_SKILL_WORD_DISTANCE {
            return None;
        }
        for index in at..next {
            // A second verb begins another phrase.
            let goes_on = match self.token_kind(index)? {
                TokenKind::Word => {
                    index == at || match_verb(self.text, self.tokens, index).is_none()
                }
                TokenKind::Cjk(c) => {
                    !vocabulary::breaks_phrase(c)
                        && (index == at || match_verb(self.text, self.tokens, index).is_none())
                }
                TokenKind::Punctuation(mark) => {
                    vocabulary::is_wrapper(mark)
                        || matches!(
                            mark,
                            ',' | '、' | '，' | '&' | '-' | '_' | ':' | '/' | '+' | '.'
                        )
                }
            };
            if !goes_on {
                return None;
            }
        }
        Some(next)
    }

    /// The first token behind the word "skill".
    fn after_skill_word(&self, skill: usize) -> usize {
        skill
            + if matches!(self.token_kind(skill), Some(TokenKind::Cjk(_))) {
                2
            } else {
                1
            }
    }

    /// "use the X and Y skills": the name stands between verb and "skill".
    fn match_before_skill_word(&mut self, call: VerbMatch, phrase: Range<usize>) {
        let (behind, phrase_end) = (self.after_skill_word(phrase.end), phrase.end);
        let whole = self.trim_wrappers(phrase.clone());
        let parts = if self.resolve_name(self.text_of(&whole)).is_some() {
            vec![whole]
        } else {
            self.split_names(phrase)
        };
        let names: Vec<Option<Range<usize>>> =
            parts.iter().map(|part| self.exact_name(part)).collect();
        if let ([part], [None]) = (parts.as_slice(), names.as_slice()) {
            let part = part.clone();
            match self.trailing_name(&part) {
                // Whatever stands before the name changes what is said.
                Some(name) => self.add_mention(
                    call,
                    name,
                    behind,
                    Confidence::High,
                    Some(SuggestionReason::CommonWord),
                ),
                None => self.add_unknown(call, &part, behind),
            }
            return;
        }
        // "your search skills" are somebody's abilities.
        let is_ability = |name: &Range<usize>| {
            parts.len() == 1 && !is_distinctive(&self.text_of(name).replace('_', "-"))
        };
        let is_whole = names.iter().all(Option::is_some);
        let is_ability = vocabulary::is_plural_skill_word(self.text, &self.tokens[phrase_end])
            && names.iter().flatten().any(is_ability);
        let is_whole = is_whole && !is_ability;
        for name in names.into_iter().flatten() {
            self.add_mention(
                call,
                name,
                behind,
                Confidence::High,
                (!is_whole).then_some(SuggestionReason::CommonWord),
            );
        }
    }

    /// "use skills X and Y", "use the skill X", "use X": without the word "skill" only names that
    /// are not said by chance will do.
    fn match_name_list(&mut self, call: VerbMatch, at: usize, listing: NameListStyle) -> usize {
        let mut at = at;
        loop {
            let Some(end) = self.longest_name_end(at) else {
                return at;
            };
            let closed = (end..self.tokens.len())
                .take_while(|index| self.is_wrapper(*index))
                .count();
            let behind = end + closed;
            let mut next = behind;
            while self
                .tokens
                .get(next)
                .is_some_and(|token| is_name_separator(self.text, token))
            {
                next += 1;
            }
            let goes_on = next > behind
                && self.tokens.get(next).is_some()
                && self
                    .longest_name_end(self.skip_opening_marks(next))
                    .is_some();
            // What follows the last one is looked at; the others are followed by another name.
            let tail = if goes_on { self.tokens.len() } else { behind };
            let name = self.text_of(&(at..end));
            let is_own = !name.contains(char::is_whitespace)
                && is_distinctive(&name.to_lowercase().replace('_', "-"));
            let confidence = match listing {
                NameListStyle::AfterSkillWord => Confidence::High,
                NameListStyle::Bare if !is_own => Confidence::Low,
                NameListStyle::Bare | NameListStyle::AfterAtSign => Confidence::Medium,
            };
            self.add_mention(call, at..end, tail, confidence, None);
            if !goes_on {
                return behind;
            }
            at = self.skip_opening_marks(next);
        }
    }

    /// Behind marks that open a name.
    fn skip_opening_marks(&self, at: usize) -> usize {
        at + (at..self.tokens.len())
            .take_while(|index| self.is_wrapper(*index))
            .count()
    }

    /// Where the longest name that begins at `at` ends.
    fn longest_name_end(&self, at: usize) -> Option<usize> {
        let first = self.tokens.get(at)?;
        if !self
            .index
            .may_start_name(&normalize_name(&self.text[first.start..first.end]))
        {
            return None;
        }
        let reach = if matches!(first.kind, TokenKind::Cjk(_)) {
            MAX_SKILL_WORD_DISTANCE
        } else {
            2 * MAX_NAME_TOKENS
        };
        let most = self.tokens.len().min(at + reach);
        let end = (at + 1..most)
            .find(|index| !self.may_continue_name(*index))
            .unwrap_or(most);
        (at + 1..=end).rev().find(|end| {
            let name = self.text_of(&(at..*end));
            name.len() <= 2 * self.index.max_spoken_bytes()
                && self.may_end_name(*end)
                && self.resolve_name(name).is_some()
        })
    }

    /// Whether a token may stand inside a name that several tokens make up.
    fn may_continue_name(&self, index: usize) -> bool {
        match self.token_kind(index) {
            Some(TokenKind::Word | TokenKind::Cjk(_)) => true,
            Some(TokenKind::Punctuation('-' | '_' | ':')) => {
                self.tokens[index - 1].end == self.tokens[index].start
            }
            _ => false,
        }
    }

    fn is_wrapper(&self, index: usize) -> bool {
        matches!(self.token_kind(index), Some(TokenKind::Punctuation(mark)) if vocabulary::is_wrapper(mark))
    }

    /// Whether a name may end before this token: the name of a file, a path or a package goes on.
    fn may_end_name(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|last| self.tokens.get(last)) else {
            return false;
        };
        let mut rest = self.text[last.end..].chars();
        match rest.next() {
            Some('.') => rest.next().is_none_or(|c| c.is_whitespace() || c == '"'),
            Some('/' | '\\' | '=' | '(' | '@' | '-' | '_' | '[' | '<' | '>' | '~' | '#') => false,
            Some(':') => rest.next().is_none_or(char::is_whitespace),
            _ => true,
        }
    }

    /// The range without the marks around it, and without words that lead to the word "skill".
    fn trim_wrappers(&self, mut range: Range<usize>) -> Range<usize> {
        while range.start < range.end
            && !matches!(
                self.token_kind(range.start),
                Some(TokenKind::Word | TokenKind::Cjk(_))
            )
        {
            range.start += 1;
        }
        loop {
            let length = vocabulary::trailing_fillers(self.text, &self.tokens[range.clone()]);
            if length == 0 {
                return range;
            }
            range.end -= length;
        }
    }

    /// A name that nobody has, and that was called a skill: it may look like another.
    fn add_unknown(&mut self, call: VerbMatch, part: &Range<usize>, behind: usize) {
        let name = self.text_of(part);
        let words = name.split_whitespace().count();
        let is_about = is_vague(name.split_whitespace().next_back().unwrap_or_default());
        if words == 0
            || words > MAX_NAME_TOKENS
            || is_about
            || self
                .mention_context(call, part.clone(), behind, true)
                .reason_against()
                .is_some()
        {
            return;
        }
        let outcome = match self.index.with_skeleton(name) {
            [number] => {
                Resolution::Suggested(self.index.entry(*number), SuggestionReason::Confusable)
            }
            _ => Resolution::Unknown,
        };
        self.push_mention(
            self.byte_span(part),
            MentionKind::Phrase,
            Confidence::High,
            outcome,
            None,
        );
    }

    fn mention_context(
        &self,
        call: VerbMatch,
        name: Range<usize>,
        behind: usize,
        is_skill: bool,
    ) -> MentionContext<'_> {
        let VerbMatch { verb, position: at } = call;
        MentionContext {
            text: self.text,
            tokens: self.tokens,
            quotes: &self.quotes,
            verb,
            verb_position: at,
            name,
            next_token: behind,
            is_skill,
        }
    }

    /// Notes a name behind a verb; what stands around it may make it a suggestion only.
    fn add_mention(
        &mut self,
        call: VerbMatch,
        name: Range<usize>,
        behind: usize,
        confidence: Confidence,
        doubt: Option<SuggestionReason>,
    ) {
        let span = self.byte_span(&name);
        let Some(outcome) = self.resolve_name(&self.text[span.clone()]) else {
            return;
        };
        // What is denied or asked says more than what else is wrong.
        let around = self
            .mention_context(call, name, behind, confidence == Confidence::High)
            .reason_against();
        self.push_mention(
            span,
            MentionKind::Phrase,
            confidence,
            outcome,
            around.or(doubt),
        );
    }

    fn push_mention(
        &mut self,
        span: Range<usize>,
        way: MentionKind,
        confidence: Confidence,
        outcome: Resolution<'a>,
        doubt: Option<SuggestionReason>,
    ) {
        let suggested = |entry: &'a Entry, doubt| Resolution::Suggested(entry, doubt);
        let outcome = match (outcome, doubt) {
            (Resolution::Selected(entry), Some(doubt)) => suggested(entry, doubt),
            (Resolution::Selected(entry), None) if confidence < self.at_least => {
                suggested(entry, SuggestionReason::CommonWord)
            }
            // Nobody asked for a skill: there is nothing to be said of it.
            (Resolution::Ambiguous(_) | Resolution::Inactive(_) | Resolution::Unknown, doubt)
                if doubt.is_some() || confidence < self.at_least =>
            {
                return;
            }
            (outcome, _) => outcome,
        };
        let confidence = if matches!(outcome, Resolution::Suggested(..)) {
            Confidence::Low
        } else {
            confidence
        };
        let name = self.text[span.clone()].to_owned();
        self.mentions.push(Mention {
            input: 0,
            span,
            name,
            kind: way,
            confidence,
            resolution: outcome,
        });
    }
}

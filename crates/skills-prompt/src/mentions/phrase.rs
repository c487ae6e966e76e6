//! Finds phrases that mention a skill: "use the X skill", 「用 X 技能」, `/name`, `@name`.
//!
//! A request needs a verb and a name that equals, after normalization, the name of a skill. Any
//! other phrase about a skill only suggests it.

mod chinese;
mod context;
mod english;
mod names;
mod quotes;
mod request;
mod tokens;
mod vocabulary;

use std::ops::Range;

use super::index::MentionIndex;
use super::mention::{Confidence, Mention, MentionKind, Resolution, SuggestionReason};
use super::normalize::{is_distinctive, normalize_name};
use crate::word_list::contains_ignore_case;
use context::MentionContext;
use quotes::Quotes;
use request::SkillWord;
use tokens::{Paragraph, TokenKind, paragraphs};
use vocabulary::{
    VerbMatch, is_name_separator, is_vague, match_filler, match_verb, skill_word_length,
};

/// The maximum distance of the word "skill" from the verb, in tokens.
const MAX_SKILL_WORD_DISTANCE: usize = 24;
/// The number of lines before a verb that are checked for a negation or condition.
const CONTEXT_LINES: usize = 8;
/// The maximum number of words in a name.
const MAX_NAME_TOKENS: usize = 8;

/// Finds the mentions in the phrases of `text`.
///
/// Mentions below `min_confidence` are suggestions.
pub(super) fn find_phrases<'a>(
    index: &'a MentionIndex,
    text: &str,
    min_confidence: Confidence,
) -> Vec<Mention<'a>> {
    let mut mentions = Vec::new();
    for lines in paragraphs(text) {
        if let Some(lines) = lines_near_verbs(text, &lines) {
            let paragraph = Paragraph::new(text, lines);
            let matcher = PhraseMatcher::new(index, paragraph, min_confidence);
            mentions.extend(matcher.match_paragraph());
        }
    }
    mentions
}

/// Returns the lines that are split into tokens; most paragraphs have none.
fn lines_near_verbs<'l>(text: &str, lines: &'l [Range<usize>]) -> Option<&'l [Range<usize>]> {
    let may_match = |line: &Range<usize>| vocabulary::may_contain_verb(&text[line.clone()]);
    let first = lines.iter().position(may_match)?;
    let last = lines.iter().rposition(may_match)?;
    // The next line may retract the request: "Only if I ask."
    Some(&lines[first.saturating_sub(CONTEXT_LINES)..lines.len().min(last + 2)])
}

/// Matches phrases in the tokens of one paragraph.
struct PhraseMatcher<'a, 't> {
    index: &'a MentionIndex,
    paragraph: Paragraph<'t>,
    quotes: Quotes,
    /// The positions of the word "skill", ascending.
    skill_words: Vec<usize>,
    min_confidence: Confidence,
    mentions: Vec<Mention<'a>>,
}

/// What precedes a list of names.
#[derive(Clone, Copy)]
enum NameListStyle {
    /// The word "skill".
    AfterSkillWord,
    /// An `@`.
    AfterAtSign,
    /// Neither of them.
    Bare,
}

impl NameListStyle {
    /// Returns how certain a name is.
    fn confidence(self, name: &str) -> Confidence {
        let is_distinctive =
            !name.contains(char::is_whitespace) && is_distinctive_name(&name.to_lowercase());
        match self {
            Self::AfterSkillWord => Confidence::High,
            Self::Bare if !is_distinctive => Confidence::Low,
            Self::Bare | Self::AfterAtSign => Confidence::Medium,
        }
    }
}

impl<'a, 't> PhraseMatcher<'a, 't> {
    fn new(index: &'a MentionIndex, paragraph: Paragraph<'t>, min_confidence: Confidence) -> Self {
        Self {
            index,
            quotes: Quotes::find(&paragraph),
            skill_words: (0..paragraph.tokens.len())
                .filter(|at| skill_word_length(&paragraph, *at).is_some())
                .collect(),
            paragraph,
            min_confidence,
            mentions: Vec::new(),
        }
    }

    /// Matches all phrases of the paragraph.
    fn match_paragraph(mut self) -> Vec<Mention<'a>> {
        if let Some(TokenKind::Punctuation(mark @ ('/' | '@'))) = self.paragraph.kind(0) {
            self.match_command(mark);
        }
        let mut at = 0;
        while at < self.paragraph.tokens.len() {
            // A verb inside of a name that was matched must not begin a second phrase.
            at = match match_verb(&self.paragraph, at) {
                Some(verb) => self.match_verb(verb).max(verb.end),
                None => at + 1,
            };
        }
        self.mentions
    }

    /// Matches `/name` or `@name` at the very start of the text.
    fn match_command(&mut self, sigil: char) {
        let (text, first) = (self.paragraph.text, self.paragraph.tokens[0]);
        // A path in the middle of a text is not a command.
        if first.start != text.len() - text.trim_start().len() {
            return;
        }
        let word = command_word(&text[first.end..]);
        // `@name` can be a decorator in pasted code, so it must be distinctive.
        let is_command = sigil == '/' || is_distinctive_name(word);
        // A word that is much longer than every name need not be normalized.
        if word.is_empty() || word.len() > 2 * self.index.max_spoken_bytes() || !is_command {
            return;
        }
        if let Some(resolution) = self.resolve_name(word) {
            self.push_mention(
                first.end..first.end + word.len(),
                MentionKind::Command,
                Confidence::High,
                resolution,
                None,
            );
        }
    }

    /// Matches the names after a verb, and returns the position to continue at.
    fn match_verb(&mut self, verb: VerbMatch) -> usize {
        let is_call = self
            .paragraph
            .word(verb.position)
            .eq_ignore_ascii_case("call");
        let mut at = verb.end;
        let mut has_skill_word = false;
        let mut has_at_sign = false;
        while let Some(filler) = match_filler(&self.paragraph, at) {
            // "call this the X skill" asks for a name, not for the skill.
            if is_call && contains_ignore_case(&["this", "that"], self.paragraph.word(at)) {
                return at + 1;
            }
            has_skill_word |= filler.is_skill;
            has_at_sign |= self.paragraph.kind(at) == Some(TokenKind::Punctuation('@'));
            at += filler.tokens;
        }
        if !self.is_word(at) {
            return at;
        }
        if has_skill_word {
            return self.match_name_list(verb, at, NameListStyle::AfterSkillWord);
        }
        if let Some(end) = self.find_skill_word(at) {
            self.match_before_skill_word(verb, at..end);
            return end;
        }
        let style = if has_at_sign {
            NameListStyle::AfterAtSign
        } else {
            NameListStyle::Bare
        };
        self.match_name_list(verb, at, style)
    }

    /// Returns true if a token is not punctuation.
    fn is_word(&self, at: usize) -> bool {
        matches!(
            self.paragraph.kind(at),
            Some(TokenKind::Word | TokenKind::Cjk(_))
        )
    }

    /// Returns the position of the word "skill" that ends the phrase which begins at `at`.
    fn find_skill_word(&self, at: usize) -> Option<usize> {
        let next = *self
            .skill_words
            .get(self.skill_words.partition_point(|skill| *skill < at))?;
        // Further away the word belongs to another phrase; the bound also keeps the search linear.
        if next >= at + MAX_SKILL_WORD_DISTANCE {
            return None;
        }
        (at..next)
            .all(|index| self.continues_phrase(index, at))
            .then_some(next)
    }

    /// Returns false for a second verb, which begins another phrase, and for punctuation that ends
    /// one.
    fn continues_phrase(&self, index: usize, start: usize) -> bool {
        match self.paragraph.kind(index) {
            Some(TokenKind::Punctuation(mark)) => {
                vocabulary::is_wrapper(mark) || ",、，&-_:/+.".contains(mark)
            }
            Some(TokenKind::Cjk(c)) if vocabulary::breaks_phrase(c) => false,
            Some(TokenKind::Word | TokenKind::Cjk(_)) => {
                index == start || match_verb(&self.paragraph, index).is_none()
            }
            None => false,
        }
    }

    /// Matches "use the X and Y skills", where the names are between the verb and "skill".
    fn match_before_skill_word(&mut self, verb: VerbMatch, phrase: Range<usize>) {
        let skill_word = phrase.end;
        let next = skill_word + skill_word_length(&self.paragraph, skill_word).unwrap_or(1);
        let parts = self.name_parts(phrase);
        let names: Vec<Option<Range<usize>>> =
            parts.iter().map(|part| self.exact_name(part)).collect();
        if let ([part], [None]) = (parts.as_slice(), names.as_slice()) {
            self.add_inexact(verb, part, next);
            return;
        }
        let are_all_known = names.iter().all(Option::is_some);
        let names: Vec<Range<usize>> = names.into_iter().flatten().collect();
        let is_request = are_all_known && !self.asks_for_ability(&names, skill_word);
        for name in names {
            self.add_mention(
                verb,
                name,
                next,
                Confidence::High,
                (!is_request).then_some(SuggestionReason::CommonWord),
            );
        }
    }

    /// Splits a phrase into the parts that may be names.
    fn name_parts(&self, phrase: Range<usize>) -> Vec<Range<usize>> {
        let whole = self.trim_wrappers(phrase.clone());
        // A name may contain "and", so the whole phrase is tried first.
        if self.is_name(&whole) {
            return vec![whole];
        }
        self.split_names(phrase)
    }

    /// Adds a mention for a part that is not the name of a skill.
    fn add_inexact(&mut self, verb: VerbMatch, part: &Range<usize>, next: usize) {
        match self.trailing_name(part) {
            // Unknown words before the name can change the meaning: "use any but the X skill".
            Some(name) => self.add_mention(
                verb,
                name,
                next,
                Confidence::High,
                Some(SuggestionReason::CommonWord),
            ),
            None => self.add_unknown(verb, part, next),
        }
    }

    /// Returns true for "use your search skills", unless the name is distinctive.
    fn asks_for_ability(&self, names: &[Range<usize>], skill_word: usize) -> bool {
        let [name] = names else { return false };
        let skills = self.paragraph.word(skill_word);
        skills.eq_ignore_ascii_case("skills") && !is_distinctive_name(self.paragraph.text_of(name))
    }

    /// Matches "use skills X and Y", "use the skill X" and "use X", and returns the position after
    /// the names. Without the word "skill" a name must be distinctive.
    fn match_name_list(&mut self, verb: VerbMatch, start: usize, style: NameListStyle) -> usize {
        let mut at = start;
        loop {
            let Some(end) = self.longest_name_end(at) else {
                return at;
            };
            let after_name = self.skip_wrappers(end);
            let separators = (after_name..)
                .take_while(|index| is_name_separator(&self.paragraph, *index))
                .count();
            let next = self.skip_wrappers(after_name + separators);
            let has_more_names = separators > 0 && self.longest_name_end(next).is_some();
            // Only the text after the last name can change the meaning.
            let tail = if has_more_names {
                self.paragraph.tokens.len()
            } else {
                after_name
            };
            let confidence = style.confidence(self.paragraph.text_of(&(at..end)));
            self.add_mention(verb, at..end, tail, confidence, None);
            if !has_more_names {
                return after_name;
            }
            at = next;
        }
    }

    /// Returns the position after the marks that enclose a name.
    fn skip_wrappers(&self, at: usize) -> usize {
        at + (at..).take_while(|index| self.is_wrapper(*index)).count()
    }

    /// Returns the end of the longest name that begins at `at`.
    fn longest_name_end(&self, at: usize) -> Option<usize> {
        // Each Chinese character is a token of its own.
        let max_tokens = match self.paragraph.kind(at)? {
            TokenKind::Cjk(_) => MAX_SKILL_WORD_DISTANCE,
            TokenKind::Word | TokenKind::Punctuation(_) => 2 * MAX_NAME_TOKENS,
        };
        let first = normalize_name(self.paragraph.word(at));
        if !self.index.may_start_name(&first) {
            return None;
        }
        let limit = self.paragraph.tokens.len().min(at + max_tokens);
        let end = (at + 1..limit)
            .find(|index| !self.may_continue_name(*index))
            .unwrap_or(limit);
        // The longest name first, so that `pdf` does not match in `pdf tools`.
        (at + 1..=end).rev().find(|end| {
            let name = self.paragraph.text_of(&(at..*end));
            name.len() <= 2 * self.index.max_spoken_bytes()
                && self.may_end_name(*end)
                && self.resolve_name(name).is_some()
        })
    }

    /// Returns true if a token can continue a name of several tokens.
    fn may_continue_name(&self, index: usize) -> bool {
        match self.paragraph.kind(index) {
            Some(TokenKind::Punctuation('-' | '_' | ':')) => !self.paragraph.follows_space(index),
            _ => self.is_word(index),
        }
    }

    fn is_wrapper(&self, index: usize) -> bool {
        matches!(
            self.paragraph.kind(index),
            Some(TokenKind::Punctuation(mark)) if vocabulary::is_wrapper(mark)
        )
    }

    /// Returns true if a name can end before this token. It cannot if the text continues as the
    /// name of a file, a path or a package: `pdf.py`, `pdf/x`, `pdf@2`.
    fn may_end_name(&self, end: usize) -> bool {
        let mut rest = self.paragraph.text_after(end - 1).chars();
        match rest.next() {
            // A period that ends the sentence, not one before a file extension.
            Some('.') => rest.next().is_none_or(|c| c.is_whitespace() || c == '"'),
            Some('/' | '\\' | '=' | '(' | '@' | '-' | '_' | '[' | '<' | '>' | '~' | '#') => false,
            Some(':') => rest.next().is_none_or(char::is_whitespace),
            _ => true,
        }
    }

    /// Removes the marks around a range, and words such as 这个 that precede the word "skill".
    fn trim_wrappers(&self, mut range: Range<usize>) -> Range<usize> {
        while range.start < range.end && !self.is_word(range.start) {
            range.start += 1;
        }
        loop {
            let length = vocabulary::trailing_fillers(&self.paragraph, &range);
            if length == 0 {
                return range;
            }
            range.end -= length;
        }
    }

    /// Adds a mention of an unknown name that is called a skill: a misspelled one, or one that only
    /// looks like the name of a skill.
    fn add_unknown(&mut self, verb: VerbMatch, part: &Range<usize>, next: usize) {
        let name = self.paragraph.text_of(part);
        let context = self.mention_context(verb, part.clone(), next, SkillWord::Present);
        if !may_be_unknown_name(name) || context.reason_against().is_some() {
            return;
        }
        // A confusable name is never selected: it may come from a text that the user
        // pasted.
        let resolution = match self.index.with_skeleton(name) {
            [number] => {
                Resolution::Suggested(self.index.entry(*number), SuggestionReason::Confusable)
            }
            _ => Resolution::Unknown,
        };
        self.push_mention(
            self.paragraph.span(part),
            MentionKind::Phrase,
            Confidence::High,
            resolution,
            None,
        );
    }

    fn mention_context(
        &self,
        verb: VerbMatch,
        name: Range<usize>,
        next_token: usize,
        skill_word: SkillWord,
    ) -> MentionContext<'_> {
        MentionContext {
            paragraph: &self.paragraph,
            quotes: &self.quotes,
            verb,
            name,
            next_token,
            skill_word,
        }
    }

    /// Adds a mention of a name after a verb; its context or `reason` can make it a suggestion.
    fn add_mention(
        &mut self,
        verb: VerbMatch,
        name: Range<usize>,
        next: usize,
        confidence: Confidence,
        reason: Option<SuggestionReason>,
    ) {
        let span = self.paragraph.span(&name);
        let Some(resolution) = self.resolve_name(self.paragraph.text_of(&name)) else {
            return;
        };
        let skill_word = if confidence == Confidence::High {
            SkillWord::Present
        } else {
            SkillWord::Absent
        };
        // A negation or question is a better explanation than a common word.
        let context_reason = self
            .mention_context(verb, name, next, skill_word)
            .reason_against();
        self.push_mention(
            span,
            MentionKind::Phrase,
            confidence,
            resolution,
            context_reason.or(reason),
        );
    }

    /// Adds a mention; with a reason, or below the minimum confidence, as a suggestion.
    fn push_mention(
        &mut self,
        span: Range<usize>,
        kind: MentionKind,
        confidence: Confidence,
        resolution: Resolution<'a>,
        reason: Option<SuggestionReason>,
    ) {
        let reason =
            reason.or((confidence < self.min_confidence).then_some(SuggestionReason::CommonWord));
        let resolution = match (resolution, reason) {
            (Resolution::Selected(entry), Some(reason)) => Resolution::Suggested(entry, reason),
            // Not a request, so a message that no skill could be selected would be noise.
            (Resolution::Ambiguous(_) | Resolution::Inactive(_) | Resolution::Unknown, Some(_)) => {
                return;
            }
            (resolution, _) => resolution,
        };
        // A suggestion has the lowest confidence, however clear its name is.
        let confidence = if matches!(resolution, Resolution::Suggested(..)) {
            Confidence::Low
        } else {
            confidence
        };
        let name = self.paragraph.text[span.clone()].to_owned();
        self.mentions.push(Mention {
            input: 0,
            span,
            name,
            kind,
            confidence,
            resolution,
        });
    }
}

/// Returns the word at the start of a text, without punctuation after it.
fn command_word(text: &str) -> &str {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    word.trim_end_matches(['.', ',', ':', ';', '!', '?', '，', '。', '：', '！', '？'])
}

fn is_distinctive_name(name: &str) -> bool {
    is_distinctive(&name.replace('_', "-"))
}

/// Returns false for no words, too many, and words that describe a skill.
fn may_be_unknown_name(name: &str) -> bool {
    let words = name.split_whitespace();
    let last = words.clone().next_back();
    last.is_some_and(|last| !is_vague(last)) && words.count() <= MAX_NAME_TOKENS
}

//! Rules for requests in Chinese.
//!
//! Chinese does not separate words, so the rules match substrings.

use super::request::{Politeness, Sentence, SkillWord, Verb};
use super::vocabulary::{CHINESE, longest_prefix};
use crate::mentions::SuggestionReason;
use crate::word_list::{Words, section};

static OPENERS: Words = Words::new(|| section(CHINESE, "openers"));
static POLITE: Words = Words::new(|| section(CHINESE, "polite"));
static POLITE_AFTER: Words = Words::new(|| section(CHINESE, "polite after"));
static NEGATIONS: Words = Words::new(|| section(CHINESE, "negations"));
static NOT_NEGATIONS: Words = Words::new(|| section(CHINESE, "not negations"));
static PROHIBITIONS: Words = Words::new(|| section(CHINESE, "prohibitions"));
static OPEN_PROHIBITIONS: Words = Words::new(|| section(CHINESE, "open prohibitions"));
static CONDITIONS: Words = Words::new(|| section(CHINESE, "conditions"));
static QUESTIONS: Words = Words::new(|| section(CHINESE, "questions"));
static REPORTS: Words = Words::new(|| section(CHINESE, "reports"));
static CONTINUATIONS: Words = Words::new(|| section(CHINESE, "continuations"));
static LATER_QUESTIONS: Words = Words::new(|| section(CHINESE, "later questions"));
static RETRACTIONS: Words = Words::new(|| section(CHINESE, "retractions"));
static LATER_CONDITIONS: Words = Words::new(|| section(CHINESE, "later conditions"));
static LATER_REPORTS: Words = Words::new(|| section(CHINESE, "later reports"));

fn contains_negation(text: &str) -> bool {
    let mut text = text.to_owned();
    for harmless in NOT_NEGATIONS.iter() {
        text = text.replace(harmless, "");
    }
    contains_any(&text, &NEGATIONS)
}

/// Returns true if the previous clause is a complete prohibition, so that the request after it is
/// not negated: 「不要用 X，用 …」.
fn is_complete_prohibition(text: &str) -> bool {
    let clauses: Vec<&str> = text.split([',', '，', ';', '；']).collect();
    let [before @ .., last, _] = clauses.as_slice() else {
        return false;
    };
    let clause = last.trim_start_matches("请").trim_start_matches("請");
    let prohibited = longest_prefix(&PROHIBITIONS, clause).map(|word| &clause[word.len()..]);
    let is_complete = |prohibited: &str| {
        prohibited.chars().count() >= 2
            && !contains_any(prohibited, &OPEN_PROHIBITIONS)
            && !contains_negation(prohibited)
    };
    prohibited.is_some_and(is_complete)
        && !before.iter().any(|clause| contains_negation(clause))
        && !last.contains(['"', '“', '「', '\n'])
}

fn contains_any(text: &str, list: &[&str]) -> bool {
    list.iter().any(|word| text.contains(word))
}

/// Checks the earlier clauses of the sentence.
pub(super) fn check_before(text: &str, clause: &str) -> Option<SuggestionReason> {
    let negation_ended =
        clause.starts_with('但') || clause.is_empty() && is_complete_prohibition(text);
    if text.is_ascii() {
        None
    } else if contains_negation(text) && !negation_ended {
        Some(SuggestionReason::Negated)
    } else if contains_any(text, &CONDITIONS) {
        // 「如果下雨，用 X」: the condition of an earlier clause holds for the request.
        Some(SuggestionReason::Conditional)
    } else if contains_any(text, &REPORTS) {
        Some(SuggestionReason::Quoted)
    } else {
        None
    }
}

/// Checks the words between the start of the clause and the verb.
pub(super) fn check_request(
    text: &str,
    sentence: Sentence,
    verb: Verb,
) -> Option<SuggestionReason> {
    let (rest, is_polite) = skip_openers(text);
    let is_question = sentence == Sentence::Question;
    if rest.is_empty() {
        return (is_question && !is_polite).then_some(SuggestionReason::Question);
    }
    // Mixed text such as "please 用 X".
    if rest.is_ascii() && matches!(rest.to_ascii_lowercase().as_str(), "please" | "ok") {
        return None;
    }
    Some(if contains_negation(rest) {
        SuggestionReason::Negated
    } else if contains_any(rest, &QUESTIONS) {
        SuggestionReason::Question
    } else if contains_any(rest, &REPORTS) {
        SuggestionReason::Quoted
    } else if verb == Verb::Preposition || is_question {
        SuggestionReason::Question
    } else {
        SuggestionReason::Conditional
    })
}

/// Returns the text after openers, which are chained: 麻烦你 and 帮我 in 「麻烦你帮我用 X」; and
/// whether one of them is polite.
fn skip_openers(text: &str) -> (&str, bool) {
    let mut rest = text
        .trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | '、' | '•')
        })
        .trim_start_matches('但');
    let mut is_polite = false;
    while let Some(opener) = longest_prefix(&OPENERS, rest) {
        is_polite |= contains_any(opener, &POLITE);
        rest = &rest[opener.len()..];
    }
    (rest, is_polite)
}

/// Returns true if a question is a polite request.
pub(super) fn politeness(before: &str, tail: &str) -> Politeness {
    if contains_any(before, &POLITE) || contains_any(tail, &POLITE_AFTER) {
        Politeness::Polite
    } else {
        Politeness::Neutral
    }
}

/// Checks the words after the name and 技能.
pub(super) fn check_after_name(
    text: &str,
    skill_word: SkillWord,
    politeness: Politeness,
) -> Option<SuggestionReason> {
    let is_question = text.ends_with(['吗', '嗎', '么', '呢']) && politeness == Politeness::Neutral;
    if is_question || contains_any(text, &LATER_QUESTIONS) {
        return Some(SuggestionReason::Question);
    }
    // 「X 的 …」 talks about something that belongs to X.
    let is_attribute = skill_word == SkillWord::Absent
        && (text.chars().nth(1) == Some('的') || text.chars().nth(2) == Some('的'));
    let continues_request = text.is_empty() || longest_prefix(&CONTINUATIONS, text).is_some();
    (is_attribute || !continues_request).then_some(SuggestionReason::CommonWord)
}

/// Checks for later words that retract the request.
pub(super) fn check_after(text: &str) -> Option<SuggestionReason> {
    if text.is_ascii() {
        None
    } else if contains_any(text, &RETRACTIONS) {
        Some(SuggestionReason::Negated)
    } else if contains_any(text, &LATER_CONDITIONS) {
        Some(SuggestionReason::Conditional)
    } else if contains_any(text, &LATER_REPORTS) {
        Some(SuggestionReason::Quoted)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_list::check_sections;

    #[test]
    fn the_word_lists_are_well_formed() {
        let sections = [
            "verbs",
            "verb prepositions",
            "other words before",
            "other words after",
            "fillers",
            "trailers",
            "vague",
            "breaks",
            "openers",
            "polite",
            "polite after",
            "not negations",
            "negations",
            "prohibitions",
            "open prohibitions",
            "conditions",
            "questions",
            "reports",
            "continuations",
            "later questions",
            "retractions",
            "later conditions",
            "later reports",
        ];
        check_sections(CHINESE, &sections);
        // An entry must precede those that it begins with, or they are found instead of it.
        for name in ["verbs", "fillers", "openers"] {
            let mut earlier: Vec<&str> = Vec::new();
            for entry in section(CHINESE, name) {
                let hides = |word: &&&str| entry.starts_with(**word);
                assert_eq!(earlier.iter().find(hides), None, "[{name}] {entry}");
                earlier.push(entry);
            }
        }
    }
}

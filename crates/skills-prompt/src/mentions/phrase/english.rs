//! Rules for requests in English.

use super::request::{Sentence, SkillWord, Verb};
use super::vocabulary::ENGLISH;
use crate::mentions::SuggestionReason;
use crate::word_list::{Words, section};

static OPENERS: Words = Words::new(|| section(ENGLISH, "openers"));
static REQUESTS: Words = Words::new(|| section(ENGLISH, "requests"));
static POLITE_REQUESTS: Words = Words::new(|| section(ENGLISH, "polite requests"));
static TASKS: Words = Words::new(|| section(ENGLISH, "tasks"));
static NEGATIONS: Words = Words::new(|| section(ENGLISH, "negations"));
static OPEN_PROHIBITIONS: Words = Words::new(|| section(ENGLISH, "open prohibitions"));
static EXCLUSIONS: Words = Words::new(|| section(ENGLISH, "exclusions"));
static DEFERRALS: Words = Words::new(|| section(ENGLISH, "deferrals"));
static CONDITIONS: Words = Words::new(|| section(ENGLISH, "conditions"));
static RETRACTIONS: Words = Words::new(|| section(ENGLISH, "retractions"));
static DENIALS: Words = Words::new(|| section(ENGLISH, "denials"));
static POLITE_CONDITIONS: Words = Words::new(|| section(ENGLISH, "polite conditions"));
static REPORTS: Words = Words::new(|| section(ENGLISH, "reports"));
static LATER_REPORTS: Words = Words::new(|| section(ENGLISH, "later reports"));
static QUESTIONS: Words = Words::new(|| section(ENGLISH, "questions"));
static EXPLANATIONS: Words = Words::new(|| section(ENGLISH, "explanations"));
static INDIRECT_TASKS: Words = Words::new(|| section(ENGLISH, "indirect tasks"));
static CONTINUATIONS: Words = Words::new(|| section(ENGLISH, "continuations"));
static NAME_CONTINUATIONS: Words = Words::new(|| section(ENGLISH, "name continuations"));
static STATEMENTS: Words = Words::new(|| section(ENGLISH, "statements"));
static APPOSITIONS: Words = Words::new(|| section(ENGLISH, "appositions"));
static TOPICS: Words = Words::new(|| section(ENGLISH, "topics"));
static TOPIC_PREPOSITIONS: Words = Words::new(|| section(ENGLISH, "topic prepositions"));
static PROBLEMS: Words = Words::new(|| section(ENGLISH, "problems"));
static NEXT_LINE: Words = Words::new(|| section(ENGLISH, "next line"));

fn is_negation(word: &str) -> bool {
    // Any contraction negates: isn't, won't, shouldn't.
    NEGATIONS.contains(&word) || word.ends_with("n't")
}

fn contains_negation(words: &[&str]) -> bool {
    words.iter().any(|word| is_negation(word))
}

fn contains_any(words: &[&str], list: &[&str]) -> bool {
    words.iter().any(|word| list.contains(word))
}

/// Returns the words after the openers, which "do not" does not belong to.
fn skip_openers<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    let is_opener = |word: &&&str| OPENERS.contains(*word) && **word != "do";
    &words[words.iter().take_while(is_opener).count()..]
}

/// Returns true if the previous clause is a complete prohibition, so that the request after it is
/// not negated: "Don't guess it, use …".
fn is_complete_prohibition(words: &[&str]) -> bool {
    // The prohibition of a heading applies to the list after it.
    if words.contains(&"\n") {
        return false;
    }
    let clauses: Vec<&[&str]> = words
        .split(|word| [",", ";", "-", "—", "–"].contains(word))
        .collect();
    let [before @ .., last, _] = clauses.as_slice() else {
        return false;
    };
    let is_prohibition = match skip_openers(last) {
        ["don't" | "dont" | "never", rest @ ..] | ["do", "not", rest @ ..] => is_complete(rest),
        _ => false,
    };
    is_prohibition && !before.iter().any(|clause| contains_negation(clause))
}

fn is_complete(prohibited: &[&str]) -> bool {
    prohibited.len() >= 2
        && !contains_any(prohibited, &OPEN_PROHIBITIONS)
        && !contains_negation(prohibited)
}

/// Checks the earlier clauses of the sentence.
pub(super) fn check_before(words: &[&str], clause: &[&str]) -> Option<SuggestionReason> {
    // "It is not that, but use …"
    let negation_ended = matches!(clause.first(), Some(&("but" | "instead")))
        || is_request_start(clause) && is_complete_prohibition(words);
    if contains_negation(words) && !negation_ended {
        Some(SuggestionReason::Negated)
    } else if begins_question(words) {
        Some(SuggestionReason::Question)
    } else if contains_any(words, &REPORTS) {
        Some(SuggestionReason::Quoted)
    } else if contains_any(words, &DEFERRALS) || contains_any(words, &CONDITIONS) {
        Some(SuggestionReason::Conditional)
    } else {
        None
    }
}

fn begins_question(words: &[&str]) -> bool {
    words.first().is_some_and(|word| QUESTIONS.contains(word))
}

/// How a request begins.
#[derive(Clone, Copy, PartialEq)]
enum RequestForm {
    /// With the verb.
    Imperative,
    /// "I want you to".
    Statement,
    /// "Can you", which may be a question.
    Polite,
}

/// Checks the words between the start of the clause and the verb.
pub(super) fn check_request(
    words: &[&str],
    sentence: Sentence,
    verb: Verb,
) -> Option<SuggestionReason> {
    let words = after_but(strip_list_marker(words));
    let form = match verb {
        Verb::Imperative => request_form(words).or_else(|| form_after_task(words)),
        Verb::Preposition => {
            // A task comes first: "review this with …", but not "read about using …".
            let modifies_task = words.last().is_none_or(|last| {
                // "reviewed with X" reports what was done.
                !TOPIC_PREPOSITIONS.contains(last) && !last.ends_with("ed") && *last != "do"
            });
            task_form(words).filter(|_| modifies_task)
        }
    };
    match form {
        Some(form) if sentence == Sentence::Statement || form == RequestForm::Polite => None,
        Some(_) => Some(SuggestionReason::Question),
        None => Some(classify_reason(words, sentence)),
    }
}

/// Returns the words from "but" on in "do not guess but use …", and all words otherwise. In
/// "anything but" the word excludes what follows.
fn after_but<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    let Some(but) = words.iter().rposition(|word| *word == "but") else {
        return words;
    };
    let before = skip_openers(&words[..but]);
    let is_prohibition = matches!(before, ["don't" | "never", _, ..] | ["do", "not", _, ..]);
    if is_prohibition && !contains_any(before, &EXCLUSIONS) {
        &words[but..]
    } else {
        words
    }
}

/// Returns the form of a request, if `words` consist of an opener such as "can you" and of words
/// without meaning.
fn request_form(words: &[&str]) -> Option<RequestForm> {
    let has_meaning = |word: &&str| !OPENERS.contains(word);
    let wanted = || words.iter().copied().filter(has_meaning);
    let is_wanted = |request: &&str| request.split(' ').filter(has_meaning).eq(wanted());
    if wanted().next().is_none() {
        Some(RequestForm::Imperative)
    } else if POLITE_REQUESTS.iter().any(is_wanted) {
        Some(RequestForm::Polite)
    } else {
        let is_request = REQUESTS.iter().any(is_wanted);
        is_request.then_some(RequestForm::Statement)
    }
}

/// Returns the form of a request for a task, if `words` are one without a word against it.
fn task_form(words: &[&str]) -> Option<RequestForm> {
    let task = words
        .iter()
        // A verb further on belongs to another part of the sentence.
        .take(8)
        .position(|word| TASKS.contains(word))?;
    let is_plain = |word: &&str| {
        !is_negation(word) && !PROBLEMS.contains(word) && !TOPICS.contains(word) && *word != ":"
    };
    // In "review and explain using …" the second verb makes the skill a topic.
    let is_doubled =
        words.len() - task > 1 && words.last().is_some_and(|last| TASKS.contains(last));
    (words[task..].iter().all(is_plain) && !is_doubled)
        .then(|| request_form(&words[..task]))
        .flatten()
}

/// Returns the form of "read this file and use …".
fn form_after_task(words: &[&str]) -> Option<RequestForm> {
    let and = words
        .iter()
        .rposition(|word| matches!(*word, "and" | "then"))?;
    let (task, rest) = words.split_at(and);
    // "Ask me and use …" waits for an answer; "tell me how to read and use …" asks for a text.
    let is_direct =
        request_form(rest) == Some(RequestForm::Imperative) && !contains_any(task, &INDIRECT_TASKS);
    is_direct.then(|| task_form(task)).flatten()
}

/// Returns true if the words after a leading "using X" are a task.
pub(super) fn is_task(words: &[&str]) -> bool {
    // Without a comma the words belong to the name: "using X tests".
    if words.first() != Some(&",") {
        return false;
    }
    words
        .iter()
        .find(|word| **word != "," && !OPENERS.contains(word))
        .is_some_and(|word| TASKS.contains(word))
}

/// Returns true if only words without meaning precede a verb.
pub(super) fn is_request_start(words: &[&str]) -> bool {
    strip_list_marker(words)
        .iter()
        .all(|word| OPENERS.contains(word))
}

/// Removes the number or bullet of a list item.
fn strip_list_marker<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    match words {
        ["-" | "*" | "•" | "+", rest @ ..] => rest,
        // `2.` and `2)`; the tokenizer separates number and mark.
        [number, "." | ")", rest @ ..] if number.bytes().all(|b| b.is_ascii_digit()) => rest,
        words => words,
    }
}

/// Returns why words are not a request.
fn classify_reason(words: &[&str], sentence: Sentence) -> SuggestionReason {
    // "instead of X" negates although neither word does by itself.
    let is_instead = words
        .windows(2)
        .any(|pair| matches!(pair, ["instead", "of"] | ["rather", "than"]));
    if is_instead || contains_negation(words) {
        SuggestionReason::Negated
    } else if sentence == Sentence::Question
        || contains_any(words, &EXPLANATIONS)
        || begins_question(words)
    {
        SuggestionReason::Question
    } else if contains_any(words, &REPORTS) {
        SuggestionReason::Quoted
    } else {
        SuggestionReason::Conditional
    }
}

pub(super) fn check_after_name(words: &[&str], skill_word: SkillWord) -> Option<SuggestionReason> {
    // After a name alone fewer words are allowed, since "use X in Y" may talk about an ordinary X.
    let allowed = match skill_word {
        SkillWord::Present => &CONTINUATIONS,
        SkillWord::Absent => &NAME_CONTINUATIONS,
    };
    match words.first() {
        Some(word) if STATEMENTS.contains(word) => Some(SuggestionReason::Conditional),
        Some(word) if !allowed.contains(word) => Some(SuggestionReason::CommonWord),
        Some(_) => check_after(words),
        None => None,
    }
}

/// Checks the words after a comma: an explanation of the name is not a request.
pub(super) fn check_explanation(words: &[&str]) -> Option<SuggestionReason> {
    if words.get(1).is_some_and(|word| APPOSITIONS.contains(word)) {
        Some(SuggestionReason::CommonWord)
    } else {
        check_after(words)
    }
}

/// Checks for later words that retract the request.
pub(super) fn check_after(words: &[&str]) -> Option<SuggestionReason> {
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at + 1..];
        let is_polite = *word == "if"
            && rest
                .first()
                .is_some_and(|word| POLITE_CONDITIONS.contains(word));
        let is_denial = matches!(*word, "not" | "never" | "no") || word.ends_with("n't");
        if is_denial && denies_request(rest) {
            return Some(SuggestionReason::Negated);
        } else if (DEFERRALS.contains(word) || RETRACTIONS.contains(word)) && !is_polite {
            return Some(SuggestionReason::Conditional);
        } else if LATER_REPORTS.contains(word) {
            return Some(SuggestionReason::Quoted);
        }
    }
    None
}

/// Returns true if a negation after the name denies the request itself, not something in the rest
/// of the sentence.
fn denies_request(words: &[&str]) -> bool {
    words
        .iter()
        .take_while(|word| ![",", ";", "-"].contains(word))
        .all(|word| DENIALS.contains(word))
}

/// Checks the first word of the next line. It is enough, since these words hardly ever begin an
/// independent sentence.
pub(super) fn check_next_line(word: &str) -> Option<SuggestionReason> {
    NEXT_LINE
        .contains(&word)
        .then_some(SuggestionReason::Conditional)
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
            "fillers",
            "articles",
            "adjectives",
            "vague",
            "openers",
            "requests",
            "polite requests",
            "tasks",
            "negations",
            "open prohibitions",
            "exclusions",
            "deferrals",
            "conditions",
            "retractions",
            "denials",
            "polite conditions",
            "reports",
            "later reports",
            "questions",
            "explanations",
            "indirect tasks",
            "continuations",
            "name continuations",
            "statements",
            "appositions",
            "topics",
            "topic prepositions",
            "problems",
            "next line",
        ];
        check_sections(ENGLISH, &sections);
        for name in sections {
            assert!(section(ENGLISH, name).is_sorted(), "[{name}] is not sorted");
        }
    }
}

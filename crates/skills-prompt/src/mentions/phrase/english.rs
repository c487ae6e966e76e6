//! Rules for requests in English.

mod word_lists;

use super::context::{Sentence, SkillWord};
use super::vocabulary::Verb;
use crate::mentions::SuggestionReason;
use word_lists::{
    CONDITIONS, CONTINUATIONS, DEFERRALS, LATER_RETRACTIONS, NAME_CONTINUATIONS, NEGATION_WORDS,
    OPENERS, POLITE_OPENERS, PREPOSITIONS, PROBLEM_WORDS, QUESTION_WORDS, REPORTING_VERBS,
    REQUESTS, RETRACTIONS, TASK_VERBS, TOPIC_WORDS,
};

fn is_negation(word: &str) -> bool {
    // Any contraction negates: isn't, won't, shouldn't.
    NEGATION_WORDS.contains(&word) || word.ends_with("n't")
}

/// Returns true if the previous clause is a complete prohibition, so that the request after it is
/// not negated: "Don't guess it, use …".
fn is_complete_prohibition(words: &[String]) -> bool {
    // The prohibition of a heading applies to the list after it.
    if words.iter().any(|word| word == "\n") {
        return false;
    }
    let clauses: Vec<&[String]> = words
        .split(|word| matches!(word.as_str(), "," | ";" | "-" | "—" | "–"))
        .collect();
    let [before @ .., last, _] = clauses.as_slice() else {
        return false;
    };
    let clause: Vec<&str> = last
        .iter()
        .map(String::as_str)
        .skip_while(|word| OPENERS.contains(word) && *word != "do")
        .collect();
    let prohibited = match clause.as_slice() {
        ["don't" | "dont" | "never", rest @ ..] | ["do", "not", rest @ ..] => rest,
        _ => return false,
    };
    // With these words the prohibition continues in the next clause.
    const INCOMPLETE_WORDS: [&str; 12] = [
        "under",
        "any",
        "ever",
        "please",
        "way",
        "circumstances",
        ":",
        "then",
        "following",
        "these",
        "things",
        "to",
    ];
    let is_only_negation = !before
        .iter()
        .any(|clause| clause.iter().any(|word| is_negation(word)));
    prohibited.len() >= 2
        && is_only_negation
        && !prohibited
            .iter()
            .any(|word| INCOMPLETE_WORDS.contains(word) || is_negation(word))
}

/// Checks the earlier clauses of the sentence.
pub(super) fn check_before(words: &[String], clause: &[String]) -> Option<SuggestionReason> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // "It is not that, but use …"
    let negation_ended = matches!(clause.first().map(String::as_str), Some("but" | "instead"))
        || is_request_start(clause) && is_complete_prohibition(words);
    if words.iter().any(|word| is_negation(word)) && !negation_ended {
        Some(SuggestionReason::Negated)
    } else if words
        .first()
        .is_some_and(|word| QUESTION_WORDS.contains(&word.as_str()))
    {
        Some(SuggestionReason::Question)
    } else if has(REPORTING_VERBS) {
        Some(SuggestionReason::Quoted)
    } else if has(DEFERRALS) || has(CONDITIONS) {
        Some(SuggestionReason::Conditional)
    } else {
        None
    }
}

/// Checks the words between the start of the clause and the verb.
pub(super) fn check_request(
    words: &[String],
    sentence: Sentence,
    verb: Verb,
) -> Option<SuggestionReason> {
    let words: Vec<&str> = after_but(strip_list_marker(words))
        .iter()
        .map(String::as_str)
        .collect();
    let request = match verb {
        Verb::Imperative => request_form(&words).or_else(|| form_after_task(&words)),
        Verb::Preposition => {
            // A task comes first: "review this with …", but not "read about using …".
            let modifies_task = words.last().is_none_or(|last| {
                // "reviewed with X" reports what was done.
                !PREPOSITIONS.contains(last) && !last.ends_with("ed") && *last != "do"
            });
            task_form(&words).filter(|_| modifies_task)
        }
    };
    match request {
        Some(opener) if sentence == Sentence::Statement || POLITE_OPENERS.contains(&opener) => None,
        Some(_) => Some(SuggestionReason::Question),
        None => Some(classify_reason(&words, sentence)),
    }
}

/// Returns the words from "but" on in "do not guess but use …", and all words otherwise. In
/// "anything but" the word excludes what follows.
fn after_but(words: &[String]) -> &[String] {
    let Some(but) = words
        .iter()
        .rposition(|word| word == "but")
        .filter(|but| *but > 0)
    else {
        return words;
    };
    let before: Vec<&str> = words[..but]
        .iter()
        .map(String::as_str)
        .skip_while(|word| OPENERS.contains(word) && *word != "do")
        .collect();
    let is_prohibition = matches!(
        before.as_slice(),
        ["don't" | "never", _, ..] | ["do", "not", _, ..]
    );
    let excludes = before.iter().any(|word| {
        matches!(
            *word,
            "anything" | "everything" | "nothing" | "else" | "all" | "help" | "choice" | "ever"
        )
    });
    if is_prohibition && !excludes {
        &words[but..]
    } else {
        words
    }
}

/// Returns the opener of a request such as "can you", if `words` consist of one and of words
/// without meaning. An imperative has an empty opener.
fn request_form(words: &[&str]) -> Option<&'static str> {
    let wanted = without_openers(words.iter().copied());
    REQUESTS
        .iter()
        .find(|request| {
            without_openers(request.split(' ').filter(|word| !word.is_empty())) == wanted
        })
        .copied()
}

/// Joins the words that have a meaning in a request.
fn without_openers<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words
        .filter(|word| !OPENERS.contains(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the opener of a request for a task, if `words` are one without a word against it.
fn task_form(words: &[&str]) -> Option<&'static str> {
    let task = words
        .iter()
        // A verb further on belongs to another part of the sentence.
        .take(8)
        .position(|word| TASK_VERBS.contains(word))?;
    let is_plain = |word: &&str| {
        !is_negation(word)
            && !PROBLEM_WORDS.contains(word)
            && !TOPIC_WORDS.contains(word)
            && *word != ":"
    };
    // In "review and explain using …" the second verb makes the skill a topic.
    let is_doubled = words.len() - task > 1
        && words
            .last()
            .is_some_and(|last| TASK_VERBS.contains(last) && *last != "this");
    (words[task..].iter().all(is_plain) && !is_doubled)
        .then(|| request_form(&words[..task]))
        .flatten()
}

/// Returns the opener of "read this file and use …".
fn form_after_task(words: &[&str]) -> Option<&'static str> {
    let and = words
        .iter()
        .rposition(|word| matches!(*word, "and" | "then"))?;
    request_form(&words[and..]).filter(|request| request.is_empty())?;
    // "Ask me and use …" waits for an answer; "tell me how to read and use …" asks for a text.
    let is_direct = |word: &&str| {
        !matches!(
            *word,
            "to" | "tell"
                | "make"
                | "get"
                | "find"
                | "test"
                | "generate"
                | "ask"
                | "wait"
                | "confirm"
        )
    };
    words[..and]
        .iter()
        .all(is_direct)
        .then(|| task_form(&words[..and]))
        .flatten()
}

/// Returns true if the words after a leading "using X" are a task.
pub(super) fn is_task(words: &[String]) -> bool {
    // Without a comma the words belong to the name: "using X tests".
    if words.first().is_none_or(|word| word != ",") {
        return false;
    }
    let first = words
        .iter()
        .find(|word| *word != "," && !OPENERS.contains(&word.as_str()));
    first.is_some_and(|word| TASK_VERBS.contains(&word.as_str()))
}

/// Returns true if only words without meaning precede a verb.
pub(super) fn is_request_start(words: &[String]) -> bool {
    strip_list_marker(words)
        .iter()
        .all(|word| OPENERS.contains(&word.as_str()))
}

/// Removes the number or bullet of a list item.
fn strip_list_marker(words: &[String]) -> &[String] {
    match words {
        [first, rest @ ..] if matches!(first.as_str(), "-" | "*" | "•" | "+") => rest,
        [number, dot, rest @ ..]
            // `2.` and `2)`; the tokenizer separates number and mark.
            if matches!(dot.as_str(), "." | ")") && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            rest
        }
        words => words,
    }
}

/// Returns why words are not a request.
fn classify_reason(words: &[&str], sentence: Sentence) -> SuggestionReason {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    // "instead of X" negates although neither word does by itself.
    let is_instead = words
        .windows(2)
        .any(|pair| matches!(pair, ["instead", "of"] | ["rather", "than"]));
    if is_instead || words.iter().any(|word| is_negation(word)) {
        SuggestionReason::Negated
    } else if sentence == Sentence::Question
        || has(&["how", "why", "what", "explain", "describe", "whether"])
        || words
            .first()
            .is_some_and(|word| QUESTION_WORDS.contains(word))
    {
        SuggestionReason::Question
    } else if has(REPORTING_VERBS) {
        SuggestionReason::Quoted
    } else {
        SuggestionReason::Conditional
    }
}

/// Checks the words after the name and the word "skill".
pub(super) fn check_after_name(
    words: &[String],
    skill_word: SkillWord,
) -> Option<SuggestionReason> {
    // After a name alone fewer words are allowed, since "use X in Y" may talk about an ordinary X.
    let allowed = match skill_word {
        SkillWord::Present => CONTINUATIONS,
        SkillWord::Absent => NAME_CONTINUATIONS,
    };
    match words.first() {
        Some(word) if LATER_RETRACTIONS.contains(&word.as_str()) => {
            Some(SuggestionReason::Conditional)
        }
        Some(word) if !allowed.contains(&word.as_str()) => Some(SuggestionReason::CommonWord),
        Some(_) => check_after(words),
        None => None,
    }
}

/// Checks the words after a comma: an explanation of the name is not a request.
pub(super) fn check_explanation(words: &[String]) -> Option<SuggestionReason> {
    // "use X, a library for …" says that X is not a skill.
    let explains = |word: &String| {
        matches!(
            word.as_str(),
            "a" | "an" | "the" | "which" | "it's" | "its" | "that's" | "is"
        )
    };
    if words.get(1).is_some_and(explains) {
        Some(SuggestionReason::CommonWord)
    } else {
        check_after(words)
    }
}

/// Checks for later words that retract the request.
pub(super) fn check_after(words: &[String]) -> Option<SuggestionReason> {
    for (at, word) in words.iter().enumerate() {
        // "if possible" and "if you can" are polite, not conditions.
        let is_polite = word == "if"
            && words.get(at + 1).is_some_and(|word| {
                matches!(word.as_str(), "possible" | "you" | "needed" | "necessary")
            });
        let is_denial = matches!(word.as_str(), "not" | "never" | "no") || word.ends_with("n't");
        if is_denial && retracts_request(&words[at + 1..]) {
            return Some(SuggestionReason::Negated);
        } else if (DEFERRALS.contains(&word.as_str()) || RETRACTIONS.contains(&word.as_str()))
            && !is_polite
        {
            return Some(SuggestionReason::Conditional);
        } else if matches!(
            word.as_str(),
            "said"
                | "says"
                | "told"
                | "asked"
                | "wrote"
                | "suggested"
                | "shouted"
                | "claims"
                | "claimed"
                | "tutorial"
        ) {
            return Some(SuggestionReason::Quoted);
        }
    }
    None
}

/// Returns true if a negation after the name denies the request itself, not something in the rest
/// of the sentence.
fn retracts_request(words: &[String]) -> bool {
    const RETRACTION_WORDS: [&str; 16] = [
        "use", "it", "that", "one", "this", "now", "do", "so", "any", "more", "at", "all", "wait",
        "yet", "!", ")",
    ];
    let clause = words
        .iter()
        .take_while(|word| !matches!(word.as_str(), "," | ";" | "-"));
    clause
        .clone()
        .all(|word| RETRACTION_WORDS.contains(&word.as_str()))
}

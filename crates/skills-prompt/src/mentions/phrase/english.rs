//! How people ask in English.

mod word_lists;

use super::vocabulary::Verb;
use crate::mentions::SuggestionReason;
use word_lists::{
    CONDITIONS, CONTINUATIONS, DEFERRALS, LATER_RETRACTIONS, NAME_CONTINUATIONS, NEGATION_WORDS,
    OPENERS, POLITE_OPENERS, PREPOSITIONS, PROBLEM_WORDS, QUESTION_WORDS, REPORTING_VERBS,
    REQUESTS, RETRACTIONS, TASK_VERBS, TOPIC_WORDS,
};

fn is_negation(word: &str) -> bool {
    NEGATION_WORDS.contains(&word) || word.ends_with("n't")
}

/// Whether a command not to do something is complete, in the clause just before: "Don't guess it,
/// use …".
fn is_complete_prohibition(words: &[String]) -> bool {
    // A list below a headline belongs to it.
    if words.iter().any(|word| word == "\n") {
        return false;
    }
    let clauses: Vec<&[String]> = words
        .split(|word| matches!(word.as_str(), "," | ";" | "-" | "—" | "–"))
        .collect();
    let [before @ .., last, _] = clauses.as_slice() else {
        return false;
    };
    let said: Vec<&str> = last
        .iter()
        .map(String::as_str)
        .skip_while(|word| OPENERS.contains(word) && *word != "do")
        .collect();
    let denied = match said.as_slice() {
        ["don't" | "dont" | "never", denied @ ..] | ["do", "not", denied @ ..] => denied,
        _ => return false,
    };
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
    let is_free = !before
        .iter()
        .any(|clause| clause.iter().any(|word| is_negation(word)));
    denied.len() >= 2
        && is_free
        && !denied
            .iter()
            .any(|word| INCOMPLETE_WORDS.contains(word) || is_negation(word))
}

/// Looks at the clauses before, in the same sentence.
pub(super) fn check_before(words: &[String], clause: &[String]) -> Option<SuggestionReason> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // "It is not that, but use …"
    let is_turned = matches!(clause.first().map(String::as_str), Some("but" | "instead"))
        || is_request_start(clause) && is_complete_prohibition(words);
    if words.iter().any(|word| is_negation(word)) && !is_turned {
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

/// Looks at what stands between the start of the clause and the verb.
pub(super) fn check_request(
    words: &[String],
    is_question: bool,
    verb: Verb,
) -> Option<SuggestionReason> {
    let words: Vec<&str> = after_but(strip_list_marker(words))
        .iter()
        .map(String::as_str)
        .collect();
    let asked = match verb {
        Verb::Imperative => request_form(&words).or_else(|| form_after_task(&words)),
        Verb::Preposition => {
            // A task comes first: "review this with …".
            let is_how = words.last().is_none_or(|last| {
                !PREPOSITIONS.contains(last) && !last.ends_with("ed") && *last != "do"
            });
            task_form(&words).filter(|_| is_how)
        }
    };
    match asked {
        Some(request) if !is_question || POLITE_OPENERS.contains(&request) => None,
        Some(_) => Some(SuggestionReason::Question),
        None => Some(classify_reason(&words, is_question)),
    }
}

/// "Do not guess but use …"; "anything but" excludes.
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
    let denies = matches!(
        before.as_slice(),
        ["don't" | "never", _, ..] | ["do", "not", _, ..]
    );
    let excludes = before.iter().any(|word| {
        matches!(
            *word,
            "anything" | "everything" | "nothing" | "else" | "all" | "help" | "choice" | "ever"
        )
    });
    if denies && !excludes {
        &words[but..]
    } else {
        words
    }
}

/// The way in which words ask, if they do nothing else.
fn request_form(words: &[&str]) -> Option<&'static str> {
    let kept = |words: &mut dyn Iterator<Item = &str>| {
        words
            .filter(|word| !OPENERS.contains(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let asked = kept(&mut words.iter().copied());
    REQUESTS
        .iter()
        .find(|request| kept(&mut request.split(' ').filter(|word| !word.is_empty())) == asked)
        .copied()
}

/// The way in which words ask for a task, if they do and nothing in them speaks against it.
fn task_form(words: &[&str]) -> Option<&'static str> {
    let task = words
        .iter()
        .take(8)
        .position(|word| TASK_VERBS.contains(word))?;
    let is_plain = |word: &&str| {
        !is_negation(word)
            && !PROBLEM_WORDS.contains(word)
            && !TOPIC_WORDS.contains(word)
            && *word != ":"
    };
    // "explain using …" behind another task is what is to be explained.
    let is_doubled = words.len() - task > 1
        && words
            .last()
            .is_some_and(|last| TASK_VERBS.contains(last) && *last != "this");
    (words[task..].iter().all(is_plain) && !is_doubled)
        .then(|| request_form(&words[..task]))
        .flatten()
}

/// "Read this file and use …"
fn form_after_task(words: &[&str]) -> Option<&'static str> {
    let and = words
        .iter()
        .rposition(|word| matches!(*word, "and" | "then"))?;
    request_form(&words[and..]).filter(|request| request.is_empty())?;
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

/// Whether what follows a leading "using X" is a task.
pub(super) fn is_task(words: &[String]) -> bool {
    if words.first().is_none_or(|word| word != ",") {
        return false;
    }
    let first = words
        .iter()
        .find(|word| *word != "," && !OPENERS.contains(&word.as_str()));
    first.is_some_and(|word| TASK_VERBS.contains(&word.as_str()))
}

/// Whether nothing stands before a verb that says anything.
pub(super) fn is_request_start(words: &[String]) -> bool {
    strip_list_marker(words)
        .iter()
        .all(|word| OPENERS.contains(&word.as_str()))
}

/// The number or the dash of a list item is no word.
fn strip_list_marker(words: &[String]) -> &[String] {
    match words {
        [first, rest @ ..] if matches!(first.as_str(), "-" | "*" | "•" | "+") => rest,
        [number, dot, rest @ ..]
            if matches!(dot.as_str(), "." | ")") && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            rest
        }
        words => words,
    }
}

/// Names what is wrong with words that are no request.
fn classify_reason(words: &[&str], is_question: bool) -> SuggestionReason {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_instead = words
        .windows(2)
        .any(|pair| matches!(pair, ["instead", "of"] | ["rather", "than"]));
    if is_instead || words.iter().any(|word| is_negation(word)) {
        SuggestionReason::Negated
    } else if is_question
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

/// Looks at what follows the name and the word "skill".
pub(super) fn check_after_name(words: &[String], is_skill: bool) -> Option<SuggestionReason> {
    let allowed: &[&str] = if is_skill {
        CONTINUATIONS
    } else {
        NAME_CONTINUATIONS
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

/// Looks behind a comma: what tells more of the name asks for nothing.
pub(super) fn check_explanation(words: &[String]) -> Option<SuggestionReason> {
    // "use X, a library for …" tells what X is.
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

/// Looks for words further on that take a request back.
pub(super) fn check_after(words: &[String]) -> Option<SuggestionReason> {
    for (at, word) in words.iter().enumerate() {
        // "if possible", "if you can" are only polite.
        let is_polite = word == "if"
            && words.get(at + 1).is_some_and(|word| {
                matches!(word.as_str(), "possible" | "you" | "needed" | "necessary")
            });
        let denies = matches!(word.as_str(), "not" | "never" | "no") || word.ends_with("n't");
        if denies && retracts_request(&words[at + 1..]) {
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

/// Whether a negation behind the name denies the request itself, and nothing that comes after it.
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

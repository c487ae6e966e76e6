//! How people ask in English.

mod lists;

use super::words::Verb;
use crate::mentions::Doubt;
use lists::{
    ABOUT, ASKING, BACK, CONDITIONS, GOES_ON, GOES_ON_ALONE, NEGATIONS, OPENERS, POLITE, PREPOSITIONS, REPORTS, REQUESTS, TAKEN_BACK,
    TASKS, TROUBLE, WHEN,
};

fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't")
}

/// Whether a command not to do something is complete, in the clause just before: "Don't guess it, use …".
fn is_finished(words: &[String]) -> bool {
    // A list below a headline belongs to it.
    if words.iter().any(|word| word == "\n") {
        return false;
    }
    let clauses: Vec<&[String]> = words.split(|word| matches!(word.as_str(), "," | ";" | "-" | "—" | "–")).collect();
    let [before @ .., last, _] = clauses.as_slice() else { return false };
    let said: Vec<&str> = last.iter().map(String::as_str).skip_while(|word| OPENERS.contains(word) && *word != "do").collect();
    let denied = match said.as_slice() {
        ["don't" | "dont" | "never", denied @ ..] | ["do", "not", denied @ ..] => denied,
        _ => return false,
    };
    const ASIDES: [&str; 12] =
        ["under", "any", "ever", "please", "way", "circumstances", ":", "then", "following", "these", "things", "to"];
    let is_free = !before.iter().any(|clause| clause.iter().any(|word| is_negation(word)));
    denied.len() >= 2 && is_free && !denied.iter().any(|word| ASIDES.contains(word) || is_negation(word))
}

/// Looks at the clauses before, in the same sentence.
pub(super) fn earlier(words: &[String], clause: &[String]) -> Option<Doubt> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // "It is not that, but use …"
    let is_turned = matches!(clause.first().map(String::as_str), Some("but" | "instead")) || is_start(clause) && is_finished(words);
    if words.iter().any(|word| is_negation(word)) && !is_turned {
        Some(Doubt::Negated)
    } else if words.first().is_some_and(|word| ASKING.contains(&word.as_str())) {
        Some(Doubt::Question)
    } else if has(REPORTS) {
        Some(Doubt::Quoted)
    } else if has(WHEN) || has(CONDITIONS) {
        Some(Doubt::Condition)
    } else {
        None
    }
}

/// Looks at what stands between the start of the clause and the verb.
pub(super) fn asks(words: &[String], is_question: bool, verb: Verb) -> Option<Doubt> {
    let words: Vec<&str> = behind_but(without_item(words)).iter().map(String::as_str).collect();
    let asked = match verb {
        Verb::Acts => request(&words).or_else(|| after_a_task(&words)),
        Verb::Leads => {
            // A task comes first: "review this with …".
            let is_how = words.last().is_none_or(|last| !PREPOSITIONS.contains(last) && !last.ends_with("ed") && *last != "do");
            task(&words).filter(|_| is_how)
        }
    };
    match asked {
        Some(request) if !is_question || POLITE.contains(&request) => None,
        Some(_) => Some(Doubt::Question),
        None => Some(kind_of(&words, is_question)),
    }
}

/// "Do not guess but use …"; "anything but" excludes.
fn behind_but(words: &[String]) -> &[String] {
    let Some(but) = words.iter().rposition(|word| word == "but").filter(|but| *but > 0) else { return words };
    let before: Vec<&str> = words[..but].iter().map(String::as_str).skip_while(|word| OPENERS.contains(word) && *word != "do").collect();
    let denies = matches!(before.as_slice(), ["don't" | "never", _, ..] | ["do", "not", _, ..]);
    let excludes =
        before.iter().any(|word| matches!(*word, "anything" | "everything" | "nothing" | "else" | "all" | "help" | "choice" | "ever"));
    if denies && !excludes { &words[but..] } else { words }
}

/// The way in which words ask, if they do nothing else.
fn request(words: &[&str]) -> Option<&'static str> {
    let kept = |words: &mut dyn Iterator<Item = &str>| words.filter(|word| !OPENERS.contains(word)).collect::<Vec<_>>().join(" ");
    let asked = kept(&mut words.iter().copied());
    REQUESTS.iter().find(|request| kept(&mut request.split(' ').filter(|word| !word.is_empty())) == asked).copied()
}

/// The way in which words ask for a task, if they do and nothing in them speaks against it.
fn task(words: &[&str]) -> Option<&'static str> {
    let task = words.iter().take(8).position(|word| TASKS.contains(word))?;
    let is_plain = |word: &&str| !is_negation(word) && !TROUBLE.contains(word) && !ABOUT.contains(word) && *word != ":";
    // "explain using …" behind another task is what is to be explained.
    let is_doubled = words.len() - task > 1 && words.last().is_some_and(|last| TASKS.contains(last) && *last != "this");
    (words[task..].iter().all(is_plain) && !is_doubled).then(|| request(&words[..task])).flatten()
}

/// "Read this file and use …"
fn after_a_task(words: &[&str]) -> Option<&'static str> {
    let and = words.iter().rposition(|word| matches!(*word, "and" | "then"))?;
    request(&words[and..]).filter(|request| request.is_empty())?;
    let is_direct =
        |word: &&str| !matches!(*word, "to" | "tell" | "make" | "get" | "find" | "test" | "generate" | "ask" | "wait" | "confirm");
    words[..and].iter().all(is_direct).then(|| task(&words[..and])).flatten()
}

/// Whether what follows a leading "using X" is a task.
pub(super) fn is_task(words: &[String]) -> bool {
    if words.first().is_none_or(|word| word != ",") {
        return false;
    }
    let first = words.iter().find(|word| *word != "," && !OPENERS.contains(&word.as_str()));
    first.is_some_and(|word| TASKS.contains(&word.as_str()))
}

/// Whether nothing stands before a verb that says anything.
pub(super) fn is_start(words: &[String]) -> bool {
    without_item(words).iter().all(|word| OPENERS.contains(&word.as_str()))
}

/// The number or the dash of a list item is no word.
fn without_item(words: &[String]) -> &[String] {
    match words {
        [first, rest @ ..] if matches!(first.as_str(), "-" | "*" | "•" | "+") => rest,
        [number, dot, rest @ ..] if matches!(dot.as_str(), "." | ")") && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        words => words,
    }
}

/// Names what is wrong with words that are no request.
fn kind_of(words: &[&str], is_question: bool) -> Doubt {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_instead = words.windows(2).any(|pair| matches!(pair, ["instead", "of"] | ["rather", "than"]));
    if is_instead || words.iter().any(|word| is_negation(word)) {
        Doubt::Negated
    } else if is_question
        || has(&["how", "why", "what", "explain", "describe", "whether"])
        || words.first().is_some_and(|word| ASKING.contains(word))
    {
        Doubt::Question
    } else if has(REPORTS) {
        Doubt::Quoted
    } else {
        Doubt::Condition
    }
}

/// Looks at what follows the name and the word "skill".
pub(super) fn goes_on(words: &[String], is_skill: bool) -> Option<Doubt> {
    let allowed: &[&str] = if is_skill { GOES_ON } else { GOES_ON_ALONE };
    match words.first() {
        Some(word) if TAKEN_BACK.contains(&word.as_str()) => Some(Doubt::Condition),
        Some(word) if !allowed.contains(&word.as_str()) => Some(Doubt::Ordinary),
        Some(_) => later(words),
        None => None,
    }
}

/// Looks behind a comma: what tells more of the name asks for nothing.
pub(super) fn explains(words: &[String]) -> Option<Doubt> {
    // "use X, a library for …" tells what X is.
    let explains = |word: &String| matches!(word.as_str(), "a" | "an" | "the" | "which" | "it's" | "its" | "that's" | "is");
    if words.get(1).is_some_and(explains) { Some(Doubt::Ordinary) } else { later(words) }
}

/// Looks for words further on that take a request back.
pub(super) fn later(words: &[String]) -> Option<Doubt> {
    for (at, word) in words.iter().enumerate() {
        // "if possible", "if you can" are only polite.
        let is_polite =
            word == "if" && words.get(at + 1).is_some_and(|word| matches!(word.as_str(), "possible" | "you" | "needed" | "necessary"));
        let denies = matches!(word.as_str(), "not" | "never" | "no") || word.ends_with("n't");
        if denies && takes_all_back(&words[at + 1..]) {
            return Some(Doubt::Negated);
        } else if (WHEN.contains(&word.as_str()) || BACK.contains(&word.as_str())) && !is_polite {
            return Some(Doubt::Condition);
        } else if matches!(
            word.as_str(),
            "said" | "says" | "told" | "asked" | "wrote" | "suggested" | "shouted" | "claims" | "claimed" | "tutorial"
        ) {
            return Some(Doubt::Quoted);
        }
    }
    None
}

/// Whether a negation behind the name denies the request itself, and nothing that comes after it.
fn takes_all_back(words: &[String]) -> bool {
    const SELF: [&str; 16] = ["use", "it", "that", "one", "this", "now", "do", "so", "any", "more", "at", "all", "wait", "yet", "!", ")"];
    let clause = words.iter().take_while(|word| !matches!(word.as_str(), "," | ";" | "-"));
    clause.clone().all(|word| SELF.contains(&word.as_str()))
}

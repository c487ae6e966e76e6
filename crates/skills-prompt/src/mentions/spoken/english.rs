//! How people ask in English.

use super::words::Verb;
use crate::mentions::Doubt;

/// Words before a verb that change nothing.
const OPENERS: &[&str] = &[
    "please",
    "kindly",
    "just",
    "now",
    "first",
    "firstly",
    "next",
    "then",
    "finally",
    "also",
    "and",
    "so",
    "ok",
    "okay",
    "yes",
    "sure",
    "great",
    "hi",
    "hello",
    "hey",
    "thanks",
    "alright",
    "well",
    "again",
    "instead",
    "but",
    "let's",
    "lets",
    "do",
    "always",
    "directly",
    "simply",
    "here",
    "afterwards",
    "secondly",
    ")",
];
/// What may stand before a verb beside these.
const REQUESTS: &[&str] = &[
    "",
    "let us",
    "go ahead and",
    "make sure to",
    "make sure you",
    "be sure to",
    "remember to",
    "feel free to",
    "don't forget to",
    "do not forget to",
    "don't hesitate to",
    "do not hesitate to",
    "you should",
    "you must",
    "you can",
    "you could",
    "you may",
    "you need to",
    "you have to",
    "can you",
    "could you",
    "would you",
    "will you",
    "can you go ahead and",
    "i want you to",
    "i need you to",
    "i'd like you to",
    "i would like you to",
    "i want to",
    "i'd like to",
    "i would like to",
    "i need to",
    "we should",
    "if possible",
    "it would be great if you could",
    "it would be nice if you could",
    "i was wondering if you could",
    "why don't you",
    "you are to",
    "would you mind",
];
/// Those of them that a question mark may follow.
const POLITE: &[&str] = &[
    "can you",
    "could you",
    "can you go ahead and",
    "why don't you",
    "it would be great if you could",
    "it would be nice if you could",
    "i was wondering if you could",
];
/// Verbs of tasks, behind which "with" and "using" say how.
const TASKS: &[&str] = &[
    "summarise",
    "summarize",
    "review",
    "check",
    "write",
    "create",
    "make",
    "fix",
    "analyse",
    "analyze",
    "convert",
    "translate",
    "extract",
    "merge",
    "fill",
    "find",
    "look",
    "read",
    "format",
    "generate",
    "draft",
    "edit",
    "explain",
    "describe",
    "plan",
    "test",
    "build",
    "deploy",
    "search",
    "do",
    "answer",
    "solve",
    "calculate",
    "compute",
    "process",
    "parse",
    "rewrite",
    "improve",
    "refactor",
    "update",
    "render",
    "export",
    "list",
    "count",
    "show",
    "tell",
    "get",
    "fetch",
    "handle",
    "split",
    "clean",
    "validate",
    "verify",
    "inspect",
    "audit",
    "debug",
    "profile",
    "optimise",
    "optimize",
    "design",
    "draw",
    "plot",
    "prepare",
    "produce",
    "transform",
    "compile",
    "document",
    "lint",
    "organise",
    "organize",
    "sort",
    "scan",
    "report",
    "continue",
    "give",
];
/// Words that negate.
const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "without",
    "avoid",
    "stop",
    "no",
    "cannot",
    "dont",
    "refuse",
    "nor",
    "neither",
    "forbid",
    "forbidden",
    "quit",
    "refrain",
    "skip",
    "against",
    "hardly",
    "rarely",
    "seldom",
    "nobody",
    "none",
    "nothing",
    "prevent",
    "block",
    "ignore",
    "remove",
    "cancel",
    "unnecessary",
    "except",
    "rather",
    "doesnt",
    "disable",
    "wont",
];
const CONDITIONS: &[&str] = &[
    "after",
    "before",
    "soon",
    "depending",
    "given",
    "every",
    "each",
    "tonight",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mondays",
    "session",
    "if",
    "when",
    "whenever",
    "unless",
    "once",
    "because",
    "since",
    "until",
    "while",
    "whether",
    "suppose",
    "supposing",
    "provided",
    "assuming",
    "tomorrow",
    "later",
    "would",
    "might",
    "future",
    "yesterday",
    "time",
    "case",
];
const REPORTS: &[&str] = &[
    "suggested",
    "suggests",
    "shouted",
    "claims",
    "claimed",
    "recommended",
    "example",
    "motto",
    "option",
    "options",
    "ideas",
    "answers",
    "ways",
    "e.g",
    "g",
    "said",
    "says",
    "say",
    "told",
    "asked",
    "wrote",
    "writes",
    "reads",
    "states",
    "replied",
    "quote",
    "quotes",
    "according",
    "phrase",
    "sentence",
    "title",
    "text",
    "string",
    "translate",
];
const ASKING: &[&str] = &[
    "what", "how", "why", "which", "who", "where", "does", "did", "is", "are", "was", "were", "should", "has", "have", "may", "must",
    "whom", "whose", "am", "had", "shall",
];
/// What may follow "the X skill".
const GOES_ON: &[&str] = &[
    "to", "for", "on", "and", "with", "in", "at", "from", "about", "please", "here", "now", "instead", "again", "then", "so", "via",
    "rather", "without", "this", "that", "these", "those", "or", "by", "first", "twice", "today", "too", "thanks",
];
/// What may follow a name alone.
const GOES_ON_ALONE: &[&str] = &["to", "for", "on", "and", "with", "about", "please", "here", "now", "instead", "again", "first", "then"];
/// Words further on that take a request back.
const TAKEN_BACK: &[&str] =
    &["if", "when", "whenever", "unless", "never", "tomorrow", "later", "next", "only", "until", "is", "was", "are", "were", "isn't"];

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
    } else if has(CONDITIONS) {
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

/// Words that turn a task into talk of something.
const ABOUT: &[&str] = &[
    "how",
    "what",
    "whether",
    "who",
    "where",
    "when",
    "if",
    "why",
    "can",
    "should",
    "people",
    "users",
    "someone",
    "everybody",
    "they",
    "he",
    "she",
];

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

/// Words behind which "using" is what is spoken of.
const PREPOSITIONS: &[&str] = &["about", "of", "for", "on", "from", "in", "before", "after", "against", "than", "like", "and", "or"];

/// Nouns and verbs behind which "with" says something else.
const TROUBLE: &[&str] = &[
    "away",
    "written",
    "made",
    "done",
    "everyone",
    "people",
    "users",
    "customers",
    "compatibility",
    "integration",
    "problem",
    "problems",
    "bug",
    "bugs",
    "issue",
    "issues",
    "trouble",
    "wrong",
    "along",
    "together",
    "familiar",
    "button",
    "that",
    "which",
    "why",
];

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
        // "use X, a library for …" tells what X is.
        Some(_) => later(words),
        None => None,
    }
}

/// Looks behind a comma: what tells more of the name asks for nothing.
pub(super) fn explains(words: &[String]) -> Option<Doubt> {
    let explains = |word: &String| matches!(word.as_str(), "a" | "an" | "the" | "which" | "it's" | "its" | "that's" | "is");
    if words.get(1).is_some_and(explains) { Some(Doubt::Ordinary) } else { later(words) }
}

/// Looks for words further on that take a request back.
pub(super) fn later(words: &[String]) -> Option<Doubt> {
    const BACK: [&str; 31] = [
        "if",
        "unless",
        "whenever",
        "when",
        "tomorrow",
        "tonight",
        "once",
        "soon",
        "case",
        "provided",
        "until",
        "later",
        "midnight",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "next",
        "forbidden",
        "cancelled",
        "canceled",
        "kidding",
        "scratch",
        "nevermind",
        "idea",
        "dare",
        "fired",
        "quit",
    ];
    for (at, word) in words.iter().enumerate() {
        // "if possible", "if you can" are only polite.
        let is_polite =
            word == "if" && words.get(at + 1).is_some_and(|word| matches!(word.as_str(), "possible" | "you" | "needed" | "necessary"));
        let denies = matches!(word.as_str(), "not" | "never" | "no") || word.ends_with("n't");
        if denies && takes_all_back(&words[at + 1..]) {
            return Some(Doubt::Negated);
        } else if BACK.contains(&word.as_str()) && !is_polite {
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

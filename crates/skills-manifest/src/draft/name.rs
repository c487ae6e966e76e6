//! The names that a new skill may have: fewer than a skill that is there already.

use std::fmt;

use super::error::{DraftError, Repr};

const MAX_CHARACTERS: usize = 64;

/// The rule that a name breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    Empty,
    TooLong { characters: usize },
    Uppercase,
    InvalidCharacter(char),
    FirstCharacter(char),
    Hyphens,
}

/// Accepts lower-case ASCII letters, digits and single hyphens between them, a letter first, at
/// most 64 in all.
pub(super) fn check_name(name: &str) -> Result<(), DraftError> {
    match violated_rule(name) {
        None => Ok(()),
        Some(rule) => Err(Repr::Name {
            rule,
            nearest: suggest_name(name),
        }
        .into()),
    }
}

fn violated_rule(name: &str) -> Option<NameRule> {
    let Some(first) = name.chars().next() else {
        return Some(NameRule::Empty);
    };
    let characters = name.chars().count();
    if characters > MAX_CHARACTERS {
        return Some(NameRule::TooLong { characters });
    }
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match name.chars().find(|c| !is_allowed(*c)) {
        Some(c) if c.is_ascii_uppercase() => return Some(NameRule::Uppercase),
        Some(c) => return Some(NameRule::InvalidCharacter(c)),
        None => {}
    }
    if !first.is_ascii_lowercase() {
        return Some(NameRule::FirstCharacter(first));
    }
    (name.ends_with('-') || name.contains("--")).then_some(NameRule::Hyphens)
}

/// Turns what is plainly a name in another style (`Code-Reviewer`, `my_tool`, `dataAnalyzer`) into
/// the right one.
///
/// Paths, other alphabets and names that are too long are left alone: what they would become is
/// anybody's guess.
fn suggest_name(name: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    if name.len() > 2 * MAX_CHARACTERS
        || !name
            .chars()
            .all(|c| is_word(c) || matches!(c, '-' | '_' | ' ' | '.'))
    {
        return None;
    }
    let mut spread = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if before.is_ascii_lowercase() && c.is_ascii_uppercase() {
            spread.push('-');
        }
        spread.push(c.to_ascii_lowercase());
        before = c;
    }
    let words: Vec<&str> = spread
        .split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    Some(words.join("-")).filter(|name| violated_rule(name).is_none())
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty; write a few words with hyphens between them"),
            Self::TooLong { characters } => write!(
                f,
                "has {characters} characters, at most {MAX_CHARACTERS} are allowed; shorten it"
            ),
            Self::Uppercase => f.write_str("has upper-case letters; write lower case"),
            Self::InvalidCharacter(c) => write!(
                f,
                "holds {c:?}; only lower-case letters, digits and hyphens are allowed"
            ),
            Self::FirstCharacter(c) => {
                write!(f, "begins with {c:?}; begin with a lower-case letter")
            }
            Self::Hyphens => {
                f.write_str("ends with a hyphen or doubles one; put single hyphens between words")
            }
        }
    }
}

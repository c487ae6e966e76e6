//! Validates the name of a new skill, by stricter rules than those for existing skills.

use crate::invisible::escape_invisible;

const MAX_CHARACTERS: usize = 64;

/// A rule that a name violates; the `Display` form continues a sentence that starts with `name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameRule {
    #[error("is empty; use a few words with hyphens between them")]
    Empty,
    #[error("is {characters} characters, limit {MAX_CHARACTERS}; shorten it")]
    TooLong { characters: usize },
    #[error("contains uppercase letters; use lowercase")]
    Uppercase,
    #[error(
        "contains `{}`; use lowercase letters, digits and hyphens",
        escape_invisible(.0.encode_utf8(&mut [0; 4]))
    )]
    InvalidCharacter(char),
    #[error("starts with `{0}`; start with a lowercase letter")]
    FirstCharacter(char),
    #[error("ends with a hyphen or contains two in a row; use single hyphens between words")]
    Hyphens,
}

/// A violation of a rule, with a valid name that is close, if there is an obvious one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameViolation {
    pub(super) rule: NameRule,
    pub(super) nearest: Option<String>,
}

/// Checks that a name has at most 64 lowercase ASCII letters, digits and single inner hyphens, and
/// starts with a letter.
pub(super) fn check_name(name: &str) -> Result<(), NameViolation> {
    match violated_rule(name) {
        None => Ok(()),
        Some(rule) => Err(NameViolation {
            rule,
            nearest: suggest_name(name),
        }),
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

/// Returns a valid name for a name in another style, such as `Code-Reviewer`, `my_tool` or
/// `dataAnalyzer`.
///
/// Paths, other alphabets and long names have no obvious valid form, so the result is `None`.
fn suggest_name(name: &str) -> Option<String> {
    if name.len() > 2 * MAX_CHARACTERS
        || !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.'))
    {
        return None;
    }
    let mut separated = String::new();
    let mut before = ' ';
    for c in name.chars() {
        // `dataAnalyzer` has a word boundary here, `PDF` has none.
        if before.is_ascii_lowercase() && c.is_ascii_uppercase() {
            separated.push('-');
        }
        separated.push(c.to_ascii_lowercase());
        before = c;
    }
    let words: Vec<&str> = separated
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    Some(words.join("-")).filter(|name| violated_rule(name).is_none())
}

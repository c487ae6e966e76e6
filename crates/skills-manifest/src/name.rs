//! A skill's name: any text that is safe to show, and the rules of the specification it may break.

use std::fmt;

use crate::is_invisible;

/// The most characters the specification allows in a name.
const SPEC_MAX_CHARACTERS: usize = 64;
/// The most characters this crate accepts in a name.
const MAX_CHARACTERS: usize = 128;

/// The name of a skill: one visible line without path separators, at most 128 characters.
///
/// The specification allows less (see [`problems`](Self::spec_violations)); many public skills
/// break it (`tax_calculator`, `My Skill`), and they load with a warning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct SkillName(String);

impl SkillName {
    /// Accepts `text` as a name; leading and trailing white space is cut.
    ///
    /// # Errors
    /// [`NameError`] when nothing is left, when it is too long, when it names a path (`/`, `\`,
    /// `.`, `..`), when it holds `: `, or when it holds a control or invisible character.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        // Nearly all names are plain, and then one look at the bytes is enough.
        let is_plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        if !text.is_empty() && text.len() <= MAX_CHARACTERS && text.bytes().all(is_plain) {
            return Ok(Self(text.to_owned()));
        }
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let characters = text.chars().count();
        if characters > MAX_CHARACTERS {
            return Err(NameError::TooLong { characters });
        }
        if text == "." || text == ".." || text.contains(['/', '\\']) {
            return Err(NameError::LooksLikePath);
        }
        if text.contains(": ") {
            return Err(NameError::Separator);
        }
        match text.chars().find(|&c| is_invisible(c)) {
            Some(c) => Err(NameError::Invisible {
                code_point: c as u32,
            }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Lists the rules of the specification that the name breaks: 1 to 64 lower-case letters,
    /// digits and single inner hyphens.
    #[must_use]
    pub fn spec_violations(&self) -> Vec<SpecViolation> {
        let name = self.0.as_str();
        let characters = name.chars().count();
        let mut problems = Vec::new();
        if characters > SPEC_MAX_CHARACTERS {
            problems.push(SpecViolation::TooLong { characters });
        }
        if name.chars().any(char::is_uppercase) {
            problems.push(SpecViolation::Uppercase);
        }
        if let Some(c) = name.chars().find(|c| !c.is_alphanumeric() && *c != '-') {
            problems.push(SpecViolation::InvalidCharacter(c));
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            problems.push(SpecViolation::MisplacedHyphen);
        }
        problems
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SkillName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Says why a text is no [`SkillName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing but white space.
    #[error("it is empty")]
    Empty,
    /// More than 128 characters.
    #[error("it has {characters} characters, at most {MAX_CHARACTERS} are accepted")]
    TooLong {
        /// How many there are.
        characters: usize,
    },
    /// A path or a part of one.
    #[error("it looks like a path")]
    LooksLikePath,
    /// A colon and a space, which separate a name from what is said of it.
    #[error("it holds `: `, which separates a name from its description")]
    Separator,
    /// A control, bidirectional or other invisible character.
    #[error("it holds the invisible character U+{code_point:04X}")]
    Invisible {
        /// The character.
        code_point: u32,
    },
}

/// A rule of the specification that a name breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecViolation {
    /// More than 64 characters.
    TooLong {
        /// How many there are.
        characters: usize,
    },
    /// Upper-case letters.
    Uppercase,
    /// A character other than letters, digits and hyphens.
    InvalidCharacter(char),
    /// A hyphen at an end, or two in a row.
    MisplacedHyphen,
}

impl fmt::Display for SpecViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { characters } => {
                write!(
                    f,
                    "has {characters} characters, the specification allows {SPEC_MAX_CHARACTERS}"
                )
            }
            Self::Uppercase => {
                f.write_str("has upper-case letters, the specification wants lower case")
            }
            Self::InvalidCharacter(c) => write!(
                f,
                "holds {c:?}, the specification allows letters, digits and hyphens"
            ),
            Self::MisplacedHyphen => f.write_str("begins or ends with a hyphen or doubles one"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[SpecViolation], NameError>) {
        let got = SkillName::new(text).map(|name| name.spec_violations());
        assert_eq!(got.as_deref().map_err(Clone::clone), expected, "{text:?}");
    }

    #[test]
    fn accepts_what_is_safe_and_names_what_the_specification_refuses() {
        check("code-review", Ok(&[]));
        check(" padded ", Ok(&[]));
        check("日本", Ok(&[]));
        check(
            "tax_calculator",
            Ok(&[SpecViolation::InvalidCharacter('_')]),
        );
        check(
            "My Skill",
            Ok(&[
                SpecViolation::Uppercase,
                SpecViolation::InvalidCharacter(' '),
            ]),
        );
        check("-a--b", Ok(&[SpecViolation::MisplacedHyphen]));
        check(
            &"a".repeat(65),
            Ok(&[SpecViolation::TooLong { characters: 65 }]),
        );
    }

    #[test]
    fn refuses_paths_and_invisible_text() {
        check("", Err(NameError::Empty));
        check("..", Err(NameError::LooksLikePath));
        check("a/b", Err(NameError::LooksLikePath));
        check("a\\b", Err(NameError::LooksLikePath));
        check("pdf: The official one", Err(NameError::Separator));
        check("a\nb", Err(NameError::Invisible { code_point: 0x0A }));
        check(
            "a\u{202E}b",
            Err(NameError::Invisible { code_point: 0x202E }),
        );
        check(
            "a\u{E0041}b",
            Err(NameError::Invisible {
                code_point: 0xE0041,
            }),
        );
        check(
            &"a".repeat(129),
            Err(NameError::TooLong { characters: 129 }),
        );
    }
}

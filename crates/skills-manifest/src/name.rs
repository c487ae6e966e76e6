//! The name of a skill, with the rules of the specification that it may violate.

use std::fmt;

use crate::is_invisible;

/// Maximum length of a name by the specification, in characters.
const SPEC_MAX_CHARACTERS: usize = 64;
/// Maximum length of a name that this crate accepts, in characters.
const MAX_CHARACTERS: usize = 128;

/// The name of a skill: one line of visible characters without path separators, at most 128
/// characters.
///
/// The specification allows less (see [`spec_violations`](Self::spec_violations)), but many public
/// skills violate it (`tax_calculator`, `My Skill`); they load with a warning. A value of this type
/// can be printed, used in a prompt and used as one component of a path.
///
/// ```
/// use skills_manifest::{NameError, SkillName, SpecViolation};
///
/// let name = SkillName::new(" tax_calculator ")?;
/// assert_eq!(name.as_str(), "tax_calculator");
/// assert_eq!(name.spec_violations(), [SpecViolation::InvalidCharacter('_')]);
/// assert_eq!(SkillName::new("../etc"), Err(NameError::LooksLikePath));
/// # Ok::<(), NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct SkillName(String);

impl SkillName {
    /// Validates `text` as a name; leading and trailing white space is removed.
    ///
    /// # Errors
    /// [`NameError`] if nothing is left, it has more than 128 characters, it looks like a path
    /// (`/`, `\`, `.`, `..`), or it contains `: ` or a control or invisible character.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        // Nearly all names are plain ASCII; one pass over the bytes then replaces all checks below.
        if !text.is_empty() && text.len() <= MAX_CHARACTERS && text.bytes().all(is_plain_byte) {
            return Ok(Self(text.to_owned()));
        }
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        // Longer names would fill the lists of skills that models and users read.
        let characters = text.chars().count();
        if characters > MAX_CHARACTERS {
            return Err(NameError::TooLong { characters });
        }
        // Callers join names to directories, so a name must not lead out of one.
        if text == "." || text == ".." || text.contains(['/', '\\']) {
            return Err(NameError::LooksLikePath);
        }
        // Lists for models print `name: description`; a name must not forge a description.
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

    /// Returns the rules of the specification that the name violates, empty if there are none.
    ///
    /// The specification allows 1 to 64 lowercase letters, digits and single inner hyphens.
    #[must_use]
    pub fn spec_violations(&self) -> Vec<SpecViolation> {
        let name = self.0.as_str();
        let characters = name.chars().count();
        let mut violations = Vec::new();
        if characters > SPEC_MAX_CHARACTERS {
            violations.push(SpecViolation::TooLong { characters });
        }
        if name.chars().any(char::is_uppercase) {
            violations.push(SpecViolation::Uppercase);
        }
        if let Some(c) = name.chars().find(|c| !c.is_alphanumeric() && *c != '-') {
            violations.push(SpecViolation::InvalidCharacter(c));
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            violations.push(SpecViolation::MisplacedHyphen);
        }
        violations
    }
}

fn is_plain_byte(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_')
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

/// An error of [`SkillName::new`]: the text is not a usable name.
///
/// The checks run in the order of the variants, and the first violated one is returned. The
/// messages do not contain the text, which may be unsafe to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty or only white space.
    #[error("the name is empty")]
    Empty,
    /// The text has more than 128 characters.
    #[error("the name is {characters} characters, limit {MAX_CHARACTERS}")]
    TooLong {
        /// The number of characters.
        characters: usize,
    },
    /// The text is a path or contains a path separator.
    #[error("the name looks like a path")]
    LooksLikePath,
    /// The text contains a colon and a space, which separate a name from its description in lists.
    #[error("the name contains `: `, which separates a name from its description")]
    Separator,
    /// The text contains a control, bidirectional or other invisible character.
    #[error("the name contains the invisible character U+{code_point:04X}")]
    Invisible {
        /// The character, as a Unicode code point.
        code_point: u32,
    },
}

/// A rule of the specification that a name violates.
///
/// The `Display` form continues a sentence that starts with the name or the field: `contains …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecViolation {
    /// The name has more than 64 characters.
    #[error("is {characters} characters, limit {SPEC_MAX_CHARACTERS}")]
    TooLong {
        /// The number of characters.
        characters: usize,
    },
    /// The name contains uppercase letters.
    #[error("contains uppercase letters; the specification allows lowercase")]
    Uppercase,
    /// The name contains a character other than letters, digits and hyphens.
    #[error("contains `{0}`; the specification allows letters, digits and hyphens")]
    InvalidCharacter(char),
    /// The name starts or ends with a hyphen, or contains two in a row.
    #[error("starts or ends with a hyphen or contains two in a row")]
    MisplacedHyphen,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[SpecViolation], NameError>) {
        let got = SkillName::new(text).map(|name| name.spec_violations());
        assert_eq!(got.as_deref().map_err(Clone::clone), expected, "{text:?}");
    }

    #[test]
    fn safe_names_are_accepted_with_their_spec_violations() {
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
    fn paths_and_invisible_characters_are_rejected() {
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

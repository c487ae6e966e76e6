//! The names of the fields, and their spellings in published skills.

/// Maximum length of a key that is compared with the spellings of a field, in bytes.
const MAX_SPELLING_BYTES: usize = 64;

/// The fields that the specification requires.
pub(crate) const REQUIRED_FIELDS: [&str; 2] = ["name", "description"];
/// The fields that restrict a skill.
///
/// If one is present but cannot be parsed, its restriction counts as the strictest one: the skill
/// is not model-invocable and its scripts do not run.
pub(crate) const RESTRICTION_FIELDS: [&str; 6] = [
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "context",
    "hooks",
];
/// The fields that this crate parses, in the spelling of the clients that introduced them.
pub(crate) const KNOWN_FIELDS: [&str; 29] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "disallowed-tools",
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
    "homepage",
    "version",
    "command-dispatch",
    "command-tool",
    "command-arg-mode",
    "scripts",
    "emoji",
    "tags",
    "author",
];

/// Returns true if `raw` is a spelling of `field`.
///
/// Case, hyphens, underscores and surrounding white space do not matter, and `user-invokable`
/// counts too: a restriction that is only misspelled must not be lost. `tools` is not a spelling of
/// `allowed-tools`: published skills list wishes, clients or files with it.
pub(crate) fn is_spelling_of(raw: &str, field: &str) -> bool {
    Spelling::of(raw).is_some_and(|spelling| spelling.is_of(field))
}

/// The letters of a key, to compare it with several fields.
pub(crate) struct Spelling {
    letters: [u8; MAX_SPELLING_BYTES],
    count: usize,
}

impl Spelling {
    /// Returns the letters of a key that distinguish fields; `None` if it is too long for a field.
    pub(crate) fn of(raw: &str) -> Option<Self> {
        // No field has so many letters, even with a separator after each of them.
        if raw.len() > MAX_SPELLING_BYTES {
            return None;
        }
        let mut spelling = Self {
            letters: [0; MAX_SPELLING_BYTES],
            count: 0,
        };
        for (slot, letter) in spelling.letters.iter_mut().zip(letters(raw.trim())) {
            *slot = letter;
            spelling.count += 1;
        }
        Some(spelling)
    }

    /// Returns true if the key is a spelling of `field`, see [`is_spelling_of`].
    pub(crate) fn is_of(&self, field: &str) -> bool {
        let is = |name| letters(name).eq(self.letters[..self.count].iter().copied());
        is(field) || (field == "user-invocable" && is("userinvokable"))
    }
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes()
        .filter(|byte| !matches!(byte, b'-' | b'_'))
        .map(|byte| byte.to_ascii_lowercase())
}

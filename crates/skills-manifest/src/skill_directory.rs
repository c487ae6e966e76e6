//! The words by which skills name their own directory.
//!
//! | word | client |
//! |---|---|
//! | `{baseDir}` | OpenClaw |
//! | `${CLAUDE_SKILL_DIR}`, `$CLAUDE_SKILL_DIR` | Claude Code |
//!
//! In commands also `${SKILL_DIR}` and `$SKILL_DIR`, a variable of each run.

use std::borrow::Cow;

const OPENCLAW: &str = "{baseDir}";
const CLAUDE_IN_BRACES: &str = "${CLAUDE_SKILL_DIR}";
const CLAUDE: &str = "$CLAUDE_SKILL_DIR";
const OWN_IN_BRACES: &str = "${SKILL_DIR}";
const OWN: &str = "$SKILL_DIR";

/// Replaces the words for the directory of a skill by `directory`. What is inserted is not searched
/// again, and other variables stay as they are.
///
/// ```
/// use skills_manifest::expand_skill_directory;
///
/// let text = "Run `python3 {baseDir}/fill.py` or `sh ${CLAUDE_SKILL_DIR}/fill.sh $HOME`.";
/// assert_eq!(
///     expand_skill_directory(text, "/skills/pdf"),
///     "Run `python3 /skills/pdf/fill.py` or `sh /skills/pdf/fill.sh $HOME`."
/// );
/// assert_eq!(expand_skill_directory("$CLAUDE_SKILL_DIRECTORY", "/x"), "$CLAUDE_SKILL_DIRECTORY");
/// ```
#[must_use]
pub fn expand_skill_directory<'a>(text: &'a str, directory: &str) -> Cow<'a, str> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, word)) = find_word(rest) {
        expanded.push_str(before);
        expanded.push_str(directory);
        rest = &rest[before.len() + word.len()..];
    }
    if expanded.is_empty() && rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    expanded.push_str(rest);
    Cow::Owned(expanded)
}

/// Returns the text before the first word, and the word.
fn find_word(text: &str) -> Option<(&str, &'static str)> {
    text.match_indices(['{', '$']).find_map(|(start, _)| {
        let word = word_at(&text[start..])?;
        Some((&text[..start], word))
    })
}

fn word_at(text: &str) -> Option<&'static str> {
    let mut words = [OPENCLAW, CLAUDE_IN_BRACES, CLAUDE].into_iter();
    words.find(|word| starts_with_word(text, word))
}

/// Returns the word for the directory of a skill with which the text of a command starts.
///
/// ```
/// use skills_manifest::skill_directory_word;
///
/// assert_eq!(skill_directory_word("$SKILL_DIR/a.py"), Some("$SKILL_DIR"));
/// assert_eq!(skill_directory_word("$SKILL_DIRECTORY"), None);
/// ```
#[must_use]
pub fn skill_directory_word(text: &str) -> Option<&'static str> {
    let mut own = [OWN_IN_BRACES, OWN].into_iter();
    word_at(text).or_else(|| own.find(|word| starts_with_word(text, word)))
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let continues_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
    text.strip_prefix(word)
        .is_some_and(|after| word.ends_with('}') || !after.starts_with(continues_name))
}

/// Removes the word at the start of a path into the skill.
pub(crate) fn without_skill_directory(path: &str) -> &str {
    let below = word_at(path).and_then(|word| path[word.len()..].strip_prefix('/'));
    below.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_once() {
        for (text, expected) in [
            ("", ""),
            ("{baseDir}", "D"),
            ("{baseDir}{baseDir}/x", "DD/x"),
            ("\"$CLAUDE_SKILL_DIR\"/x", "\"D\"/x"),
            ("$$CLAUDE_SKILL_DIR", "$D"),
            ("${CLAUDE_SKILL_DIR:-.}", "${CLAUDE_SKILL_DIR:-.}"),
            (
                "{ baseDir } {basedir} ${baseDir}",
                "{ baseDir } {basedir} $D",
            ),
            ("$CLAUDE_SKILL_DIR_2", "$CLAUDE_SKILL_DIR_2"),
            ("ä{baseDir}ä", "äDä"),
        ] {
            assert_eq!(expand_skill_directory(text, "D"), expected, "{text}");
        }
        // What is inserted is not expanded.
        let twice = expand_skill_directory("{baseDir}", "{baseDir}/$CLAUDE_SKILL_DIR");
        assert_eq!(twice, "{baseDir}/$CLAUDE_SKILL_DIR");
    }

    #[test]
    fn a_word_is_removed_only_at_the_start() {
        for (path, expected) in [
            ("{baseDir}/a", "a"),
            ("${CLAUDE_SKILL_DIR}/a/b", "a/b"),
            ("$CLAUDE_SKILL_DIR/a", "a"),
            ("{baseDir}a", "{baseDir}a"),
            ("x/{baseDir}/a", "x/{baseDir}/a"),
        ] {
            assert_eq!(without_skill_directory(path), expected);
        }
    }
}

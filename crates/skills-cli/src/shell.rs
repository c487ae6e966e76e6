//! Text that users can copy into a shell.

/// Returns a text as one word of a POSIX shell, in single quotes if it has a pattern character;
/// `None` if it would have to be quoted for another reason, such as a space.
pub(crate) fn shell_word(text: &str) -> Option<String> {
    if is_shell_word(text) {
        return Some(text.to_owned());
    }
    let without_patterns: String = text.chars().filter(|c| !"*[]=,~".contains(*c)).collect();
    is_shell_word(&without_patterns).then(|| format!("'{text}'"))
}

/// Returns true if a text is a single word for every shell, and not an option.
pub(crate) fn is_shell_word(text: &str) -> bool {
    !text.is_empty()
        // A leading `-` would be parsed as another option.
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c))
}

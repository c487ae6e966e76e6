//! Text that users can copy into a shell.

/// Returns true if a text is a single word for every shell, and not an option.
pub(crate) fn is_shell_word(text: &str) -> bool {
    !text.is_empty()
        // A leading `-` would be parsed as another option.
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c))
}

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

/// Returns a package with its versions as one word of a shell, in quotes if need be; `None` if some
/// shell would change it.
pub(crate) fn shell_package(text: &str) -> Option<String> {
    if is_shell_word(text) {
        return Some(text.to_owned());
    }
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+<>=~^*,;[] !|".contains(c);
    let is_package = !text.starts_with('-') && text.chars().all(is_safe);
    // Bash replaces `!` in double quotes, and Windows does not support single quotes.
    let quote = if text.contains('!') { '\'' } else { '"' };
    is_package.then(|| format!("{quote}{text}{quote}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_quoted_if_a_shell_would_change_them() {
        let quoted = |text| shell_package(text);
        assert_eq!(quoted("pypdf").as_deref(), Some("pypdf"));
        assert_eq!(quoted("npm:@a/b@1").as_deref(), Some("npm:@a/b@1"));
        assert_eq!(quoted("pypdf>=4,<5").as_deref(), Some("\"pypdf>=4,<5\""));
        assert_eq!(quoted("a[b]!=1").as_deref(), Some("'a[b]!=1'"));
        assert_eq!(quoted("a; python_version < '3'"), None);
        assert_eq!(quoted("$(x)"), None);
    }
}

//! Text that users can copy into a shell.

/// Returns a text as one word of a POSIX shell, in single quotes if it has a space, a pattern
/// character or a letter that is not ASCII; `None` if it has characters that need more than quotes,
/// or that could be shown in another order.
pub(crate) fn shell_word(text: &str) -> Option<String> {
    if is_shell_word(text) {
        return Some(text.to_owned());
    }
    let is_quotable =
        |c: char| c.is_alphanumeric() && !is_right_to_left(c) || "-_.:/@+*[]=,~ ".contains(c);
    // Spaces at an end would not be seen.
    let is_word = !text.is_empty() && !text.starts_with('-') && text.trim() == text;
    (is_word && text.chars().all(is_quotable)).then(|| format!("'{text}'"))
}

/// Returns true for letters of scripts that are written from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
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
    fn words_are_quoted_if_quotes_are_enough() {
        for (text, word) in [
            ("/a/b.txt", Some("/a/b.txt")),
            ("read:/a b/ö.txt", Some("'read:/a b/ö.txt'")),
            ("/a/*", Some("'/a/*'")),
            ("a ", None),
            ("-a b", None),
            ("it's", None),
            ("$(a)", None),
            ("a\nb", None),
            ("/א/b", None),
            ("", None),
        ] {
            assert_eq!(shell_word(text).as_deref(), word, "{text}");
        }
    }

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

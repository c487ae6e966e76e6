//! Names of npm packages, and where their versions come from.

/// Splits `NAME@RANGE`; without a range every version counts.
pub(crate) fn split_version(text: &str) -> (&str, &str) {
    // The name of a scoped package begins with `@`.
    let version = text.char_indices().skip(1).find(|(_, c)| *c == '@');
    let (name, range) = match version {
        Some((index, _)) => (&text[..index], &text[index + 1..]),
        None => (text, "*"),
    };
    (name.trim(), range.trim())
}

/// Returns true for a range of versions of a registry, as distinct from `file:`, `git+https:`,
/// `workspace:`, `npm:` and `user/repository`.
pub(crate) fn is_range_of_registry(range: &str) -> bool {
    !range.contains([':', '/'])
}

/// Returns true for a name that a package of npm can have, which is neither an option nor a path.
#[must_use]
pub fn is_npm_package_name(name: &str) -> bool {
    let bare = match name.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, bare)) if is_part(scope) => bare,
            _ => return false,
        },
        None => name,
    };
    is_part(bare) && name.len() <= 214
}

fn is_part(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with(['.', '_', '-'])
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte))
}

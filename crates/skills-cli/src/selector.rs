//! Selectors of skills in options and settings.

use std::path::PathBuf;

use skills_runtime::discovery::Selector;

/// Parses a selector: a path, a pattern or a name.
pub(crate) fn parse_selector(text: &str) -> Selector {
    // First, since a pattern can contain separators too.
    if text.contains(['*', '?']) {
        Selector::Pattern(text.to_owned())
    } else if text.contains(std::path::is_separator) {
        Selector::Path(PathBuf::from(text))
    } else {
        Selector::Name(text.to_owned())
    }
}

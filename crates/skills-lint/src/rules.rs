//! The patterns of all rules.

mod agent;
mod download;
mod secret;
mod source;
mod system;

use crate::patterns::Source;

/// Returns the patterns of all rules.
pub(crate) fn sources() -> impl Iterator<Item = &'static Source> {
    [
        download::SOURCES,
        secret::SOURCES,
        agent::SOURCES,
        system::SOURCES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{compile, expand};

    #[test]
    fn all_patterns_compile_and_have_triggers() {
        for source in sources() {
            assert!(compile(&expand(source.regex)).is_some(), "{source:?}");
            assert!(
                source.triggers.split('|').all(|word| word.len() >= 2),
                "{source:?}"
            );
            assert!(
                !source.triggers.chars().any(char::is_uppercase) || source.triggers.contains('{')
            );
        }
    }
}

//! When two names are the same name.

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// A name as people say it: compatibility forms resolved, lower case, one hyphen for every run of
/// spaces, underscores and hyphens.
pub(super) fn normalize_name(name: &str) -> String {
    let mut said = String::with_capacity(name.len());
    let mut push = |c: char| {
        if matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}') || c.is_whitespace() {
            if !said.ends_with('-') {
                said.push('-');
            }
        } else {
            said.push(c);
        }
    };
    if name.is_ascii() {
        name.bytes()
            .for_each(|b| push(char::from(b.to_ascii_lowercase())));
    } else {
        name.nfkc().flat_map(char::to_lowercase).for_each(push);
    }
    said
}

/// How a name looks: names that are easily taken for each other look the same (Unicode's
/// confusables), and so does one with invisible characters in it.
pub(super) fn confusable_skeleton(name: &str) -> String {
    let visible: String = name
        .chars()
        .filter(|c| !skills_manifest::is_invisible(*c))
        .collect();
    skeleton(&normalize_name(&visible)).collect()
}

/// Whether a name would not be said by chance: it is made of several parts, or holds a digit.
pub(super) fn is_distinctive(spoken: &str) -> bool {
    let inner = spoken.trim_matches('-');
    inner.contains(['-', ':']) || inner.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name() {
        for same in [
            "code-review",
            "Code Review",
            "code_review",
            "CODE  REVIEW",
            "ｃode-review",
        ] {
            assert_eq!(normalize_name(same), "code-review");
        }
        assert_eq!(normalize_name("数据 分析"), "数据-分析");
    }

    #[test]
    fn what_looks_the_same() {
        assert_eq!(
            confusable_skeleton("\u{440}df-tools"),
            confusable_skeleton("pdf-tools")
        );
        assert_eq!(
            confusable_skeleton("pdf\u{200B}-tools"),
            confusable_skeleton("pdf-tools")
        );
        assert_eq!(
            confusable_skeleton("pdf-too1s"),
            confusable_skeleton("pdf-tools")
        );
        assert_ne!(
            confusable_skeleton("pdf-tool"),
            confusable_skeleton("pdf-tools")
        );
    }

    #[test]
    fn what_is_not_said_by_chance() {
        assert!(
            is_distinctive("pdf-tools") && is_distinctive("k8s") && is_distinctive("slack:search")
        );
        assert!(!is_distinctive("pdf") && !is_distinctive("数据分析"));
    }
}

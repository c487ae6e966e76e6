//! Normal forms under which two names are the same, or look the same.

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Returns a name in the form in which phrases are compared: NFKC, lowercase, and one hyphen for
/// each run of spaces, underscores and hyphens.
///
/// So "Code Review" in a sentence is the skill `code-review`.
pub(super) fn normalize_name(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    let mut push = |c: char| {
        if matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}') || c.is_whitespace() {
            if !normalized.ends_with('-') {
                normalized.push('-');
            }
        } else {
            normalized.push(c);
        }
    };
    // Nearly all names are ASCII and need no tables of Unicode.
    if name.is_ascii() {
        name.bytes()
            .for_each(|b| push(char::from(b.to_ascii_lowercase())));
    } else {
        name.nfkc().flat_map(char::to_lowercase).for_each(push);
    }
    normalized
}

/// Returns the skeleton of a name (UTS #39): two names with the same skeleton look alike. Invisible
/// characters are ignored.
pub(super) fn confusable_skeleton(name: &str) -> String {
    // So that a name with an invisible character looks like the one without it.
    let visible: String = name
        .chars()
        .filter(|c| !skills_manifest::is_invisible(*c))
        .collect();
    skeleton(&normalize_name(&visible)).collect()
}

/// Returns true if a normalized name is unlikely to occur by chance: it has several parts or a
/// digit.
pub(super) fn is_distinctive(normalized: &str) -> bool {
    let inner = normalized.trim_matches('-');
    inner.contains(['-', ':']) || inner.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_name_normalize_to_the_same() {
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
    fn confusable_names_have_the_same_skeleton() {
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
    fn names_with_parts_or_digits_are_distinctive() {
        assert!(
            is_distinctive("pdf-tools") && is_distinctive("k8s") && is_distinctive("slack:search")
        );
        assert!(!is_distinctive("pdf") && !is_distinctive("数据分析"));
    }
}

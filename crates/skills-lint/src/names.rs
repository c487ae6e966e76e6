//! Names that look like those of popular skills.

use unicode_security::confusable_detection::skeleton;

use crate::finding::{Finding, Severity};
use crate::rule::LOOKALIKE_NAME;
use crate::words::{POPULAR_NAMES, entries};

/// Minimum length of a popular name of which one edit makes a look-alike.
const MIN_LENGTH: usize = 7;
/// Maximum length of a name that is compared, in characters.
const MAX_LENGTH: usize = 64;

/// Returns the finding about a name, if it looks like a popular one.
pub(crate) fn finding(name: &str, path: &str, line: usize) -> Option<Finding> {
    let name: String = name.chars().take(MAX_LENGTH).collect();
    if entries(POPULAR_NAMES).any(|popular| popular == name) {
        return None;
    }
    let severity = entries(POPULAR_NAMES)
        .filter_map(|popular| likeness(&name, popular))
        .max()?;
    let popular =
        entries(POPULAR_NAMES).find(|popular| likeness(&name, popular) == Some(severity))?;
    let quote = format!("{name} (like {popular})");
    Some(Finding::new(&LOOKALIKE_NAME, severity, path, line, &quote))
}

fn likeness(name: &str, popular: &str) -> Option<Severity> {
    if !name.is_ascii() {
        let same = skeleton(name).eq(skeleton(popular));
        return same.then_some(Severity::High);
    }
    // Digits that look like letters.
    let folded = |name: &str| {
        name.replace('0', "o")
            .replace('1', "l")
            .replace('5', "s")
            .replace("rn", "m")
            .replace("vv", "w")
    };
    if folded(name) == folded(popular) {
        return Some(Severity::High);
    }
    let squeezed = |name: &str| name.replace(['-', '_', '.'], "");
    let (short, long) = (squeezed(popular), squeezed(name));
    if popular.len() < MIN_LENGTH || short == long {
        return None;
    }
    // Plurals are what other honest authors choose.
    let is_plural =
        long.strip_suffix('s') == Some(&short) || short.strip_suffix('s') == Some(&long);
    (!is_plural && is_one_edit(&long, &short)).then_some(Severity::Medium)
}

/// Returns true if one inserted, removed, replaced or swapped byte makes one text of the other.
fn is_one_edit(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    match (a, b) {
        ([_], []) | ([], [_]) | ([_], [_]) => true,
        ([x, y], [z, w]) => x == w && y == z,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severity(name: &str) -> Option<Severity> {
        finding(name, "SKILL.md", 1).map(|finding| finding.severity())
    }

    #[test]
    fn lookalikes_differ_by_one_edit_or_by_letters_that_look_alike() {
        assert_eq!(severity("skіll-creator"), Some(Severity::High));
        assert_eq!(severity("sk1ll-creator"), Some(Severity::Medium));
        assert_eq!(severity("c1awhub"), Some(Severity::High));
        assert_eq!(severity("moltb00k"), Some(Severity::High));
        for name in ["clawhubb", "clawdhbu", "skill-creater", "polymarkt"] {
            assert_eq!(severity(name), Some(Severity::Medium), "{name}");
        }
        for name in [
            "skill-creator",
            "skill-creators",
            "pdf",
            "weather-pro",
            "githubs",
            "",
        ] {
            assert_eq!(severity(name), None, "{name}");
        }
    }
}

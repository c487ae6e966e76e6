//! Counts with their nouns.

use std::fmt::Display;

/// Returns a count with its noun: `1 skill`, `2 skills`, `0 directories`. The noun is given in the
/// singular, and is of those that form the plural with `s` or `ies`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        let check = |text: String, expected: &str| assert_eq!(text, expected);
        check(counted(0_usize, "skill"), "0 skills");
        check(counted(1_u64, "skill"), "1 skill");
        check(counted(2_usize, "warning"), "2 warnings");
        check(counted(1.0, "day"), "1 day");
        check(counted(10.0, "day"), "10 days");
        check(counted(3_usize, "directory"), "3 directories");
    }
}

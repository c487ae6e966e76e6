//! Protected paths inside writable directories: files that other programs execute later.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_policy::{may_lead_to_protected, protected_paths};

/// The protected paths inside one directory.
pub(super) struct Protected {
    /// Regular expressions for whole paths, at any depth.
    pub(super) patterns: Vec<String>,
    /// Paths at the top of the directory, for names that occur in its own path and so cannot be
    /// matched by a pattern.
    pub(super) paths: Vec<PathBuf>,
}

impl Protected {
    pub(super) fn inside(directory: &Path) -> Self {
        // In lower case on both sides: APFS is case-insensitive by default.
        let own = format!("{}/", directory.to_string_lossy().to_ascii_lowercase());
        let is_above = |tail: &&str| own.contains(&format!("/{}/", tail.to_ascii_lowercase()));
        let names = protected_paths().iter().map(String::as_str);
        let (above, below): (Vec<&str>, Vec<&str>) = names.partition(is_above);
        Self {
            patterns: patterns(&below),
            paths: above.iter().map(|tail| directory.join(tail)).collect(),
        }
    }
}

/// Returns the regular expressions for these names.
fn patterns(names: &[&str]) -> Vec<String> {
    let parents: BTreeSet<&str> = names
        .iter()
        .flat_map(|tail| tail.match_indices('/').map(|(end, _)| &tail[..end]))
        .filter(|parent| !names.contains(parent))
        .filter(|parent| may_lead_to_protected(Path::new(parent), Path::new("")))
        .collect();
    // A name below a protected directory needs no pattern of its own, unless it is in a granted
    // directory.
    let is_covered = |tail: &str| {
        let parent = tail.split_once('/').map(|(parent, _)| parent);
        parent.is_some_and(|parent| names.contains(&parent))
    };
    let names = names.iter().filter(|tail| !is_covered(tail));
    // The name and everything below it, but no longer names. A wildcard names files, and a directory
    // above the granted one can match it.
    let whole = names.map(|tail| {
        let end = if tail.contains('*') { "$" } else { "(/|$)" };
        format!("/{}{end}", case_insensitive(tail))
    });
    // Renaming the parent directory away and back must not bypass the rule, nor creating it
    // elsewhere and moving it here.
    let parents = parents
        .iter()
        .map(|parent| format!("/{}$", case_insensitive(parent)));
    whole.chain(parents).collect()
}

/// Matches case-insensitively: APFS is case-insensitive by default.
pub(super) fn case_insensitive(name: &str) -> String {
    name.chars().map(case_insensitive_char).collect()
}

fn case_insensitive_char(c: char) -> String {
    match c {
        // Not escaped by a backslash, which has a meaning in strings of a profile, too.
        '.' => "[.]".to_owned(),
        '*' => "[^/]+".to_owned(),
        c if c.is_ascii_alphabetic() => {
            format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
        }
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_directory_itself_are_protected_at_its_top() {
        let protected = Protected::inside(Path::new("/Users/me/.Claude/work"));
        assert_eq!(
            protected.paths,
            [Path::new("/Users/me/.Claude/work/.claude")]
        );
        assert!(
            protected
                .patterns
                .iter()
                .all(|pattern| !pattern.starts_with("/[.][cC][lL][aA][uU][dD][eE]("))
        );
        assert!(Protected::inside(Path::new("/Users/me")).paths.is_empty());
    }

    #[test]
    fn patterns_ignore_case_and_match_whole_names() {
        let patterns = Protected::inside(Path::new("/p")).patterns;
        assert!(patterns.contains(&"/[.][gG][iI][tT](/|$)".to_owned()));
        assert!(
            patterns
                .iter()
                .all(|pattern| !pattern.starts_with("/[.][gG][iI][tT]/"))
        );
        assert_eq!(
            patterns
                .iter()
                .filter(|pattern| *pattern == "/[.][cC][oO][nN][fF][iI][gG]$")
                .count(),
            1
        );
        assert!(patterns.contains(
            &"/[^/]+[.][cC][oO][dD][eE]-[wW][oO][rR][kK][sS][pP][aA][cC][eE]$".to_owned()
        ));
        assert!(!patterns.iter().any(|pattern| {
            pattern.starts_with("/[sS][iI][tT][eE]-[pP][aA][cC][kK][aA][gG][eE][sS]$")
        }));
        let in_git = Protected::inside(Path::new("/p/.git")).patterns;
        assert!(in_git.contains(&"/[.][gG][iI][tT]/[hH][oO][oO][kK][sS](/|$)".to_owned()));
    }
}

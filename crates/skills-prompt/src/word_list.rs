//! Word lists: text files with one entry per line, in sections.
//!
//! A section begins with its name in brackets. Empty lines and lines that begin with `#` are
//! ignored. Entries keep the order of the file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The entries of a section, parsed when they are first used.
pub(crate) type Words = LazyLock<Vec<&'static str>>;

/// The entries of a section whose lines are a key and its values, separated by spaces.
pub(crate) type WordMap = LazyLock<BTreeMap<&'static str, Vec<&'static str>>>;

/// Returns the entries of a section of a word list; none if there is no such section.
pub(crate) fn section(file: &'static str, name: &str) -> Vec<&'static str> {
    lines(file)
        .skip_while(|line| section_name(line) != Some(name))
        .skip(1)
        .take_while(|line| section_name(line).is_none())
        .collect()
}

/// Returns the values of each key of a section.
pub(crate) fn section_map(
    file: &'static str,
    name: &str,
) -> BTreeMap<&'static str, Vec<&'static str>> {
    section(file, name)
        .into_iter()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.collect()))
        })
        .collect()
}

/// Returns true if a list contains a word in any case.
pub(crate) fn contains_ignore_case(list: &[&str], word: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn section_name(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// Panics unless a file has exactly the sections `names`, each with entries and without duplicates.
#[cfg(test)]
pub(crate) fn check_sections(file: &'static str, names: &[&str]) {
    let sections: Vec<&str> = lines(file).filter_map(section_name).collect();
    assert_eq!(sections, names);
    for name in names {
        let entries = section(file, name);
        let unique: std::collections::BTreeSet<&str> = entries.iter().copied().collect();
        assert!(!entries.is_empty(), "[{name}] is empty");
        assert_eq!(unique.len(), entries.len(), "[{name}] has duplicates");
    }
}

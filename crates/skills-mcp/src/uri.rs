//! The names of resources.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What skills are under.
pub(crate) const SKILLS: &str = "skill://";
/// What the files of tools are under, by the paths that tools know.
pub(crate) const FILES: &str = "skills-files:///";

/// What stands for itself in a segment.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the name of a file of a skill; without a path, of the skill's directory.
pub(crate) fn of_skill(skill: &str, path: &str) -> String {
    let segments =
        std::iter::once(skill).chain(path.split('/').filter(|segment| !segment.is_empty()));
    format!("{SKILLS}{}", encoded(segments))
}

/// Returns the name of a file that tools know by a path.
pub(crate) fn of_file(path: &str) -> String {
    format!(
        "{FILES}{}",
        encoded(path.split('/').filter(|segment| !segment.is_empty()))
    )
}

/// Reads the name of a file or directory of a skill: the skill, and the path in it, which is empty
/// for its directory.
pub(crate) fn skill(uri: &str) -> Option<(String, String)> {
    let segments = decoded(uri.strip_prefix(SKILLS)?)?;
    let (skill, path) = segments.split_first()?;
    Some((skill.clone(), path.join("/")))
}

/// Reads the name of a file of tools: the path that they know.
pub(crate) fn file(uri: &str) -> Option<String> {
    Some(decoded(uri.strip_prefix(FILES)?)?.join("/"))
}

/// Returns what a client wrote for a name, as far as it is said again.
pub(crate) fn named(uri: &str) -> &str {
    const MOST: usize = 1_000;
    uri.char_indices()
        .nth(MOST)
        .map_or(uri, |(end, _)| &uri[..end])
}

fn encoded<'a>(segments: impl Iterator<Item = &'a str>) -> String {
    segments
        .map(|segment| utf8_percent_encode(segment, PLAIN).to_string())
        .collect::<Vec<_>>()
        .join("/")
}

/// Decodes segments once. One that is empty, `.`, `..` or holds a separator is none.
fn decoded(path: &str) -> Option<Vec<String>> {
    let segment = |segment: &str| {
        let segment = percent_decode_str(segment).decode_utf8().ok()?;
        let is_plain = !segment.is_empty()
            && segment != "."
            && segment != ".."
            && !segment.contains(['/', '\\', '\0']);
        is_plain.then(|| segment.into_owned())
    };
    if path.contains(['?', '#']) {
        return None;
    }
    path.split('/').map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_went() {
        for (skill_name, path, expected) in [
            ("pdf-fill", "SKILL.md", "skill://pdf-fill/SKILL.md"),
            ("pdf-fill", "", "skill://pdf-fill"),
            (
                "a",
                "references/a b%20#?.md",
                "skill://a/references/a%20b%2520%23%3F.md",
            ),
            (
                "技能",
                "日本.txt",
                "skill://%E6%8A%80%E8%83%BD/%E6%97%A5%E6%9C%AC.txt",
            ),
        ] {
            assert_eq!(of_skill(skill_name, path), expected);
            assert_eq!(
                skill(expected),
                Some((skill_name.to_owned(), path.to_owned()))
            );
        }
        assert_eq!(
            file(&of_file("workspace/out put.csv")).as_deref(),
            Some("workspace/out put.csv")
        );
    }

    #[test]
    fn what_is_no_name_leads_nowhere() {
        for wrong in [
            "skill://",
            "skill:///SKILL.md",
            "skill://a/",
            "skill://a//b",
            "skill://a/../b",
            "skill://a/%2e%2e/b",
            "skill://a/b%2Fc",
            "skill://a/b%5Cc",
            "skill://a/b%00",
            "skill://a/%ff",
            "skill://a/b?c",
            "skill://a/b#c",
            "SKILL://a/b",
            "file:///etc/passwd",
            "skills-files:///workspace/x",
        ] {
            assert_eq!(skill(wrong), None, "{wrong}");
        }
        for wrong in [
            "skills-files:///",
            "skills-files:///workspace/../x",
            "skills-files:///workspace/%2E%2E/x",
            "skills-files://h/x",
        ] {
            assert_eq!(file(wrong), None, "{wrong}");
        }
    }
}

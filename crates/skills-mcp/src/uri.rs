//! URIs of resources.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

pub(crate) const SKILL_PREFIX: &str = "skill://";
/// Prefix of the URIs of tool files, followed by a virtual path.
pub(crate) const FILE_PREFIX: &str = "skills-files:///";

/// Characters that are not encoded in a segment.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the URI of a file of a skill; with an empty path, of the skill directory.
pub(crate) fn skill_uri(skill: &str, path: &str) -> String {
    let segments =
        std::iter::once(skill).chain(path.split('/').filter(|segment| !segment.is_empty()));
    format!("{SKILL_PREFIX}{}", encode_segments(segments))
}

/// Returns the URI of a virtual path.
pub(crate) fn file_uri(path: &str) -> String {
    format!(
        "{FILE_PREFIX}{}",
        encode_segments(path.split('/').filter(|segment| !segment.is_empty()))
    )
}

/// Parses the URI of a file or directory of a skill. Returns the name of the skill and the path in
/// it, which is empty for its directory.
pub(crate) fn parse_skill_uri(uri: &str) -> Option<(String, String)> {
    let segments = decode_segments(uri.strip_prefix(SKILL_PREFIX)?)?;
    let (skill, path) = segments.split_first()?;
    Some((skill.clone(), path.join("/")))
}

/// Parses the URI of a tool file. Returns its virtual path.
pub(crate) fn parse_file_uri(uri: &str) -> Option<String> {
    Some(decode_segments(uri.strip_prefix(FILE_PREFIX)?)?.join("/"))
}

/// Returns the data of an error about a URI, which is client input and therefore truncated.
pub(crate) fn error_data(uri: &str) -> Option<Value> {
    const MAX_CHARS: usize = 1_000;
    let end = uri.char_indices().nth(MAX_CHARS);
    let uri = end.map_or(uri, |(end, _)| &uri[..end]);
    Some(json!({"uri": uri}))
}

fn encode_segments<'a>(segments: impl Iterator<Item = &'a str>) -> String {
    segments
        .map(|segment| utf8_percent_encode(segment, UNRESERVED).to_string())
        .collect::<Vec<_>>()
        .join("/")
}

/// Decodes each segment once. Rejects segments that are empty, `.` or `..`, or contain a separator.
fn decode_segments(path: &str) -> Option<Vec<String>> {
    let segment = |segment: &str| {
        let segment = percent_decode_str(segment).decode_utf8().ok()?;
        // After decoding, since `%2e%2e` and `%2f` decode to separators.
        let is_plain = !segment.is_empty()
            && segment != "."
            && segment != ".."
            && !segment.contains(['/', '\\', '\0']);
        is_plain.then(|| segment.into_owned())
    };
    // Queries and fragments have no meaning here, and ignoring them would give a file several URIs.
    if path.contains(['?', '#']) {
        return None;
    }
    path.split('/').map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_round_trip() {
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
            assert_eq!(skill_uri(skill_name, path), expected);
            assert_eq!(
                parse_skill_uri(expected),
                Some((skill_name.to_owned(), path.to_owned()))
            );
        }
        assert_eq!(
            parse_file_uri(&file_uri("workspace/out put.csv")).as_deref(),
            Some("workspace/out put.csv")
        );
    }

    #[test]
    fn invalid_uris_are_rejected() {
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
            assert_eq!(parse_skill_uri(wrong), None, "{wrong}");
        }
        for wrong in [
            "skills-files:///",
            "skills-files:///workspace/../x",
            "skills-files:///workspace/%2E%2E/x",
            "skills-files://h/x",
        ] {
            assert_eq!(parse_file_uri(wrong), None, "{wrong}");
        }
    }
}

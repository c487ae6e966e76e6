//! Truncates a long text at a line end and describes the omitted range.

/// The default maximum of an injected text: 96 KiB, about 24,000 tokens.
///
/// That is far more than the 5,000 tokens which the specification recommends, because a skill that
/// is truncated in the middle harms a task more than a long one does.
pub const DEFAULT_MAX_INJECTION_BYTES: usize = 96 * 1024;

/// The maximum number of headings that are listed for an omitted range.
const MAX_HEADINGS: usize = 12;
/// The maximum length of one of these headings, in characters.
const MAX_HEADING_CHARACTERS: usize = 80;

/// The part of a text that was omitted because of the size limit, by its lines in the file.
///
/// A note in the injected text tells the model the same, so that it can read the lines itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OmittedRange {
    /// The first omitted line, counted from 1.
    pub first_line: usize,
    /// The last omitted line.
    pub last_line: usize,
    /// The number of omitted bytes.
    pub bytes: usize,
    /// The offset of the first omitted byte in the text without invisible characters.
    pub offset: usize,
    /// The headings in the range, without their `#`: at most twelve, of at most 80 characters.
    pub headings: Vec<String>,
}

/// Returns the lines of `text` that fit into `max_bytes`, and the omitted range.
///
/// The first line of `text` is line `first_line` of the file. If the last line break is in the
/// first half of `max_bytes`, the long line after it is truncated instead.
pub(crate) fn excerpt(
    text: &str,
    first_line: usize,
    max_bytes: usize,
) -> (&str, Option<OmittedRange>) {
    if text.len() <= max_bytes {
        return (text, None);
    }
    let end = text.floor_char_boundary(max_bytes);
    // Truncating at the line before one very long line could lose nearly everything, so at least
    // half of the limit is used.
    let end = text[..end]
        .rfind('\n')
        .map(|line_end| line_end + 1)
        .filter(|line| *line > end / 2)
        .unwrap_or(end);
    let (kept, rest) = text.split_at(end);
    let first = first_line + kept.matches('\n').count();
    let headings = omitted_headings(kept, rest)
        .take(MAX_HEADINGS)
        .map(|heading| heading.chars().take(MAX_HEADING_CHARACTERS).collect())
        .collect();
    let omitted = OmittedRange {
        first_line: first,
        // Trailing empty lines are not worth reading, so the note does not count them.
        last_line: first + rest.trim_end().matches('\n').count(),
        bytes: rest.len(),
        offset: kept.len(),
        headings,
    };
    (kept, Some(omitted))
}

/// Returns the ATX headings of `rest` outside of code blocks, which can begin in `kept`.
fn omitted_headings<'t>(kept: &str, rest: &'t str) -> impl Iterator<Item = &'t str> {
    // A `#` in an open code block is a comment of a shell or Python script, not a heading.
    let mut is_in_code = kept.lines().filter(|line| is_code_fence(line)).count() % 2 == 1;
    rest.lines().filter_map(move |line| {
        is_in_code ^= is_code_fence(line);
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        let is_heading = !is_in_code && (1..=6).contains(&level) && heading.starts_with(' ');
        Some(heading.trim()).filter(|heading| is_heading && !heading.is_empty())
    })
}

fn is_code_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_truncated_at_a_line() {
        let text = "one\ntwo\n# Three\n```\n# no heading\n```\n## Four\n";
        assert_eq!(excerpt(text, 5, 100), (text, None));
        let (kept, omitted) = excerpt(text, 5, 10);
        let omitted = omitted.unwrap();
        assert_eq!(
            (kept, omitted.first_line, omitted.last_line),
            ("one\ntwo\n", 7, 11)
        );
        assert_eq!(
            (omitted.bytes, omitted.headings),
            (text.len() - 8, vec!["Three".to_owned(), "Four".to_owned()])
        );
        assert_eq!(
            excerpt("```\nlong line\n# code\n```\n# Real", 1, 14)
                .1
                .unwrap()
                .headings,
            ["Real"]
        );
        assert_eq!(excerpt("\nxxxxxxxxxxxxxxxxxxxx", 1, 10).0, "\nxxxxxxxxx");
        // At least half of the limit is used.
        assert_eq!(excerpt("xxxx\nxxxxxxxxxxxxx", 1, 10).0, "xxxx\nxxxxx");
        assert_eq!(excerpt("xxxxx\nxxxxxxxxxxxx", 1, 10).0, "xxxxx\n");
        assert_eq!(excerpt("日本語", 1, 4).0, "日");
        assert_eq!(excerpt("日本語", 1, 0).0, "");
    }
}

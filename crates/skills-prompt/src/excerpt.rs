//! As much of a long text as is wanted, cut at a line.

/// The most bytes of a skill's text that a model is given when nobody says otherwise: 96 KiB, about
/// 24,000 tokens.
///
/// Far more than the specification recommends (5,000 tokens); a skill that is cut in the middle is
/// worse than a long one.
pub const DEFAULT_MAX_INJECTION_BYTES: usize = 96 * 1024;

/// The most headings that are named of what was left out.
const MAX_HEADINGS: usize = 12;
/// The most characters of one of them.
const MAX_HEADING_CHARACTERS: usize = 80;

/// What of a text was left out, and where it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OmittedRange {
    /// The first line, counted from 1.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
    /// How many bytes.
    pub bytes: usize,
    /// The headings in it, without their marks; at most twelve, of at most 80 characters.
    pub headings: Vec<String>,
}

/// Takes the lines of `text` that fit into `max_bytes`; its first line is line `first_line` of the
/// file.
///
/// Of a first line that is longer by itself as many characters stay as fit.
pub(crate) fn excerpt(
    text: &str,
    first_line: usize,
    max_bytes: usize,
) -> (&str, Option<OmittedRange>) {
    if text.len() <= max_bytes {
        return (text, None);
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // A line that is longer than half of what is wanted is cut itself.
    end = text[..end]
        .rfind('\n')
        .map(|line_end| line_end + 1)
        .filter(|line| *line > end / 2)
        .unwrap_or(end);
    let (kept, rest) = text.split_at(end);
    let first = first_line + kept.matches('\n').count();
    let is_in_code = kept.lines().filter(|line| is_code_fence(line)).count() % 2 == 1;
    let headings = collect_headings(rest, is_in_code)
        .take(MAX_HEADINGS)
        .map(|heading| heading.chars().take(MAX_HEADING_CHARACTERS).collect())
        .collect();
    let left_out = OmittedRange {
        first_line: first,
        last_line: first + rest.trim_end().matches('\n').count(),
        bytes: rest.len(),
        headings,
    };
    (kept, Some(left_out))
}

/// The ATX headings of a text; those in code are none.
fn collect_headings(text: &str, mut in_code: bool) -> impl Iterator<Item = &str> {
    text.lines().filter_map(move |line| {
        in_code ^= is_code_fence(line);
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        let is_heading = !in_code && (1..=6).contains(&level) && heading.starts_with(' ');
        is_heading
            .then(|| heading.trim())
            .filter(|heading| !heading.is_empty())
    })
}

fn is_code_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_at_a_line() {
        let text = "one\ntwo\n# Three\n```\n# no heading\n```\n## Four\n";
        assert_eq!(excerpt(text, 5, 100), (text, None));
        let (kept, left_out) = excerpt(text, 5, 10);
        let left_out = left_out.unwrap();
        assert_eq!(
            (kept, left_out.first_line, left_out.last_line),
            ("one\ntwo\n", 7, 11)
        );
        assert_eq!(
            (left_out.bytes, left_out.headings),
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
        // Of what is wanted more than half has to stay.
        assert_eq!(excerpt("xxxx\nxxxxxxxxxxxxx", 1, 10).0, "xxxx\nxxxxx");
        assert_eq!(excerpt("xxxxx\nxxxxxxxxxxxx", 1, 10).0, "xxxxx\n");
        assert_eq!(excerpt("日本語", 1, 4).0, "日");
        assert_eq!(excerpt("日本語", 1, 0).0, "");
    }
}

//! Line differences between two texts.

use similar::{ChangeTag, DiffTag, TextDiff};

/// Number of context lines around a change.
const CONTEXT: usize = 2;
/// Maximum length of a line that is shown in full, in characters.
const MAX_LINE_CHARS: usize = 600;
/// Number of characters shown of each end of a longer line.
const MAX_END_CHARS: usize = 250;

/// Renders a change as a unified diff. Returns an empty text if nothing changed.
pub(crate) fn render(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(CONTEXT).to_string();
    text.lines()
        .map(|line| truncate_line(line) + "\n")
        .collect()
}

/// Returns the removed and the added lines, without context lines.
pub(crate) fn changed_lines(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
    let diff = TextDiff::from_lines(before, after);
    let changes = diff
        .iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Equal);
    changes
        .map(|change| (change.tag(), change.value().to_owned()))
        .collect()
}

/// Merges the changed lines of `after` with all other bytes of `before`, so that line ends are
/// preserved. A replaced line keeps its line end; an added line gets that of the first line of
/// `before`.
pub(crate) fn merge_line_ends(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // The editors of JSON and TOML may normalize line ends, which is not a change.
    let [old_bare, new_bare] = [&old, &new].map(|lines| {
        lines
            .iter()
            .map(|line| trim_line_end(line))
            .collect::<Vec<_>>()
    });
    let usual = old.first().and_then(|line| line_end(line)).unwrap_or("\n");
    let mut text = String::new();
    for op in TextDiff::from_slices(&old_bare, &new_bare).ops() {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            text.extend(old[old_range].iter().copied());
            continue;
        }
        let mut replaced = old[old_range].iter().map(|line| line_end(line));
        for line in &new[new_range] {
            // The last line of a file can have no line end, and a line may follow it now.
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(usual);
            }
            let end = replaced.next().flatten().unwrap_or(usual);
            text.push_str(trim_line_end(line));
            text.push_str(if line.ends_with('\n') { end } else { "" });
        }
    }
    text
}

/// Returns the line end; `None` at the end of the text.
fn line_end(line: &str) -> Option<&'static str> {
    if line.ends_with("\r\n") {
        Some("\r\n")
    } else {
        line.ends_with('\n').then_some("\n")
    }
}

/// Returns a line without its line end.
fn trim_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn truncate_line(line: &str) -> String {
    let count = line.chars().count();
    if count <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let head: String = line.chars().take(MAX_END_CHARS).collect();
    let tail: String = line.chars().skip(count - MAX_END_CHARS).collect();
    format!("{head} … {} characters … {tail}", count - 2 * MAX_END_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_context_lines() {
        insta::assert_snapshot!(render("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\nY\ne\nf\n"), @"
        @@ -2,5 +2,6 @@
         b
         c
        -d
        +X
        +Y
         e
         f
        ");
        assert_eq!(render("a\nb\n", "a\nb\n"), "");
    }

    #[test]
    fn long_lines_are_truncated_in_the_middle() {
        let shown = render("", &format!("begin{}end\n", "x".repeat(10_000)));
        assert!(
            shown.contains("\n+beginx")
                && shown.ends_with("xend\n")
                && shown.contains("… 9509 characters …"),
            "{shown}"
        );
        assert!(shown.chars().count() < MAX_LINE_CHARS);
    }

    #[test]
    fn unchanged_bytes_are_preserved() {
        assert_eq!(
            merge_line_ends("a\r\nb\nc\r\n", "a\nb\nX\nc\n"),
            "a\r\nb\nX\r\nc\r\n"
        );
        assert_eq!(merge_line_ends("a\nb", "a\nb\nc\n"), "a\nb\nc\n");
        assert_eq!(merge_line_ends("a\r\nb", "a\nb\nc\n"), "a\r\nb\r\nc\r\n");
        assert_eq!(merge_line_ends("a\r\nb", "X\nb\n"), "X\r\nb");
        assert_eq!(merge_line_ends("", "a\n"), "a\n");
        assert_eq!(merge_line_ends("a\r\n", "a\n"), "a\r\n");
        assert_eq!(
            merge_line_ends("a\nb\r\nc\n", "a\nb,\nX\nc\n"),
            "a\nb,\r\nX\nc\n"
        );
    }
}

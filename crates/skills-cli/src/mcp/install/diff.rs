//! Line differences between two texts.

use std::ops::Range;

/// Number of context lines around a change.
const CONTEXT: usize = 2;
/// Maximum length of a line that is shown in full, in characters.
const MAX_LINE_CHARS: usize = 600;
/// Number of characters shown of each end of a longer line.
const MAX_END_CHARS: usize = 250;

/// Renders a change: removed lines with `-`, added lines with `+`, and context lines. Returns an
/// empty text if nothing changed.
pub(crate) fn render_diff(before: &str, after: &str) -> String {
    let (before, after) = (split_lines(before), split_lines(after));
    let (old, new) = changed_ranges(&before, &after);
    if old.is_empty() && new.is_empty() {
        return String::new();
    }
    let context = |range: Range<usize>| before[range].iter().map(|line| (' ', *line));
    let above = context(old.start.saturating_sub(CONTEXT)..old.start);
    let below = context(old.end..before.len().min(old.end + CONTEXT));
    let removed = before[old].iter().map(|line| ('-', *line));
    let added = after[new].iter().map(|line| ('+', *line));
    above
        .chain(removed)
        .chain(added)
        .chain(below)
        .map(|(sign, line)| format!("{sign} {}\n", truncate_line(trim_line_end(line))))
        .collect()
}

/// Returns the removed and the added lines, without context lines.
pub(crate) fn changed_lines<'a>(before: &'a str, after: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (before, after) = (split_lines(before), split_lines(after));
    let (old, new) = changed_ranges(&before, &after);
    (
        before[old].iter().copied().map(trim_line_end).collect(),
        after[new].iter().copied().map(trim_line_end).collect(),
    )
}

/// Merges the changed lines of `after` with all other bytes of `before`, so that line ends are
/// preserved. A replaced line keeps its line end; an added line gets that of the first line of
/// `before`.
pub(crate) fn merge_line_ends(before: &str, after: &str) -> String {
    let (old_lines, new_lines) = (split_lines(before), split_lines(after));
    let (old, new) = changed_ranges(&old_lines, &new_lines);
    let usual = old_lines
        .first()
        .and_then(|line| line_end(line))
        .unwrap_or("\n");
    let mut text: String = old_lines[..old.start].concat();
    for (index, line) in new_lines[new].iter().enumerate() {
        // The last line of a file can have no line end, and a line may follow it now.
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(usual);
        }
        let replaced = old_lines[old.clone()]
            .get(index)
            .and_then(|line| line_end(line));
        text.push_str(trim_line_end(line));
        text.push_str(if line.ends_with('\n') {
            replaced.unwrap_or(usual)
        } else {
            ""
        });
    }
    text.extend(old_lines[old.end..].iter().copied());
    text
}

/// Returns the lines that differ: those between the common prefix and the common suffix.
fn changed_ranges(before: &[&str], after: &[&str]) -> (Range<usize>, Range<usize>) {
    // The editors of JSON and TOML may normalize line ends, which is not a change.
    let same = |(a, b): &(&&str, &&str)| trim_line_end(a) == trim_line_end(b);
    let start = before.iter().zip(after).take_while(same).count();
    // The suffix is searched in the rest only: with repeated lines it could overlap the prefix.
    let (rest, new_rest) = (&before[start..], &after[start..]);
    let end = rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    (start..before.len() - end, start..after.len() - end)
}

fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
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
        insta::assert_snapshot!(render_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\nY\ne\nf\n"), @r"
          b
          c
        - d
        + X
        + Y
          e
          f
        ");
        assert_eq!(
            render_diff("a\nb\n", "a\r\nb"),
            "",
            "line ends are not a change"
        );
        assert_eq!(render_diff("", "a\n"), "+ a\n");
        assert_eq!(render_diff("a\na\n", "a\na\na\n"), "  a\n  a\n+ a\n");
    }

    #[test]
    fn long_lines_are_truncated_in_the_middle() {
        let shown = render_diff("", &format!("begin{}end\n", "x".repeat(10_000)));
        assert!(
            shown.starts_with("+ beginx")
                && shown.ends_with("xend\n")
                && shown.contains("… 9508 characters …"),
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

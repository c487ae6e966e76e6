//! What changes between two texts, line by line.

use std::ops::Range;

/// How many lines are shown around a change.
const CONTEXT: usize = 2;
/// The longest line that is shown whole, in characters.
const MAX_LINE_CHARS: usize = 600;
/// How much is shown of each end of a longer one.
const MAX_END_CHARS: usize = 250;

/// Shows the change: removed lines behind `-`, added ones behind `+`, and a few that stay. Nothing
/// changed is an empty text.
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

/// Returns the lines that are removed and those that are added, without the lines around them.
pub(crate) fn changed_lines<'a>(before: &'a str, after: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (before, after) = (split_lines(before), split_lines(after));
    let (old, new) = changed_ranges(&before, &after);
    (
        before[old].iter().copied().map(trim_line_end).collect(),
        after[new].iter().copied().map(trim_line_end).collect(),
    )
}

/// Takes from `after` what changed and from `before` all other bytes, so that line ends stay as
/// they were. A line that takes the place of another ends as that did, and one that is added as the
/// first of `before` does.
pub(crate) fn merge_line_ends(before: &str, after: &str) -> String {
    let (old_lines, new_lines) = (split_lines(before), split_lines(after));
    let (old, new) = changed_ranges(&old_lines, &new_lines);
    let usual = old_lines
        .first()
        .and_then(|line| line_end(line))
        .unwrap_or("\n");
    let mut text: String = old_lines[..old.start].concat();
    for (index, line) in new_lines[new].iter().enumerate() {
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

/// Finds the lines that differ: those between what both begin with and what both end with.
fn changed_ranges(before: &[&str], after: &[&str]) -> (Range<usize>, Range<usize>) {
    let same = |(a, b): &(&&str, &&str)| trim_line_end(a) == trim_line_end(b);
    let start = before.iter().zip(after).take_while(same).count();
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

/// The end of a line; nothing when the text ends first.
fn line_end(line: &str) -> Option<&'static str> {
    if line.ends_with("\r\n") {
        Some("\r\n")
    } else {
        line.ends_with('\n').then_some("\n")
    }
}

/// A line without its end.
fn trim_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn truncate_line(line: &str) -> String {
    let count = line.chars().count();
    if count <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let (head, tail): (String, String) = (
        line.chars().take(MAX_END_CHARS).collect(),
        line.chars().skip(count - MAX_END_CHARS).collect(),
    );
    format!("{head} … {} characters … {tail}", count - 2 * MAX_END_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stands_between_lines_that_stay() {
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
            "line ends are no change"
        );
        assert_eq!(render_diff("", "a\n"), "+ a\n");
        assert_eq!(render_diff("a\na\n", "a\na\na\n"), "  a\n  a\n+ a\n");
    }

    #[test]
    fn long_lines_are_cut_in_their_middle() {
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
    fn bytes_that_do_not_change_stay() {
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

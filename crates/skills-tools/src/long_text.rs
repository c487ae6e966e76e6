//! Texts that are longer than the client of a model shows.

use std::borrow::Cow;

use crate::run::file_lines::grouped;

/// Stands in output of a program for what was left out.
const LEFT_OUT: &str = "[... left out ...]";
/// How far a cut moves to the end of a line, in bytes.
const MAX_LINE_SEARCH: usize = 400;
/// Bytes that the line about a cut and the markers need at most.
const NOTE_BYTES: usize = 400;

/// Returns a text of at most `max_bytes`, which says at its end how much of it is missing.
pub(crate) fn cut_end(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return text.into();
    }
    let end = head_end(text, max_bytes.saturating_sub(NOTE_BYTES));
    let (shown, total) = (grouped(end as u64), grouped(text.len() as u64));
    let kept = text[..end].trim_end_matches('\n');
    format!("{kept}\n[The text has {total} bytes, of which the first {shown} are shown. Call for less to see the rest.]").into()
}

/// Returns output of a program of at most `max_bytes` with what says how much of it is missing, one
/// line; `None` if all of it fits. `printed_bytes` is what the program printed, and `path` where the rest
/// of the output can be read.
pub(crate) fn cut_output(
    output: &str,
    max_bytes: usize,
    printed_bytes: Option<u64>,
    path: Option<&str>,
) -> Option<(String, String)> {
    if output.len() <= max_bytes {
        return None;
    }
    let room = max_bytes.saturating_sub(NOTE_BYTES);
    // The end of an output has its result or its error more often than the middle.
    let head = head_end(output, room / 3 * 2);
    let tail = tail_start(output, room / 3).max(head);
    let total = grouped(printed_bytes.unwrap_or_default().max(output.len() as u64));
    let first = grouped(head as u64);
    let last = grouped((output.len() - tail) as u64);
    let rest = match path {
        Some(path) => format!("Call skills_read with path `{path}` and offset {head} to read on."),
        None => "To see all, let it write to a file of the workspace, and read that in parts."
            .to_owned(),
    };
    let note = format!(
        "Note: the program printed {total} bytes, of which the first {first} and the last {last} are shown. {rest}"
    );
    let kept = output[..head].trim_end_matches('\n');
    Some((note, format!("{kept}\n{LEFT_OUT}\n{}", &output[tail..])))
}

/// Returns where a beginning of at most `max_bytes` ends, if possible after a line.
fn head_end(text: &str, max_bytes: usize) -> usize {
    let end = text.floor_char_boundary(max_bytes);
    let start = text.floor_char_boundary(end.saturating_sub(MAX_LINE_SEARCH));
    text[start..end]
        .rfind('\n')
        .map_or(end, |line_end| start + line_end + 1)
}

/// Returns where an end of at most `max_bytes` starts, if possible with a line.
fn tail_start(text: &str, max_bytes: usize) -> usize {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    let end = text.ceil_char_boundary((start + MAX_LINE_SEARCH).min(text.len()));
    text[start..end]
        .find('\n')
        .map_or(start, |line_end| start + line_end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_is_said_with_the_sizes() {
        let line = "a line of a big file\n";
        let (note, output) = cut_output(&line.repeat(12_000), 30_000, Some(420_000), None).unwrap();
        insta::assert_snapshot!(note, @"Note: the program printed 420,000 bytes, of which the first 19,719 and the last 9,849 are shown. To see all, let it write to a file of the workspace, and read that in parts.");
        assert_eq!(output.matches(LEFT_OUT).count(), 1);
        assert!(
            output
                .lines()
                .all(|shown| shown == line.trim_end() || shown == LEFT_OUT)
        );
        assert_eq!(cut_output(line, 30_000, Some(21), None), None);
        let path = Some("/program-output/1");
        let (note, _) = cut_output(&line.repeat(12_000), 30_000, None, path).unwrap();
        insta::assert_snapshot!(note, @"Note: the program printed 252,000 bytes, of which the first 19,719 and the last 9,849 are shown. Call skills_read with path `/program-output/1` and offset 19719 to read on.");
        let cut = cut_end(&line.repeat(12_000), 1_000).into_owned();
        insta::assert_snapshot!(cut.lines().last().unwrap(), @"[The text has 252,000 bytes, of which the first 588 are shown. Call for less to see the rest.]");
    }

    proptest! {
        /// Whatever a program prints: long lines, and characters of several bytes.
        #[test]
        fn a_cut_text_fits(text in "[a-zé漢🦀\n]{0,2000}", times in 1_usize..8, max in 500_usize..4_000) {
            let text = text.repeat(times);
            prop_assert!(cut_end(&text, max).len() <= max);
            let cut = cut_output(&text, max, None, Some("/program-output/12345"));
            prop_assert_eq!(cut.is_some(), text.len() > max);
            if let Some((note, output)) = cut {
                prop_assert!(note.len() + 1 + output.len() <= max && !note.contains('\n'));
                let (head, tail) = output.split_once(LEFT_OUT).unwrap();
                prop_assert!(text.starts_with(head.trim_end_matches('\n')));
                prop_assert!(text.ends_with(tail.strip_prefix('\n').unwrap()));
            }
        }
    }
}

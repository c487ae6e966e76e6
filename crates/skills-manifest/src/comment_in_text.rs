//! Finds text of an unquoted value that YAML reads as a comment.

use crate::frontmatter::value_column;

/// A comment that ends an unquoted value.
#[derive(Debug, PartialEq)]
pub(crate) struct CommentInText<'a> {
    /// The line in the frontmatter, counted from 1.
    pub(crate) line: usize,
    /// The column of its `#` in characters, counted from 1.
    pub(crate) column: usize,
    /// The comment with its `#`.
    pub(crate) text: &'a str,
}

/// Finds the first comment after text of a top-level key; `None` if its value is quoted, a block or
/// a collection, or has no comment.
pub(crate) fn find<'a>(yaml: &'a str, key: &str) -> Option<CommentInText<'a>> {
    let mut lines = yaml.split('\n').enumerate();
    let (index, line, start) = lines.find_map(|(index, line)| {
        let column = value_column(line, key)?;
        let start = line.char_indices().nth(column - 1);
        Some((index, line, start.map_or(line.len(), |(start, _)| start)))
    })?;
    let below =
        lines.take_while(|(_, line)| line.trim().is_empty() || line.starts_with([' ', '\t']));
    let below = below.map(|(index, line)| (index, line, 0));
    let mut has_text = false;
    for (index, line, start) in std::iter::once((index, line, start)).chain(below) {
        let value = line[start..].trim();
        if value.is_empty() {
            continue;
        }
        if !has_text && value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#']) {
            return None;
        }
        has_text = true;
        if let Some(at) = comment_start(&line[start..]) {
            let (before, text) = line.split_at(start + at);
            return Some(CommentInText {
                line: index + 1,
                column: before.chars().count() + 1,
                text: text.trim_end(),
            });
        }
    }
    None
}

/// Returns the position of a `#` that is the first character or after white space, in bytes.
fn comment_start(text: &str) -> Option<usize> {
    let mut marks = text.match_indices('#').map(|(at, _)| at);
    marks.find(|at| text[..*at].ends_with([' ', '\t']) || text[..*at].is_empty())
}

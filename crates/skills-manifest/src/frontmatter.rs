//! The frontmatter of a file, and where its body begins.

use crate::position::Position;
use crate::warning::Warning;

/// The frontmatter of a file, and where its body begins.
#[derive(Debug)]
pub struct Frontmatter<'a> {
    pub(crate) yaml: &'a str,
    pub(crate) first_line: usize,
    pub(crate) body_offset: usize,
    pub(crate) body_line: usize,
    /// The first text behind it, where its end had to be guessed: it may hold more of it.
    pub(crate) trailing: String,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Frontmatter<'a> {
    /// Returns the YAML between the fences, as it stands in the file.
    #[must_use]
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns the line of the file, counted from 1, on which the YAML starts.
    #[must_use]
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// Returns the offset in bytes at which the body starts.
    #[must_use]
    pub fn body_offset(&self) -> usize {
        self.body_offset
    }

    /// Returns the line of the file, counted from 1, on which the body starts.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// Turns a place in the YAML, line and column counted from 1, into one in the file.
    pub(crate) fn file_position(&self, line: usize, column: usize) -> Position {
        Position {
            line: self.first_line + line - 1,
            column,
        }
    }

    /// Finds the value of a top-level key, or its second one, in the spelling of the file.
    pub(crate) fn position_of(&self, key: &str, nth: usize) -> Option<Position> {
        let value = |(index, line): (usize, &str)| {
            let rest = line
                .trim_start_matches(['"', '\''])
                .strip_prefix(key)?
                .trim_start_matches(['"', '\'']);
            let after = rest.trim_start().strip_prefix(':')?;
            let column = line.len() - after.trim_start().len();
            Some(
                self.file_position(
                    index + 1,
                    line.get(..column)
                        .map_or(0, |before| before.chars().count())
                        + 1,
                ),
            )
        };
        self.yaml.split('\n').enumerate().filter_map(value).nth(nth)
    }
}

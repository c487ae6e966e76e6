//! The frontmatter of a file, before its YAML is parsed.

use crate::position::Position;
use crate::warning::{Warning, WarningKind};

/// Maximum size of the frontmatter, in bytes: 64 KiB. A closing delimiter after it counts as
/// missing.
pub const MAX_FRONTMATTER_BYTES: usize = 64 * 1024;

/// Maximum size of a `SKILL.md`, in bytes: 1 MiB.
///
/// This crate does not check it; callers reject a longer file by its size before they read it.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The frontmatter of a file: its YAML, not yet parsed, and the position of the body.
///
/// It borrows from the bytes of the file. [`Manifest::from_frontmatter`](crate::Manifest) parses
/// it into fields; [`portable_fields`](Self::portable_fields) returns the fields on which all YAML
/// parsers agree.
#[derive(Debug)]
pub struct Frontmatter<'a> {
    pub(crate) yaml: &'a str,
    pub(crate) first_line: usize,
    pub(crate) body_offset: usize,
    pub(crate) body_line: usize,
    /// The first bytes after an inferred end, which may contain more fields; empty otherwise.
    pub(crate) trailing: String,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Frontmatter<'a> {
    /// Returns the YAML between the delimiters, as written.
    #[must_use]
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns the line of the file, counted from 1, on which the YAML starts.
    #[must_use]
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// Returns the offset of the body in the file, in bytes.
    #[must_use]
    pub fn body_offset(&self) -> usize {
        self.body_offset
    }

    /// Returns the line of the file, counted from 1, on which the body starts.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// Converts a position in the YAML, line and column counted from 1, into one in the file.
    pub(crate) fn file_position(&self, line: usize, column: usize) -> Position {
        Position {
            line: self.first_line + line - 1,
            column,
        }
    }

    /// Returns the frontmatter of a file without any: no fields, and all of the file as body.
    pub(crate) fn absent() -> Frontmatter<'static> {
        Frontmatter {
            // An empty text would be null and not a mapping.
            yaml: "{}",
            first_line: 1,
            body_offset: 0,
            body_line: 1,
            trailing: String::new(),
            warnings: vec![Warning::new(WarningKind::NoFrontmatter, None)],
        }
    }

    /// Returns true if the file has no frontmatter, see [`absent`](Self::absent).
    pub(crate) fn is_absent(&self) -> bool {
        self.body_offset == 0
    }

    /// Returns the rest of the line of a top-level field, as written.
    pub(crate) fn raw_value(&self, key: &str) -> Option<&'a str> {
        self.yaml.split('\n').find_map(|line| {
            let rest = line.strip_prefix(key)?.trim_start();
            rest.strip_prefix(':').map(str::trim)
        })
    }

    /// Returns the position of the value of a top-level key, in the spelling of the file.
    ///
    /// `nth` is the number of occurrences of the key before it. The search is textual and only
    /// for messages: parsed values have no positions.
    pub(crate) fn position_of(&self, key: &str, nth: usize) -> Option<Position> {
        let mut found = self
            .yaml
            .split('\n')
            .enumerate()
            .filter_map(|(index, line)| Some((index, value_column(line, key)?)));
        let (index, column) = found.nth(nth)?;
        Some(self.file_position(index + 1, column))
    }
}

/// Returns the column of the value in a line `key: value`, counted from 1; the key may be quoted.
pub(crate) fn value_column(line: &str, key: &str) -> Option<usize> {
    let rest = line
        .trim_start_matches(['"', '\''])
        .strip_prefix(key)?
        .trim_start_matches(['"', '\'']);
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let before = &line[..line.len() - value.len()];
    Some(before.chars().count() + 1)
}

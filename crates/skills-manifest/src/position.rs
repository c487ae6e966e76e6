//! Positions in a file.

/// A position in a file: line and column, both counted from 1, columns in characters.
///
/// Lines end with LF, CRLF or CR. Positions are ordered as they occur in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

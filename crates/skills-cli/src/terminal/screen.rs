//! The part of a terminal that a program may change: the lines of its run.

use anstyle_parse::{Params, Perform};
use skills_runtime::is_invisible_after;

/// What a program may do, and what is known about its lines.
///
/// The rows are counted by line ends alone. A long line can take more rows of the terminal, so the
/// cursor is at the counted row or below it, and moving up by the counted rows never leaves the
/// lines of the run. Everything that would make this wrong is dropped: absolute positions,
/// scrolling and inserted lines.
#[derive(Default)]
pub(super) struct Screen {
    output: Vec<u8>,
    /// The row of the cursor, from the one in which the run began.
    row: u32,
    /// The last row that the cursor reached.
    last_row: u32,
    /// Whether the last row has text.
    has_text: bool,
    /// Whether the cursor may be in another column than the first.
    is_moved: bool,
    /// Whether the cursor was above the last row at some time.
    has_moved_up: bool,
    /// Whether a sequence of the program changed the style at some time. Terminals differ in what
    /// resets it, so a later reset of the program is not believed.
    was_styled: bool,
    is_cursor_hidden: bool,
    /// The last character, with which a joiner combines.
    before: Option<char>,
}

impl Screen {
    /// Returns what was allowed since the last call.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        if self.was_styled {
            self.write("\x1b[0m");
        }
        if self.is_cursor_hidden {
            self.write("\x1b[?25h");
        }
        let below = self.last_row - self.row;
        if below > 0 {
            self.write(&format!("\x1b[{below}B"));
        }
        if self.is_moved {
            self.write("\r");
        }
        if self.has_text || below > 0 {
            self.write("\n");
        }
        if self.has_moved_up {
            // A line that took several rows can reach further down than the counted row.
            self.write("\x1b[J");
        }
        self.output
    }

    fn write(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }

    fn return_cursor(&mut self) {
        self.write("\r");
        self.is_moved = false;
    }

    fn line_feed(&mut self) {
        self.write("\n");
        self.row = self.row.saturating_add(1);
        if self.row > self.last_row {
            self.last_row = self.row;
            self.has_text = false;
        }
    }

    fn move_up(&mut self, rows: u16) {
        let rows = self.row.min(u32::from(rows.max(1)));
        if rows > 0 {
            self.row -= rows;
            self.has_moved_up = true;
            self.write(&format!("\x1b[{rows}A"));
        }
    }

    fn move_down(&mut self, rows: u16) {
        let rows = (self.last_row - self.row).min(u32::from(rows.max(1)));
        if rows > 0 {
            self.row += rows;
            self.write(&format!("\x1b[{rows}B"));
        }
    }

    /// Writes a command that changes the line of the cursor alone.
    fn edit_line(&mut self, count: u16, action: u8) {
        self.mark_line();
        self.write(&format!("\x1b[{}{}", count.max(1), char::from(action)));
    }

    fn mark_line(&mut self) {
        self.is_moved = true;
        // A long line above can reach into the last row, which is erased at the end then.
        self.has_text |= self.row == self.last_row;
    }

    fn erase(&mut self, part: u16, action: char) {
        let part = match part {
            0 => String::new(),
            part => part.to_string(),
        };
        self.write(&format!("\x1b[{part}{action}"));
    }

    fn set_style(&mut self, params: &Params) {
        let numbers = |param: &[u16]| {
            let numbers: Vec<String> = param.iter().map(u16::to_string).collect();
            numbers.join(":")
        };
        let text: Vec<String> = params.iter().map(numbers).collect();
        self.was_styled = true;
        self.write(&format!("\x1b[{}m", text.join(";")));
    }

    fn show_cursor(&mut self, action: u8) {
        self.is_cursor_hidden = action == b'l';
        self.write(&format!("\x1b[?25{}", char::from(action)));
    }
}

impl Perform for Screen {
    fn print(&mut self, c: char) {
        // Also the control codes of eight bits, as characters.
        let before = self.before.unwrap_or(' ');
        if is_invisible_after(before, c) {
            return;
        }
        self.before = Some(c);
        self.mark_line();
        self.output
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn execute(&mut self, byte: u8) {
        self.before = None;
        match byte {
            b'\r' => self.return_cursor(),
            b'\n' => self.line_feed(),
            b'\t' => {
                self.mark_line();
                self.write("\t");
            }
            b'\x08' => self.write("\x08"),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        self.before = None;
        let mut numbers = params.iter().filter_map(|param| param.first().copied());
        let first = numbers.next().unwrap_or(0);
        let has_more = numbers.next().is_some();
        match (intermediates, action) {
            _ if ignore => {}
            ([], b'm') => self.set_style(params),
            ([], b'A') => self.move_up(first),
            ([], b'B') => self.move_down(first),
            ([], b'E') => {
                self.return_cursor();
                self.move_down(first);
            }
            ([], b'F') => {
                self.return_cursor();
                self.move_up(first);
            }
            ([], b'C' | b'D' | b'G' | b'@' | b'P' | b'X') => self.edit_line(first, action),
            ([], b'K') if first <= 2 => self.erase(first, 'K'),
            // From the cursor on: everything below belongs to the run.
            ([], b'J') if first == 0 => self.erase(first, 'J'),
            ([b'?'], b'h' | b'l') if first == 25 && !has_more => self.show_cursor(action),
            _ => {}
        }
    }
}

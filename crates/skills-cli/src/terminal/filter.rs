//! Filters what a program prints on the terminal of the user.

use anstyle_parse::Parser;
use skills_runtime::OutputStream;

use super::screen::Screen;

/// Lets text, colors and movement within the lines of a run pass, and drops everything else: a
/// terminal would change its title or the clipboard, or answer with text that a shell reads as
/// typed.
///
/// Nothing is passed on as it was written. What was parsed is written again, so a terminal that
/// reads bytes in another way gets only [these](Screen) all the same.
#[derive(Default)]
pub(crate) struct TerminalFilter {
    streams: [StreamParser; 2],
    screen: Screen,
}

/// The state of one stream: a sequence of one must not continue with bytes of the other.
#[derive(Default)]
struct StreamParser {
    parser: Parser,
    /// The start of a character of which the rest has not come yet.
    pending: Vec<u8>,
}

impl TerminalFilter {
    /// Returns what the terminal gets for bytes of a stream.
    pub(crate) fn filter(&mut self, stream: OutputStream, bytes: &[u8]) -> Vec<u8> {
        let StreamParser { parser, pending } = &mut self.streams[stream as usize];
        pending.extend_from_slice(bytes);
        let complete = pending.len() - incomplete_bytes(pending);
        // As UTF-8, in which no byte of a character is one of the control codes of eight bits.
        let text = String::from_utf8_lossy(&pending[..complete]);
        for byte in text.bytes() {
            parser.advance(&mut self.screen, byte);
        }
        pending.drain(..complete);
        self.screen.take_output()
    }

    /// Returns what ends the lines of the program: the default colors, a visible cursor, and a new
    /// line below all of its lines if the last one is not empty. What follows is from this command,
    /// so no text of the program may be beside or below it. An unfinished sequence is dropped.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.streams = <[StreamParser; 2]>::default();
        std::mem::take(&mut self.screen).end()
    }
}

/// Returns the length of the start of a character at the end of bytes.
fn incomplete_bytes(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(invalid) {
        Err(error) if error.error_len().is_none() => invalid.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use anstyle_parse::{Params, Perform};
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: usize = 10;
    const ROWS: usize = 6;
    /// The lines before the run: messages of the command.
    const BEFORE: usize = 4;

    /// A small terminal that accepts only what a program may do, and knows which lines were there
    /// before the run. Lines that scroll out of the window stay in the list.
    struct Terminal {
        lines: Vec<Vec<char>>,
        /// The first line of the window.
        top: usize,
        line: usize,
        column: usize,
        /// Whether a line feed also returns the cursor, as it does outside of a run.
        is_cooked: bool,
        is_plain: bool,
        is_cursor_shown: bool,
    }

    impl Terminal {
        fn new() -> Self {
            let mut lines = vec!["ours".chars().collect(); BEFORE];
            lines.resize(BEFORE + ROWS, Vec::new());
            Self {
                lines,
                top: 0,
                line: BEFORE,
                column: 0,
                is_cooked: false,
                is_plain: true,
                is_cursor_shown: true,
            }
        }

        fn show(&mut self, bytes: &[u8]) {
            let mut parser = Parser::<anstyle_parse::DefaultCharAccumulator>::new();
            for byte in bytes {
                parser.advance(self, *byte);
            }
        }

        fn line_feed(&mut self) {
            self.line += 1;
            self.top = self.top.max((self.line + 1).saturating_sub(ROWS));
            let length = self.lines.len().max(self.top + ROWS);
            self.lines.resize(length, Vec::new());
        }

        fn check_before(&self) {
            let ours: Vec<char> = "ours".chars().collect();
            assert!(self.lines[..BEFORE].iter().all(|line| *line == ours));
            assert!(self.line >= BEFORE, "above the run");
        }
    }

    impl Perform for Terminal {
        fn print(&mut self, c: char) {
            assert!(!c.is_control());
            if self.column == COLUMNS {
                self.column = 0;
                self.line_feed();
            }
            let line = &mut self.lines[self.line];
            line.resize(line.len().max(self.column + 1), ' ');
            line[self.column] = c;
            self.column += 1;
            self.check_before();
        }

        fn execute(&mut self, byte: u8) {
            match byte {
                b'\r' => self.column = 0,
                b'\n' => {
                    self.line_feed();
                    if self.is_cooked {
                        self.column = 0;
                    }
                }
                b'\t' => self.column = (self.column / 8 * 8 + 8).min(COLUMNS - 1),
                8 => self.column = self.column.saturating_sub(1),
                other => panic!("control {other:#x}"),
            }
        }

        fn hook(&mut self, _: &Params, _: &[u8], _: bool, _: u8) {
            panic!("device control string");
        }

        fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
            panic!("operating system command");
        }

        fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
            panic!("escape {byte:#x}");
        }

        fn csi_dispatch(&mut self, params: &Params, between: &[u8], ignore: bool, action: u8) {
            assert!(!ignore);
            let first = params.iter().next().map_or(0, |param| param[0]);
            let count = usize::from(first.max(1));
            match (between, action) {
                // Not at `0:0`: known terminals ignore a group with a part that they do not know.
                ([], b'm') => {
                    for group in params {
                        self.is_plain = matches!(group, [] | [0]);
                    }
                }
                ([], b'A') => self.line = self.line.saturating_sub(count).max(self.top),
                ([], b'B') => self.line = (self.line + count).min(self.top + ROWS - 1),
                ([], b'C') => self.column = (self.column + count).min(COLUMNS - 1),
                ([], b'D') => self.column = self.column.saturating_sub(count),
                ([], b'G') => self.column = (count - 1).min(COLUMNS - 1),
                ([], b'@' | b'P' | b'X' | b'K') => {}
                ([], b'J') => {
                    assert_eq!(first, 0);
                    self.lines[self.line].truncate(self.column);
                    for line in &mut self.lines[self.line + 1..] {
                        line.clear();
                    }
                }
                ([b'?'], b'h' | b'l') => {
                    assert_eq!(first, 25);
                    self.is_cursor_shown = action == b'h';
                }
                other => panic!("sequence {other:?}"),
            }
            self.check_before();
        }
    }

    fn filtered(bytes: &[u8]) -> String {
        let mut filter = TerminalFilter::default();
        String::from_utf8(filter.filter(OutputStream::Stdout, bytes)).unwrap()
    }

    /// Checks what a terminal gets, however the bytes are divided into writes.
    #[track_caller]
    fn check(bytes: impl AsRef<[u8]>, expected: &str) {
        let bytes = bytes.as_ref();
        assert_eq!(filtered(bytes), expected, "{bytes:?}");
        let mut filter = TerminalFilter::default();
        let pieces = bytes.chunks(1);
        let shown = pieces.flat_map(|piece| filter.filter(OutputStream::Stdout, piece));
        assert_eq!(String::from_utf8(shown.collect()).unwrap(), expected);
    }

    #[test]
    fn text_colors_and_movement_within_lines_pass() {
        for text in [
            "plain text\r\n",
            "tab\tback\x08space",
            "caf\u{e9} \u{65e5}\u{672c} \u{1f468}\u{200d}\u{1f469}",
            "\rworking [###   ]  50%",
            "\x1b[31mred\x1b[0m",
            "\x1b[1;38;5;208m\x1b[48;2;1;2;3m\x1b[4:3mstyled",
            "abc\x1b[2K\x1b[K\x1b[1K",
            "abc\x1b[2D\x1b[1C\x1b[5G\x1b[2P\x1b[2@\x1b[2X",
            "one\r\ntwo\x1b[1A\x1b[J",
            "\x1b[?25lhidden\x1b[?25h",
        ] {
            check(text, text);
        }
        check("caf\u{e9}".as_bytes(), "caf\u{e9}");
    }

    /// What a hostile program prints, and what is left of it.
    #[test]
    fn sequences_that_control_or_ask_a_terminal_are_dropped() {
        for (bytes, expected) in [
            // Titles, working directories, links, notifications, colors of the palette, marks of
            // shells.
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]2;title\x1b\\b", "ab"),
            ("a\x1b]7;file:///etc\x07b", "ab"),
            (
                "a\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\b",
                "alinkb",
            ),
            ("a\x1b]9;notification\x07\x1b]777;notify;a;b\x07b", "ab"),
            ("a\x1b]99;;kitty\x1b\\b", "ab"),
            ("a\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x1b\\b", "ab"),
            ("a\x1b]133;A\x07\x1b]1337;File=x:AAAA\x07b", "ab"),
            ("a\x1b]50;font\x07b", "ab"),
            // The clipboard.
            ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
            ("a\x1b]52;c;?\x07b", "ab"),
            // Questions, of which the answer would be typed.
            ("a\x1b[c\x1b[>c\x1b[=c\x1b[0cb", "ab"),
            ("a\x1b[5n\x1b[6n\x1b[?6n\x1b[?15nb", "ab"),
            ("a\x05b", "ab"),
            ("a\x1bZb", "ab"),
            ("a\x1b[14t\x1b[18t\x1b[21t\x1b[22;0tb", "ab"),
            ("a\x1b[x\x1b[1xb", "ab"),
            ("a\x1b[?1$p\x1b[1$p\x1b[?u\x1b[>qb", "ab"),
            ("a\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1bP1$r0m\x1b\\b", "ab"),
            ("a\x1b[1;1;1;1;1;1*yb", "ab"),
            // Strings of other kinds.
            ("a\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\b", "ab"),
            ("a\x1bP1;1|17/0a\x1b\\b", "ab"),
            ("a\x1bPq#0;2;0;0;0~\x1b\\b", "ab"),
            ("a\x1b_Gf=24;AAAA\x1b\\b", "ab"),
            // Modes: mouse, paste, keypad, alternate screen, columns, insert, focus, wrapping.
            (
                "a\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004hb",
                "ab",
            ),
            (
                "a\x1b=\x1b>\x1b[?1049h\x1b[?47h\x1b[?3h\x1b[4h\x1b[20hb",
                "ab",
            ),
            ("a\x1b[?7l\x1b[?1;25h\x1b[?25;1000lb", "ab"),
            ("a\x1b[>4;2m\x1b[>1u\x1b[=5u\x1b[?5W\x1b[2 qb", "ab"),
            // Character sets and resets.
            ("a\x0e\x0fb\x1b(0c\x1b)B\x1b%G\x1bn\x1bo\x1b|d", "abcd"),
            ("a\x1bc\x1b[!p\x1b#8b", "ab"),
            ("a\x1b[i\x1b[5i\x1b[?4ib", "ab"),
            // Positions on the screen, scrolling, lines above.
            (
                "a\x1b[H\x1b[2J\x1b[3J\x1b[1J\x1b[5;5H\x1b[5;5f\x1b[3db",
                "ab",
            ),
            ("a\x1b[2;5r\x1b[?6h\x1b[S\x1b[5T\x1bM\x1bD\x1bEb", "ab"),
            ("a\x1b7\x1b8\x1b[s\x1b[u\x1b[L\x1b[M\x1b[2bb", "ab"),
            ("a\x1bH\x1b[g\x1b[3g\x0b\x0cb", "ab"),
            ("a\x07\x00\x7fb", "ab"),
            // Movement above the first line of the run, and below its last one.
            ("a\x1b[5A\x1b[2F\x1b[3B\x1b[4Eb", "a\r\rb"),
            ("1\n2\n\x1b[99A\x1b[99B", "1\n2\n\x1b[2A\x1b[2B"),
            ("1\n2\n\x1b[F\x1b[E", "1\n2\n\r\x1b[1A\r\x1b[1B"),
            // Sequences within others, cancelled and cut ones.
            ("a\x1b]0;x\x1b[31mb", "a\x1b[31mb"),
            ("a\x1b[3\x181mb", "a1mb"),
            ("a\x1b[31", "a"),
            ("a\x1b]52;c;never ended", "a"),
            ("a\x1b", "a"),
            ("a\x1b\x1b]0;x\x07b", "ab"),
            ("a\x1b[3\r1mb", "a\r\x1b[31mb"),
            (
                "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27;28;29;30;31;32;33;34ma",
                "a",
            ),
            ("\x1b[99999999999999999999Cx", "\x1b[65535Cx"),
            // The same with control codes of eight bits, as characters.
            ("a\u{9d}0;title\u{9c}b", "a0;titleb"),
            ("a\u{9b}6nb", "a6nb"),
            ("a\u{90}x\u{9c}\u{85}\u{8d}b", "axb"),
            // Characters that hide or reorder text.
            ("a\u{202e}b\u{2066}c\u{200b}d\u{e0041}e\u{feff}", "abcde"),
        ] {
            check(bytes, expected);
        }
        // Bytes that are not UTF-8, among them control codes of eight bits.
        check(
            b"a\x9b6n\xffb\x9d0;t\x9cc",
            "a\u{fffd}6n\u{fffd}b\u{fffd}0;t\u{fffd}c",
        );
    }

    /// The bytes of a control string are not kept.
    #[test]
    fn an_endless_sequence_takes_no_memory() {
        let mut filter = TerminalFilter::default();
        for start in ["\x1b]52;c;", "\x1bP", "\x1b_", "\x1b["] {
            assert!(
                filter
                    .filter(OutputStream::Stdout, start.as_bytes())
                    .is_empty()
            );
            for _ in 0..64 {
                assert!(
                    filter
                        .filter(OutputStream::Stdout, &[b'1'; 4_096])
                        .is_empty()
                );
            }
            filter.filter(OutputStream::Stdout, b"\x18");
        }
    }

    #[test]
    fn a_sequence_of_one_stream_does_not_continue_in_the_other() {
        let mut filter = TerminalFilter::default();
        assert!(filter.filter(OutputStream::Stdout, b"\x1b[3").is_empty());
        assert_eq!(filter.filter(OutputStream::Stderr, b"1m"), b"1m");
        assert_eq!(filter.filter(OutputStream::Stdout, b"2m"), b"\x1b[32m");
    }

    #[test]
    fn the_end_is_a_new_line_below_all_others_without_colors() {
        for (printed, end) in [
            ("", ""),
            ("line\r\n", ""),
            // A terminal in its usual modes returns the cursor anyway.
            ("line\n", "\r"),
            ("part", "\r\n"),
            ("\x1b[31mred", "\x1b[0m\r\n"),
            ("\x1b[31mred\x1b[0m\r\n", "\x1b[0m"),
            ("\x1b[8m\x1b[0:0mhidden\r\n", "\x1b[0m"),
            ("\x1b[8m\x1b[:mhidden\r\n", "\x1b[0m"),
            ("\x1b[8m\x1b[0;0:1mhidden\r\n", "\x1b[0m"),
            ("\x1b[?25l\r\n", "\x1b[?25h"),
            ("\x1b[8m\x1b[?25lerror: forged", "\x1b[0m\x1b[?25h\r\n"),
            ("1\r\n2\r\n3\r\n\x1b[3A", "\x1b[3B\n\x1b[J"),
            ("1\r\n2\r\n\x1b[2Ax\x1b[2B", "\r\x1b[J"),
            ("text\x1b]0;title", "\r\n"),
            ("text\r", "\n"),
        ] {
            let mut filter = TerminalFilter::default();
            filter.filter(OutputStream::Stdout, printed.as_bytes());
            assert_eq!(String::from_utf8(filter.end()).unwrap(), end, "{printed:?}");
            assert!(filter.end().is_empty());
        }
    }

    /// Pieces of sequences, so that random bytes form some.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => any::<u8>().prop_map(|byte| vec![byte]),
            2 => "[a-z]{1,12}".prop_map(String::into_bytes),
            2 => Just(b"\r\n".to_vec()),
            2 => Just(b"\n".to_vec()),
            6 => "\x1b\\[[?>=]?[0-9;:]{0,4}[ $!]?[@-~]".prop_map(String::into_bytes),
            1 => "\x1b\\[[08;:]{0,4}m".prop_map(String::into_bytes),
            1 => "\x1b[@-~]".prop_map(String::into_bytes),
            1 => "\x1b[\\]P_X^][0-9;a-z]{0,6}(\x07|\x1b\\\\)?".prop_map(String::into_bytes),
            1 => "[\u{80}-\u{9f}\u{202a}-\u{202e}\u{4e00}]".prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    /// Shows output that a filter gets in pieces, and its end.
    fn shown(bytes: &[u8], size: usize) -> Terminal {
        let mut filter = TerminalFilter::default();
        let mut terminal = Terminal::new();
        for (index, piece) in bytes.chunks(size).enumerate() {
            let stream = [OutputStream::Stdout, OutputStream::Stderr][index / 3 % 2];
            terminal.show(&filter.filter(stream, piece));
        }
        terminal.is_cooked = true;
        terminal.show(&filter.end());
        terminal
    }

    #[test]
    fn a_group_with_parts_is_not_believed_to_reset_the_style() {
        for bytes in ["\x1b[8m\x1b[0:0m", "\x1b[8m\x1b[:m", "\x1b[8m\x1b[0:0;0:0m"] {
            assert!(shown(bytes.as_bytes(), 64).is_plain, "{bytes:?}");
        }
    }

    proptest! {
        /// What a terminal gets has only allowed actions, never touches what was there before the
        /// run, and ends with an empty line below everything.
        #[test]
        fn any_output_stays_within_the_lines_of_its_run(
            bytes in hostile(),
            size in 1_usize..20,
        ) {
            let terminal = shown(&bytes, size);
            prop_assert!(terminal.is_plain && terminal.is_cursor_shown);
            prop_assert_eq!(terminal.column, 0);
            let below = &terminal.lines[terminal.line..];
            prop_assert!(below.iter().all(|line| line.iter().all(|c| *c == ' ')), "{below:?}");
        }
    }
}

//! Lines of shell scripts, without comments and texts.

use crate::text;

/// Maximum length of a line that is inspected, in bytes, so that long ones stay cheap.
const MAX_LINE_BYTES: usize = 2000;
/// Number of lines in which the end of a loop is searched.
const MAX_LOOP_LINES: usize = 200;
/// Functions whose body reads the words of the script, since they are called with all of them.
const ENTRY_FUNCTIONS: [&str; 4] = ["main", "parse_args", "parse_arguments", "parse_options"];

/// Words of the shell before which a word is a command.
const BEFORE_COMMAND: [&str; 9] = [
    "then", "do", "else", "while", "if", "elif", "until", "!", "exec",
];

/// The lines of a script that are code.
#[derive(Default)]
pub(crate) struct ShellLines<'a> {
    lines: Vec<CodeLine<'a>>,
    has_entry_function: bool,
}

struct CodeLine<'a> {
    number: usize,
    text: &'a str,
    /// Whether `$1` is a word of the script here, not an argument of a function.
    is_top_level: bool,
}

#[derive(Default)]
struct Reader<'a> {
    found: ShellLines<'a>,
    /// The line that ends the current text.
    heredoc_end: Option<&'a str>,
    /// The indentation of the current function.
    function_indent: Option<usize>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, number: usize, text: &'a str) {
        if let Some(end) = self.heredoc_end {
            self.heredoc_end = Some(end).filter(|end| text.trim() != *end);
            return;
        }
        let code = text.trim_start();
        if code.is_empty() || code.starts_with('#') {
            return;
        }
        self.heredoc_end = heredoc_delimiter(text);
        match (self.function_indent, function_name(code)) {
            (Some(start), _) if indent(text) == start && code.starts_with('}') => {
                self.function_indent = None;
            }
            (None, Some(name)) => self.start_function(name, number, text),
            (function, _) => self.found.lines.push(CodeLine {
                number,
                text,
                is_top_level: function.is_none(),
            }),
        }
    }

    fn start_function(&mut self, name: &str, number: usize, text: &'a str) {
        if ENTRY_FUNCTIONS.contains(&name) {
            self.found.has_entry_function = true;
            return;
        }
        if !text.trim_end().ends_with('}') {
            self.function_indent = Some(indent(text));
        }
        self.found.lines.push(CodeLine {
            number,
            text,
            is_top_level: false,
        });
    }
}

impl<'a> ShellLines<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        let mut reader = Reader::default();
        for (number, line) in source.lines().enumerate() {
            reader.read(number, text::start(line, MAX_LINE_BYTES));
        }
        reader.found
    }

    /// Returns true if a function gets all words.
    pub(crate) fn has_entry_function(&self) -> bool {
        self.has_entry_function
    }

    /// Returns the lines with their numbers.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.lines.iter().map(|line| (line.number, line.text))
    }

    /// Returns the lines that are not in a function, except one that gets all words.
    pub(crate) fn top_level(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.lines
            .iter()
            .filter(|line| line.is_top_level)
            .map(|line| (line.number, line.text))
    }

    /// Returns true if the script reads standard input.
    pub(super) fn reads_stdin(&self) -> bool {
        self.lines.iter().enumerate().any(|(index, line)| {
            let is_read = line.is_top_level && has_command(line.text, "read");
            reads_stdin_alone(line.text) || is_read && !self.is_redirected(index)
        })
    }

    /// Returns true if a `read` gets its input from elsewhere: a pipe, a file, a text or the
    /// terminal.
    fn is_redirected(&self, index: usize) -> bool {
        let line = self.lines[index].text;
        let before = line.split("read").next().unwrap_or_default();
        let previous = index
            .checked_sub(1)
            .map_or("", |index| self.lines[index].text);
        before.contains('|')
            || previous.trim_end().ends_with('|')
            || line.contains('<')
            || has_command(line, "while") && self.loop_end(index).contains('<')
    }

    fn loop_end(&self, index: usize) -> &'a str {
        let start = indent(self.lines[index].text);
        let mut lines = self.lines[index..].iter().take(MAX_LOOP_LINES);
        lines
            .find(|line| indent(line.text) == start && line.text.trim_start().starts_with("done"))
            .map_or("", |line| line.text)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns true if a line reads standard input by a command other than `read`.
fn reads_stdin_alone(line: &str) -> bool {
    line.contains("/dev/stdin")
        || line.contains("$(cat)")
        || line.contains("`cat`")
        || line.trim() == "cat"
        || has_command(line, "cat") && has_stdin_operand(line)
}

/// Returns true for `cat -`, but not for `cat -n` and `cat --`.
fn has_stdin_operand(line: &str) -> bool {
    let operand = line.split("cat -").nth(1);
    operand.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        && !line.contains("cat --")
}

/// Returns true if a line contains a word as a command.
pub(super) fn has_command(line: &str, command: &str) -> bool {
    line.match_indices(command)
        .any(|(at, _)| is_command_at(line, at, command))
}

/// Returns true if the word at a position of a line is a command, and not an argument.
pub(super) fn is_command_at(line: &str, at: usize, command: &str) -> bool {
    let is_whole = !line[at + command.len()..].starts_with(continues_word);
    is_whole && starts_command(&line[..at])
}

fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=' | '"' | '\'')
}

fn starts_command(before: &str) -> bool {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | '`');
    if !before.is_empty() && !before.ends_with(is_separator) {
        return false;
    }
    let mut words = before
        .trim_end()
        .rsplit([' ', '\t', ';', '|', '&', '(', '{', '`']);
    words.next().is_none_or(|last| {
        last.is_empty() || last.ends_with(['=', ')']) || BEFORE_COMMAND.contains(&last)
    })
}

/// Returns the line that ends a text which starts in this line.
fn heredoc_delimiter(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("<<")?;
    // `<<<` is a text of one line, and `1 << 2` a shift.
    if rest.starts_with('<') {
        return None;
    }
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let (delimiter, _) = split_word(rest.trim_start_matches(['"', '\'', '\\']), &['_']);
    let is_delimiter =
        !delimiter.is_empty() && !delimiter.starts_with(|c: char| c.is_ascii_digit());
    is_delimiter.then_some(delimiter)
}

/// Splits the letters and digits, and these other characters, at the start from the rest.
pub(super) fn split_word<'a>(text: &'a str, others: &[char]) -> (&'a str, &'a str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !others.contains(&c));
    text.split_at(end.unwrap_or(text.len()))
}

pub(crate) fn is_variable(text: &str) -> bool {
    let (word, rest) = split_word(text, &['_']);
    !word.is_empty() && rest.is_empty()
}

/// Returns true if a line starts the definition of a function.
pub(crate) fn is_function_start(line: &str) -> bool {
    function_name(line.trim_start()).is_some()
}

/// Returns the name of the function whose definition a line starts.
fn function_name(line: &str) -> Option<&str> {
    let keyword = line.strip_prefix("function ");
    let (name, rest) = split_word(keyword.map_or(line, str::trim_start), &['_', '-', ':']);
    let rest = rest.trim_start();
    let has_parameters = rest.starts_with("()") || rest.starts_with("( )");
    let is_function = has_parameters || keyword.is_some() && rest.starts_with('{');
    (!name.is_empty() && is_function).then_some(name)
}

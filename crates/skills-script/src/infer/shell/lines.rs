//! Lines of shell scripts, without comments and texts.

/// Maximum length of a line that is inspected, in bytes, so that long ones stay cheap.
const MAX_LINE_BYTES: usize = 2000;
/// Number of lines in which the end of a loop is searched.
const MAX_LOOP_LINES: usize = 200;
/// Functions whose body reads the words of the script, since they are called with all of them.
const ENTRY_FUNCTIONS: [&str; 4] = ["main", "parse_args", "parse_arguments", "parse_options"];

/// The lines of a script that are code.
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

impl<'a> ShellLines<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut has_entry_function = false;
        let mut heredoc_end: Option<&str> = None;
        let mut function_indent: Option<usize> = None;
        for (number, line) in source.lines().enumerate() {
            let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
            if let Some(end) = heredoc_end {
                if line.trim() == end {
                    heredoc_end = None;
                }
                continue;
            }
            let trimmed = line.trim_start();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            heredoc_end = heredoc_delimiter(line);
            let indent = line.len() - trimmed.len();
            let was_in_function = function_indent.is_some();
            match function_indent {
                Some(start) if indent == start && trimmed.starts_with('}') => {
                    function_indent = None;
                    continue;
                }
                None => {
                    if let Some(name) = function_name(trimmed) {
                        let is_entry = ENTRY_FUNCTIONS.contains(&name);
                        has_entry_function |= is_entry;
                        let is_one_line = trimmed.trim_end().ends_with('}');
                        if !is_entry && !is_one_line {
                            function_indent = Some(indent);
                        }
                        if !is_entry {
                            lines.push(CodeLine {
                                number,
                                text: line,
                                is_top_level: false,
                            });
                        }
                        continue;
                    }
                }
                Some(_) => {}
            }
            lines.push(CodeLine {
                number,
                text: line,
                is_top_level: !was_in_function,
            });
        }
        Self {
            lines,
            has_entry_function,
        }
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
        let mut previous = "";
        for (index, line) in self.lines.iter().enumerate() {
            if reads_stdin_alone(line.text)
                || has_command(line.text, "read")
                    && !self.is_redirected(index, previous)
                    && line.is_top_level
            {
                return true;
            }
            previous = line.text;
        }
        false
    }

    /// Returns true if a `read` gets its input from elsewhere: a pipe, a file, a text or the
    /// terminal.
    fn is_redirected(&self, index: usize, previous: &str) -> bool {
        let line = self.lines[index].text;
        let before = line.split("read").next().unwrap_or_default();
        if before.contains('|') || previous.trim_end().ends_with('|') || line.contains('<') {
            return true;
        }
        if !has_command(line, "while") {
            return false;
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let end = self.lines[index..]
            .iter()
            .take(MAX_LOOP_LINES)
            .find(|other| {
                indent(other.text) == indent(line) && other.text.trim_start().starts_with("done")
            })
            .map_or("", |line| line.text);
        end.contains('<') || line.contains("done <")
    }
}

/// Returns true if a line reads standard input by a command other than `read`.
fn reads_stdin_alone(line: &str) -> bool {
    line.contains("/dev/stdin")
        || line.contains("$(cat)")
        || line.contains("`cat`")
        || line.trim() == "cat"
        || (has_command(line, "cat") && line.contains("cat -") && !line.contains("cat --"))
            && line
                .split("cat -")
                .nth(1)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Returns true if a line contains a word as a command.
pub(super) fn has_command(line: &str, command: &str) -> bool {
    line.match_indices(command)
        .any(|(at, _)| is_command_at(line, at, command))
}

/// Returns true if the word at a position of a line is a command, and not an argument.
pub(super) fn is_command_at(line: &str, at: usize, command: &str) -> bool {
    let after = line[at + command.len()..].chars().next();
    let is_whole = after.is_none_or(|c| {
        !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=' | '"' | '\''))
    });
    let before = &line[..at];
    let is_separated = before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | '`'));
    let last_word = before
        .trim_end()
        .rsplit([' ', '\t', ';', '|', '&', '(', '{', '`'])
        .next()
        .unwrap_or_default();
    let is_start = last_word.is_empty()
        || last_word.ends_with(['=', ')'])
        || matches!(
            last_word,
            "then" | "do" | "else" | "while" | "if" | "elif" | "until" | "!" | "exec"
        );
    is_whole && is_separated && is_start
}

/// Returns the line that ends a text which starts in this line.
fn heredoc_delimiter(line: &str) -> Option<&str> {
    let at = line.find("<<")?;
    let rest = &line[at + 2..];
    // `<<<` is a text of one line, and `1 << 2` a shift.
    if rest.starts_with('<') {
        return None;
    }
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let rest = rest.trim_start_matches(['"', '\'', '\\']);
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    let delimiter = &rest[..end];
    (!delimiter.is_empty() && !delimiter.starts_with(|c: char| c.is_ascii_digit()))
        .then_some(delimiter)
}

/// Returns true if a line starts the definition of a function.
pub(crate) fn is_function_start(line: &str) -> bool {
    function_name(line.trim_start()).is_some()
}

/// Returns the name of the function whose definition a line starts.
fn function_name(line: &str) -> Option<&str> {
    let (line, has_keyword) = match line.strip_prefix("function ") {
        Some(rest) => (rest.trim_start(), true),
        None => (line, false),
    };
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':')))
        .unwrap_or(line.len());
    let rest = line[end..].trim_start();
    let is_function =
        rest.starts_with("()") || rest.starts_with("( )") || has_keyword && rest.starts_with('{');
    (end > 0 && is_function).then(|| &line[..end])
}

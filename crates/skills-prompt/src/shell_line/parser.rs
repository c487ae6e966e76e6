//! The parser of lines.

use super::{LineCommand, LineOutput, LineStep, LineWord, RunIf, ShellLine, WordPart};
use crate::shell_lexer::{is_assignment, is_environment_variable};

/// Maximum number of `for` and `$(…)` in each other.
const MAX_DEPTH: usize = 4;
/// Words that begin a construct of a shell, or that a shell executes itself with an effect on it.
const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "[[", "{", "}", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "coproc", "declare", "do", "done", "elif", "else", "esac", "eval", "exec", "exit",
    "export", "fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "let", "local",
    "popd", "pushd", "read", "readonly", "return", "select", "set", "shift", "shopt", "source",
    "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
    "until", "wait", "while",
];

pub(super) struct Parser<'a> {
    rest: &'a str,
    /// The variables of the `for` around.
    names: Vec<String>,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text.trim(),
            names: Vec::new(),
            depth: 0,
        }
    }

    /// Parses the whole text.
    pub(super) fn parse(mut self) -> Option<ShellLine> {
        let line = self.parse_line()?;
        self.rest.is_empty().then_some(line)
    }

    /// Parses steps up to the end, a `)` or the word `done`.
    fn parse_line(&mut self) -> Option<ShellLine> {
        let mut steps = Vec::new();
        let mut run_if = RunIf::Always;
        loop {
            self.skip_blank();
            steps.push((run_if, self.parse_step()?));
            self.skip_space();
            run_if = if self.take("&&") {
                self.skip_blank();
                RunIf::Success
            } else if self.take("||") {
                self.skip_blank();
                RunIf::Failure
            } else if self.take(";") || self.take("\n") {
                self.skip_blank();
                if self.is_at_end() {
                    return Some(ShellLine { steps });
                }
                RunIf::Always
            } else if self.is_at_end() {
                return Some(ShellLine { steps });
            } else {
                return None;
            };
        }
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(')') || self.peek_name() == "done"
    }

    fn parse_step(&mut self) -> Option<LineStep> {
        if self.peek_name() == "for" {
            return self.nested(Self::parse_for);
        }
        if self.peek_name() == "cd" {
            self.rest = &self.rest[2..];
            let mut command = self.parse_command()?;
            let is_plain = command.words.len() == 1 && command.has_no_redirection();
            let word = command.words.pop().filter(|_| is_plain)?;
            let is_path = word
                .parts
                .iter()
                .all(|part| !matches!(part, WordPart::Pattern(_)));
            let is_option = word.literal().is_some_and(|text| text.starts_with('-'));
            self.skip_space();
            let is_piped = self.rest.starts_with('|') && !self.rest.starts_with("||");
            return (is_path && !is_option && !is_piped).then_some(LineStep::ChangeDirectory(word));
        }
        let mut commands = Vec::new();
        loop {
            let command = self.parse_command()?;
            commands.push(command.with_program()?);
            self.skip_space();
            if self.rest.starts_with("||") || !self.take("|") {
                return Some(LineStep::Pipeline(commands));
            }
            if self.rest.starts_with('&') {
                return None;
            }
            self.skip_blank();
        }
    }

    fn parse_for(&mut self) -> Option<LineStep> {
        self.take_word("for")?;
        self.skip_space();
        let name = self.peek_name().to_owned();
        let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        // A shell has one variable of a name, and programs get some from it.
        let is_taken = self.names.contains(&name) || is_environment_variable(&name);
        if is_taken || !is_name || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        self.take_word(&name)?;
        self.take_word("in")?;
        let mut values = Vec::new();
        while let Some(word) = self.parse_word()? {
            values.push(word);
        }
        self.skip_space();
        if !self.take(";") && !self.take("\n") {
            return None;
        }
        self.skip_blank();
        self.take_word("do")?;
        self.names.push(name.clone());
        let body = self.parse_line()?;
        self.names.pop();
        self.take_word("done")?;
        Some(LineStep::For { name, values, body })
    }

    fn nested<T>(&mut self, parse: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let parsed = if self.depth > MAX_DEPTH {
            None
        } else {
            parse(self)
        };
        self.depth -= 1;
        parsed
    }

    fn parse_command(&mut self) -> Option<LineCommand> {
        let mut command = LineCommand::default();
        loop {
            self.skip_space();
            if self.parse_redirection(&mut command)? {
                continue;
            }
            match self.parse_word()? {
                Some(word) => command.words.push(word),
                None if command.words.is_empty() => return None,
                None => return Some(command),
            }
        }
    }

    /// Parses a redirection, if there is one.
    fn parse_redirection(&mut self, command: &mut LineCommand) -> Option<bool> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = self.rest.split_at(digits);
        if !after.starts_with(['<', '>']) {
            return Some(false);
        }
        let is_input = after.starts_with('<');
        let descriptor = match (number, is_input) {
            ("" | "0", true) => 0,
            ("" | "1", false) => 1,
            ("2", false) => 2,
            _ => return None,
        };
        self.rest = &after[1..];
        if descriptor == 0 {
            let path = self.parse_target()?;
            // A second one replaces the first, which a shell opens nevertheless.
            return command.input.replace(path).is_none().then_some(true);
        }
        let append = self.take(">");
        let output = if !append && self.take("&") {
            let is_other = match descriptor {
                1 => self.take("2"),
                _ => self.take("1"),
            };
            is_other.then_some(LineOutput::Other)?
        } else {
            match self.parse_target()? {
                path if path == "/dev/null" => LineOutput::Null,
                path => LineOutput::File { path, append },
            }
        };
        if self.rest.starts_with(|c: char| !" \t\n;|&)".contains(c)) {
            return None;
        }
        command.redirect(descriptor, output).then_some(true)
    }

    /// Parses the file of a redirection, which has no expansion.
    fn parse_target(&mut self) -> Option<String> {
        // `>>`, `<<`, `>&`, `>|`, `<>` and `<(` are others.
        if self.rest.starts_with(['<', '>', '&', '|', '(']) {
            return None;
        }
        self.skip_space();
        let path = self.parse_word()??.literal()?;
        (!path.is_empty()).then_some(path)
    }

    /// Parses a word; `None` inside if there is none before the next operator.
    fn parse_word(&mut self) -> Option<Option<LineWord>> {
        self.skip_space();
        let mut word = WordBuilder::default();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Some(word.finish());
            };
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | ')' => return Some(word.finish()),
                '&' if self.rest.starts_with("&&") => return Some(word.finish()),
                // A number before it would be a descriptor, which is examined before words.
                '<' | '>' if !word.is_number() => return Some(word.finish()),
                '\'' => {
                    let (text, rest) = self.rest[1..].split_once('\'')?;
                    self.rest = rest;
                    word.push_text(text);
                }
                '"' => self.parse_quoted(&mut word)?,
                '\\' => {
                    self.rest = &self.rest[1..];
                    let escaped = self.rest.chars().next()?;
                    self.rest = &self.rest[escaped.len_utf8()..];
                    if escaped != '\n' {
                        word.push_text(escaped.encode_utf8(&mut [0; 4]));
                    }
                }
                '$' => word.push(self.parse_expansion(false)?),
                '*' | '?' => {
                    self.rest = &self.rest[1..];
                    word.push_pattern(c);
                }
                '{' if self.rest.starts_with("{}") => {
                    self.rest = &self.rest[2..];
                    word.push_text("{}");
                }
                '#' | '~' if !word.is_started() => return None,
                // A tilde can expand after these, and a bracket begins a pattern.
                '~' if word.ends_with(['=', ':']) => return None,
                '[' | ']' if !self.is_test_bracket(&word) => return None,
                '&' | '<' | '>' | '(' | '`' | '{' | '}' => return None,
                c if c.is_control() => return None,
                c => {
                    self.rest = &self.rest[c.len_utf8()..];
                    word.push_text(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Returns true for a `[` or `]` that is a word of its own.
    fn is_test_bracket(&self, word: &WordBuilder) -> bool {
        !word.is_started()
            && self.rest[1..]
                .chars()
                .next()
                .is_none_or(|c| " \t\n;|&)".contains(c))
    }

    fn parse_quoted(&mut self, word: &mut WordBuilder) -> Option<()> {
        self.rest = &self.rest[1..];
        word.push_text("");
        loop {
            let end = self.rest.find(['"', '\\', '$', '`'])?;
            let (text, rest) = self.rest.split_at(end);
            word.push_text(text);
            self.rest = rest;
            match rest.as_bytes()[0] {
                b'"' => {
                    self.rest = &rest[1..];
                    return Some(());
                }
                b'$' => word.push(self.parse_expansion(true)?),
                b'\\' => {
                    let escaped = rest[1..].chars().next()?;
                    self.rest = &rest[1 + escaped.len_utf8()..];
                    match escaped {
                        '\n' => {}
                        '"' | '\\' | '$' | '`' => word.push_text(escaped.encode_utf8(&mut [0; 4])),
                        _ => word.push_text(&rest[..1 + escaped.len_utf8()]),
                    }
                }
                _ => return None,
            }
        }
    }

    fn parse_expansion(&mut self, is_quoted: bool) -> Option<WordPart> {
        self.rest = &self.rest[1..];
        if self.rest.starts_with("((") {
            return None;
        }
        if self.take("(") {
            let line = self.nested(Self::parse_line)?;
            self.skip_space();
            return self
                .take(")")
                .then_some(WordPart::Output { line, is_quoted });
        }
        let is_braced = self.take("{");
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        // Others have values that a shell knows.
        let name = self.names.iter().find(|known| *known == name)?.clone();
        self.rest = rest;
        if is_braced && !self.take("}") {
            return None;
        }
        Some(WordPart::Variable { name, is_quoted })
    }

    /// Returns the unquoted letters that follow, up to a space or an operator.
    fn peek_name(&self) -> &str {
        let end = self
            .rest
            .find([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>']);
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    fn take_word(&mut self, word: &str) -> Option<()> {
        self.skip_space();
        if self.peek_name() != word {
            return None;
        }
        self.rest = &self.rest[word.len()..];
        Some(())
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        while let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest.trim_start_matches([' ', '\t']);
        }
    }

    fn skip_blank(&mut self) {
        self.skip_space();
        while self.take("\n") {
            self.skip_space();
        }
    }
}

impl LineCommand {
    fn has_no_redirection(&self) -> bool {
        let outputs = [&self.stdout, &self.stderr];
        self.input.is_none() && outputs.iter().all(|one| **one == LineOutput::Inherited)
    }

    /// Redirects a stream; false for what the types cannot express.
    fn redirect(&mut self, descriptor: u8, output: LineOutput) -> bool {
        let (stream, other) = match descriptor {
            1 => (&mut self.stdout, &self.stderr),
            _ => (&mut self.stderr, &self.stdout),
        };
        // In `2>&1 >file` the first goes where the second went before.
        let is_late = *other == LineOutput::Other;
        if *stream != LineOutput::Inherited || is_late {
            return false;
        }
        *stream = output;
        true
    }

    /// Returns the command with its program, which is `test` for `[`; `None` for what only a shell
    /// executes.
    fn with_program(mut self) -> Option<Self> {
        let name = self.words.first()?.literal()?;
        if name == "[" {
            self.words
                .pop_if(|word| word.literal().as_deref() == Some("]"))?;
            self.words.first_mut()?.parts = vec![WordPart::Text("test".to_owned())];
        }
        let is_of_shell = name.is_empty() || is_assignment(&name);
        (!is_of_shell && !SHELL_WORDS.contains(&name.as_str())).then_some(self)
    }
}

/// A word while it is parsed.
#[derive(Default)]
struct WordBuilder {
    word: Option<LineWord>,
}

impl WordBuilder {
    fn is_started(&self) -> bool {
        self.word.is_some()
    }

    fn last_text(&mut self) -> Option<&mut String> {
        match self.word.as_mut()?.parts.last_mut()? {
            WordPart::Text(text) => Some(text),
            _ => None,
        }
    }

    fn ends_with(&mut self, chars: [char; 2]) -> bool {
        self.last_text().is_some_and(|text| text.ends_with(chars))
    }

    fn is_number(&mut self) -> bool {
        let is_digits =
            |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_first = self.word.as_ref().is_some_and(|word| word.parts.len() == 1);
        is_first && self.last_text().is_some_and(|text| is_digits(text))
    }

    fn push(&mut self, part: WordPart) {
        self.word.get_or_insert_default().parts.push(part);
    }

    fn push_text(&mut self, text: &str) {
        if let Some(last) = self.last_text() {
            last.push_str(text);
        } else {
            self.push(WordPart::Text(text.to_owned()));
        }
    }

    fn push_pattern(&mut self, c: char) {
        self.push(WordPart::Pattern(c));
    }

    fn finish(self) -> Option<LineWord> {
        self.word
    }
}

//! The parser of lines.

mod words;

use super::{LineCommand, LineOutput, LineStep, LineWord, RunIf, ShellLine, WordPart};
use crate::shell_lexer::{is_assignment, is_environment_variable};

/// Maximum number of constructs in each other.
const MAX_DEPTH: usize = 4;
/// Maximum number of variables of a line.
const MAX_NAMES: usize = 100;
/// Words that begin a construct of a shell, or that a shell executes itself with an effect on it.
const SHELL_WORDS: &[&str] = &[
    "!", ".", "[[", "{", "}", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "coproc", "declare", "do", "done", "elif", "else", "esac", "eval", "exec", "exit",
    "export", "fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "let", "local",
    "popd", "pushd", "read", "readonly", "return", "select", "set", "shift", "shopt", "source",
    "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
    "until", "wait", "while",
];

pub(super) struct Parser<'a> {
    rest: &'a str,
    /// The directory that the words for that of a skill stand for.
    skill_directory: Option<&'a str>,
    /// The variables that the line has set so far.
    names: Vec<String>,
    depth: usize,
    /// The end of a line with `<<`, and what follows the text of its here-document.
    here_document: Option<(&'a str, &'a str)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, skill_directory: Option<&'a str>) -> Self {
        Self {
            rest: text.trim(),
            skill_directory,
            names: Vec::new(),
            depth: 0,
            here_document: None,
        }
    }

    /// Parses the whole text.
    pub(super) fn parse(mut self) -> Option<ShellLine> {
        let line = self.parse_line()?;
        self.rest.is_empty().then_some(line)
    }

    /// Parses steps up to the end, a `)` or a word that ends them.
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
        self.rest.is_empty()
            || self.rest.starts_with(')')
            || ["done", "then", "elif", "else", "fi", "}"].contains(&self.peek_name())
    }

    fn parse_step(&mut self) -> Option<LineStep> {
        let known = self.names.len();
        let step = match self.peek_name() {
            "for" => self.nested(Self::parse_for)?,
            "if" => self.nested(Self::parse_if)?,
            "{" => self.nested(Self::parse_group)?,
            "while" => {
                let step = self.nested(|parser| parser.parse_while(Vec::new()))?;
                let has_input = matches!(&step, LineStep::ForLines { input: Some(_), .. });
                has_input.then_some(step)?
            }
            "cd" => return self.parse_change_directory(),
            "exit" => return self.parse_exit(),
            "!" => {
                self.take_word("!")?;
                self.skip_space();
                return match self.parse_pipeline()? {
                    LineStep::Pipeline(commands) => Some(LineStep::Not(commands)),
                    _ => None,
                };
            }
            _ if self.starts_assignment() => return self.parse_assignments(),
            _ => return self.parse_pipeline(),
        };
        if !self.take_pipe()? {
            return Some(step);
        }
        // A shell runs it in a process of its own.
        self.names.truncate(known);
        let LineStep::Pipeline(commands) = self.parse_pipeline()? else {
            return None;
        };
        let line = ShellLine {
            steps: vec![(RunIf::Always, step)],
        };
        Some(LineStep::Piped { line, commands })
    }

    fn parse_change_directory(&mut self) -> Option<LineStep> {
        self.take_word("cd")?;
        let mut command = self.parse_command()?;
        let is_plain = command.words.len() == 1 && command.has_no_redirection();
        let word = command.words.pop().filter(|_| is_plain)?;
        let is_path = word
            .parts
            .iter()
            .all(|part| !matches!(part, WordPart::Pattern(_) | WordPart::CharSet(_)));
        let is_option = word.literal().is_some_and(|text| text.starts_with('-'));
        (is_path && !is_option && !self.take_pipe()?).then_some(LineStep::ChangeDirectory(word))
    }

    fn parse_exit(&mut self) -> Option<LineStep> {
        self.take_word("exit")?;
        let code = match self.parse_word()? {
            Some(word) => Some(word.literal()?.parse().ok()?),
            None => None,
        };
        self.is_at_step_end().then_some(LineStep::Exit(code))
    }

    /// Parses commands up to one that no `|` follows, or the loop that reads what they print.
    fn parse_pipeline(&mut self) -> Option<LineStep> {
        let mut commands = Vec::new();
        loop {
            if self.peek_name() == "while" {
                let known = self.names.len();
                let step = self.nested(|parser| parser.parse_while(commands.clone()))?;
                self.names.truncate(known);
                let has_input = matches!(&step, LineStep::ForLines { input: Some(_), .. });
                return (!commands.is_empty() && !has_input && !self.take_pipe()?).then_some(step);
            }
            let command = self.parse_command()?;
            commands.push(command.with_program()?);
            if !self.take_pipe()? {
                return Some(LineStep::Pipeline(commands));
            }
        }
    }

    /// Returns whether a pipe follows, which is taken; `None` for `|&`.
    fn take_pipe(&mut self) -> Option<bool> {
        self.skip_space();
        if self.rest.starts_with("||") || !self.take("|") {
            return Some(false);
        }
        if self.rest.starts_with('&') {
            return None;
        }
        self.skip_blank();
        Some(true)
    }

    fn starts_assignment(&self) -> bool {
        let end = self.rest.find(|c: char| !is_name_char(c));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        rest.starts_with('=') && is_name(name)
    }

    fn parse_assignments(&mut self) -> Option<LineStep> {
        let mut variables = Vec::new();
        while self.starts_assignment() {
            let (name, rest) = self.rest.split_once('=')?;
            self.rest = rest;
            // Programs get some variables from a shell.
            if is_environment_variable(name) {
                return None;
            }
            let is_empty = rest.starts_with(|c: char| " \t\n;|&)".contains(c));
            let word = if is_empty { None } else { self.parse_word()? };
            let value = word.unwrap_or_default().into_quoted()?;
            self.set_name(name)?;
            variables.push((name.to_owned(), value));
            self.skip_space();
        }
        self.is_at_step_end().then_some(LineStep::Assign(variables))
    }

    /// Adds a variable; `None` if there are too many.
    fn set_name(&mut self, name: &str) -> Option<()> {
        if self.names.iter().any(|known| known == name) {
            return Some(());
        }
        self.names.push(name.to_owned());
        (self.names.len() <= MAX_NAMES).then_some(())
    }

    /// Returns true at the end of a step other than a command of a pipe.
    fn is_at_step_end(&mut self) -> bool {
        self.skip_space();
        let is_operator = |text| self.rest.starts_with(text);
        self.rest.is_empty() || [";", "\n", "&&", "||", ")"].into_iter().any(is_operator)
    }

    fn parse_group(&mut self) -> Option<LineStep> {
        self.take_word("{")?;
        let line = self.parse_line()?;
        self.take_word("}")?;
        Some(LineStep::Group(line))
    }

    fn parse_if(&mut self) -> Option<LineStep> {
        let mut branches = Vec::new();
        self.take_word("if")?;
        loop {
            let condition = self.parse_line()?;
            self.take_word("then")?;
            branches.push((condition, self.parse_line()?));
            if self.take_word("elif").is_none() {
                break;
            }
        }
        let otherwise = match self.take_word("else") {
            Some(()) => Some(self.parse_line()?),
            None => None,
        };
        self.take_word("fi")?;
        Some(LineStep::If {
            branches,
            otherwise,
        })
    }

    /// Parses a `while` loop that reads lines, and the input after it.
    fn parse_while(&mut self, source: Vec<LineCommand>) -> Option<LineStep> {
        self.take_word("while")?;
        let keeps_space = self.take_word("IFS=").is_some();
        self.take_word("read")?;
        let is_raw = self.take_word("-r").is_some();
        let mut names = Vec::new();
        while let Some(word) = self.parse_word()? {
            let name = word.literal()?;
            if !is_name(&name) || is_environment_variable(&name) {
                return None;
            }
            self.set_name(&name)?;
            names.push(name);
        }
        let body = self.parse_loop_body()?;
        let mut command = LineCommand::default();
        self.skip_space();
        if self.rest.starts_with('<') {
            self.parse_redirection(&mut command)?;
        }
        let input = command.input;
        (!names.is_empty()).then_some(LineStep::ForLines {
            source,
            input,
            names,
            keeps_space,
            is_raw,
            body,
        })
    }

    fn parse_loop_body(&mut self) -> Option<ShellLine> {
        self.skip_space();
        if !self.take(";") && !self.take("\n") {
            return None;
        }
        self.skip_blank();
        self.take_word("do")?;
        let body = self.parse_line()?;
        self.take_word("done")?;
        Some(body)
    }

    fn parse_for(&mut self) -> Option<LineStep> {
        self.take_word("for")?;
        self.skip_space();
        let name = self.peek_name().to_owned();
        // A shell has one variable of a name, and programs get some from it.
        let is_taken = self.names.contains(&name) || is_environment_variable(&name);
        if is_taken || !is_name(&name) {
            return None;
        }
        self.take_word(&name)?;
        self.take_word("in")?;
        let mut values = Vec::new();
        while let Some(word) = self.parse_word()? {
            values.push(word);
        }
        self.set_name(&name)?;
        let body = self.parse_loop_body()?;
        self.names.retain(|known| *known != name);
        Some(LineStep::For { name, values, body })
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
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
        if text == "\n"
            && let Some((_, after)) = self
                .here_document
                .take_if(|(end_of_line, _)| end_of_line.len() == self.rest.len())
        {
            self.rest = after;
            return true;
        }
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        while let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest.trim_start_matches([' ', '\t']);
        }
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
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
    pub(super) fn has_no_redirection(&self) -> bool {
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
        if name == ":" {
            let mut words = self.words.drain(..);
            words.all(|word| word.literal().is_some()).then_some(())?;
            drop(words);
            self.words = vec![LineWord {
                parts: vec![WordPart::Text("true".to_owned())],
            }];
        }
        let is_of_shell = name.is_empty() || is_assignment(&name);
        (!is_of_shell && !SHELL_WORDS.contains(&name.as_str())).then_some(self)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(is_name_char)
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

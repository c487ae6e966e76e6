//! Parses words and redirections.

use skills_manifest::{expand_skill_directory, skill_directory_word};

use super::{Parser, is_name_char};
use crate::shell_line::word_builder::{WordBuilder, parse_alternatives, parse_char_set};
use crate::shell_line::{
    LineCommand, LineInput, LineOutput, LineStep, LineWord, ShellLine, WordPart,
};

impl Parser<'_> {
    /// Parses a redirection, if there is one.
    pub(super) fn parse_redirection(&mut self, command: &mut LineCommand) -> Option<bool> {
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
            let input = if self.take("<") {
                LineInput::Text(self.parse_here_document()?)
            } else {
                LineInput::File(self.parse_target()?)
            };
            // A second one replaces the first, which a shell opens nevertheless.
            return command.input.replace(input).is_none().then_some(true);
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

    /// Parses the word after `<<`, and the text that begins in the next line.
    fn parse_here_document(&mut self) -> Option<LineWord> {
        let skips_tabs = self.take("-");
        if self.rest.starts_with('<') || self.here_document.is_some() {
            return None;
        }
        self.skip_space();
        let before = self.rest;
        let delimiter = self.parse_word()??.literal()?;
        let written = &before[..before.len() - self.rest.len()];
        // Nothing is expanded in it.
        if written.contains(['$', '{']) {
            return None;
        }
        let is_quoted = written.contains(['\'', '"', '\\']);
        let (line, _) = self.rest.split_once('\n')?;
        // The text could begin in another line than the next one.
        if line.contains(['\'', '"', '\\', '`', '(']) {
            return None;
        }
        let end_of_line = &self.rest[line.len()..];
        let mut text = String::new();
        let mut rest = &end_of_line[1..];
        loop {
            let (line, after) = match rest.split_once('\n') {
                Some((line, after)) => (line, Some(after)),
                None => (rest, None),
            };
            let line = if skips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line == delimiter {
                rest = after.unwrap_or_default();
                break;
            }
            text.push_str(line);
            text.push('\n');
            rest = after?;
        }
        self.here_document = Some((end_of_line, rest));
        if is_quoted {
            return Some(LineWord {
                parts: vec![WordPart::Text(text)],
            });
        }
        self.parse_here_text(&text)
    }

    /// Parses the text of a here-document, in which quotes have no meaning.
    fn parse_here_text(&self, text: &str) -> Option<LineWord> {
        let mut parser = Parser {
            rest: text,
            skill_directory: self.skill_directory,
            names: self.names.clone(),
            depth: self.depth,
            here_document: None,
        };
        let mut word = WordBuilder::default();
        word.push_text("");
        while !parser.rest.is_empty() {
            parser.parse_quoted_part(&mut word, &['\\', '$', '`'])?;
        }
        word.finish()
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
    pub(super) fn parse_word(&mut self) -> Option<Option<LineWord>> {
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
                    word.push(WordPart::Pattern(c));
                }
                '{' if self.rest.starts_with("{}") => {
                    self.rest = &self.rest[2..];
                    word.push_text("{}");
                }
                '{' if self.at_skill_directory() => word.push(self.take_skill_directory()?),
                '{' => {
                    let (part, rest) = parse_alternatives(self.rest)?;
                    word.push(part);
                    self.rest = rest;
                }
                '[' if !self.is_test_bracket(&word) => {
                    let (part, rest) = parse_char_set(self.rest)?;
                    word.push(part);
                    self.rest = rest;
                }
                '~' if !word.is_started() => return None,
                // A tilde can expand after these, and a bracket begins a pattern.
                '~' if word.ends_with(['=', ':']) => return None,
                ']' if !self.is_test_bracket(&word) => return None,
                '&' | '<' | '>' | '(' | '`' | '}' => return None,
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
        while !self.take("\"") {
            if self.rest.is_empty() {
                return None;
            }
            self.parse_quoted_part(word, &['"', '\\', '$', '`'])?;
        }
        Some(())
    }

    /// Parses text up to the next character with a meaning, or what that begins.
    fn parse_quoted_part(&mut self, word: &mut WordBuilder, special: &[char]) -> Option<()> {
        let end = self.rest.find(special).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        match self.skill_directory {
            // Not in the text of a here-document, which is for a program.
            Some(directory) if special.contains(&'"') => {
                word.push_text(&expand_skill_directory(text, directory));
            }
            _ => word.push_text(text),
        }
        self.rest = rest;
        match rest.chars().next() {
            Some('$') => word.push(self.parse_expansion(true)?),
            Some('\\') => {
                let escaped = rest[1..].chars().next()?;
                self.rest = &rest[1 + escaped.len_utf8()..];
                match escaped {
                    '\n' => {}
                    c if special.contains(&c) => word.push_text(c.encode_utf8(&mut [0; 4])),
                    _ => word.push_text(&rest[..1 + escaped.len_utf8()]),
                }
            }
            Some('`') => return None,
            _ => {}
        }
        Some(())
    }

    /// Returns true if a word for the directory of the skill follows, and no variable of the line.
    fn at_skill_directory(&self) -> bool {
        skill_directory_word(self.rest).is_some_and(|word| {
            let name = word.trim_matches(['$', '{', '}']);
            self.skill_directory.is_some() && !self.names.iter().any(|known| known == name)
        })
    }

    fn take_skill_directory(&mut self) -> Option<WordPart> {
        let word = skill_directory_word(self.rest)?;
        self.rest = &self.rest[word.len()..];
        Some(WordPart::Text(self.skill_directory?.to_owned()))
    }

    fn parse_expansion(&mut self, is_quoted: bool) -> Option<WordPart> {
        if self.at_skill_directory() {
            return self.take_skill_directory();
        }
        self.rest = &self.rest[1..];
        if self.rest.starts_with("((") {
            return None;
        }
        if self.take("?") {
            return Some(WordPart::ExitCode);
        }
        if self.take("(") {
            let known = self.names.len();
            let line = self.nested(Self::parse_output)?;
            // A shell runs it in a process of its own.
            self.names.truncate(known);
            self.skip_space();
            return self
                .take(")")
                .then_some(WordPart::Output { line, is_quoted });
        }
        let is_braced = self.take("{");
        let is_length = is_braced && self.take("#");
        let end = self.rest.find(|c: char| !is_name_char(c));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        // Others have values that a shell knows.
        let name = self.names.iter().find(|known| *known == name)?.clone();
        self.rest = rest;
        if is_braced && !self.take("}") {
            return None;
        }
        Some(match is_length {
            true => WordPart::Length(name),
            false => WordPart::Variable { name, is_quoted },
        })
    }

    /// Parses the line of `$(…)`, or the file of `$(<…)`.
    fn parse_output(&mut self) -> Option<ShellLine> {
        self.skip_space();
        if !self.rest.starts_with('<') {
            return self.parse_line();
        }
        let mut line = ShellLine::of_words(&["cat".to_owned()]);
        if let (_, LineStep::Pipeline(commands)) = line.steps.first_mut()? {
            self.parse_redirection(commands.first_mut()?)?;
        }
        Some(line)
    }
}

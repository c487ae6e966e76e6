//! Expands the words of commands.

use skills_runtime::policy::FreeProgram;
use skills_runtime::prompt::{LineWord, ShellLine, WordPart};

use super::Driver;
use crate::run::line::expansion::{Alternatives, Field, expand_pattern, split_fields};
use crate::run::line::streams::text_of_output;
use crate::{ToolError, ToolErrorCode};

impl Driver<'_> {
    /// Expands a word to words.
    pub(super) async fn expand(&mut self, word: &LineWord) -> Result<Vec<String>, ToolError> {
        let mut words = Vec::new();
        let alternatives = Alternatives::new(word, &mut self.usage)?;
        for index in 0..alternatives.count() {
            let word = alternatives.word(index);
            words.extend(self.expand_one(&word).await?);
            if self.is_stopped {
                return Ok(Vec::new());
            }
        }
        Ok(words)
    }

    /// Expands a word of which all parts are quoted.
    pub(super) async fn expand_text(&mut self, word: &LineWord) -> Result<String, ToolError> {
        Ok(self.expand_one(word).await?.concat())
    }

    pub(super) async fn expand_one(&mut self, word: &LineWord) -> Result<Vec<String>, ToolError> {
        let mut fields = vec![Field::default()];
        for part in &word.parts {
            match part {
                WordPart::Text(text) => {
                    self.usage.add_bytes(text.len())?;
                    Field::last(&mut fields).push_text(text);
                }
                WordPart::Pattern(c) => {
                    self.usage.add_bytes(c.len_utf8())?;
                    Field::last(&mut fields).push_pattern(*c);
                }
                WordPart::CharSet(set) => {
                    self.usage.add_bytes(set.text.len())?;
                    Field::last(&mut fields).push_char_set(set);
                }
                // Words with these were expanded before.
                WordPart::Alternatives(_) => {}
                WordPart::Length(name) => {
                    let length = self.variables.get(name).chars().count();
                    split_fields(&mut fields, &length.to_string(), true, &mut self.usage)?;
                }
                WordPart::ExitCode => {
                    let code = self.code.to_string();
                    split_fields(&mut fields, &code, true, &mut self.usage)?;
                }
                WordPart::Variable { name, is_quoted } => {
                    let value = self.variables.get(name);
                    split_fields(&mut fields, value, *is_quoted, &mut self.usage)?;
                }
                WordPart::Output { line, is_quoted } => {
                    let text = self.output_of(line).await?;
                    if self.is_stopped {
                        return Ok(Vec::new());
                    }
                    split_fields(&mut fields, &text, *is_quoted, &mut self.usage)?;
                }
            }
        }
        let mut words = Vec::new();
        for field in fields.into_iter().filter(Field::is_word) {
            match field.text() {
                Some(text) => words.push(text),
                None => words.extend(self.names_of(field).await?),
            }
        }
        Ok(words)
    }

    /// Returns the names that a pattern stands for, which are found on a blocking thread.
    async fn names_of(&mut self, pattern: Field) -> Result<Vec<String>, ToolError> {
        let (files, current_dir) = (self.files.clone(), self.current_dir.clone());
        let mut usage = std::mem::take(&mut self.usage);
        let expand = move || {
            let names = expand_pattern(&files, &current_dir, &pattern, &mut usage);
            (names, usage)
        };
        let expanded = skills_threads::run_blocking(expand).await;
        let (names, usage) =
            expanded.map_err(|_| ToolErrorCode::Internal.error("cannot expand a pattern"))?;
        self.usage = usage;
        names
    }

    /// Returns what a line in a word prints, without the line ends after it.
    async fn output_of(&mut self, line: &ShellLine) -> Result<String, ToolError> {
        let inner = self.printed_by(line).await?;
        if self.is_stopped {
            return Ok(String::new());
        }
        let text = text_of_output(inner.bytes)?;
        Ok(text.trim_end_matches('\n').to_owned())
    }
}

/// Fails if a command that was free before expansion is not free any more: nothing asks in the middle of
/// a line.
pub(super) fn check_expanded(is_free: bool, words: &[String]) -> Result<(), ToolError> {
    let Some((name, args)) = words.split_first() else {
        return Ok(());
    };
    let wants_more = FreeProgram::of(name).is_some_and(|program| program.wants_more(args));
    if !is_free || !wants_more {
        return Ok(());
    }
    Err(expanded_option(words))
}

pub(super) fn expanded_option(words: &[String]) -> ToolError {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let error = ToolErrorCode::PermissionDenied.error(format!(
        "cannot run `{name}`: an expansion has an option that needs permission"
    ));
    error.with_hint("write the option into the command, so that the user can be asked")
}

//! Words of a command line.

use serde_json::Value;

use super::error::{ArgvError, MAX_ARGV_BYTES, MAX_WORD_BYTES};
use crate::argument::{Argument, ArgumentStyle, WordSyntax};

/// The words built so far.
pub(super) struct ArgvBuilder<'a> {
    words: Vec<String>,
    bytes: usize,
    syntax: WordSyntax,
    /// The argument that is being added.
    pub(super) argument: &'a str,
    /// Whether an option takes any number of following words.
    pub(super) has_open_option: bool,
    /// Whether `--` was added.
    pub(super) has_ended_options: bool,
}

impl<'a> ArgvBuilder<'a> {
    pub(super) fn new(syntax: WordSyntax) -> Self {
        Self {
            words: Vec::new(),
            bytes: 0,
            syntax,
            argument: "",
            has_open_option: false,
            has_ended_options: false,
        }
    }

    /// Returns the words, unless they are too long together.
    pub(super) fn finish(self) -> Result<Vec<String>, ArgvError> {
        // Below the limit of the kernel, which counts the environment, too.
        if self.bytes > MAX_ARGV_BYTES {
            return Err(ArgvError::TooLong { bytes: self.bytes });
        }
        Ok(self.words)
    }

    /// Adds `--`, after which no word is an option.
    pub(super) fn end_options(&mut self) -> Result<(), ArgvError> {
        self.has_ended_options = true;
        self.push("--".to_owned())
    }

    pub(super) fn syntax(&self) -> WordSyntax {
        self.syntax
    }

    pub(super) fn push(&mut self, word: String) -> Result<(), ArgvError> {
        self.check_word(&word)?;
        self.bytes += word.len() + 1;
        self.words.push(word);
        Ok(())
    }

    fn check_word(&self, word: &str) -> Result<(), ArgvError> {
        let argument = self.argument.to_owned();
        // The system call would end the word there.
        if word.contains('\0') {
            return Err(ArgvError::Nul { argument });
        }
        // Linux limits a single word to 128 KiB and fails with an error that does not name it.
        if word.len() > MAX_WORD_BYTES {
            return Err(ArgvError::WordTooLong {
                argument,
                bytes: word.len(),
            });
        }
        Ok(())
    }

    /// Adds an option with its value. Positional arguments are added elsewhere.
    pub(super) fn push_option(
        &mut self,
        argument: &'a Argument,
        value: &Value,
    ) -> Result<(), ArgvError> {
        self.argument = &argument.name;
        match &argument.style {
            ArgumentStyle::Positional { .. } => Ok(()),
            ArgumentStyle::Flag {
                option,
                when,
                otherwise,
            } => match value.as_bool() {
                Some(value) if value == *when => self.push(option.clone()),
                Some(_) => otherwise
                    .iter()
                    .try_for_each(|word| self.push(word.clone())),
                None => self.push_value(option, to_word(value)),
            },
            ArgumentStyle::EmptyIsFalse(option) => self.push_python_bool(option, value),
            ArgumentStyle::Json(option) => self.push_value(option, value.to_string()),
            ArgumentStyle::ManyValues { option, min } => self.push_many(option, *min, value),
            ArgumentStyle::JoinedOption(option) => items(value)
                .iter()
                .try_for_each(|item| self.push(format!("{option}={}", to_word(item)))),
            ArgumentStyle::FlagOrOption(option) => self.push_flag_or_option(option, value),
            ArgumentStyle::Option(option) => items(value)
                .iter()
                .try_for_each(|item| self.push_value(option, to_word(item))),
        }
    }

    /// Adds a named value that the script is not known to have.
    pub(super) fn push_extra(&mut self, name: &'a str, value: &Value) -> Result<(), ArgvError> {
        self.argument = name;
        let option = format!("--{name}");
        match value {
            Value::Null | Value::Bool(false) => Ok(()),
            Value::Bool(true) => self.push(option),
            value => items(value)
                .iter()
                .try_for_each(|item| self.push_joined_or_separate(&option, to_word(item))),
        }
    }

    /// Adds an option that Python's `bool` converts.
    fn push_python_bool(&mut self, option: &str, value: &Value) -> Result<(), ArgvError> {
        match value {
            Value::Bool(false) => self.push(format!("{option}=")),
            Value::Bool(true) => self.push_value(option, "True".to_owned()),
            value => self.push_value(option, to_word(value)),
        }
    }

    /// Adds one value with its option.
    fn push_value(&mut self, option: &str, value: String) -> Result<(), ArgvError> {
        match self.syntax {
            WordSyntax::Gnu => self.push_joined_or_separate(option, value),
            WordSyntax::Getopt | WordSyntax::Plain => {
                self.push(option.to_owned())?;
                self.push(value)
            }
        }
    }

    fn push_joined_or_separate(&mut self, option: &str, value: String) -> Result<(), ArgvError> {
        if value.starts_with('-') {
            // As a word of its own, argparse would parse it as an option.
            return self.push(format!("{option}={value}"));
        }
        self.push(option.to_owned())?;
        self.push(value)
    }

    /// Adds an option of which it is not known whether it takes a value.
    fn push_flag_or_option(&mut self, option: &str, value: &Value) -> Result<(), ArgvError> {
        match value {
            Value::Bool(false) => Ok(()),
            Value::Bool(true) => self.push(option.to_owned()),
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.push_flag_or_option(option, item)),
            value => {
                let word = to_word(value);
                // If the option is a flag, the script parses the value as the next word.
                if may_be_option(&word) {
                    return Err(ArgvError::leading_hyphen(self.argument));
                }
                self.push_value(option, word)
            }
        }
    }

    /// Adds all items after one option.
    fn push_many(&mut self, option: &str, min: usize, value: &Value) -> Result<(), ArgvError> {
        let Value::Array(items) = value else {
            return self.push_value(option, to_word(value));
        };
        if items.len() < min {
            return Ok(());
        }
        self.has_open_option = true;
        if let [item] = items.as_slice() {
            // A single value can be joined with `=`, so that any text is possible.
            return self.push_value(option, to_word(item));
        }
        self.push(option.to_owned())?;
        items.iter().try_for_each(|item| self.push_item(item))
    }

    /// Adds one of several items after an option.
    fn push_item(&mut self, item: &Value) -> Result<(), ArgvError> {
        let word = to_word(item);
        if word.starts_with('-') && !(item.is_number() && is_negative_number(&word)) {
            return Err(ArgvError::leading_hyphen(self.argument));
        }
        self.push(word)
    }
}

/// Returns the items of a list, or the value itself.
pub(super) fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        value => std::slice::from_ref(value),
    }
}

/// Formats a value as one word: strings unchanged, numbers without exponent, others as JSON.
pub(super) fn to_word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // JSON Schema accepts `3.0` as an integer, Python's `int` does not. `Display` writes no
        // exponent.
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .map_or_else(|| number.to_string(), |number| number.to_string()),
        value => value.to_string(),
    }
}

/// Returns true if a word with a hyphen may be parsed as an option, and not as a negative number.
pub(super) fn may_be_option(word: &str) -> bool {
    word.starts_with('-') && !is_negative_number(word)
}

fn is_negative_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or_default();
    digits.starts_with(char::is_numeric)
        && digits.bytes().all(|byte| b"0123456789.".contains(&byte))
}

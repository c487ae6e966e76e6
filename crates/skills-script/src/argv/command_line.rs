//! The command line of a call: its arguments, assigned and in order.

use serde_json::{Map, Value};

use super::error::ArgvError;
use super::positional;
use super::script_argv::{ScriptArgv, stdin_text};
use super::words::{ArgvBuilder, to_word};
use crate::argument::{
    Argument, ArgumentSpec, Command, EXTRA_WORDS, ExtraArguments, STDIN_TEXT, WordOrder,
    is_argument_name,
};

/// Builds the words of a call, and its standard input if it contains a text for it.
pub(super) fn build(
    given: &Map<String, Value>,
    spec: &ArgumentSpec,
) -> Result<ScriptArgv, ArgvError> {
    let call = AssignedCall::try_new(given, spec)?;
    let mut builder = ArgvBuilder::new(spec.syntax);
    match spec.order {
        WordOrder::OptionsFirst => call.push_options_first(&mut builder)?,
        WordOrder::PositionalFirst => call.push_positional_first(&mut builder)?,
    }
    Ok(ScriptArgv {
        args: builder.finish()?,
        stdin: call.stdin,
    })
}

/// The arguments of a call, assigned to what the script accepts.
struct AssignedCall<'a> {
    given: &'a Map<String, Value>,
    spec: &'a ArgumentSpec,
    command: Option<&'a Command>,
    /// Named values that the script is not known to have.
    extra: Vec<(&'a str, &'a Value)>,
    /// Further words.
    words: Vec<String>,
    stdin: Option<String>,
}

impl<'a> AssignedCall<'a> {
    fn try_new(given: &'a Map<String, Value>, spec: &'a ArgumentSpec) -> Result<Self, ArgvError> {
        let command = selected_command(given, spec)?;
        let mut call = Self {
            given,
            spec,
            command,
            extra: Vec::new(),
            words: Vec::new(),
            stdin: None,
        };
        for (name, value) in given {
            call.assign(name, value)?;
        }
        if let Some(command) = command {
            check_required(given, command)?;
        }
        Ok(call)
    }

    fn assign(&mut self, name: &'a str, value: &'a Value) -> Result<(), ArgvError> {
        let spec = self.spec;
        if self.is_known(name) {
            return Ok(());
        }
        if name == EXTRA_WORDS && spec.accepts_words() {
            self.words = word_list(value)?;
        } else if name == STDIN_TEXT && spec.accepts_stdin() {
            self.stdin = stdin_text(self.given)?;
        } else if spec.extra == ExtraArguments::Accepted && is_argument_name(name) {
            // Validation rejects these already if the schema is closed; this also holds without it.
            self.extra.push((name, value));
        } else {
            return Err(self.unknown_argument(name));
        }
        Ok(())
    }

    /// Returns true for an argument of the program or of the selected command.
    fn is_known(&self, name: &str) -> bool {
        let commands = self.spec.commands.as_ref();
        let mut arguments = self.spec.arguments.iter().chain(self.command_arguments());
        commands.is_some_and(|set| set.property == name)
            || arguments.any(|argument| argument.name == name)
    }

    fn unknown_argument(&self, name: &str) -> ArgvError {
        let argument = name.to_owned();
        if self.spec.has_argument(name) {
            return ArgvError::OtherCommand {
                argument,
                command: self.command.map(|command| command.name.clone()),
            };
        }
        ArgvError::Unknown { argument }
    }

    fn command_arguments(&self) -> &'a [Argument] {
        self.command.map_or(&[], |command| &command.arguments)
    }

    fn push_options_first(&self, builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        self.push_options(&self.spec.arguments, builder)?;
        self.push_command(builder)?;
        self.push_options(self.command_arguments(), builder)?;
        self.push_extra(builder)?;
        positional::push_positionals(self.given, &self.positionals(), builder)?;
        let has_option = self.words.iter().any(|word| word.starts_with('-'));
        if has_option && builder.has_ended_options {
            // They would not be options any more.
            return Err(ArgvError::LeadingHyphen {
                argument: EXTRA_WORDS.to_owned(),
            });
        }
        if builder.has_open_option && !builder.has_ended_options && !self.words.is_empty() {
            builder.end_options()?;
        }
        self.push_words(&self.words, builder)
    }

    fn push_positional_first(&self, builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        self.push_command(builder)?;
        positional::push_positionals(self.given, &self.positionals(), builder)?;
        // What follows a `--` is not an option, so the options come before it.
        let end = self.words.iter().position(|word| word == "--");
        let (words, rest) = self.words.split_at(end.unwrap_or(self.words.len()));
        self.push_words(words, builder)?;
        self.push_options(&self.spec.arguments, builder)?;
        self.push_options(self.command_arguments(), builder)?;
        self.push_extra(builder)?;
        self.push_words(rest, builder)
    }

    fn push_command(&self, builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        let Some(command) = self.command else {
            return Ok(());
        };
        builder.argument = &command.name;
        builder.push(command.name.clone())
    }

    fn push_options(
        &self,
        arguments: &'a [Argument],
        builder: &mut ArgvBuilder<'a>,
    ) -> Result<(), ArgvError> {
        for argument in arguments {
            let value = self.given.get(&argument.name);
            if let Some(value) = value.filter(|value| !value.is_null()) {
                builder.push_option(argument, value)?;
            }
        }
        Ok(())
    }

    fn push_extra(&self, builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        self.extra
            .iter()
            .try_for_each(|(name, value)| builder.push_extra(name, value))
    }

    fn push_words(&self, words: &[String], builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        builder.argument = EXTRA_WORDS;
        words.iter().try_for_each(|word| builder.push(word.clone()))
    }

    fn positionals(&self) -> Vec<&'a Argument> {
        let arguments = self.spec.arguments.iter();
        arguments.chain(self.command_arguments()).collect()
    }
}

fn selected_command<'a>(
    given: &Map<String, Value>,
    spec: &'a ArgumentSpec,
) -> Result<Option<&'a Command>, ArgvError> {
    let Some(set) = &spec.commands else {
        return Ok(None);
    };
    let selection = given.get(&set.property);
    let Some(selection) = selection.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let mut commands = set.commands.iter();
    match commands.find(|command| selection == command.name.as_str()) {
        Some(command) => Ok(Some(command)),
        None => Err(ArgvError::Unexpected {
            argument: set.property.clone(),
            expected: "the name of a command",
        }),
    }
}

fn check_required(given: &Map<String, Value>, command: &Command) -> Result<(), ArgvError> {
    let is_given =
        |argument: &Argument| given.get(&argument.name).is_some_and(|one| !one.is_null());
    let mut required = command
        .arguments
        .iter()
        .filter(|argument| argument.required);
    match required.find(|argument| !is_given(argument)) {
        None => Ok(()),
        Some(missing) => Err(ArgvError::Missing {
            argument: missing.name.clone(),
            command: command.name.clone(),
        }),
    }
}

pub(super) fn word_list(value: &Value) -> Result<Vec<String>, ArgvError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.iter().map(to_word).collect()),
        _ => Err(ArgvError::Unexpected {
            argument: EXTRA_WORDS.to_owned(),
            expected: "a list of words",
        }),
    }
}

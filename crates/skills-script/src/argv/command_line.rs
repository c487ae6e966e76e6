//! The command line of a call: its arguments, assigned and in order.

use serde_json::{Map, Value};

use super::words::{ArgvBuilder, to_word};
use super::{ArgvError, ScriptArgv, positional, stdin_text};
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
        let has = |arguments: &[Argument]| arguments.iter().any(|one| one.name == name);
        let is_command = spec
            .commands
            .as_ref()
            .is_some_and(|set| set.property == name);
        if is_command
            || has(&spec.arguments)
            || self.command.is_some_and(|command| has(&command.arguments))
        {
            return Ok(());
        }
        if name == EXTRA_WORDS && spec.accepts_words() {
            self.words = word_list(value)?;
            return Ok(());
        }
        if name == STDIN_TEXT && spec.accepts_stdin() {
            self.stdin = stdin_text(self.given)?;
            return Ok(());
        }
        // Validation rejects these already if the schema is closed; this also holds without it.
        if spec.extra == ExtraArguments::Accepted && is_argument_name(name) {
            self.extra.push((name, value));
            return Ok(());
        }
        Err(if spec.all_arguments().any(|one| one.name == name) {
            ArgvError::OtherCommand {
                argument: name.to_owned(),
                command: self.command.map(|command| command.name.clone()),
            }
        } else {
            ArgvError::Unknown {
                argument: name.to_owned(),
            }
        })
    }

    fn push_options_first(&self, builder: &mut ArgvBuilder<'a>) -> Result<(), ArgvError> {
        self.push_options(&self.spec.arguments, builder)?;
        if let Some(command) = self.command {
            builder.argument = &command.name;
            builder.push(command.name.clone())?;
            self.push_options(&command.arguments, builder)?;
        }
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
        if let Some(command) = self.command {
            builder.argument = &command.name;
            builder.push(command.name.clone())?;
        }
        positional::push_positionals(self.given, &self.positionals(), builder)?;
        // What follows a `--` is not an option, so the options come before it.
        let end = self.words.iter().position(|word| word == "--");
        let (words, rest) = self.words.split_at(end.unwrap_or(self.words.len()));
        self.push_words(words, builder)?;
        self.push_options(&self.spec.arguments, builder)?;
        if let Some(command) = self.command {
            self.push_options(&command.arguments, builder)?;
        }
        self.push_extra(builder)?;
        self.push_words(rest, builder)
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
        let of_command = self.command.map_or(&[][..], |command| &command.arguments);
        self.spec.arguments.iter().chain(of_command).collect()
    }
}

fn selected_command<'a>(
    given: &Map<String, Value>,
    spec: &'a ArgumentSpec,
) -> Result<Option<&'a Command>, ArgvError> {
    let Some(set) = &spec.commands else {
        return Ok(None);
    };
    match given.get(&set.property) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let name = value.as_str();
            let command = set
                .commands
                .iter()
                .find(|command| Some(command.name.as_str()) == name);
            command.map(Some).ok_or_else(|| ArgvError::Unexpected {
                argument: set.property.clone(),
                expected: "the name of a command",
            })
        }
    }
}

fn check_required(given: &Map<String, Value>, command: &Command) -> Result<(), ArgvError> {
    let missing = command
        .arguments
        .iter()
        .find(|argument| argument.required && given.get(&argument.name).is_none_or(Value::is_null));
    missing.map_or(Ok(()), |argument| {
        Err(ArgvError::Missing {
            argument: argument.name.clone(),
            command: command.name.clone(),
        })
    })
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

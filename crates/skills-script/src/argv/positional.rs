//! Positional arguments, which are identified by their position.

use serde_json::{Map, Value};

use super::error::ArgvError;
use super::words::{ArgvBuilder, items, may_be_option, to_word};
use crate::argument::{Argument, ArgumentStyle, WordSyntax};

/// Adds positional arguments, if the script assigns each word to the right one.
pub(super) fn push_positionals<'a>(
    given: &Map<String, Value>,
    arguments: &[&'a Argument],
    builder: &mut ArgvBuilder<'a>,
) -> Result<(), ArgvError> {
    let positionals: Vec<PositionalArgument<'_>> = arguments
        .iter()
        .filter_map(|argument| PositionalArgument::try_new(argument, given.get(&argument.name)))
        .collect();
    if positionals.iter().all(|one| one.words.is_empty()) {
        return Ok(());
    }
    check_assignment(&positionals)?;
    end_options(&positionals, builder)?;
    for positional in positionals {
        builder.argument = positional.argument;
        positional.push(builder)?;
    }
    Ok(())
}

/// Adds `--` if one of the words could be parsed as something else.
fn end_options(
    positionals: &[PositionalArgument<'_>],
    builder: &mut ArgvBuilder<'_>,
) -> Result<(), ArgvError> {
    let mut positionals = positionals.iter();
    let hyphen = positionals.find(|one| one.words.iter().any(|word| word.starts_with('-')));
    match hyphen {
        Some(positional) if builder.syntax() == WordSyntax::Plain => positional.check_numbers(),
        None if !builder.has_open_option => Ok(()),
        _ => builder.end_options(),
    }
}

/// Checks that the script assigns to each argument exactly the words that were given for it: each
/// argument takes as many words as leave the minimum for the later ones.
fn check_assignment(positionals: &[PositionalArgument<'_>]) -> Result<(), ArgvError> {
    let mut remaining: usize = positionals.iter().map(|one| one.words.len()).sum();
    let mut later: usize = positionals.iter().map(|one| one.min).sum();
    for positional in positionals {
        later -= positional.min;
        let count = remaining.saturating_sub(later).min(positional.max);
        if count != positional.words.len() || count < positional.min {
            return Err(ArgvError::Ambiguous {
                argument: positional.argument.to_owned(),
            });
        }
        remaining -= count;
    }
    Ok(())
}

/// A positional argument with its words.
struct PositionalArgument<'a> {
    argument: &'a str,
    min: usize,
    max: usize,
    words: Vec<String>,
}

impl<'a> PositionalArgument<'a> {
    fn try_new(argument: &'a Argument, value: Option<&Value>) -> Option<Self> {
        let ArgumentStyle::Positional { min, max } = argument.style else {
            return None;
        };
        let value = value.filter(|value| !value.is_null());
        Some(Self {
            argument: &argument.name,
            min,
            max,
            words: value.into_iter().flat_map(items).map(to_word).collect(),
        })
    }

    fn push(self, builder: &mut ArgvBuilder<'_>) -> Result<(), ArgvError> {
        // argparse removes the first `--` of each positional argument, in some versions everywhere.
        if self.words.iter().any(|word| word == "--") {
            return Err(ArgvError::leading_hyphen(self.argument));
        }
        let mut words = self.words.into_iter();
        words.try_for_each(|word| builder.push(word))
    }

    fn check_numbers(&self) -> Result<(), ArgvError> {
        // A negative number is not an option of a script that takes its words by position.
        if self.words.iter().any(|word| may_be_option(word)) {
            return Err(ArgvError::leading_hyphen(self.argument));
        }
        Ok(())
    }
}

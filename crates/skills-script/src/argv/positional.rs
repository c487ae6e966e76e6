//! Positional arguments, which are identified by their position.

use serde_json::{Map, Value};

use super::ArgvError;
use super::words::{ArgvBuilder, is_negative_number, to_word};
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
    if positionals
        .iter()
        .all(|positional| positional.words.is_empty())
    {
        return Ok(());
    }
    check_assignment(&positionals)?;
    let hyphen_argument = positionals.iter().find(|positional| {
        let mut words = positional.words.iter();
        words.any(|word| word.starts_with('-'))
    });
    match hyphen_argument {
        Some(positional) if builder.syntax() == WordSyntax::Plain => {
            let mut words = positional.words.iter();
            // A negative number is not an option of a script that takes its words by position.
            if words.any(|word| word.starts_with('-') && !is_negative_number(word)) {
                return Err(ArgvError::LeadingHyphen {
                    argument: positional.argument.to_owned(),
                });
            }
        }
        Some(_) => builder.end_options()?,
        None if builder.has_open_option => builder.end_options()?,
        None => {}
    }
    for positional in positionals {
        builder.argument = positional.argument;
        // argparse removes the first `--` of each positional argument, in some versions everywhere.
        if positional.words.iter().any(|word| word == "--") {
            return Err(ArgvError::LeadingHyphen {
                argument: positional.argument.to_owned(),
            });
        }
        positional
            .words
            .into_iter()
            .try_for_each(|word| builder.push(word))?;
    }
    Ok(())
}

/// Checks that the script assigns to each argument exactly the words that were given for it: each
/// argument takes as many words as leave the minimum for the later ones.
fn check_assignment(positionals: &[PositionalArgument<'_>]) -> Result<(), ArgvError> {
    let mut remaining: usize = positionals
        .iter()
        .map(|positional| positional.words.len())
        .sum();
    let mut later: usize = positionals.iter().map(|positional| positional.min).sum();
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
        let words = match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(to_word).collect(),
            Some(value) => vec![to_word(value)],
        };
        Some(Self {
            argument: &argument.name,
            min,
            max,
            words,
        })
    }
}
